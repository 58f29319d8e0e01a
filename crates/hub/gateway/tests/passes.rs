//! Tests of what the gateway leaves as it is.

use accp_gateway::{Config, Policy};
use futures_util::StreamExt as _;
use serde_json::json;

use crate::conversation::{Bench, messages, request};
use crate::upstream::Mood;

#[tokio::test]
async fn off_passes_the_same_bytes_both_ways() {
    let mut bench = Bench::start(Policy::Off).await;
    // The blanks, the escape and the number would not survive a writer of JSON.
    let body = format!(
        "{{ \"model\" : \"claude-m\",\"max_tokens\":9,\"top_p\":1.50, \"messages\": {}, \"x\":\"\\u0041\" }}",
        json!(messages(2))
    );
    let direct = bench
        .client
        .post(format!("{}/v1/messages?beta=true", bench.upstream_url()));
    let direct = direct
        .body(body.clone())
        .send()
        .await
        .unwrap()
        .bytes()
        .await
        .unwrap();
    let one = bench.upstream.last();
    // The provider is reset, so that its next answer is the same as the first one.
    bench.upstream.clear();
    let answer = bench.client.post(bench.url("/v1/messages?beta=true"));
    let answer = answer
        .header("anthropic-beta", "a,b")
        .header("x-accp", "off")
        .body(body.clone());
    let answer = answer.send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "application/json");
    let answer = answer.bytes().await.unwrap();
    let other = bench.upstream.last();
    assert_eq!(one.body, other.body);
    assert_eq!(other.path, "/v1/messages?beta=true");
    assert_eq!(other.headers["anthropic-beta"], "a,b");
    assert!(!other.headers.contains_key("x-accp"));
    assert_eq!(direct, answer);
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!((&*entries[0].policy, entries[0].status), ("off", 200));
    assert!(entries[0].usage.is_some() && entries[0].whole);
}

#[tokio::test]
async fn the_switch_of_a_request_turns_the_gateway_off() {
    let bench = Bench::start(Policy::Append).await;
    let body = request(messages(2)).to_string();
    let sent = bench
        .client
        .post(bench.url("/v1/messages"))
        .header("x-accp", "off")
        .body(body.clone());
    sent.send().await.unwrap();
    assert_eq!(bench.upstream.last().body, body);
    bench
        .client
        .post(bench.url("/v1/messages"))
        .body(body.clone())
        .send()
        .await
        .unwrap();
    assert_ne!(bench.upstream.last().body, body);
}

#[tokio::test]
async fn what_has_no_list_passes_unread() {
    let bench = Bench::start(Policy::Append).await;
    let body = request(messages(2)).to_string();
    let paths = [
        "/v1/messages/count_tokens",
        "/v1/models?limit=3",
        "/v1/responses/compact",
        "/any/thing%20else",
    ];
    for path in paths {
        bench.post(path, "k1", body.clone()).await;
        let got = bench.upstream.last();
        assert_eq!((&*got.path, &got.body[..]), (path, body.as_bytes()));
    }
    // The gateway does not read this answer, so the client gets the answer in the encoding that it asks for.
    let models = bench.client.get(bench.url("/v1/models"));
    let models = models.header("accept-encoding", "br, zstd;q=0.5");
    models.send().await.unwrap();
    let got = bench.upstream.last();
    assert_eq!(got.headers["accept-encoding"], "br, zstd;q=0.5");
    let head = bench.client.head(bench.url("/")).send().await.unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(bench.upstream.last().method, "HEAD");
    assert!(bench.upstream.last().body.is_empty());
}

#[tokio::test]
async fn what_becomes_no_smaller_goes_out_as_the_same_bytes() {
    let bench = Bench::start(Policy::Append).await;
    let body =
        "{ \"model\":\"claude-m\", \"messages\":[ {\"role\":\"user\",\"content\":\"Hi\"} ] }";
    bench.post("/v1/messages", "k1", body).await;
    assert_eq!(bench.upstream.last().body, body);
}

#[tokio::test]
async fn words_in_the_place_of_a_list_are_no_fault() {
    let mut bench = Bench::start(Policy::Append).await;
    let body = r#"{"model":"gpt-m","input":"Which slots are free?"}"#;
    bench
        .post("/v1/responses", "k1", body)
        .await
        .bytes()
        .await
        .unwrap();
    assert_eq!(bench.upstream.last().body, body);
    let entries = bench.stop().await.entries(None).unwrap();
    assert_eq!((entries.len(), &entries[0].fault), (1, &None));
    assert!(entries[0].usage.is_some());
}

#[tokio::test]
async fn an_event_passes_before_the_next_one_exists() {
    let bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Waits);
    let mut body = request(messages(2));
    body["stream"] = json!(true);
    let answer = bench.post("/v1/messages", "k1", body.to_string()).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut pieces = answer.bytes_stream();
    let first = pieces.next().await.unwrap().unwrap();
    assert!(first.starts_with(b"event: message_start\n") && first.ends_with(b"\"ping\"}\n\n"));
    bench.upstream.goes_on.notify_one();
    let mut rest = Vec::new();
    while let Some(piece) = pieces.next().await {
        rest.extend(piece.unwrap());
    }
    assert!(rest.ends_with(b"data: {\"type\":\"message_stop\"}\n\n"));
}

#[tokio::test]
async fn shadow_says_what_it_would_do_and_does_nothing() {
    let config = Config {
        policy: Policy::Shadow,
        predict: Policy::Append,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    for calls in 1..4 {
        let body = request(messages(calls)).to_string();
        bench
            .post("/v1/messages", "k1", body.clone())
            .await
            .bytes()
            .await
            .unwrap();
        assert_eq!(bench.upstream.last().body, body);
    }
    for entry in bench.stop().await.entries(None).unwrap() {
        let bill = entry.bill.unwrap();
        assert!(entry.sent * 10 < entry.given * 9, "{entry:?}");
        assert!(
            bill.changed < bill.cost && (bill.plain - bill.cost).abs() < 1e-6,
            "{bill:?}"
        );
        assert_eq!(entry.given_digest, entry.sent_digest);
    }
}

#[tokio::test]
async fn sessions_that_are_held_out_stay_as_they_are() {
    let config = Config {
        holdout: 1.0,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    let body = request(messages(2)).to_string();
    bench
        .post("/v1/messages", "k1", body.clone())
        .await
        .bytes()
        .await
        .unwrap();
    assert_eq!(bench.upstream.last().body, body);
    assert_eq!(
        bench.stop().await.entries(None).unwrap()[0].policy,
        "holdout"
    );
}
