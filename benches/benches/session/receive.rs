//! Measures how many frames a host can take in a second.
//!
//! For each frame, the host does all checks (grammar, sender, envelope, id, number, expiry, chain, schema and types,
//! references), folds the frame, and makes the batch. The bench then decodes the frame as a handler would, and marks
//! it as handled. Nothing is stored or sent.

use std::hint::black_box;
use std::sync::Arc;

use accp_bench::talk::{self, Counter};
use accp_bench::{Goal, figure, many, race};
use accp_runtime::session::{MemberId, Session};
use accp_tokens::Bpe;
use serde::Deserialize;

/// The number of frames in a session. Then a new session begins.
const FRAMES: u64 = 1 << 15;
/// The number of frames in a batch.
const BATCH: usize = 64;

pub fn bench() {
    let texts: Vec<_> = (1..=FRAMES).map(talk::frame).collect();
    let peers: Vec<_> = (1..=FRAMES).map(json).collect();
    let mut at = 0;
    let serde_json = move || {
        at = if at == peers.len() { 0 } else { at };
        for (number, text) in (0..).zip(&peers[at..at + BATCH]) {
            if number % 2 == 0 {
                black_box(serde_json::from_str::<Request<'_>>(text).expect("valid"));
            } else {
                black_box(serde_json::from_str::<Report<'_>>(text).expect("valid"));
            }
        }
        at += BATCH;
        BATCH
    };
    let mut plain = Stream::new(&texts, None);
    let mut counting = Stream::new(&texts, Some(Arc::new(Bpe::o200k_base())));
    let finishes = race(
        "receive (x: times as fast as serde_json parses the same fields)",
        vec![
            many("serde_json, borrowed", serde_json),
            many("receive", || plain.batch()),
            many("receive, counting in o200k", || counting.batch()),
        ],
    );
    let speed = |finish: usize| 1e3 / finishes[finish].least;
    let unit = "million frames/s";
    println!("  in the round that the machine disturbed least:");
    figure(
        "receive, all checks but counting",
        speed(1),
        unit,
        Goal::AtLeast(1.0),
    );
    figure(
        "receive, counting, and a checkpoint every other frame",
        speed(2),
        unit,
        Goal::None,
    );
    println!();
}

/// An endless stream of frames that arrive at a host.
struct Stream<'t> {
    texts: &'t [String],
    at: usize,
    counter: Counter,
    host: Session,
    member: MemberId,
}

impl<'t> Stream<'t> {
    fn new(texts: &'t [String], counter: Counter) -> Self {
        let (host, member) = talk::host_with_member(&counter);
        Self {
            texts,
            at: 0,
            counter,
            host,
            member,
        }
    }

    fn batch(&mut self) -> usize {
        if self.at == self.texts.len() {
            (self.host, self.member) = talk::host_with_member(&self.counter);
            self.at = 0;
        }
        let texts = &self.texts[self.at..self.at + BATCH];
        let handled = talk::take(&mut self.host, self.member, texts, |batch| {
            black_box(batch);
        });
        assert_eq!(handled, BATCH);
        self.at += BATCH;
        BATCH
    }
}

/// The fields of a request, for the comparison with serde_json.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "a peer is read, not looked at")]
struct Request<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    assignee: &'a str,
    task: &'a str,
    priority: &'a str,
    deadline: Option<&'a str>,
    deps: Vec<&'a str>,
    msg_id: &'a str,
    sequence: u64,
    timestamp: i64,
    ttl: i64,
}

/// The fields of a report on a request, for the comparison with serde_json.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "a peer is read, not looked at")]
struct Report<'a> {
    agent: &'a str,
    intent: &'a str,
    operation: &'a str,
    task: &'a str,
    status: &'a str,
    progress: i64,
    msg_id: &'a str,
    sequence: u64,
    timestamp: i64,
    correlation_id: &'a str,
}

/// Returns the frame with this number as JSON.
fn json(number: u64) -> String {
    let mid = talk::mid(number);
    let value = if number % 2 == 1 {
        serde_json::json!({
            "agent": "planner", "intent": "req", "operation": "schedule",
            "assignee": "dev", "task": "impl_auth", "priority": "high",
            "deadline": "sprint_14", "deps": ["plan", "design"],
            "msg_id": mid, "sequence": number, "timestamp": 1_714_000_000, "ttl": 600,
        })
    } else {
        serde_json::json!({
            "agent": "planner", "intent": "done", "operation": "schedule",
            "task": "impl_auth", "status": "complete", "progress": 100,
            "msg_id": mid, "sequence": number, "timestamp": 1_714_000_000,
            "correlation_id": talk::mid(number - 1),
        })
    };
    value.to_string()
}
