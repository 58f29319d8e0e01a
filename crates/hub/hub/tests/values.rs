//! Tests of values that clients send by PUT.

use crate::common::{TestHub, frame};
use accp_hub::Config;
use reqwest::StatusCode;
use sha2::{Digest as _, Sha256};

pub(crate) const VALUE: &str =
    "\"a_text_that_is_longer_than_a_frame_should_have_it_in_one_of_its_fields";

pub(crate) async fn put(
    hub: &TestHub,
    key: &str,
    query: &str,
    value: &str,
) -> (StatusCode, String) {
    let url = hub.url(&format!("/accp/v1/sessions/lunch/values/{key}{query}"));
    let request = hub.http.put(url).body(value.to_owned());
    let answer = request.send().await.expect("an answer");
    (answer.status(), answer.text().await.expect("text"))
}

pub(crate) async fn announce(hub: &TestHub, seq: u64, key: &str, value: &str) {
    let digest = hex::encode(Sha256::digest(value));
    let head = format!("@me>sync:put{{keys:[[{key},\"{digest},{}]]}}", value.len());
    let mid = format!("c{seq:011}");
    let (status, reply) = hub.post(&frame(&head, &mid, seq, "sid:lunch")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
}

#[tokio::test]
async fn a_value_that_was_announced_comes_by_put_and_is_read() {
    let hub = TestHub::start(Config::default()).await;
    announce(&hub, 1, "k101_1", VALUE).await;
    let (status, reply) = put(&hub, "k101_1", "?agent=me", VALUE).await;
    assert_eq!((status, &*reply), (StatusCode::CREATED, ""));
    let (status, _) = put(&hub, "cold.k101_1", "?agent=me", VALUE).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "it is there already");
    let text = "@me>req:plan{goal:$cold.k101_1}";
    let (status, reply) = hub.post(&frame(text, "c00000000002", 2, "sid:lunch")).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    // A client can read the value under the key of the PUT, with or without the tier `cold`.
    for key in ["cold.k101_1", "k101_1"] {
        let url = hub.url(&format!("/accp/v1/sessions/lunch/values/{key}"));
        let read = hub.http.get(url).send().await.expect("an answer");
        let read = read.text().await.expect("text");
        assert!(read.contains("longer than a frame"), "{key}: {read}");
    }
    hub.stop().await;
}

#[tokio::test]
async fn other_bytes_and_other_peoples_keys_are_refused() {
    let hub = TestHub::start(Config::default()).await;
    announce(&hub, 1, "k101_1", VALUE).await;
    announce(&hub, 2, "k101_2", "[not a value").await;
    let other = VALUE.replace("longer", "larger");
    let longer = VALUE.repeat(2);
    for (key, query, value, status, says) in [
        (
            "k101_1",
            "?agent=me",
            &*other,
            StatusCode::CONFLICT,
            "announced",
        ),
        (
            "k101_1",
            "?agent=me",
            &*longer,
            StatusCode::PAYLOAD_TOO_LARGE,
            "E1001",
        ),
        (
            "k101_1",
            "?agent=eve",
            VALUE,
            StatusCode::NOT_FOUND,
            "E2001",
        ),
        ("k101_9", "?agent=me", VALUE, StatusCode::NOT_FOUND, "E2001"),
        ("k101_1", "", VALUE, StatusCode::BAD_REQUEST, "agent"),
        (
            "k101_2",
            "?agent=me",
            "[not a value",
            StatusCode::BAD_REQUEST,
            "E1001",
        ),
    ] {
        let (found, reply) = put(&hub, key, query, value).await;
        assert_eq!(found, status, "{key}{query}: {reply}");
        assert!(reply.contains(says), "{key}{query}: {reply}");
    }
    // The hub has kept none of the refused values.
    let (status, reply) = put(&hub, "k101_1", "?agent=me", VALUE).await;
    assert_eq!(status, StatusCode::CREATED, "{reply}");
    hub.stop().await;
}

#[tokio::test]
async fn a_read_that_finds_no_value_says_its_code_once() {
    let hub = TestHub::start(Config::default()).await;
    announce(&hub, 1, "k101_1", VALUE).await;
    let read = hub.get("/accp/v1/sessions/lunch/values/k101_9").await;
    assert_eq!(read.status(), StatusCode::NOT_FOUND);
    let read = read.text().await.expect("text");
    assert_eq!(read.matches("E2001").count(), 1, "{read}");
    assert!(read.contains("something_that_the_session_holds"), "{read}");
    hub.stop().await;
}
