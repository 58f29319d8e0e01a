//! Kills a gateway again and again under load: `kills [times]`, 200 times without an argument. Agents with tools hold
//! conversations through the gateway, half of them with signed thoughts. If a connection breaks, an agent sends its
//! request again, as clients do. The provider of the tests refuses a thought that follows another list than before, a
//! call without a result, and a result without a call. The gateway runs with the policy `window` in a process of its
//! own. This process gets SIGKILL within a quarter of a second, and starts again on its ledger. The example fails if
//! the provider refuses anything, or if a conversation does not go on.

#![allow(clippy::unwrap_used, reason = "a tool of the tests")]

#[path = "../tests/upstream/mod.rs"]
mod upstream;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use accp_gateway::{Config, Gateway, Ledger, Policy};
use serde_json::{Value as Json, json};
use upstream::Upstream;

/// How many agents ask at the same time.
const AGENTS: u64 = 8;
/// The number of turns of a conversation.
const TURNS: u64 = 14;

/// The counters that all agents share.
#[derive(Default)]
struct Counts {
    is_over: AtomicBool,
    asked: AtomicU64,
    answered: AtomicU64,
    conversations: AtomicU64,
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, listen, upstream, file] = &arguments[..]
        && mode == "gateway"
    {
        return serve(listen.parse().unwrap(), upstream, Path::new(file)).await;
    }
    let times = arguments
        .first()
        .map_or(200, |times| times.parse().unwrap());
    let (provider, url) = Upstream::start().await;
    provider.forget();
    provider.set_rules(
        r#"[{"tool": "memory_read", "input": {"result": "{n}", "from": 2, "to": 5}, "times": 99, "every": 5},
            {"tool": "slots", "input": {"page": "{n}"}, "times": 99}]"#,
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.accp");
    let (mut process, address) = start("127.0.0.1:0", &url, &file);
    let counts = Arc::new(Counts::default());
    let agents: Vec<_> = (0..AGENTS)
        .map(|agent| tokio::spawn(talk(agent, address.clone(), Arc::clone(&counts))))
        .collect();
    let mut random = 1_u64;
    for _ in 0..times {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        tokio::time::sleep(Duration::from_millis(random >> 56)).await;
        process.kill().unwrap();
        process.wait().unwrap();
        (process, _) = start(&address, &url, &file);
    }
    counts.is_over.store(true, Ordering::Relaxed);
    for agent in agents {
        agent.await.unwrap();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let refused = provider.refusals();
    let entries = Ledger::open(&file).unwrap().entries(None).unwrap();
    let read: u64 = entries.iter().map(|entry| entry.turns).sum();
    let repeated = entries.iter().filter(|entry| entry.repeated).count();
    println!(
        "{times} kills: {} requests, {} answers, {} conversations; {} rows in the ledger, {read} readings; refused {refused}, repeated \
         {repeated}",
        of(&counts.asked),
        of(&counts.answered),
        of(&counts.conversations),
        entries.len(),
    );
    assert_eq!((refused, repeated), (0, 0));
    assert!(of(&counts.conversations) > 0 && read > 0);
}

/// Runs a gateway until somebody kills it.
async fn serve(listen: SocketAddr, upstream: &str, file: &Path) {
    let config = Config {
        listen,
        anthropic: upstream.to_owned(),
        openai: upstream.to_owned(),
        policy: Policy::Window,
        window: Some(6_000),
        ..Config::default()
    };
    let gateway = Gateway::bind(config, file).await.unwrap();
    println!("{}", gateway.url());
    gateway.run(std::future::pending()).await.unwrap();
}

/// Starts a gateway, and returns its address.
fn start(listen: &str, upstream: &str, file: &Path) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["gateway", listen, upstream]).arg(file);
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(process.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().to_owned();
    (process, address)
}

/// Holds conversations until the last kill is over.
async fn talk(agent: u64, address: String, counts: Arc<Counts>) {
    let client = client();
    let thinks = agent.is_multiple_of(2);
    let mut number = 0;
    while !counts.is_over.load(Ordering::Relaxed) {
        number += 1;
        let name = format!("{agent}-{number}");
        let mut messages =
            vec![json!({"role": "user", "content": format!("Which slots are free for {name}?")})];
        for turn in 0..TURNS {
            let body = body(&messages, thinks);
            let content = loop {
                counts.asked.fetch_add(1, Ordering::Relaxed);
                let request = client
                    .post(format!("http://{address}/v1/messages"))
                    .header("x-api-key", "k1")
                    .header("x-session-id", &name);
                let Ok(answer) = request.body(body.clone()).send().await else {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    continue;
                };
                let status = answer.status();
                // If an answer breaks off, the agent sends the request again.
                let Ok(bytes) = answer.bytes().await else {
                    continue;
                };
                let json: Json = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(status, 200, "{name}, turn {turn}: {json}");
                break json["content"].clone();
            };
            counts.answered.fetch_add(1, Ordering::Relaxed);
            let blocks = content.as_array().unwrap();
            let call = blocks.iter().find(|block| block["type"] == "tool_use");
            let id = call.map(|call| call["id"].clone());
            messages.push(json!({"role": "assistant", "content": content}));
            let Some(id) = id else { break };
            messages.push(json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": id, "content": page(agent * 1_000 + number * 100 + turn)}]}));
        }
        counts.conversations.fetch_add(1, Ordering::Relaxed);
    }
}

fn body(messages: &[Json], thinks: bool) -> String {
    let mut body = json!({"model": "claude-m", "max_tokens": 99, "messages": messages,
        "tools": [{"name": "slots", "description": "Lists slots.", "input_schema": {"type": "object"}}]});
    if thinks {
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    }
    body.to_string()
}

/// Returns a result of a tool. Its lines occur in no other result.
fn page(number: u64) -> String {
    let lines = (0..60).map(|n| format!("slot {number}-{n} is free on day {}", n * 31 % 28));
    lines.collect::<Vec<_>>().join("\n")
}

fn client() -> reqwest::Client {
    let tls = rustls::ClientConfig::clone(&*accp_client::tls_settings(None).unwrap());
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().build().unwrap()
}
