//! Lists at the edges: results that hardly have words, ids that say little, halves of characters, thoughts of a chat.

use std::sync::Arc;

use accp_frame::TokenCounter;
use accp_memory::{Form, Memory, MessageList, Promise, Window, check};
use serde_json::{Value as Json, json};
use time::Duration;

use super::{NOW, conversation, log, memory, page, prices, raws, results};
use crate::common::lists::list;

/// Counts words, so that lines without words cost nothing.
#[derive(Debug)]
struct Words;

impl TokenCounter for Words {
    fn name(&self) -> &'static str {
        "words"
    }

    fn count(&self, text: &str) -> usize {
        text.split_whitespace().count()
    }
}

fn call(id: &str, of: &str) -> Json {
    let arguments = json!({ "of": of }).to_string();
    json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": arguments } })
}

fn calls(calls: &[Json]) -> Json {
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn result(id: &str, text: &str) -> Json {
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

fn said(role: &str, text: &str) -> Json {
    json!({ "role": role, "content": text })
}

/// The lines between the ends of this result cost less than the mark that would stand for them.
#[test]
fn a_mark_that_costs_more_than_its_lines_leaves_nothing_out() {
    let steps = |from: usize, to: usize| {
        let steps = (from..to).map(|n| format!("step {n} of the build took one long time"));
        steps.collect::<Vec<_>>().join("\n")
    };
    let text = format!("{}{}{}", steps(0, 140), "\n".repeat(100), steps(140, 210));
    let given = conversation(Form::OpenAi, std::slice::from_ref(&text));
    let given = list(Form::OpenAi, &given);
    for (size, promise, has_tool) in [
        (4_000, Promise::Append, true),
        (1_500, Promise::Window, false),
    ] {
        let memory = Memory::new(Window::of(size).unwrap(), prices(), promise);
        let mut memory = memory.with_counter(Arc::new(Words));
        if has_tool {
            memory = memory.with_tool();
        }
        let (sent, report) = memory.to_send(&given, NOW);
        assert_eq!(results(&sent), [&*text], "{report:?}");
        assert!(report.cut.is_empty() && report.is_over != has_tool);
    }
}

/// Anthropic refuses a block whose text has no words.
#[test]
fn a_result_of_codes_alone_stays() {
    let codes = "\u{1b}[2K\u{1b}[1A\n".repeat(200);
    for form in Form::ALL {
        let given = list(form, &conversation(form, std::slice::from_ref(&codes)));
        let (sent, report) = memory(Promise::Append).to_send(&given, NOW);
        assert_eq!(raws(&sent), raws(&given));
        assert!(report.forms.is_empty());
    }
}

#[test]
fn an_id_that_would_break_a_mark_names_no_result() {
    let ids = ["a b", "q\"q", "x]", "l\nl", "message 0"];
    let mut messages = vec![said("user", "Look.")];
    for id in ids {
        messages.extend([calls(&[call(id, id)]), result(id, &format!("of {id}"))]);
    }
    let mut memory = memory(Promise::Append);
    let _ = memory.to_send(&list(Form::OpenAi, &messages), NOW);
    for (number, id) in (1..).zip(ids) {
        let name = number.to_string();
        let read = memory.read(&name, 1, 9);
        assert_eq!(read, Some(format!("of {id}")));
    }
    assert_eq!(memory.read("message 0", 1, 1).as_deref(), Some("Look."));
}

/// Returns what a step changes when the cache has gone: the results before and after.
fn after_a_night(messages: &[Json]) -> [Vec<String>; 2] {
    let mut memory = memory(Promise::Save);
    let (before, _) = memory.to_send(&list(Form::OpenAi, messages), NOW);
    let grown = [messages, &[said("user", "Still?")]].concat();
    let later = NOW + Duration::hours(9);
    let (after, _) = memory.to_send(&list(Form::OpenAi, &grown), later);
    [before, after].map(|list| results(&list))
}

/// Of two calls with one id, nobody can tell which one a result answers. So the second result is no newer state of the
/// first.
#[test]
fn two_calls_of_a_message_with_one_id_are_two() {
    for (second, is_superseded) in [("c1", false), ("c2", true)] {
        // With ids of their own, both calls ask for the same.
        let of = if is_superseded { "rye" } else { "oats" };
        let messages = [
            said("user", "Look."),
            calls(&[call("c1", "rye"), call(second, of)]),
            result("c1", &page(1, 60)),
            result(second, &page(500, 60)),
            said("assistant", "I see."),
        ];
        let [before, after] = after_a_night(&messages);
        assert_eq!(before != after, is_superseded, "{after:?}");
    }
}

/// In Responses each call is an item of its own, so two calls with one id wait in two items.
#[test]
fn two_items_that_wait_under_one_id_are_two() {
    for (second, is_superseded) in [("c1", false), ("c2", true)] {
        let of = if is_superseded { "rye" } else { "oats" };
        let call = |id: &str, of: &str| {
            let arguments = json!({ "of": of }).to_string();
            json!({ "type": "function_call", "call_id": id, "name": "look", "arguments": arguments })
        };
        let output = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
        let mut messages = vec![
            said("user", "Look."),
            call("c1", "rye"),
            call(second, of),
            output("c1", &page(1, 60)),
            output(second, &page(500, 60)),
            said("assistant", "I see."),
        ];
        let mut memory = memory(Promise::Save);
        let (before, _) = memory.to_send(&list(Form::Responses, &messages), NOW);
        messages.push(said("user", "Still?"));
        let later = NOW + Duration::hours(9);
        let (after, report) = memory.to_send(&list(Form::Responses, &messages), later);
        let is_same = raws(&after)[..6] == raws(&before)[..];
        assert_eq!(is_same, !is_superseded, "{report:?}");
        assert_eq!(check(&after).is_empty(), is_superseded);
    }
}

/// Some providers bind the thoughts of a chat to the list before them.
#[test]
fn signed_thoughts_of_a_chat_keep_the_list_before_them() {
    for key in ["text", "signature", "data"] {
        let mut thinks = calls(&[call("c2", "rye")]);
        thinks["reasoning_details"] = json!([{ "type": "reasoning.text", key: "abc" }]);
        let messages = [
            said("user", "Look."),
            calls(&[call("c1", "rye")]),
            result("c1", &page(1, 60)),
            thinks,
            result("c2", &page(500, 60)),
            said("assistant", "I see."),
        ];
        let [before, after] = after_a_night(&messages);
        assert_eq!(before != after, key == "text", "{key}");
    }
}

/// A text with half of a surrogate pair would become another text in another form.
#[test]
fn half_a_character_stays() {
    for (half, stays) in [("\\ud83d", true), ("\\u00e9", false)] {
        let messages = conversation(Form::OpenAi, &[log(40) + "HALF"]);
        let text = Json::from(messages).to_string().replace("HALF", half);
        let given = MessageList::read(&text, Some(Form::OpenAi)).unwrap();
        let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
        assert_eq!(raws(&sent) == raws(&given), stays, "{half}");
    }
}
