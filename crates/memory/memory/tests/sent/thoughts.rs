//! Steps before thoughts that the provider binds to the exact list before them.

use std::sync::Arc;

use accp_frame::TokenCounter as _;
use accp_memory::{AROUND, Form, Memory, MessageList, Promise, Window, check};
use serde_json::{Value as Json, json};

use super::{NOW, left_out, page, prices, raws};
use crate::common::lists::list;
use crate::common::quarters::Quarters;

/// The calls of a turn.
const CALLS: usize = 3;

fn memory(promise: Promise) -> Memory {
    let memory = Memory::new(Window::of(3_000).unwrap(), prices(), promise);
    memory.with_counter(Arc::new(Quarters))
}

/// The signature of a thought.
fn seal(turn: usize, at: usize) -> String {
    format!("s{turn}x{at}")
}

fn id(turn: usize, call: usize) -> String {
    format!("c{turn}_{call}")
}

fn result(turn: usize, call: usize) -> String {
    page(1_000 + (turn * 10 + call) * 100, 60)
}

/// What the model says, with a bound thought, and the result of its call. The last answer of a turn has no call.
fn answer(form: Form, turn: usize, at: usize) -> Vec<Json> {
    let (seal, id, text) = (seal(turn, at), id(turn, at), result(turn, at));
    let is_last = at == CALLS;
    let said = format!("Table {turn} is read.");
    match form {
        Form::Anthropic => {
            let thought = json!({ "type": "thinking", "thinking": "Hm.", "signature": seal });
            if is_last {
                let said = json!({ "type": "text", "text": said });
                return vec![json!({ "role": "assistant", "content": [thought, said] })];
            }
            let call =
                json!({ "type": "tool_use", "id": id, "name": "look", "input": { "at": 1 } });
            let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            vec![
                json!({ "role": "assistant", "content": [thought, call] }),
                json!({ "role": "user", "content": [result] }),
            ]
        }
        Form::OpenAi => {
            let thought = json!([{ "type": "reasoning.text", "text": "Hm.", "signature": seal }]);
            if is_last {
                return vec![
                    json!({ "role": "assistant", "content": said, "reasoning_details": thought }),
                ];
            }
            let function = json!({ "name": "look", "arguments": "{}" });
            let call = json!({ "id": id, "type": "function", "function": function });
            vec![
                json!({ "role": "assistant", "content": null, "tool_calls": [call],
                    "reasoning_details": thought }),
                json!({ "role": "tool", "tool_call_id": id, "content": text }),
            ]
        }
        Form::Responses => {
            let thought = json!({ "type": "reasoning", "summary": [], "encrypted_content": seal });
            if is_last {
                return vec![thought, json!({ "role": "assistant", "content": said })];
            }
            vec![
                thought,
                json!({ "type": "function_call", "call_id": id, "name": "look", "arguments": "{}" }),
                json!({ "type": "function_call_output", "call_id": id, "output": text }),
            ]
        }
    }
}

/// Returns the texts of a value.
fn texts(json: &Json, out: &mut Vec<String>) {
    match json {
        Json::String(text) => out.push(text.clone()),
        Json::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Json::Object(map) => map.values().for_each(|item| texts(item, out)),
        _ => {}
    }
}

/// Checks that the marks of a list read back the very lines of the results.
fn assert_read_back(memory: &Memory, sent: &MessageList) {
    let mut all = Vec::new();
    for message in sent.messages() {
        texts(message.json(), &mut all);
    }
    for text in all.iter().filter(|text| !text.starts_with("[messages ")) {
        for (mark, name, from, to) in left_out(text) {
            let (turn, call) = name[1..].split_once('_').unwrap();
            let whole = result(turn.parse().unwrap(), call.parse().unwrap());
            let lines = whole.lines().map(str::trim_start);
            let lines: Vec<&str> = lines.skip(from - 1).take(to + 1 - from).collect();
            let read = memory.read(&name, from, to).unwrap();
            let read: Vec<&str> = read.lines().map(str::trim_start).collect();
            assert_eq!(read, lines, "{mark}");
        }
    }
}

