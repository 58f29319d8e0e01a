//! Tests of answers that the provider has packed, although the request asked for none, and of answers that are too long.

use std::io::Write as _;

use accp_gateway::{Config, Policy};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::json;

use crate::client::{Api, page};
use crate::conversation::Bench;
use crate::edges::{ask, call, chunks, provider};

/// Returns an answer with these headers.
fn answer(headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n{headers}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn packed(encoding: &str, text: &str) -> Vec<u8> {
    let body = if encoding == "gzip" {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    } else {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        packed.finish().unwrap()
    };
    let length = body.len();
    let kind = "content-type: text/event-stream";
    let headers = format!("{kind}\r\ncontent-encoding: {encoding}\r\ncontent-length: {length}");
    answer(&headers, &body)
}

/// Starts a gateway whose lists lose lines, in front of this provider.
async fn bench(openai: String) -> Bench {
    let config = Config {
        openai,
        policy: Policy::Save,
        window: Some(6_000),
        ..Config::default()
    };
    Bench::with(config).await
}

#[tokio::test]
async fn calls_in_a_packed_answer_get_their_lines() {
    let first = chunks(&[json!({"content": "I look."}), call()], Some("tool_calls"));
    let last = chunks(&[json!({"content": "Table 9."})], Some("stop"));
    for encoding in ["gzip", "deflate"] {
        let answers = vec![packed(encoding, &first), packed(encoding, &last)];
        let (url, got) = provider(answers).await;
        let seen = ask(url, json!({})).await;
        assert!(!seen.headers().contains_key("content-encoding"));
        let text = seen.text().await.unwrap();
        assert!(
            text.contains("I look.") && text.contains("Table 9."),
            "{encoding}: {text}"
        );
        assert!(!text.contains("memory_read"), "{encoding}: {text}");
        let got = got.lock().unwrap();
        assert!(got[0].contains("accept-encoding: identity"), "{}", got[0]);
        assert!(got[1].contains(page(0).lines().nth(19).unwrap()));
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_unpacked_passes_and_the_ledger_says_so() {
    let body = b"\x0b\x02\x80x\x03";
    let headers = "content-type: application/json\r\ncontent-encoding: br\r\ncontent-length: 5";
    let (url, got) = provider(vec![answer(headers, body)]).await;
    let mut bench = bench(url).await;
    let asked = Api::Chat.body(&Api::Chat.list(6), false).to_string();
    let seen = bench.post(Api::Chat.path(), "k1", asked).await;
    assert_eq!(seen.headers()["content-encoding"], "br");
    assert_eq!(&seen.bytes().await.unwrap()[..], body);
    assert_eq!(got.lock().unwrap().len(), 1);
    let entries = bench.stop().await.entries(None).unwrap();
    let fault = entries[0].fault.as_deref().unwrap();
    assert!(fault.contains("has packed its answer (\"br\")"), "{fault}");
}

#[tokio::test]
async fn a_later_turn_that_cannot_be_unpacked_is_an_error_for_the_client() {
    let first = chunks(&[json!({"content": "I look."}), call()], Some("tool_calls"));
    let kind = "content-type: text/event-stream";
    let headers = format!("{kind}\r\ncontent-encoding: br\r\ncontent-length: 5");
    let last = answer(&headers, b"\x0b\x02\x80x\x03");
    let (url, _) = provider(vec![packed("gzip", &first), last]).await;
    let text = ask(url, json!({})).await.text().await.unwrap();
    assert!(text.contains("has packed its answer"), "{text}");
    assert!(!text.contains("memory_read"), "{text}");
}

#[tokio::test]
async fn a_whole_answer_that_is_too_long_is_passed_on_and_not_held() {
    // The answer does not say how long it is.
    let body = vec![b' '; (32 << 20) + 99];
    let (url, _) = provider(vec![answer("content-type: application/json", &body)]).await;
    let mut bench = bench(url).await;
    let asked = Api::Chat.body(&Api::Chat.list(6), false).to_string();
    let seen = bench.post(Api::Chat.path(), "k1", asked).await;
    assert!(seen.bytes().await.unwrap() == body);
    let entries = bench.stop().await.entries(None).unwrap();
    let fault = entries[0].fault.as_deref().unwrap();
    assert!(fault.contains("the answer has more than"), "{fault}");
    assert!(entries[0].whole);
}
