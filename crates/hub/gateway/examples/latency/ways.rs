//! The provider, and the two ways to reach it that the example measures: a bare proxy, and the gateway.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use accp_gateway::{Config, Gateway, Policy};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header;
use axum::response::Response;
use axum::serve::ListenerExt as _;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value as Json, json};

/// How long an answer takes.
pub(crate) const ANSWER: Duration = Duration::from_secs(4);
/// The number of events of an answer. The first event comes at once.
const EVENTS: u32 = 20;

/// A way that listens: a bare proxy or a gateway.
pub(crate) struct Way {
    pub(crate) url: String,
    is_gateway: bool,
    /// The folder of the ledger. It is deleted when the way is dropped.
    _folder: Option<tempfile::TempDir>,
}

impl Way {
    /// Returns the time that the gateway took before it sent requests on, by its own report: the median and the 99th
    /// percentile.
    pub(crate) async fn own(&self) -> Option<(u64, u64)> {
        if !self.is_gateway {
            return None;
        }
        let url = format!("{}/accp/v1/gateway/report?by=model", self.url);
        let text = client()
            .get(url)
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        let report: Json = serde_json::from_slice(&text).unwrap();
        let own = &report["all"]["added_us"];
        Some((own[0].as_u64().unwrap(), own[1].as_u64().unwrap()))
    }
}

/// Returns a client without a proxy, of HTTP/2.
pub(crate) fn client() -> reqwest::Client {
    builder().http2_prior_knowledge().build().unwrap()
}

fn builder() -> reqwest::ClientBuilder {
    let tls = rustls::ClientConfig::clone(&*accp_client::tls_settings(None).unwrap());
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().tcp_nodelay(true)
}

/// Starts the provider in a process of its own, and returns its URL.
pub(crate) fn provider() -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut process = command
        .arg("upstream")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    (process, line.trim().to_owned())
}

async fn serve(routes: Router) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

/// Runs the provider.
pub(crate) async fn upstream() -> String {
    let answer =
        async |_: Bytes| {
            let events = (0..EVENTS).map(|number| {
            let json = match number {
                0 => json!({"type": "message_start", "message": {"model": "claude-m", "content": [],
                    "usage": {"input_tokens": 900, "output_tokens": 1}}}),
                number if number + 1 == EVENTS => json!({"type": "message_stop"}),
                _ => json!({"type": "content_block_delta", "index": 0,
                    "delta": {"type": "text_delta", "text": "a few words of an answer"}}),
            };
            let kind = json["type"].as_str().unwrap();
            (number, format!("event: {kind}\ndata: {json}\n\n"))
        });
            let begun = tokio::time::Instant::now();
            let events = stream::iter(events).then(move |(number, event)| async move {
                tokio::time::sleep_until(begun + ANSWER * number / (EVENTS - 1)).await;
                Ok::<_, std::io::Error>(event)
            });
            let mut response = Response::new(Body::from_stream(events));
            let kind = header::HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        };
    let routes = Router::new().fallback(answer);
    serve(routes.layer(DefaultBodyLimit::max(64 << 20))).await
}

/// Starts a proxy that passes everything on.
pub(crate) async fn bare(upstream: &str) -> Way {
    let state = Arc::new((builder().build().unwrap(), upstream.to_owned()));
    let pass = async |State(state): State<Arc<(reqwest::Client, String)>>, request: Request| {
        let (client, upstream) = &*state;
        let (parts, body) = request.into_parts();
        let mut headers = parts.headers;
        headers.remove(header::HOST);
        let sent = client
            .request(parts.method, format!("{upstream}{}", parts.uri.path()))
            .headers(headers)
            .body(reqwest::Body::wrap_stream(body.into_data_stream()));
        let answer = sent.send().await.unwrap();
        let mut response = Response::new(Body::empty());
        *response.status_mut() = answer.status();
        *response.headers_mut() = answer.headers().clone();
        for name in [header::TRANSFER_ENCODING, header::CONNECTION] {
            response.headers_mut().remove(name);
        }
        *response.body_mut() = Body::from_stream(answer.bytes_stream());
        response
    };
    Way {
        url: serve(Router::new().fallback(pass).with_state(state)).await,
        is_gateway: false,
        _folder: None,
    }
}

/// Starts a gateway.
pub(crate) async fn gateway(upstream: &str, policy: Policy) -> Way {
    let folder = tempfile::tempdir().unwrap();
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        anthropic: upstream.to_owned(),
        openai: upstream.to_owned(),
        policy,
        ..Config::default()
    };
    let gateway = Gateway::bind(config, folder.path().join("gateway.accp"))
        .await
        .unwrap();
    let url = gateway.url();
    tokio::spawn(async move { gateway.run(std::future::pending()).await });
    Way {
        url,
        is_gateway: true,
        _folder: Some(folder),
    }
}

/// Returns the memory of this process, in KB.
pub(crate) fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Returns the CPU time of this process so far, in milliseconds. It is the sum of fields 14 and 15 of
/// `/proc/self/stat`, which count hundredths of a second.
pub(crate) fn worked() -> f64 {
    let state = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let behind = state.rsplit(") ").next().unwrap_or_default();
    let ticks = behind.split(' ').skip(11).take(2);
    ticks
        .filter_map(|ticks| ticks.parse::<f64>().ok())
        .sum::<f64>()
        * 10.0
}
