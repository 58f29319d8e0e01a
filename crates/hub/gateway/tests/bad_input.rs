//! Tests of clients that send too much, or nonsense. They get the answer that the provider would give.

use std::time::Duration;

use accp_gateway::{By, Config, Policy, Report};
use axum::http::header::{HeaderMap, HeaderName, HeaderValue};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use crate::conversation::{Bench, builder, messages, request};
use crate::edges::{answer, provider};

#[tokio::test]
async fn a_body_of_32_megabytes_passes_whole() {
    let mut bench = Bench::start(Policy::Append).await;
    let picture = BASE64_STANDARD.encode(vec![7; 24 << 20]);
    let source = json!({"type": "base64", "media_type": "image/png", "data": picture});
    let mut list = messages(1);
    list.push(json!({"role": "user", "content": [{"type": "image", "source": source}]}));
    let large = json!({"model": "claude-m", "max_tokens": 9, "messages": list}).to_string();
    assert!(large.len() > 32 << 20);
    let answer = bench.post("/v1/messages", "k1", large).await;
    assert_eq!(answer.status(), 400);
    let text = answer.text().await.unwrap();
    assert!(text.contains("image exceeds 5 MB maximum"), "{text}");
    let garbage = "x".repeat(32 << 20);
    let answer = bench.post("/v1/messages", "k1", garbage.clone()).await;
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("not valid JSON"));
    assert!(bench.upstream.last().body == garbage);
    // Brackets that never close must not use up the stack or the memory.
    let deep = format!(
        "{{\"model\":\"claude-m\",\"messages\":{}",
        "[".repeat(1 << 20)
    );
    let answer = bench.post("/v1/messages", "k1", deep).await;
    assert_eq!(answer.status(), 400);
    drop(bench.stop().await);
}

#[tokio::test]
async fn results_with_brackets_without_end_hold_nothing_up() {
    let mut bench = Bench::start(Policy::Append).await;
    // A page that a tool has read may be written by anybody.
    let pages = [
        format!("{}{}", "[".repeat(30_000), "]".repeat(30_000)),
        "[\n".repeat(100_000),
        "x [ ".repeat(200_000),
    ];
    for (at, page) in pages.into_iter().enumerate() {
        let mut list = messages(1);
        for message in &mut list {
            if let Some(content) = message.pointer_mut("/content/0/content") {
                *content = json!(page);
            }
        }
        let body = request(list).to_string();
        assert!(body.len() > page.len(), "the page stands in the request");
        let sent = bench.post("/v1/messages", "k1", body);
        let answer = timeout(Duration::from_secs(20), sent).await;
        assert_eq!(answer.expect("an answer in time").status(), 200, "{at}");
    }
    drop(bench.stop().await);
}

#[tokio::test]
async fn headers_without_end_are_refused_and_the_gateway_goes_on() {
    let bench = Bench::start(Policy::Append).await;
    let body = request(messages(1)).to_string();
    let flood = |count: usize, bytes: usize| {
        let headers = (0..count).map(|n| {
            let name = HeaderName::from_bytes(format!("x-flood-{n}").as_bytes()).unwrap();
            (name, HeaderValue::from_str(&"y".repeat(bytes)).unwrap())
        });
        let headers: HeaderMap = headers.collect();
        let sent = bench
            .client
            .post(bench.url("/v1/messages"))
            .headers(headers);
        sent.body(body.clone()).send()
    };
    assert_eq!(flood(50, 100).await.unwrap().status(), 200);
    assert_eq!(bench.upstream.last().headers["x-flood-49"].len(), 100);
    // The server may close the connection after its refusal, before the client has read the refusal.
    for (count, bytes) in [(2_000, 10), (50, 20_000)] {
        let refused = flood(count, bytes).await;
        assert!(refused.is_err() || refused.is_ok_and(|answer| answer.status() == 431));
    }
    assert_eq!(flood(1, 1).await.unwrap().status(), 200);
    assert_eq!(bench.upstream.got().len(), 2);
}

#[tokio::test]
async fn more_than_a_hundred_headers_pass() {
    let (openai, got) = provider(vec![answer("application/json", "{}", 0)]).await;
    let config = Config {
        openai,
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    let headers = (0..200).map(|n| {
        let name = HeaderName::from_bytes(format!("x-own-{n}").as_bytes()).unwrap();
        (name, HeaderValue::from_static("y"))
    });
    let headers: HeaderMap = headers.collect();
    let asked = bench.client.get(bench.url("/v1/models")).headers(headers);
    assert_eq!(asked.send().await.unwrap().status(), 200);
    let got = got.lock().unwrap();
    assert!(got[0].contains("x-own-199: y\r\n"), "{}", got[0]);
}

#[tokio::test]
async fn a_model_of_any_name_has_one_line_of_the_report() {
    let mut bench = Bench::start(Policy::Append).await;
    let mut body = request(messages(1));
    body["model"] = json!("one\nall  9");
    bench.post("/v1/messages", "k1", body.to_string()).await;
    let report = Report::of(&bench.stop().await, By::Model).unwrap();
    let text = report.to_text();
    assert!(text.contains("\none all  9 "), "{text}");
}

#[tokio::test]
async fn wrong_keys_and_unknown_models_hear_the_provider() {
    let mut bench = Bench::start(Policy::Save).await;
    let mut body = request(messages(1));
    let answer = bench.post("/v1/messages", "wrong", body.to_string()).await;
    assert_eq!(answer.status(), 401);
    assert!(answer.text().await.unwrap().contains("invalid x-api-key"));
    body["model"] = json!("no-such-model");
    let answer = bench.post("/v1/messages", "k1", body.to_string()).await;
    assert_eq!(answer.status(), 404);
    assert!(
        answer
            .text()
            .await
            .unwrap()
            .contains("model: no-such-model")
    );
    assert_eq!(bench.upstream.got().len(), 2, "none is sent twice");
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!(
        entries.iter().map(|entry| entry.status).collect::<Vec<_>>(),
        [401, 404]
    );
}

#[tokio::test]
async fn streams_of_one_connection_of_http_2_do_not_wait_for_each_other() {
    let bench = Bench::with(Config::default()).await;
    let client = builder().http2_prior_knowledge().build().unwrap();
    let ask = async |calls: u64| {
        let mut body = request(messages(calls));
        body["stream"] = json!(true);
        let sent = client
            .post(bench.url("/v1/messages"))
            .header("x-api-key", format!("k{calls}"));
        let answer = sent.body(body.to_string()).send().await.unwrap();
        assert_eq!(answer.version(), axum::http::Version::HTTP_2);
        let text = answer.text().await.unwrap();
        assert!(
            text.ends_with("data: {\"type\":\"message_stop\"}\n\n"),
            "{text}"
        );
    };
    tokio::join!(ask(1), ask(2), ask(3), ask(4));
    let got: Vec<Json> = bench
        .upstream
        .got()
        .iter()
        .map(crate::upstream::Got::json)
        .collect();
    assert_eq!(got.len(), 4);
    for json in got {
        assert!(json["messages"].to_string().contains("\\\"columns\\\""));
    }
}
