//! Requests that a hub refuses: they leave nothing behind, and each is answered by a frame.

use std::collections::BTreeSet;

use crate::common::{TestHub, frame};
use accp_hub::{Config, Numbering};
use reqwest::{Method, StatusCode};
use serde_json::Value as Json;

/// A frame with a reference that leads nowhere.
const NOWHERE: &str = "req:plan{goal:$cold.k9_9}";

async fn post(hub: &TestHub, body: &str, headers: &[(&str, &str)]) -> (StatusCode, String) {
    let mut request = hub.posting();
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.body(body.to_owned()).send().await;
    let answer = answer.expect("an answer");
    (answer.status(), answer.text().await.expect("text"))
}

async fn get(hub: &TestHub, path: &str) -> (StatusCode, String) {
    let answer = hub.get(path).await;
    (answer.status(), answer.text().await.expect("text"))
}

/// Returns whether an agent is in the session `lunch`; `None` if it never was.
async fn is_present(hub: &TestHub, agent: &str) -> Option<bool> {
    let (status, state) = get(hub, "/accp/v1/sessions/lunch/state").await;
    assert_eq!(status, StatusCode::OK, "{state}");
    let state: Json = serde_json::from_str(&state).expect("JSON");
    let members = state["members"].as_array().expect("members").iter();
    let mut own = members.filter(|member| member["agents"] == serde_json::json!([agent]));
    own.next()?["present"].as_bool()
}