/// Returns the tokens of a list by the texts that a provider bills.
fn billed(sent: &MessageList) -> u64 {
    let billed = sent.messages().iter().map(|message| {
        let billed = message.billed(sent.form());
        Quarters.count(&billed.text) as u64 + billed.media + AROUND
    });
    billed.sum()
}

/// Each thought that is sent stands behind the very list and tools behind which it was made, and no thought of the
/// newest turn is missing. The other ones leave with the step that changes the list before them.
#[test]
fn no_thought_stands_behind_another_list() {
    for form in Form::ALL {
        for promise in [Promise::Append, Promise::Window] {
            let case = format!("{form:?} {promise:?}");
            let mut kept = memory(promise);
            let mut messages: Vec<Json> = Vec::new();
            // The signature of each thought, the list before it, and whether the request had the tool.
            let mut made: Vec<(String, Vec<String>, bool)> = Vec::new();
            let (mut dropped, mut held, mut definition) = (0, 0, 0);
            for turn in 0..8 {
                messages.push(json!({ "role": "user", "content": format!("Read table {turn}.") }));
                for call in 0..=CALLS {
                    let given = list(form, &messages);
                    let (sent, report) = kept.to_send(&given, NOW);
                    let now = raws(&sent);
                    assert_eq!(check(&sent), [], "{case}");
                    let at = |seal: &str| now.iter().position(|raw| raw.contains(seal));
                    for (seal, before, had_tool) in &made {
                        if let Some(at) = at(seal) {
                            assert_eq!(&now[..at], &before[..], "{case} {seal}");
                            assert_eq!(report.needs_tool, *had_tool, "{case} {seal}");
                        }
                    }
                    for earlier in 0..call {
                        assert!(
                            at(&seal(turn, earlier)).is_some(),
                            "{case} {turn} {earlier}"
                        );
                    }
                    let is_inside = promise == Promise::Append || !report.is_over;
                    assert!(is_inside || report.held.is_some(), "{case}: {report:?}");
                    // No step drops thoughts where the newest turn has some.
                    assert!(report.thoughts.is_empty() || report.step.is_some() && call == 0);
                    let beside = report.sent - billed(&sent);
                    definition = definition.max(beside);
                    let expected = if report.needs_tool { definition } else { 0 };
                    assert_eq!(beside, expected, "{case}");
                    assert_read_back(&kept, &sent);
                    let mut again = memory(promise).recall(&kept.remember()).unwrap();
                    assert_eq!(raws(&again.to_send(&given, NOW).0), now, "{case}");
                    dropped += report.thoughts.len();
                    held += usize::from(report.held.is_some());
                    made.push((seal(turn, call), now, report.needs_tool));
                    messages.extend(answer(form, turn, call));
                }
            }
            assert!(dropped > 0 && held > 0, "{case}: {dropped} {held}");
        }
    }
}

/// If the request asks the provider to drop such thoughts itself, they keep nothing as it is, and all of them are sent.
#[test]
fn thoughts_that_the_provider_drops_bind_nothing() {
    let mut messages = vec![json!({ "role": "user", "content": "Read all tables." })];
    for call in 0..2 * CALLS {
        messages.extend(answer(Form::Anthropic, call / CALLS, call % CALLS));
    }
    for told in ["drop_block", "error"] {
        let body = json!({ "model": "claude-m", "max_tokens": 100, "messages": messages, "thinking": {
            "type": "adaptive", "block_binding": { "prefix_mismatch_behavior": told } } });
        let given = MessageList::read(&body.to_string(), Some(Form::Anthropic)).unwrap();
        let (sent, report) = memory(Promise::Append).to_send(&given, NOW);
        let drops = told == "drop_block";
        assert_eq!(report.step.is_some(), drops, "{told}");
        assert_eq!(report.held.is_none(), drops, "{told}");
        assert!(report.thoughts.is_empty(), "{told}");
        for (sent, given) in sent.messages().iter().zip(given.messages()) {
            let is_result = given.raw().contains("tool_result");
            assert!(is_result && drops || sent.raw() == given.raw(), "{told}");
        }
    }
}
