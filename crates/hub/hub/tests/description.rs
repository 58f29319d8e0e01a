//! Tests that `/openapi.json` describes the routes of the hub.

use crate::common::TestHub;
use accp_hub::Config;

#[tokio::test]
async fn the_description_names_the_routes_that_answer() {
    let hub = TestHub::start(Config::default()).await;
    let text = hub.get("/openapi.json").await;
    let text: serde_json::Value =
        serde_json::from_str(&text.text().await.expect("text")).expect("JSON");
    let described = text["paths"].as_object().expect("paths");
    let source = include_str!("../src/routes.rs");
    let of = "/accp/v1/sessions/{session}/";
    let routed = source
        .split(".route(")
        .skip(1)
        .map(str::trim_start)
        .filter(|route| !route.starts_with("&path") && !route.starts_with("&below"))
        .map(|route| {
            let path = route.split('"').nth(1).expect("a path");
            if route.starts_with("&of") {
                format!("{of}{path}")
            } else {
                path.to_owned()
            }
        });
    let mut routed: Vec<_> = routed.collect();
    routed.sort();
    let mut named: Vec<_> = described.keys().cloned().collect();
    named.sort();
    assert_eq!(named, routed);
    // This name is longer than that of any session.
    let long = "x".repeat(200);
    for (path, methods) in described {
        for method in methods.as_object().expect("methods").keys() {
            let answers = &text["paths"][path][method]["responses"];
            assert_eq!(
                answers.get("401").is_some(),
                answers.get("429").is_some(),
                "{path}: who needs a token can have too many requests open"
            );
            let method: reqwest::Method = method.to_uppercase().parse().expect("a method");
            for session in ["lunch", &*long] {
                let url = path.replace("{session}", session).replace("{key}", "ctx.x");
                let answer = hub.http.request(method.clone(), hub.url(&url)).send();
                let answer = answer.await.expect("an answer");
                let code = answer.status().as_u16().to_string();
                assert_ne!(code, "405", "{path}");
                assert!(
                    answers.get(&code).is_some(),
                    "{path}: {code} is not described"
                );
            }
        }
    }
    hub.stop().await;
}
