//! Tests of the traces that a hub sends to a collector of OpenTelemetry.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc;

use super::hub::Running;

/// A text that the test puts into a frame and a token. It must never occur in a span.
const SECRET: &str = "xyzzy";

/// Starts a collector that accepts one batch of spans. Returns its URL, and a receiver of the batch: the head of the
/// request, and its bytes.
fn collector() -> (String, mpsc::Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, batches) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let head = head.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
            .unwrap();
        sender.send((head, body)).unwrap();
    });
    (url, batches)
}

#[test]
fn a_collector_hears_who_did_what_under_the_span_of_the_caller() {
    let (collector, batches) = collector();
    let folder = tempfile::tempdir().unwrap();
    let (hub, url) = Running::hub(["--memory", "--otlp", &collector], folder.path());
    // The specification of the W3C has this example.
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let answer = ureq::post(format!("{url}/accp/v1/frames?session=lunch"))
        .content_type("application/accp")
        .header("traceparent", trace)
        .header("authorization", format!("Bearer {SECRET}"))
        .send(format!(
            "@dev>req:plan{{goal:{SECRET}}}[mid:a00000000001,seq:1]"
        ));
    assert_eq!(answer.unwrap().status().as_u16(), 200);
    // When the hub ends, it sends the spans that it has not sent yet.
    let (code, log) = hub.stop();
    assert_eq!((code, log.as_str()), (Some(0), ""));
    let (head, body) = batches.recv().unwrap();
    assert!(head.starts_with("post /v1/traces "), "{head}");
    assert!(
        head.contains("content-type: application/x-protobuf"),
        "{head}"
    );
    // Protocol Buffers store texts and bytes unchanged.
    let has = |bytes: &[u8]| body.windows(bytes.len()).any(|window| window == bytes);
    for text in [
        "accp-hub",
        "POST /accp/v1/frames",
        "http.response.status_code",
        "accp.session",
        "lunch",
        "accp.agent",
        "dev",
        "accp.outcome",
        "accepted",
    ] {
        assert!(has(text.as_bytes()), "{text}");
    }
    let parts: Vec<_> = trace.split('-').collect();
    for id in &parts[1..3] {
        let bytes = (0..id.len()).step_by(2);
        let bytes = bytes.map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
        assert!(has(&bytes.collect::<Vec<_>>()), "{id}");
    }
    assert!(!has(SECRET.as_bytes()));
}

#[test]
fn a_collector_that_is_not_there_stops_no_hub() {
    let folder = tempfile::tempdir().unwrap();
    // No process listens on a port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let otlp = format!("http://{free}");
    let (hub, url) = Running::hub(["--memory", "--otlp", &otlp], folder.path());
    super::accp(["send", "--hub", &url, "@dev>req:plan{}"], "").code_is(0);
    let (code, log) = hub.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("the collector cannot be reached"), "{log}");
    super::accp("serve --memory --otlp 'not a url'", "")
        .code_is(2)
        .stderr_has("--otlp not a url");
}
