//! Reads events of the SDK of `OpenHands`. The `kind` of an event names its type.

use accp_context::Recorded;
use serde_json::{Value as Json, json};

use crate::formats::anthropic;
use crate::formats::draft::Draft;
use crate::formats::fields::{Fields, merge};
use crate::formats::listed::{has_text, value};
use crate::formats::parts;

/// Returns the id of the model's answer that a call belongs to; `None` for other events.
pub(super) fn answer_of(event: &Fields) -> Option<String> {
    let is_call = event.str("kind") == Some("ActionEvent");
    event
        .str("llm_response_id")
        .filter(|_| is_call)
        .map(str::to_owned)
}

/// Adds a call to the message before it, because a model asked for both in one answer. Returns the next message
/// instead if it has words of its own.
pub(super) fn join(before: &mut Json, next: Json) -> Option<Json> {
    let Json::Object(mut next) = next else {
        return Some(next);
    };
    let has_words = next
        .get("content")
        .is_some_and(|content| !content.is_null());
    let Some(before) = before.as_object_mut().filter(|_| !has_words) else {
        return Some(Json::Object(next));
    };
    let calls = before.entry("tool_calls").or_insert_with(|| json!([]));
    if let (Json::Array(calls), Some(Json::Array(more))) = (calls, next.shift_remove("tool_calls"))
    {
        calls.extend(more);
    }
    let about = before.entry(Recorded::ABOUT).or_insert_with(|| json!({}));
    if let (Json::Object(about), Some(Json::Object(more))) =
        (about, next.shift_remove(Recorded::ABOUT))
    {
        merge(about, more);
    }
    None
}

/// Returns whether this is an event, from its kind.
pub(super) fn is_event(json: &Json) -> bool {
    let kind = json["kind"].as_str().unwrap_or_default();
    let kind = kind.ends_with("Event")
        || [
            "Condensation",
            "CondensationRequest",
            "UserRejectObservation",
        ]
        .contains(&kind);
    kind && has_text(json, "timestamp")
}

/// Reads an event. Returns the event as `Err` if no model saw it.
pub(super) fn message(mut event: Fields, out: &mut Vec<Json>) -> Result<(), Fields> {
    let kind = event.str("kind").unwrap_or_default().to_owned();
    let draft = match kind.as_str() {
        "SystemPromptEvent" => {
            let mut draft = Draft::new("system");
            for key in ["system_prompt", "dynamic_context"] {
                let prompt = event.take(key);
                content(&mut draft, prompt.filter(|json| !json.is_null()));
            }
            draft
        }
        "MessageEvent" if event.get("llm_message").is_some_and(Json::is_object) => {
            let mut message = event.object("llm_message").unwrap_or_default();
            let role = message.text("role").unwrap_or_else(|| "user".to_owned());
            let mut draft = Draft::new(&role);
            thinking(&mut draft, &mut message);
            let inner = message.take("content");
            content(&mut draft, inner);
            // The program adds this content to the words of the person.
            let extended = event.list("extended_content").map(Json::Array);
            content(&mut draft, extended);
            let known = [
                "cache_enabled",
                "vision_enabled",
                "function_calling_enabled",
                "name",
                "force_string_serializer",
                "send_reasoning_content",
                "reasoning_content",
                "responses_reasoning_item",
                "tool_calls",
                "tool_call_id",
            ];
            draft.rest(message, &known);
            draft
        }
        "ActionEvent" => action(&mut event),
        "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" => {
            let mut draft = Draft::result(event.take("tool_call_id"), event.take("tool_name"));
            answer(&mut draft, &mut event);
            draft
        }
        _ => return Err(event),
    };
    let mut draft = draft;
    draft.event(event);
    out.push(draft.into_json());
    Ok(())
}

/// Adds the thinking of the model: the blocks, or else the text, which the blocks would repeat.
fn thinking(draft: &mut Draft, fields: &mut Fields) {
    let blocks = fields.list("thinking_blocks").unwrap_or_default();
    if blocks.is_empty()
        && let Some(text) = fields
            .text("reasoning_content")
            .filter(|text| !text.is_empty())
    {
        draft.named("thinking", text, serde_json::Map::new());
    }
    for block in blocks {
        anthropic::block(draft, block);
    }
}

/// Adds a content: a text, a part, or parts.
fn content(draft: &mut Draft, json: Option<Json>) {
    let json = match json {
        Some(part @ Json::Object(_)) => Some(json!([part])),
        other => other,
    };
    draft.content(json, |draft, part| {
        let urls = part["image_urls"].as_array().cloned();
        match (part["type"].as_str(), urls) {
            (Some("image"), Some(urls)) => {
                let mut rest = Fields::of(part).unwrap_or_default();
                rest.take("image_urls");
                rest.take("type");
                for url in urls {
                    let part = json!({ "type": "image_url", "image_url": { "url": url } });
                    parts::any(draft, part);
                }
                draft.rest(rest, &["cache_prompt"]);
            }
            (Some("text"), _) if has_text(&part, "text") => {
                let mut rest = Fields::of(part).unwrap_or_default();
                rest.take("type");
                let text = rest.text("text").unwrap_or_default();
                draft.part("text", text, rest, &["cache_prompt", "enable_truncation"]);
            }
            _ => parts::any(draft, part),
        }
    });
}

/// Reads an action of an agent: its thought, and a call.
fn action(event: &mut Fields) -> Draft {
    let mut draft = Draft::new("assistant");
    thinking(&mut draft, event);
    let thought = event.take("thought");
    content(&mut draft, thought);
    let mut call = event.object("tool_call").unwrap_or_default();
    let id = event
        .take("tool_call_id")
        .or_else(|| call.get("id").cloned());
    let name = event
        .take("tool_name")
        .or_else(|| call.get("name").cloned());
    // These are the arguments that the model wrote. The program's own copy has more arguments.
    let arguments = call.take("arguments").or_else(|| event.take("action"));
    draft.call(id, name, arguments, call.into_map());
    draft
}

/// Adds what a tool answered.
fn answer(draft: &mut Draft, event: &mut Fields) {
    for key in ["error", "rejection_reason"] {
        if let Some(text) = event.text(key) {
            draft.set("is_error", true.into());
            draft.text(text);
        }
    }
    let Some(mut observation) = event.object("observation") else {
        return;
    };
    draft.failed(&mut observation);
    match observation.take("content") {
        list @ Some(Json::Array(_)) => content(draft, list),
        other => value(draft, other),
    }
    // The other members of the observation go to the recorded values.
    draft.about(
        [(
            "observation".to_owned(),
            Json::Object(observation.into_map()),
        )]
        .into_iter()
        .collect(),
    );
}
