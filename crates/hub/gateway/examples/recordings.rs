//! Sends recorded conversations through the gateway: `recordings FOLDER [most]`. The folder holds JSON Lines of
//! conversations (`id`, `kind`, `messages`, `tools`). The list of each agent grows message by message, in each of the
//! three forms. It goes to the provider of the tests through gateways with the policies `off`, `append`, `save`, and
//! `save` and `window` with 8,192 tokens, and through a gateway with `shadow` that predicts the same policy. The run
//! with `off` is the *plain twin* of the others.
//!
//! For each policy, the example prints: the conversations, the requests, the refused requests, the conversations that
//! cost more than their plain twin, the bill relative to that of the plain twin, how far the plain bill in the ledger
//! is from the bill of the plain twin, how far the prediction of `shadow` is from the bill, the requests before which
//! something left a list, and how many marks of the last lists the model could not read back.

#![allow(clippy::unwrap_used, reason = "a tool of the tests")]

#[path = "recordings/lists.rs"]
mod lists;
#[path = "recordings/read.rs"]
mod read;
#[path = "../tests/upstream/mod.rs"]
mod upstream;

use std::path::Path;

use accp_gateway::{Config, Gateway, Ledger, Policy, Prices, Provider};
use serde_json::Value as Json;
use tokio::sync::oneshot;
use upstream::Upstream;

use lists::{FORMS, Form, Grown};
use read::{Read, Texts};

/// What a conversation has cost, in tokens of plain input.
#[derive(Default, Clone, Copy)]
struct Spent {
    requests: u64,
    refused: u64,
    cost: f64,
    predicted: f64,
    steps: u64,
    read: Read,
}

/// The sums of a kind of conversation, in one form, through one policy.
#[derive(Default)]
struct Row {
    requests: u64,
    refused: u64,
    dearer: u64,
    plain: f64,
    cost: f64,
    predicted: f64,
    steps: u64,
    read: Read,
}

impl Row {
    fn add(&mut self, plain: &Spent, spent: &Spent) {
        self.requests += spent.requests;
        self.refused += spent.refused;
        self.dearer += u64::from(spent.cost > plain.cost + 1e-6);
        self.plain += plain.cost;
        self.cost += spent.cost;
        self.predicted += spent.predicted;
        self.steps += spent.steps;
        self.read.marks += spent.read.marks;
        self.read.lost += spent.read.lost;
    }
}

/// The policies, each with its window. The first one is the plain twin.
const POLICIES: [(Policy, Option<u64>); 5] = [
    (Policy::Off, None),
    (Policy::Append, None),
    (Policy::Save, None),
    (Policy::Save, Some(8_192)),
    (Policy::Window, Some(8_192)),
];

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap();
    let most = arguments
        .next()
        .map_or(usize::MAX, |most| most.parse().unwrap());
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
        // At most `most` conversations are taken, spread evenly over the file.
        let each = lines.len().div_ceil(most).max(1);
        let kind = file.file_stem().unwrap().to_string_lossy().into_owned();
        for form in FORMS {
            let conversations: Vec<Grown> = lines
                .iter()
                .step_by(each)
                .flat_map(|line| {
                    Grown::of_agents(&serde_json::from_str::<Json>(line).unwrap(), form)
                })
                .collect();
            let mut plain = Vec::new();
            for (policy, window) in POLICIES {
                let config = Config {
                    policy,
                    window,
                    ..Config::default()
                };
                let through = spent(&conversations, form, &config).await;
                if policy == Policy::Off {
                    plain.clone_from(&through);
                }
                let shadow = if policy == Policy::Off {
                    through.clone()
                } else {
                    let shadow = Config {
                        policy: Policy::Shadow,
                        predict: policy,
                        ..config
                    };
                    spent(&conversations, form, &shadow).await
                };
                let row_of = |all: &[Spent]| {
                    let mut row = Row::default();
                    let pairs = plain.iter().zip(all);
                    pairs.for_each(|(plain, spent)| row.add(plain, spent));
                    row
                };
                let (row, shadow) = (row_of(&through), row_of(&shadow));
                let window = window.map_or(String::new(), |window| format!(" {window}"));
                let beside = |one: f64, other: f64| (one / other - 1.0) * 100.0;
                println!(
                    "| {kind} | {} | {policy}{window} | {} | {} | {} | {} | {:.4} | {:+.2} % | {:+.2} % | {} | {} of {} |",
                    form.name(),
                    through.len(),
                    row.requests,
                    row.refused,
                    row.dearer,
                    row.cost / row.plain,
                    beside(row.predicted, row.plain),
                    beside(shadow.predicted, row.cost),
                    row.steps,
                    row.read.lost,
                    row.read.marks,
                );
            }
        }
    }
}

/// Sends conversations through a gateway, and returns what each has cost by the bill of the provider.
async fn spent(conversations: &[Grown], form: Form, config: &Config) -> Vec<Spent> {
    let (policy, cuts) = (
        config.policy,
        matches!(config.policy, Policy::Save | Policy::Window),
    );
    let (upstream, url) = Upstream::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway.accp");
    let (url_of_gateway, end, ended) = gateway(&url, config.clone(), &file).await;
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
        let ask = async |body: String| {
            let request = client.post(format!("{url_of_gateway}{}", form.path()));
            let request = request
                .header("x-api-key", &conversation.key)
                .header("content-type", "application/json");
            let request = request.header("x-session-id", &conversation.key);
            request.body(body).send().await.unwrap()
        };
        let mut texts = Texts::default();
        let mut last = String::new();
        for body in conversation.requests() {
            last.clone_from(&body);
            let answer = ask(body).await;
            if let Some(name) = answer.headers().get("x-accp-session") {
                session = name.to_str().unwrap().to_owned();
            }
            let status = answer.status();
            answer.bytes().await.unwrap();
            spent.requests += 1;
            let got = upstream.last();
            // A changed request may have been refused although its original then went through. The count of refusals
            // shows this.
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
            if cuts {
                texts.add(&got.json());
            }
        }
        if !last.is_empty() && cuts {
            texts.end(&serde_json::from_str(&last).unwrap());
            spent.read = read::all(&upstream, &texts, async || {
                ask(last.clone()).await.bytes().await.unwrap();
            })
            .await;
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
        let asked = usize::try_from(spent.requests).unwrap();
        for entry in entries.iter().take(asked) {
            spent.predicted += entry.bill.map_or(0.0, |bill| match policy {
                Policy::Shadow => bill.changed,
                _ => bill.plain,
            });
            spent.steps += u64::from(entry.note.is_some());
        }
    }
    all
}

async fn gateway(
    url: &str,
    config: Config,
    file: &Path,
) -> (String, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let config = Config {
        listen: ([127, 0, 0, 1], 0).into(),
        anthropic: url.to_owned(),
        openai: url.to_owned(),
        ..config
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
