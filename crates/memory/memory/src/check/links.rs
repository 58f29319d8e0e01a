//! Checks items of Responses that name one another: by their own ids, by calls, by approvals.

use std::collections::{BTreeMap, BTreeSet};

use super::flaw::Flaws;
use crate::edit::Edit;
use crate::finding::Code;
use crate::list::MessageList;
use crate::raw::Pointer;

/// The types of items whose `id` is their own. The `id` of an output or a reference may be that of another item.
const OWN: [&str; 15] = [
    "message",
    "reasoning",
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "computer_call",
    "file_search_call",
    "web_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
];
/// The types of items that mean the same without their `id`.
const WITHOUT: [&str; 3] = ["message", "function_call", "custom_tool_call"];
/// The types of items with the output of a call that the program runs, and not the provider. Some servers take a
/// `function_call_output` for a call of a shell, too.
const OUTPUTS: [&str; 6] = [
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "local_shell_call_output",
    "shell_call_output",
    "apply_patch_call_output",
];

pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    ids(list, flaws);
    approvals(list, flaws);
    outputs(list, flaws);
}

/// Checks that no two items have the same `id`.
fn ids(list: &MessageList, flaws: &mut Flaws) {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, message) in list.messages().iter().enumerate() {
        let json = message.json();
        let kind = json["type"].as_str().unwrap_or("message");
        let id = json["id"].as_str().filter(|id| !id.is_empty());
        let Some(id) = id.filter(|_| OWN.contains(&kind)) else {
            continue;
        };
        let Some(first) = seen.get(id) else {
            seen.insert(id, at);
            continue;
        };
        let text = format!(
            "the `id` `{id}` is that of item {first}; drop the item if it stands twice, or leave the `id` out"
        );
        let edit = WITHOUT.contains(&kind);
        let edit = edit.then(|| Edit::Remove(Pointer::default(), "id"));
        flaws.at(Some(at)).cured(Code::ItemId, text, edit);
    }
}

/// Checks that each approval answers a request of the list.
fn approvals(list: &MessageList, flaws: &mut Flaws) {
    // The provider may keep the approval request, so the list need not have it.
    if list.goes_on() {
        return;
    }
    let items = || list.messages().iter().enumerate();
    let asks = ["mcp_approval_request", "item_reference"];
    let asked = items().filter(|(_, item)| asks.iter().any(|kind| item.is_kind(kind)));
    let asked: BTreeSet<&str> = asked
        .filter_map(|(_, item)| item.json()["id"].as_str())
        .collect();
    for (at, item) in items().filter(|(_, item)| item.is_kind("mcp_approval_response")) {
        let id = item.json()["approval_request_id"].as_str();
        let Some(id) = id.filter(|id| !asked.contains(id)) else {
            continue;
        };
        let text = format!(
            "the approval answers `{id}`, which no `mcp_approval_request` of the list has as its `id`; keep the request \
             before it, or drop the approval"
        );
        flaws.at(Some(at)).add(Code::ApprovalOrphan, text);
    }
}

/// Checks that an output is of the kind of its call.
fn outputs(list: &MessageList, flaws: &mut Flaws) {
    let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (at, message) in list.messages().iter().enumerate() {
        let json = message.json();
        let (Some(kind), Some(id)) = (json["type"].as_str(), json["call_id"].as_str()) else {
            continue;
        };
        if !OUTPUTS.contains(&kind) {
            calls.entry(id).or_default().insert(kind);
            continue;
        }
        // If calls share an id, another rule reports that, and the kind of this output cannot be checked.
        let kinds = calls.get(id).filter(|kinds| kinds.len() == 1);
        let call = kinds.and_then(|kinds| kinds.first().copied());
        let (call, fitting) = match call {
            Some("function_call") => ("function_call", OUTPUTS[0]),
            Some("custom_tool_call") => ("custom_tool_call", OUTPUTS[1]),
            _ => continue,
        };
        if kind == fitting {
            continue;
        }
        let text = format!(
            "an item of the type `{kind}` answers `{id}`, which is a `{call}`; write `\"type\": \"{fitting}\"`"
        );
        // The first two types of `OUTPUTS` have the same members, so a new type is the whole cure.
        // An output of any other type has no cure.
        let edit = OUTPUTS[..2].contains(&kind);
        let edit = edit.then(|| Edit::set(Pointer::of(["type".into()]), &fitting.into()));
        let flaws = flaws.at(Some(at));
        flaws.cured_of(Code::OutputKind, text, Some(id), edit);
    }
}
