//! Recorded conversations through the gateway: `recordings FOLDER [most]`. The folder holds JSON Lines of conversations (`id`,
//! `kind`, `messages`, `tools`). The list of each agent grows message by message, in the three forms, through gateways with
//! `append`, `shadow` and `off`, before the provider of the tests. It prints what was refused, what was dearer than the plain
//! twin, the bill relative to it, and how far `shadow`'s prediction is from the bill of `append`.

#![allow(clippy::unwrap_used, reason = "a tool of the tests")]

#[path = "recordings/lists.rs"]
mod lists;
#[path = "../tests/upstream/mod.rs"]
mod upstream;

use std::collections::BTreeMap;
use std::path::Path;

use accp_gateway::{Config, Gateway, Ledger, Policy, Prices, Provider};
use serde_json::Value as Json;
use tokio::sync::oneshot;
use upstream::Upstream;

use lists::{FORMS, Form, Grown};

/// What a conversation has cost, in tokens of plain input.
#[derive(Default, Clone, Copy)]
struct Spent {
    requests: u64,
    refused: u64,
    cost: f64,
    predicted: f64,
}

/// The sums of a kind of conversation, in one form.
#[derive(Default)]
struct Row {
    conversations: u64,
    requests: u64,
    refused: u64,
    dearer: u64,
    plain: f64,
    append: f64,
    shadow: f64,
}

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap();
    let most = arguments
        .next()
        .map_or(usize::MAX, |most| most.parse().unwrap());
    let mut rows: BTreeMap<(String, &str), Row> = BTreeMap::new();
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "jsonl"))
    {
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
        // A share of the conversations is taken evenly.
        let each = lines.len().div_ceil(most).max(1);
        for form in FORMS {
            let conversations: Vec<Grown> = lines
                .iter()
                .step_by(each)
                .flat_map(|line| {
                    Grown::of_agents(&serde_json::from_str::<Json>(line).unwrap(), form)
                })
                .collect();
            let plain = spent(&conversations, form, Policy::Off).await;
            let shadow = spent(&conversations, form, Policy::Shadow).await;
            let append = spent(&conversations, form, Policy::Append).await;
            let kind = file.file_stem().unwrap().to_string_lossy().into_owned();
            let row = rows.entry((kind.clone(), form.name())).or_default();
            for ((plain, shadow), append) in plain.iter().zip(&shadow).zip(&append) {
                row.conversations += 1;
                row.requests += append.requests;
                row.refused += append.refused + shadow.refused + plain.refused;
                row.dearer += u64::from(append.cost > plain.cost + 1e-6);
                row.plain += plain.cost;
                row.append += append.cost;
                row.shadow += shadow.predicted;
            }
            let (append, off) = (
                row.append / row.plain,
                (row.shadow / row.append - 1.0) * 100.0,
            );
            println!(
                "| {kind} | {} | {} | {} | {} | {} | {append:.3} | {off:+.2} % |",
                form.name(),
                row.conversations,
                row.requests,
                row.refused,
                row.dearer
            );
        }
    }
}

/// Sends conversations through a gateway, and returns what each has cost by the bill of the provider.
async fn spent(conversations: &[Grown], form: Form, policy: Policy) -> Vec<Spent> {
    let (upstream, url) = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.accp");
    let (url_of_gateway, end, ended) = gateway(&url, policy, &file).await;
    upstream.forget();
    let client = client();
    let provider = if form == Form::Messages {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    };
    let prices = Prices::of(provider, form.model());
    let mut all = Vec::new();
    let mut sessions = Vec::new();
    for conversation in conversations {
        let mut spent = Spent::default();
        let mut session = String::new();
        for body in conversation.requests() {
            let request = client.post(format!("{url_of_gateway}{}", form.path()));
            let request = request
                .header("x-api-key", &conversation.key)
                .header("content-type", "application/json");
            let answer = request
                .header("x-session-id", &conversation.key)
                .body(body)
                .send()
                .await
                .unwrap();
            if let Some(name) = answer.headers().get("x-accp-session") {
                session = name.to_str().unwrap().to_owned();
            }
            let status = answer.status();
            answer.bytes().await.unwrap();
            spent.requests += 1;
            let got = upstream.last();
            // A changed request that was refused and went out once more is seen by their number.
            let before = upstream.refusals();
            if status != 200 || before > 0 {
                eprintln!("{}: {status} {:?}", conversation.key, got.refused);
                spent.refused += 1;
            }
            if let Some(billed) = got.billed {
                spent.cost += billed.input as f64
                    + billed.written as f64 * prices.write
                    + billed.read as f64 * prices.read
                    + billed.output as f64 * prices.output;
            }
        }
        all.push(spent);
        sessions.push(session);
    }
    end.send(()).unwrap();
    ended.await.unwrap();
    let ledger = Ledger::open(&file).unwrap();
    for (spent, session) in all.iter_mut().zip(&sessions) {
        if session.is_empty() {
            continue;
        }
        let entries = ledger.entries(Some(session)).unwrap();
        spent.predicted = entries
            .iter()
            .filter_map(|entry| Some(entry.bill?.changed))
            .sum();
    }
    all
}

async fn gateway(
    url: &str,
    policy: Policy,
    file: &Path,
) -> (String, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        anthropic: url.to_owned(),
        openai: url.to_owned(),
        policy,
        ..Config::default()
    };
    let gateway = Gateway::bind(config, file).await.unwrap();
    let url = gateway.url();
    let (end, ends) = oneshot::channel();
    let ended = tokio::spawn(async move {
        let ends = async {
            let _ = ends.await;
        };
        gateway.run(ends).await.unwrap();
    });
    (url, end, ended)
}

fn client() -> reqwest::Client {
    let tls = rustls::ClientConfig::clone(&*accp_client::tls_settings(None).unwrap());
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls);
    client.no_proxy().build().unwrap()
}
