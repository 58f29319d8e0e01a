//! Tests of clients that stop in the middle of a request, and of answers that are under way when the gateway ends.

use std::time::Duration;

use accp_gateway::{Config, Policy};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{pause, resume, sleep, timeout};

use crate::conversation::{Bench, messages, request};
use crate::upstream::Mood;

/// Opens a connection to a gateway, and writes this.
async fn begin(bench: &Bench, text: &str) -> TcpStream {
    let address = bench.url("").replace("http://", "");
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// Returns what comes until the gateway closes a connection. While nothing happens, the clock goes on at once.
async fn rest(stream: &mut TcpStream) -> String {
    // What was written arrives before the clock goes on.
    sleep(Duration::from_millis(300)).await;
    pause();
    let mut seen = Vec::new();
    let closed = timeout(Duration::from_secs(600), stream.read_to_end(&mut seen)).await;
    resume();
    let seen = String::from_utf8(seen).unwrap();
    assert!(closed.is_ok(), "the connection stays open after {seen:?}");
    seen
}

#[tokio::test]
async fn a_connection_whose_headers_stop_is_closed() {
    let bench = Bench::start(Policy::Append).await;
    let half = "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-le";
    for begun in ["", "P", half] {
        let mut stream = begin(&bench, begun).await;
        assert_eq!(rest(&mut stream).await, "", "{begun}");
    }
    let ready = "GET /accp/v1/gateway/ready HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    let mut stream = begin(&bench, &format!("{ready}{half}")).await;
    let seen = rest(&mut stream).await;
    assert!(seen.ends_with("\r\n\r\nready\n"), "{seen}");
    assert!(bench.upstream.got().is_empty());
}

#[tokio::test]
async fn a_body_that_stops_is_refused_with_the_time_that_is_over() {
    let mut bench = Bench::start(Policy::Append).await;
    for (path, more) in [
        ("/v1/messages", ""),
        ("/v1/messages", "x-accp: off\r\n"),
        ("/v1/messages/count_tokens", ""),
    ] {
        let half = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k1\r\n{more}content-length: 400\r\n\r\n{{\"model\""
        );
        let mut stream = begin(&bench, &half).await;
        let seen = rest(&mut stream).await;
        assert!(seen.starts_with("HTTP/1.1 408 "), "{path}, {more}{seen}");
        let told =
            "the request did not come whole: nothing more of its body came within 60 seconds";
        assert!(seen.contains(told), "{path}, {more}{seen}");
    }
    let entries = bench.stop().await.entries(None).unwrap();
    let faults: Vec<_> = entries
        .iter()
        .filter_map(|entry| entry.fault.as_deref())
        .collect();
    assert_eq!(
        faults,
        ["the request did not come whole: nothing more of its body came within 60 seconds"]
    );
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_a_fault_of_the_provider() {
    let bench = Bench::start(Policy::Append).await;
    for more in ["", "x-accp: off\r\n"] {
        let broken = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k1\r\n{more}transfer-encoding: chunked\r\n\r\n\
             5\r\n{{\"mod\r\nzz\r\n"
        );
        let mut stream = begin(&bench, &broken).await;
        let seen = rest(&mut stream).await;
        assert!(seen.starts_with("HTTP/1.1 400 "), "{more}{seen}");
        assert!(
            seen.contains("the request did not come whole: "),
            "{more}{seen}"
        );
        assert!(!seen.contains("may bill it"), "{more}{seen}");
    }
}

#[tokio::test]
async fn an_answer_that_the_end_of_the_gateway_breaks_off_has_its_row() {
    let mut bench = Bench::start(Policy::Append).await;
    bench.upstream.is(Mood::Waits);
    let mut body = request(messages(2));
    body["stream"] = json!(true);
    let mut answer = bench.post("/v1/messages", "k1", body.to_string()).await;
    assert!(answer.chunk().await.unwrap().is_some());
    pause();
    let entries = bench.stop().await.entries(None).unwrap();
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| (entry.status, entry.whole))
        .collect();
    assert_eq!(rows, [(200, false)]);
    assert!(answer.chunk().await.is_err(), "the answer breaks off");
}

#[tokio::test]
async fn a_reader_of_events_does_not_hold_the_end_up() {
    let mut bench = Bench::start(Policy::Append).await;
    let events = bench.client.get(bench.url("/accp/v1/gateway/events"));
    let events = events.send().await.unwrap();
    let ended = timeout(Duration::from_secs(5), bench.stop()).await;
    assert!(ended.is_ok(), "the gateway waits for a reader of events");
    assert!(events.bytes().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_request_that_is_given_up_before_its_answer_has_its_row() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config {
        policy: Policy::Append,
        anthropic: format!("http://{}", silent.local_addr().unwrap()),
        body_bytes: 10,
        ..Config::default()
    };
    let mut bench = Bench::with(config).await;
    let body = request(messages(2)).to_string();
    for more in ["", "x-accp: off\r\n"] {
        let whole = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k1\r\n{more}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        let client = begin(&bench, &whole).await;
        let (mut asked, _) = silent.accept().await.unwrap();
        asked.read_u8().await.unwrap();
        drop(client);
        // The gateway gives the request up, too.
        drop(asked.read_to_end(&mut Vec::new()).await);
    }
    let entries = bench.stop().await.entries(None).unwrap();
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| (entry.status, entry.whole))
        .collect();
    assert_eq!(rows, [(0, false), (0, false)]);
}

/// A client sends its next request on the same connection, unless the answer says that the connection closes.
#[tokio::test]
async fn a_refusal_before_the_body_says_that_the_connection_closes() {
    let config = Config {
        policy: Policy::Append,
        // Nobody listens there.
        anthropic: "http://127.0.0.1:1".to_owned(),
        ..Config::default()
    };
    let bench = Bench::with(config).await;
    for (path, more, status) in [
        ("/accp/nothing", "", 404),
        ("/v1/messages", "origin: https://page.example\r\n", 403),
        ("/v1/messages", "x-accp: off\r\n", 502),
    ] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: k1\r\n{more}content-length: 100000\r\n\r\n"
        );
        let mut stream = begin(&bench, &head).await;
        let seen = rest(&mut stream).await;
        assert!(seen.starts_with(&format!("HTTP/1.1 {status} ")), "{seen}");
        assert!(seen.contains("\r\nconnection: close\r\n"), "{seen}");
    }
    let ready = "GET /accp/nothing HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
    let mut stream = begin(&bench, ready).await;
    assert!(!rest(&mut stream).await.contains("connection: close"));
}
