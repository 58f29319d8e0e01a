//! When a result keeps its text: if a cheaper form would cost more in the end, or an edit has to match the text.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use accp_frame::TokenCounter;
use accp_memory::{Form, Memory, Prices, Promise, Window};
use serde_json::{Value as Json, json};

use super::{NOW, conversation, log, memory, page, raws, results};
use crate::common::lists::list;

/// A cache that keeps no list below a minimum: a list that a form makes shorter than that stays as it is.
#[test]
fn a_form_keeps_a_list_above_the_minimum_of_the_cache() {
    let given = list(Form::OpenAi, &conversation(Form::OpenAi, &[log(40)]));
    let sent = |prices: Prices| {
        let mut memory = Memory::new(Window::of(90_000).unwrap(), prices, Promise::Append);
        let (sent, report) = memory.to_send(&given, NOW);
        (raws(&sent) != raws(&given), report.sent)
    };
    let free = Prices::default().with_step(1).with_minimum(0);
    let (is_formed, tokens) = sent(free);
    assert!(is_formed);
    assert!(sent(free.with_minimum(tokens)).0);
    assert!(!sent(free.with_minimum(tokens + 1)).0);
}

/// A cache may keep only whole steps. Then forms begin when they have saved a step.
#[test]
fn forms_begin_once_they_save_a_step() {
    let messages = conversation(Form::OpenAi, &[log(12), log(40), page(9, 20), page(9, 20)]);
    let given = list(Form::OpenAi, &messages);
    let sent = |step| {
        let prices = Prices::default().with_step(step).with_minimum(0);
        let mut memory = Memory::new(Window::of(90_000).unwrap(), prices, Promise::Append);
        let (sent, _) = memory.to_send(&given, NOW);
        let given = results(&given);
        let changed = results(&sent).into_iter().zip(given);
        changed
            .map(|(sent, given)| sent != given)
            .collect::<Vec<_>>()
    };
    assert_eq!(sent(1), [true; 4]);
    assert_eq!(sent(128), [false, true, true, true]);
    assert_eq!(sent(100_000), [false; 4]);
}

/// Where the agent has a tool that finds a text in a file, the texts of files stay as they are.
#[test]
fn what_an_edit_has_to_match_stays_to_the_letter() {
    let call = |id: &str, tool: &str, arguments: Json| {
        let function = json!({ "name": tool, "arguments": arguments.to_string() });
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": id, "type": "function", "function": function }] })
    };
    let result =
        |id: &str, text: String| json!({ "role": "tool", "tool_call_id": id, "content": text });
    let reads = [
        json!({ "role": "user", "content": "Mend it." }),
        call("c1", "open", json!({ "path": "a.rs" })),
        result("c1", page(1, 40)),
        call("c2", "open", json!({ "path": "a.rs" })),
        result("c2", page(1, 40)),
        call("c3", "run", json!({ "command": "make" })),
        result("c3", log(40)),
    ];
    let changed = |before: &[Json]| {
        let messages = [before, &reads[..]].concat();
        let given = list(Form::OpenAi, &messages);
        let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
        let (sent, given) = (raws(&sent), raws(&given));
        ["c2", "c3"].map(|id| {
            let id = format!("\"tool_call_id\":\"{id}\"");
            let at = given.iter().position(|raw| raw.contains(&id)).unwrap();
            sent[at] != given[at]
        })
    };
    assert_eq!(changed(&[]), [true, true]);
    let edit = call(
        "c0",
        "swap",
        json!({ "path": "b.rs", "old_text": "x", "new_text": "y" }),
    );
    assert_eq!(changed(&[edit, result("c0", "done".into())]), [false, true]);
    // The tools of the request may also show that there are such edits.
    let request = |properties: Json| {
        let schema = json!({ "type": "object", "properties": properties });
        let tool =
            json!({ "type": "function", "function": { "name": "swap", "parameters": schema } });
        let body = json!({ "model": "m", "tools": [tool], "messages": reads });
        let given = accp_memory::MessageList::read(&body.to_string(), None).unwrap();
        let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
        raws(&sent)[4] != raws(&given)[4]
    };
    let text = json!({ "type": "string" });
    assert!(request(json!({ "path": text, "text": text })));
    assert!(!request(
        json!({ "path": text, "old_string": text, "new_string": text })
    ));
}

#[test]
fn prices_are_numbers_from_0_on() {
    for (read, write) in [
        (f64::NAN, 1.0),
        (0.1, f64::NAN),
        (f64::INFINITY, 1.0),
        (0.1, f64::NEG_INFINITY),
        (-0.1, 1.0),
    ] {
        let refused = Prices::new(read, write).unwrap_err().to_string();
        assert!(refused.starts_with("expected the price of a "), "{refused}");
    }
    let free = Prices::new(0.0, 0.0).unwrap().with_step(0);
    assert_eq!((free.read(), free.write(), free.step()), (0.0, 0.0, 1));
    let mut memory = Memory::new(Window::of(9_000).unwrap(), free, Promise::Save);
    memory.to_send(
        &list(Form::OpenAi, &conversation(Form::OpenAi, &[log(9)])),
        NOW,
    );
    let again = Memory::new(Window::of(9_000).unwrap(), free, Promise::Save);
    assert!(again.recall(&memory.remember()).is_ok());
}

/// Adds up the bytes of all texts that it counts.
#[derive(Debug, Default)]
struct Asked(AtomicUsize);

impl TokenCounter for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn count(&self, text: &str) -> usize {
        self.0.fetch_add(text.len(), Ordering::Relaxed);
        text.len().div_ceil(4)
    }
}

/// If a list has grown by a message, only this message is counted, however long the list is.
#[test]
fn a_list_that_grew_costs_what_is_new() {
    for promise in [Promise::Append, Promise::Save, Promise::Window] {
        let counted = |turns: usize| {
            let texts: Vec<String> = (0..turns).map(|at| page(at * 1_000, 120)).collect();
            let messages = conversation(Form::OpenAi, &texts);
            let asked = Arc::new(Asked::default());
            let window = Window::of(90_000_000).unwrap();
            let mut memory =
                Memory::new(window, super::prices(), promise).with_counter(Arc::clone(&asked) as _);
            // Two lists are sent first, because a promise may look once at old results.
            for end in [messages.len() - 4, messages.len() - 2] {
                memory.to_send(&list(Form::OpenAi, &messages[..end]), NOW);
            }
            let before = asked.0.load(Ordering::Relaxed);
            memory.to_send(&list(Form::OpenAi, &messages), NOW);
            asked.0.load(Ordering::Relaxed) - before
        };
        let (few, many) = (counted(30), counted(300));
        assert!(many < few + few / 4, "{promise:?}: {few}, {many}");
    }
}
