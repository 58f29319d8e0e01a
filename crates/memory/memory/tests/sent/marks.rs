//! Marks are true, and a reader can follow them.

use accp_memory::{Form, Memory, Promise, Window};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{NOW, conversation, left_out, page, prices, results};
use crate::common::lists::list;

/// A picture of one pixel, as a GIF.
const PIXEL: &str = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";

fn memory(size: u64, promise: Promise) -> Memory {
    Memory::new(Window::of(size).unwrap(), prices(), promise)
}

/// Returns the references in a text to lines of other results: the name of the result and the numbers of its lines.
pub(super) fn again(text: &str) -> Vec<(String, usize, usize)> {
    let marks = text.lines().filter_map(|line| {
        let inside = line.strip_prefix("[line")?.trim_start_matches('s');
        let (numbers, rest) = inside.trim_start().split_once(" of result ")?;
        let (name, _) = rest.split_once(" again, from ")?;
        let (from, to) = numbers.split_once('-').unwrap_or((numbers, numbers));
        Some((name.to_owned(), from.parse().ok()?, to.parse().ok()?))
    });
    marks.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// A reference names only lines that stand in the list, whatever a step cuts.
    #[test]
    fn lines_that_are_said_to_stand_stand(
        pages in prop::collection::vec((0..4_usize, 40..90_usize), 4..16),
        size in 2_500..9_000_u64,
        fills in any::<bool>(),
    ) {
        let promise = if fills { Promise::Window } else { Promise::Append };
        let texts: Vec<String> = pages.iter().map(|(from, lines)| page(from * 12, *lines)).collect();
        let mut messages = conversation(Form::OpenAi, &texts);
        // Each call has an id of its own.
        let mut number = 0;
        for message in &mut messages {
            if message["role"] == "tool" {
                message["tool_call_id"] = format!("r{number}").into();
                number += 1;
            } else if message["role"] == "assistant" {
                message["tool_calls"][0]["id"] = format!("r{number}").into();
            }
        }
        let mut memory = memory(size, promise);
        for end in (3..=messages.len()).step_by(2) {
            let given = list(Form::OpenAi, &messages[..end]);
            let (sent, report) = memory.to_send(&given, NOW);
            let shown = results(&sent);
            let first = (end - 1) / 2 - shown.len();
            for text in &shown {
                for (name, from, to) in again(text) {
                    let at: usize = name.trim_start_matches('r').parse().unwrap();
                    let target = &shown[at - first];
                    let is_gone = left_out(target).iter().any(|(_, _, start, end)| from <= *end && *start <= to);
                    prop_assert!(!is_gone, "lines {from}-{to} of {name} do not stand: {target}");
                }
                for (_, name, from, to) in left_out(text) {
                    prop_assert!(memory.read(&name, from, to).is_some());
                }
            }
            let tokens: u64 = report.sent;
            let all: u64 = sent.messages().iter().map(|one| {
                let billed = one.billed(Form::OpenAi);
                billed.text.len() as u64 / 4
            }).sum();
            prop_assert!(tokens >= all, "{tokens} tokens of {all}");
        }
    }
}

#[test]
fn a_result_has_its_number_among_all_results() {
    let id = |at: usize| format!("call_of_a_provider_{at}");
    let mut messages = vec![json!({ "role": "user", "content": "Look." })];
    for at in 0..4 {
        let function = json!({ "name": "look", "arguments": json!({ "at": at }).to_string() });
        let call = json!({ "id": id(at), "type": "function", "function": function });
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        let text = page(at / 3, 60);
        // The results in the middle have several parts, and keep their form.
        let part = json!({ "type": "text", "text": text });
        let content = if at == 1 || at == 2 {
            json!([part, part])
        } else {
            text.into()
        };
        messages.push(json!({ "role": "tool", "tool_call_id": id(at), "content": content }));
    }
    let given = list(Form::OpenAi, &messages);
    let mut memory = memory(200_000, Promise::Append);
    let _ = memory.to_send(&given, NOW);
    assert!(memory.read("1", 1, 1).is_some() && memory.read("4", 1, 1).is_some());
    assert_eq!(memory.read("2", 1, 1), None);
    // After a restart, a new result still gets its number among all results.
    let mut again = self::memory(200_000, Promise::Append)
        .recall(&memory.remember())
        .unwrap();
    let function = json!({ "name": "look", "arguments": "{}" });
    let call = json!({ "id": id(4), "type": "function", "function": function });
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
    messages.push(json!({ "role": "tool", "tool_call_id": id(4), "content": "rye" }));
    let _ = again.to_send(&list(Form::OpenAi, &messages), NOW);
    assert_eq!(again.read("5", 1, 1).as_deref(), Some("rye"));
}

#[test]
fn a_picture_that_left_is_described_and_names_no_command() {
    let picture = json!({ "type": "image_url", "image_url": { "url": PIXEL } });
    let mut messages = vec![
        json!({ "role": "user", "content": "Here comes the plan." }),
        json!({ "role": "assistant", "content": "Send it." }),
        json!({ "role": "user", "content": [picture] }),
    ];
    for at in 0..12 {
        messages.push(
            json!({ "role": "assistant", "content": format!("Step {at}. {}", "rye ".repeat(300)) }),
        );
        messages.push(json!({ "role": "user", "content": "Go on." }));
    }
    let given = list(Form::OpenAi, &messages);
    let mut memory = memory(3_000, Promise::Window);
    let (sent, report) = memory.to_send(&given, NOW);
    assert!(report.left > 2);
    let line = "image image/gif, 1 x 1 pixels, 14 bytes; it was in message 2, and is to be asked for if it is needed again]";
    let texts: Vec<&Json> = sent
        .messages()
        .iter()
        .map(accp_memory::ListMessage::json)
        .collect();
    assert!(
        texts.iter().any(|text| text.to_string().contains(line)),
        "{texts:?}"
    );
    assert!(!sent.to_string().contains("accp context"));
    let read = memory.read("message 2", 1, 40).unwrap();
    assert_eq!(read, format!("[{line}"));
}