#[tokio::test]
async fn a_first_frame_that_is_refused_lets_nobody_in() {
    let hub = TestHub::start(Config::default()).await;
    let first = frame("@me>sync:note{}", "abc101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&first).await.0, StatusCode::OK);

    let nowhere = format!("@ghost>{NOWHERE}");
    for (head, mid, seq, part) in [
        (&*nowhere, "abd101000001", 1, "E2001"),
        ("@ghost>req:plan{}", "abd101000002", 7, "exp:1"),
        ("@ghost>cancel:task{}", "abd101000003", 1, "E1004"),
    ] {
        let (status, reply) = hub.post(&frame(head, mid, seq, "sid:lunch")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
        assert!(reply.contains(part), "{head}: {reply}");
        assert!(reply.contains(&format!("of:{mid}")), "{head}: {reply}");
        assert_eq!(is_present(&hub, "ghost").await, None, "{head}");
    }
    let for_ghost = |mid, seq| frame("@me>req:plan{}", mid, seq, "sid:lunch,to:ghost");
    let (status, reply) = hub.post(&for_ghost("abc101000002", 2)).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{reply}");
    assert!(reply.contains("ghost_has_not"), "{reply}");

    // Nothing of the refused frames is remembered, neither their ids nor their numbers.
    let good = frame("@ghost>req:plan{}", "abd101000001", 1, "sid:lunch");
    let (status, reply) = hub.post(&good).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(is_present(&hub, "ghost").await, Some(true));
    let (status, reply) = hub.post(&for_ghost("abc101000003", 2)).await;
    assert_eq!(status, StatusCode::OK, "{reply}");

    // A refused frame does not bring back an agent that was taken out, either.
    let out = hub.url("/accp/v1/sessions/lunch/agents/ghost?agent=ghost");
    let out = hub.http.delete(out).send().await.expect("an answer");
    assert_eq!(out.status(), StatusCode::OK);
    let refused = frame(&nowhere, "abd101000004", 2, "sid:lunch");
    assert_eq!(hub.post(&refused).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(is_present(&hub, "ghost").await, Some(false));
    let back = frame("@ghost>req:plan{}", "abd101000005", 2, "sid:lunch");
    let (status, reply) = hub.post(&back).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(is_present(&hub, "ghost").await, Some(true));
    hub.stop().await;
}

/// The refusal names the agents of the session, whose names are too long to be named together.
#[tokio::test]
async fn a_refusal_fits_into_a_frame_whatever_it_quotes() {
    let hub = TestHub::start(Config::default()).await;
    for n in 10..50 {
        let head = format!("@{}{n}>req:plan{{}}", "a".repeat(126));
        let text = frame(&head, &format!("abc1{n}000001"), 1, "sid:lunch");
        let (status, reply) = hub.post(&text).await;
        assert_eq!(status, StatusCode::OK, "{reply}");
    }
    let first = frame("@me>sync:note{}", "abd101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&first).await.0, StatusCode::OK);
    // `me` is in the session, and `guest` is not.
    for (agent, mid, seq) in [("me", "abd101000002", 2), ("guest", "abd101000003", 1)] {
        let head = format!("@{agent}>req:plan{{}}");
        let asks = frame(&head, mid, seq, "sid:lunch,to:ghost");
        let (status, reply) = hub.post(&asks).await;
        let shown = &reply[..reply.len().min(200)];
        assert_eq!(status, StatusCode::BAD_REQUEST, "{agent}: {shown}");
        for part in ["E2001", "ghost_has_not"] {
            assert!(reply.contains(part), "{agent}: {shown}");
        }
        assert!(reply.len() < 4_000, "{agent}: {} bytes", reply.len());
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_frame_that_would_begin_a_session_and_is_refused_begins_none() {
    let hub = TestHub::start(Config::default()).await;
    let nowhere = format!("@me>{NOWHERE}");
    let none: &[(&str, &str)] = &[];
    let wait: &[(&str, &str)] = &[("prefer", "wait=5")];
    let piece = "@me>stream:infer{idx:0|d:$cold.k9_9|schema:ST}";
    let mut mids = BTreeSet::new();
    for (head, seq, headers, part) in [
        (&*nowhere, 1, none, "E2001"),
        (&*nowhere, 1, none, "E2001"),
        ("@me>req:plan{}", 3, none, "exp:1"),
        // The client waits for an answer, and nobody is there to give one.
        ("@me>req:plan{}", 1, wait, "E2001"),
        (piece, 1, none, "E2001"),
        ("@hub>req:plan{}", 1, none, "E5001"),
    ] {
        let text = frame(head, "abc101000001", seq, "sid:lunch,cid:abc101000001");
        let (status, reply) = post(&hub, &text, headers).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{head}: {reply}");
        assert!(reply.contains(part), "{head}: {reply}");
        let mid = reply.split("[mid:").nth(1).and_then(|rest| rest.get(..12));
        let mid = mid.expect("an id").to_owned();
        assert!(mids.insert(mid), "the id of another answer: {reply}");
        assert_eq!(get(&hub, "/accp/v1/sessions").await.1, "[]", "{head}");
        let (status, _) = get(&hub, "/accp/v1/sessions/lunch/state").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{head}");
    }
    let good = frame("@me>req:plan{}", "abc101000001", 1, "sid:lunch");
    let (status, reply) = hub.post(&good).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    assert_eq!(is_present(&hub, "me").await, Some(true));
    hub.stop().await;
}

/// A peer that knows only the draft has no socket to a session in which each agent numbers its own frames.
#[tokio::test]
async fn a_hello_that_is_refused_lets_nobody_in_and_begins_no_session() {
    let config = Config {
        numbering: Numbering::Sender,
        ..Config::default()
    };
    let hub = TestHub::start(config).await;
    let hello = "@qa>sync:registry{v:1|hash:abc123}[mid:f00000000001,seq:0]";
    for has_begun in [false, true] {
        if has_begun {
            let first = frame("@me>sync:note{}", "abc101000001", 1, "sid:lunch");
            assert_eq!(hub.post(&first).await.0, StatusCode::OK);
        }
        let mut socket = hub.socket("?session=lunch&agent=qa").await;
        socket.send_text(hello).await;
        let error = socket.receive().await.expect("an error");
        assert!(error.starts_with("@hub>fail:error{code:E5001"), "{error}");
        assert!(error.contains("numbers_its_own_frames"), "{error}");
        let end = socket.receive().await.expect("a close");
        assert!(end.starts_with("close 1008 E5001"), "{end}");
        if has_begun {
            assert_eq!(is_present(&hub, "qa").await, None);
        } else {
            assert_eq!(get(&hub, "/accp/v1/sessions").await.1, "[]");
        }
    }
    // A peer that says which position it holds is let in.
    let mut socket = hub.socket("?session=lunch&agent=qa").await;
    let hello = "@qa>sync:registry{v:1|hash:abc123|pos:0|ext:[]}[mid:1,seq:0]";
    socket.send_text(hello).await;
    let reply = socket.receive().await.expect("a hello");
    assert!(reply.starts_with("@hub>"), "{reply}");
    assert_eq!(is_present(&hub, "qa").await, Some(true));
    hub.stop().await;
}

#[tokio::test]
async fn every_refusal_is_a_frame_that_shows_nothing_of_the_request() {
    let hub = TestHub::start(Config::default()).await;
    let session = "/accp/v1/sessions/lunch";
    for (method, path, status, part) in [
        (Method::GET, "/frames?after=secret", 400, "after"),
        (Method::GET, "/frames?secret=1", 400, "limit"),
        (Method::GET, "/frames?after=1&after=secret", 400, "once"),
        (Method::GET, "/state?agent=secret&agent=b", 400, "agent"),
        (Method::PUT, "/values/k1_1?agent=me&secret=1", 400, "alone"),
        (Method::GET, "/%FF/state", 400, "UTF-8"),
        (Method::DELETE, "/frames", 405, "Allow"),
        (Method::PATCH, "/registry", 405, "Allow"),
        (Method::GET, "/secret", 404, "openapi"),
        (
            Method::POST,
            "!/accp/v1/frames?session=a&session=b",
            400,
            "session",
        ),
        (Method::GET, "!/accp/v1/frames", 405, "Allow"),
        (Method::GET, "!/accp/v1/ws", 400, "Upgrade"),
        (Method::GET, "!/accp/v1/ws?session=a&session=b", 400, "once"),
        (Method::PUT, "!/ui", 405, "Allow"),
    ] {
        let url = match path.strip_prefix('!') {
            Some(path) => hub.url(path),
            None if path.starts_with("/%") => hub.url(&format!("/accp/v1/sessions{path}")),
            None => hub.url(&format!("{session}{path}")),
        };
        let request = hub.http.request(method.clone(), url);
        let request = request.header("content-type", "application/accp");
        let answer = request.send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), status, "{method} {path}");
        assert_eq!(answer.headers()["content-type"], "application/accp");
        assert_eq!(
            answer.headers().contains_key("allow"),
            status == 405,
            "{method} {path}"
        );
        let reply = answer.text().await.expect("text");
        assert!(
            reply.starts_with("@hub>fail:error{code:") && reply.contains(part),
            "{method} {path}: {reply}"
        );
        assert!(!reply.contains("secret"), "{method} {path}: {reply}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn without_tokens_a_harness_names_an_agent_of_the_session() {
    let hub = TestHub::start(Config::default()).await;
    let first = frame("@me>sync:note{}", "abc101000001", 1, "sid:lunch");
    assert_eq!(hub.post(&first).await.0, StatusCode::OK);
    let schemas = r#"{ "schemas": { "soup": { "code": "SOUP", "fields": ["bowls"] } } }"#;
    for (agent, status) in [
        ("?agent=nobody", StatusCode::FORBIDDEN),
        ("", StatusCode::FORBIDDEN),
        ("?agent=me", StatusCode::OK),
    ] {
        for (path, body) in [("phase", ""), ("registry", schemas)] {
            let url = hub.url(&format!("/accp/v1/sessions/lunch/{path}{agent}"));
            let answer = hub.http.post(url).body(body).send().await;
            let answer = answer.expect("an answer");
            assert_eq!(answer.status(), status, "{path}{agent}");
            let reply = answer.text().await.expect("text");
            let is_refused = reply.contains("E5001");
            assert_eq!(is_refused, status != StatusCode::OK, "{path}: {reply}");
        }
    }
    hub.stop().await;
}

#[tokio::test]
async fn a_reference_that_leads_nowhere_says_what_the_hub_expects() {
    let hub = TestHub::start(Config::default()).await;
    let text = frame("@me>req:plan{goal:soup}", "c00000000001", 1, "sid:lunch");
    let (status, reply) = hub.post(&text).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    let (status, reply) = get(&hub, "/accp/v1/sessions/lunch/values/cold.p9").await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{reply}");
    let expected = "{code:E2001|msg:a_reference_to_something_that_the_session_holds|";
    assert!(reply.contains(expected), "{reply}");
    hub.stop().await;
}
