//! The second implementation of the rules of OpenAI's Responses.

use serde_json::Value as Json;

const CALLS: [&str; 6] = [
    "function_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
];

fn kind(item: &Json) -> &str {
    item["type"].as_str().unwrap_or("message")
}

fn id(item: &Json) -> &str {
    let id = item.get("call_id").or_else(|| item.get("id"));
    id.and_then(Json::as_str).unwrap_or("")
}

fn is_call(item: &Json) -> bool {
    CALLS.contains(&kind(item))
}

fn is_output(item: &Json) -> bool {
    CALLS
        .iter()
        .any(|call| kind(item) == format!("{call}_output"))
}

fn is_message_of(item: &Json, roles: &[&str]) -> bool {
    kind(item) == "message" && roles.iter().any(|role| item["role"] == *role)
}

fn is_of_model(item: &Json) -> bool {
    let kind = kind(item);
    is_message_of(item, &["assistant"]) || kind == "reasoning" || kind.ends_with("_call")
}

pub(crate) fn faults(items: &[Json]) -> Vec<(&'static str, usize)> {
    let mut found = Vec::new();
    let outputs = |id_: &str| -> Vec<usize> {
        let all = 0..items.len();
        all.filter(|at| is_output(&items[*at]) && id(&items[*at]) == id_)
            .collect()
    };
    let asked = |id_: &str| -> Vec<usize> {
        let all = 0..items.len();
        all.filter(|at| is_call(&items[*at]) && id(&items[*at]) == id_)
            .collect()
    };
    let is_named = |at: &usize| is_call(&items[*at]) && !id(&items[*at]).is_empty();
    let answering: Vec<_> = (0..items.len())
        .filter(is_named)
        .flat_map(|at| matched(&asked(id(&items[at])), &outputs(id(&items[at]))))
        .map(|(_, output)| output)
        .collect();
    for (at, item) in items.iter().enumerate() {
        if (is_call(item) || is_output(item)) && id(item).is_empty() {
            found.push(("id-missing", at));
        } else if is_output(item) {
            // The output takes the first earlier call that no earlier output has taken.
            let taken = matched(&asked(id(item)), &outputs(id(item)));
            if taken.iter().all(|(_, output)| *output != at) {
                let asked = asked(id(item));
                found.push(match asked.first() {
                    None => ("result-orphan", at),
                    Some(call) if *call < at => ("result-repeated", at),
                    Some(_) => ("result-misplaced", at),
                });
            }
        } else if is_call(item) {
            let asked = asked(id(item));
            if asked[0] < at {
                found.push(("id-repeated", at));
            }
            let taken = matched(&asked, &outputs(id(item)));
            if taken.iter().all(|(call, _)| *call != at) && is_over(items, at, &answering) {
                found.push(("result-missing", at));
            }
        }
        if kind(item) == "message"
            && !is_message_of(item, &["user", "system", "developer", "assistant"])
        {
            found.push(("role", at));
        }
        if kind(item) == "reasoning" {
            let stands = items.get(at + 1).is_some_and(|next| {
                !kind(next).ends_with("_output")
                    && !is_message_of(next, &["user", "system", "developer"])
            });
            if !stands {
                found.push(("reasoning-split", at));
            }
        }
    }
    found
}

/// Pairs the calls and outputs of one id, in their order.
fn matched(calls: &[usize], outputs: &[usize]) -> Vec<(usize, usize)> {
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for output in outputs {
        let free = |call: &&usize| *call < output && taken.iter().all(|(other, _)| other != *call);
        if let Some(call) = calls.iter().find(free) {
            taken.push((*call, *output));
        }
    }
    taken
}

/// Returns whether the items behind a call show that no output of this call can follow.
fn is_over(items: &[Json], call: usize, answering: &[usize]) -> bool {
    let after = call + 1..items.len();
    let mut spoke = after
        .clone()
        .filter(|at| is_message_of(&items[*at], &["user", "system", "developer"]));
    let mut gone_on = after
        .filter(|output| answering.contains(output) && items[*output..].iter().any(is_of_model));
    spoke.next().is_some() || gone_on.next().is_some()
}
