//! Checks the settings of a request in Anthropic's form: the budget of thoughts, sampling, and the system prompt.

use serde_json::Value as Json;

use super::flaw::Flaws;
use super::names::array;
use crate::edit::Edit;
use crate::finding::Code;
use crate::list::MessageList;
use crate::raw::Pointer;

/// The fewest tokens of a budget for thoughts.
const BUDGET: f64 = 1_024.0;
/// The least `top_p` that the provider takes together with thinking.
const TOP_P: f64 = 0.95;

pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    flaws.at(None);
    let request = list.request();
    let mode = request["thinking"]["type"].as_str().unwrap_or_default();
    if mode == "enabled" {
        budget(request, flaws);
    }
    if matches!(mode, "enabled" | "adaptive") {
        sampling(request, flaws);
    }
    system(&request["system"], flaws);
}

fn budget(request: &Json, flaws: &mut Flaws) {
    let Some(budget) = request["thinking"]["budget_tokens"].as_f64() else {
        return;
    };
    if budget < BUDGET {
        let text = format!(
            "thinking has a budget of {budget} tokens, and the provider takes {BUDGET} or more; raise `budget_tokens`"
        );
        flaws.add(Code::ThinkingBudget, text);
        return;
    }
    // A header of the request can let a budget span several answers between tool calls. Then the
    // budget may be larger than `max_tokens`. The list does not show headers, so a request with
    // tools is not a flaw.
    let has_tools = array(&request["tools"]).next().is_some() || !request["mcp_servers"].is_null();
    let most = request["max_tokens"].as_f64();
    if let Some(most) = most.filter(|most| budget >= *most && !has_tools) {
        let text = format!(
            "thinking has a budget of {budget} tokens, and `max_tokens` is {most}; make `max_tokens` larger than the budget"
        );
        flaws.add(Code::ThinkingBudget, text);
    }
}

fn sampling(request: &Json, flaws: &mut Flaws) {
    let number = |key: &str| request[key].as_f64();
    let is_set = |key: &str| !request[key].is_null();
    let one = number("temperature").is_some_and(|value| (value - 1.0).abs() > f64::EPSILON);
    let wrong = [
        ("temperature", one, "takes 1 alone"),
        ("top_k", is_set("top_k"), "takes none"),
        (
            "top_p",
            number("top_p").is_some_and(|value| value < TOP_P),
            "takes 0.95 or more",
        ),
    ];
    for (key, _, takes) in wrong.into_iter().filter(|(_, is_wrong, _)| *is_wrong) {
        let text = format!(
            "`{key}` is {} while thinking is on, and there the provider {takes}; leave it out, or turn thinking off",
            request[key]
        );
        flaws.add(Code::Sampling, text);
    }
}

/// Checks that no text of the system prompt is blank.
fn system(system: &Json, flaws: &mut Flaws) {
    let place = Pointer::of(["system".into()]);
    let is_blank = |block: &Json| {
        let text = block["text"].as_str();
        block["type"] == "text" && text.is_some_and(|text| text.trim().is_empty())
    };
    let all = array(system);
    let blank: Vec<_> = all.filter(|(_, block)| is_blank(block)).collect();
    if blank.is_empty() {
        return;
    }
    let edits = if array(system).count() == blank.len() {
        vec![Edit::Remove(Pointer::default(), "system")]
    } else {
        let dropped = |(index, _): &(usize, &Json)| Edit::Drop(place.clone(), *index);
        blank.iter().map(dropped).collect()
    };
    let text = "a text of `system` is blank; leave the block out, or run `accp context repair`";
    flaws.cured(Code::SystemBlank, text, edits);
}
