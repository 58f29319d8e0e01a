//! Checks where Anthropic's thoughts stand, and whether a list may end with the assistant.

use serde_json::Value as Json;

use super::flaw::Flaws;
use super::pairs::turns;
use crate::finding::Code;
use crate::list::MessageList;
use crate::message::{ListMessage, Role};

pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    let messages = list.messages();
    let turns = turns(messages);
    let is_thought = |block: &Json| {
        let kind = block["type"].as_str();
        matches!(kind, Some("thinking" | "redacted_thinking"))
    };
    let counts = |at: &usize| messages[*at].role != Role::System;
    for turn in &turns {
        let end = turn.clone().rfind(counts);
        let end = end.filter(|at| messages[*at].role == Role::Assistant);
        if let Some(at) = end.filter(|at| messages[*at].blocks().last().is_some_and(is_thought)) {
            let text = "a turn of the assistant ends with a thought; keep what the model said or did after it, or drop \
                        the thought";
            flaws.at(Some(at)).add(Code::ThinkingPlace, text);
        }
    }
    let request = list.request();
    let mode = request["thinking"]["type"].as_str().unwrap_or_default();
    if mode == "enabled" {
        // The model's turn began after the user's last message that has something other than tool
        // results.
        let is_words = |turn: &&std::ops::Range<usize>| {
            let message = &messages[turn.start];
            message.role == Role::User && !only_results(message)
        };
        let begun = turns.iter().rfind(is_words).map_or(0, |turn| turn.end);
        let first = messages.iter().enumerate().skip(begun);
        let mut first = first.filter(|(_, message)| message.role == Role::Assistant);
        if let Some((at, message)) = first.next() {
            let starts = message.blocks().first().is_some_and(is_thought);
            let calls = message
                .blocks()
                .iter()
                .any(|block| block["type"] == "tool_use");
            if calls && !starts {
                let text = "thinking is on, and the turn with these calls does not begin with a thought; keep the \
                            thought that the model gave, or turn thinking off";
                flaws.at(Some(at)).add(Code::ThinkingPlace, text);
            }
        }
    }
    let refused = matches!(mode, "enabled" | "adaptive") || !takes_prefill(&request["model"]);
    let Some((at, end)) = messages.iter().enumerate().next_back() else {
        return;
    };
    if refused && end.role == Role::Assistant && !goes_on(end) {
        let text = "the list ends with the assistant, and this model, or thinking, takes no words to go on with; end \
                    with a turn of the user";
        flaws.at(Some(at)).add(Code::EndsWithAssistant, text);
    }
}

fn only_results(message: &ListMessage) -> bool {
    let mut blocks = message.blocks().iter();
    !message.blocks().is_empty() && blocks.all(|block| block["type"] == "tool_result")
}

/// Returns whether the model goes on after a message: its calls wait for results of the program, or the provider
/// paused.
fn goes_on(message: &ListMessage) -> bool {
    let last = message.blocks().last();
    let kind = last.and_then(|block| block["type"].as_str());
    let kind = kind.unwrap_or_default();
    !message.calls.is_empty() || kind.ends_with("tool_use") || kind.ends_with("tool_result")
}

/// Returns whether a model takes a list that ends with words of the assistant, and goes on with these words. Models
/// of version 4.6 and later do not. A model without a version in its name counts as one that takes such a list.
fn takes_prefill(model: &Json) -> bool {
    let name = model.as_str().unwrap_or_default();
    let Some(at) = name.find("claude-") else {
        return true;
    };
    let parts = name[at..].split(['-', '.', '@', ':']);
    // A number of more than two digits is a date, and not a version.
    let numbers = parts.filter(|part| part.len() <= 2);
    let mut numbers = numbers.filter_map(|part| part.parse::<u32>().ok());
    let version = numbers
        .next()
        .map(|major| (major, numbers.next().unwrap_or(0)));
    version.is_none_or(|version| version < (4, 6))
}
