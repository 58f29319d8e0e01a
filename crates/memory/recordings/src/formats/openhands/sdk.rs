//! Events of the SDK: their `kind` names what they are.

use serde_json::{Value as Json, json};

use crate::formats::anthropic;
use crate::formats::draft::Draft;
use crate::formats::fields::Fields;
use crate::formats::listed::{has_text, value};
use crate::formats::parts;

/// Keys of an event that only say how it was recorded.
const ABOUT: [&str; 20] = [
    "id",
    "timestamp",
    "source",
    "kind",
    "llm_response_id",
    "action",
    "action_id",
    "security_risk",
    "summary",
    "tools",
    "dynamic_context",
    "activated_skills",
    "activated_microagents",
    "critic_result",
    "sender",
    "tool_call",
    "responses_reasoning_item",
    "rejection_source",
    "extended_content",
    "reasoning_content",
];

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

/// Reads an event. Returns one that no model saw.
pub(super) fn message(mut event: Fields, out: &mut Vec<Json>) -> Result<(), Fields> {
    let kind = event.str("kind").unwrap_or_default().to_owned();
    let draft = match kind.as_str() {
        "SystemPromptEvent" => {
            let mut draft = Draft::new("system");
            let prompt = event.take("system_prompt");
            content(&mut draft, prompt);
            draft
        }
        "MessageEvent" if event.get("llm_message").is_some_and(Json::is_object) => {
            let mut message = event.object("llm_message").unwrap_or_default();
            let role = message.text("role").unwrap_or_else(|| "user".to_owned());
            let mut draft = Draft::new(&role);
            thinking(&mut draft, &mut message);
            let inner = message.take("content");
            content(&mut draft, inner);
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
    draft.rest(event, &ABOUT);
    out.push(draft.into_json());
    Ok(())
}

/// Adds what the model thought, in blocks or as a text that these repeat.
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

/// Reads what an agent does: its thought, and a call.
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
    // What the model wrote; the program fills in more.
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
    // What the program knows of the answer beside its words.
    draft.about(
        [(
            "observation".to_owned(),
            Json::Object(observation.into_map()),
        )]
        .into_iter()
        .collect(),
    );
}
