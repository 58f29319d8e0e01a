//! A conversation of an agent with tools, as a client sends it, and a gateway in front of a provider.

use std::path::Path;
use std::sync::Arc;

use accp_gateway::{Config, Gateway, Ledger, Policy};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::upstream::Upstream;

/// A gateway in front of a provider.
pub(crate) struct Bench {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) client: reqwest::Client,
    pub(crate) folder: TempDir,
    config: Config,
    running: Option<Running>,
}

struct Running {
    url: String,
    end: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Bench {
    pub(crate) async fn start(policy: Policy) -> Self {
        Self::with(Config {
            policy,
            ..Config::default()
        })
        .await
    }

    /// Starts a gateway with these settings, in front of a provider that has the APIs of both, where the settings name
    /// no other one.
    pub(crate) async fn with(config: Config) -> Self {
        let (upstream, url) = Upstream::start().await;
        let of = |named: String| {
            if named.starts_with("http://") {
                named
            } else {
                url.clone()
            }
        };
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            anthropic: of(config.anthropic),
            openai: of(config.openai),
            ..config
        };
        let mut bench = Self {
            upstream,
            client: client(),
            folder: TempDir::new().unwrap(),
            config,
            running: None,
        };
        bench.go().await;
        bench
    }

    /// Starts the gateway on its ledger.
    pub(crate) async fn go(&mut self) {
        let gateway = Gateway::bind(self.config.clone(), self.ledger_file())
            .await
            .unwrap();
        let url = gateway.url();
        let (end, ends) = oneshot::channel();
        let ended = tokio::spawn(async move {
            let ends = async {
                let _ = ends.await;
            };
            gateway.run(ends).await.unwrap();
        });
        self.running = Some(Running { url, end, ended });
    }

    /// Ends the gateway, and returns its ledger.
    pub(crate) async fn stop(&mut self) -> Ledger {
        let running = self.running.take().unwrap();
        running.end.send(()).unwrap();
        running.ended.await.unwrap();
        Ledger::open(self.ledger_file()).unwrap()
    }

    /// Ends the gateway and starts it again on its ledger.
    pub(crate) async fn restart(&mut self) {
        drop(self.stop().await);
        self.go().await;
    }

    /// Ends the gateway and starts it again with another policy.
    pub(crate) async fn restart_as(&mut self, policy: Policy) {
        self.config.policy = policy;
        self.restart().await;
    }

    pub(crate) fn ledger_file(&self) -> impl AsRef<Path> + use<> {
        self.folder.path().join("gateway.accp")
    }

    pub(crate) fn upstream_url(&self) -> &str {
        &self.config.anthropic
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.running.as_ref().unwrap().url)
    }

    /// Sends a body to a path, with the key of a client.
    pub(crate) async fn post(
        &self,
        path: &str,
        key: &str,
        body: impl Into<String>,
    ) -> reqwest::Response {
        let request = self.client.post(self.url(path)).header("x-api-key", key);
        let request = request.header("content-type", "application/json");
        request.body(body.into()).send().await.unwrap()
    }

    /// Sends a list to Anthropic's path, and returns what the provider got.
    pub(crate) async fn ask(&self, body: &Json) -> Json {
        let answer = self.post("/v1/messages", "k1", body.to_string()).await;
        assert_eq!(answer.status(), 200, "{}", answer.text().await.unwrap());
        answer.bytes().await.unwrap();
        self.upstream.last().json()
    }
}

/// Returns a client without a proxy.
fn client() -> reqwest::Client {
    builder().build().unwrap()
}

/// Returns the builder of a client without a proxy.
pub(crate) fn builder() -> reqwest::ClientBuilder {
    let tls = rustls::ClientConfig::clone(&*accp_client::tls_settings(None).unwrap());
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy()
}

/// Returns the result of a tool: JSON with this many records, which has a cheaper form.
pub(crate) fn rows(from: u64, rows: u64) -> String {
    let rows = (from..from + rows).map(|n| {
        json!({"slot": format!("K{n}"), "day": format!("2031-06-{:02}", n % 28 + 1), "free": n % 3 == 0, "note": null})
    });
    Json::Array(rows.collect()).to_string()
}

/// Returns the messages of a conversation after `calls` calls.
pub(crate) fn messages(calls: u64) -> Vec<Json> {
    let mut messages = vec![json!({"role": "user", "content": "Which slots are free?"})];
    for call in 0..calls {
        let id = format!("c{call}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "text", "text": format!("I look at page {call}.")},
            {"type": "tool_use", "id": id, "name": "slots", "input": {"page": call}},
        ]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "content": rows(call * 100, 30)},
        ]}));
    }
    messages
}

/// Returns a request with these messages, marked as clients mark them: the system prompt, and the newest message.
pub(crate) fn request(mut messages: Vec<Json>) -> Json {
    let newest = messages.last_mut().unwrap();
    if newest["content"].is_string() {
        let text = newest["content"].take();
        newest["content"] = json!([{"type": "text", "text": text}]);
    }
    let block = newest["content"]
        .as_array_mut()
        .unwrap()
        .last_mut()
        .unwrap();
    block["cache_control"] = json!({"type": "ephemeral"});
    json!({
        "model": "claude-m", "max_tokens": 100,
        "system": [{"type": "text", "text": "You book tables. ".repeat(200), "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "slots", "description": "Lists slots.", "input_schema": {"type": "object"}}],
        "messages": messages,
    })
}
