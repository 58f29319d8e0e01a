//! A conversation that grows by turns.

use std::fmt::Write as _;

use accp_testkit::Rng;
use serde_json::{Value as Json, json};

/// Adds a turn: a question, calls with results of different lengths, and an answer. Each tool has a name of its
/// own, so that the names of files differ even within a second.
pub(crate) fn grow(messages: &mut Vec<Json>, rng: &mut Rng) {
    let turn = messages.len();
    if turn == 0 {
        let rule = "You keep the ledger. You must never delete an entry.";
        messages.push(json!({"role": "system", "content": rule}));
    }
    let why = " Look at each entry before you answer.".repeat(rng.below(20) as usize);
    let ask = format!("What is the balance of account {turn}?{why}");
    messages.push(json!({"role": "user", "content": ask}));
    let calls: Vec<String> = (0..=rng.below(3))
        .map(|call| format!("c{turn}_{call}"))
        .collect();
    let call = |id: &String| {
        let name = format!("entries_{id}");
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}})
    };
    let all: Vec<Json> = calls.iter().map(call).collect();
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": all}));
    for id in calls {
        let text = (0..5 + rng.below(200)).fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "entry {line} of {id}: {}", rng.below(1000));
            text
        });
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": text}));
    }
    let answer = format!("The balance of account {turn} is {}.", rng.below(1000));
    messages.push(json!({"role": "assistant", "content": answer}));
}
