//! The second implementation of the rules of OpenAI's chat.

use serde_json::Value as Json;

type Faults = Vec<(&'static str, usize)>;

/// A call or a result: the message, its number in the message, its id, and whether it is of the old kind.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    at: usize,
    number: usize,
    id: String,
    old: bool,
}

impl Part {
    fn joins(&self, other: &Self) -> bool {
        !self.id.is_empty() && self.id == other.id && self.old == other.old
    }
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or("").to_owned()
}

fn calls(messages: &[Json]) -> Vec<Part> {
    let mut all = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let new = message["tool_calls"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for call in &new {
            let number = all.len();
            all.push(Part {
                at,
                number,
                id: text(&call["id"]),
                old: false,
            });
        }
        if message["function_call"].is_object() {
            let number = all.len();
            all.push(Part {
                at,
                number,
                id: text(&message["function_call"]["name"]),
                old: true,
            });
        }
    }
    all
}

fn is_result(message: &Json) -> bool {
    message["role"] == "tool" || message["role"] == "function"
}

fn results(messages: &[Json]) -> Vec<Part> {
    let all = messages
        .iter()
        .enumerate()
        .filter(|(_, message)| is_result(message));
    all.map(|(at, message)| {
        let old = message["role"] == "function";
        let id = text(&message[if old { "name" } else { "tool_call_id" }]);
        Part {
            at,
            number: 0,
            id,
            old,
        }
    })
    .collect()
}

pub(crate) fn faults(messages: &[Json]) -> Faults {
    let mut found = Faults::new();
    let (all, results) = (calls(messages), results(messages));
    // Calls in a message that is a result do not count.
    let calls: Vec<_> = all
        .iter()
        .filter(|call| !is_result(&messages[call.at]))
        .collect();
    // Returns the message before a run of results.
    let asker = |at: usize| (0..at).rev().find(|before| !is_result(&messages[*before]));
    let siblings = |result: &Part| -> Vec<&Part> {
        let asker = asker(result.at);
        let same = calls
            .iter()
            .filter(|call| Some(call.at) == asker && call.joins(result));
        same.copied().collect()
    };
    let rank = |result: &Part| {
        let before = results.iter().filter(|other| {
            other.at < result.at && asker(other.at) == asker(result.at) && other.joins(result)
        });
        before.count()
    };
    for result in &results {
        let siblings = siblings(result);
        let earlier = calls
            .iter()
            .rev()
            .find(|call| call.at < result.at && call.joins(result));
        let fault = if result.id.is_empty() {
            Some("id-missing")
        } else if !siblings.is_empty() {
            (rank(result) >= siblings.len()).then_some("result-repeated")
        } else if let Some(call) = earlier {
            let wanted = calls
                .iter()
                .filter(|other| other.at == call.at && other.joins(call))
                .count();
            let given = results
                .iter()
                .filter(|other| asker(other.at) == Some(call.at) && other.joins(call))
                .count();
            Some(if given >= wanted {
                "result-repeated"
            } else {
                "result-misplaced"
            })
        } else {
            Some("result-orphan")
        };
        found.extend(fault.map(|fault| (fault, result.at)));
    }
    for call in &all {
        let same = |other: &&Part| other.at == call.at && other.id == call.id;
        let mut earlier = all
            .iter()
            .filter(same)
            .filter(|other| other.number < call.number);
        let is_system = ["system", "developer"]
            .iter()
            .any(|role| messages[call.at]["role"] == *role);
        let is_empty = call.id.is_empty();
        if !is_system && is_empty {
            found.push(("id-missing", call.at));
        } else if !is_system && earlier.next().is_some() {
            found.push(("id-repeated", call.at));
        }
        let is_first = all.iter().find(|other| other.at == call.at) == Some(call);
        if is_first && is_of_another(&messages[call.at]) {
            found.push(("role", call.at));
        }
    }
    for call in calls.iter().filter(|call| !call.id.is_empty()) {
        let earlier = calls
            .iter()
            .filter(|other| other.at == call.at && other.joins(call) && other.number < call.number);
        let given = results
            .iter()
            .filter(|result| asker(result.at) == Some(call.at) && result.joins(call));
        let is_over = messages[call.at + 1..]
            .iter()
            .any(|message| !is_result(message));
        if is_over && given.count() <= earlier.count() {
            found.push(("result-missing", call.at));
        }
    }
    for (at, message) in messages.iter().enumerate() {
        let known = [
            "system",
            "developer",
            "user",
            "assistant",
            "tool",
            "function",
        ];
        if !known.contains(&text(&message["role"]).as_str()) {
            found.push(("role", at));
        } else if message["tool_calls"] == Json::Array(Vec::new()) {
            found.push(("calls-empty", at));
        } else if message["content"].is_null() {
            let instead = ["tool_calls", "function_call", "refusal", "audio"];
            let instead = instead.iter().any(|key| !message[*key].is_null());
            if message["role"] != "assistant" || !instead {
                found.push(("text-blank", at));
            }
        }
    }
    found
}

/// Returns whether a known role other than the assistant's wrote this message. An unknown role is a fault of its own.
fn is_of_another(message: &Json) -> bool {
    let others = ["system", "developer", "user", "tool", "function"];
    others.iter().any(|role| message["role"] == *role)
}
