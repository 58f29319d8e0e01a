//! Refuses requests as the providers do, in their words.

use std::collections::HashSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use super::list::{Asked, MARK, blocks};
use super::refusal::Refusal;

type Checked = Result<(), Refusal>;

fn unless(is_well: bool, message: impl FnOnce() -> String) -> Checked {
    if is_well {
        return Ok(());
    }
    Err(Refusal::invalid(&message()))
}

/// Refuses what Anthropic refuses, except thoughts (see `seal`).
pub(super) fn messages(asked: &Asked, counts: bool) -> Checked {
    let json = &asked.json;
    unless(json["model"].is_string(), || "model: Field required".into())?;
    unless(json["messages"].is_array(), || {
        "messages: Input should be a valid list".into()
    })?;
    unless(!asked.list.is_empty(), || {
        "messages: at least one message is required".into()
    })?;
    unless(counts || json["max_tokens"].is_u64(), || {
        "max_tokens: Field required".into()
    })?;
    marks(asked)?;
    let first = &asked.list[0]["role"];
    unless(first == "user", || {
        "messages: first message must use the \"user\" role".into()
    })?;
    let mut called = HashSet::new();
    for (at, message) in asked.list.iter().enumerate() {
        let role = message["role"].as_str();
        unless(
            matches!(role, Some("user" | "assistant" | "system")),
            || format!("messages.{at}.role: Input should be 'user', 'assistant' or 'system'"),
        )?;
        let content = blocks(&message["content"]);
        let is_last = at + 1 == asked.list.len();
        unless(
            !content.is_empty() || is_last && role == Some("assistant"),
            || {
                format!(
                    "messages.{at}: all messages must have non-empty content except for the optional final assistant message"
                )
            },
        )?;
        for (place, block) in content.iter().enumerate() {
            let kind = block["type"].as_str().unwrap_or_default();
            let here = format!("messages.{at}.content.{place}");
            match kind {
                "text" => {
                    let text = block["text"].as_str().unwrap_or_default();
                    unless(!text.is_empty(), || {
                        "messages: text content blocks must be non-empty".into()
                    })?;
                }
                "image" => image(block, &here)?,
                "tool_result" => {
                    for (inner, part) in blocks(&block["content"]).iter().enumerate() {
                        if part["type"] == "image" {
                            image(part, &format!("{here}.tool_result.content.{inner}"))?;
                        }
                    }
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap_or_default();
                    unless(called.insert(id.to_owned()), || {
                        format!("{here}: `tool_use` ids must be unique")
                    })?;
                    unless(block["input"].is_object(), || {
                        format!("{here}.tool_use.input: Input should be a valid dictionary")
                    })?;
                }
                "thinking"
                | "redacted_thinking"
                | "document"
                | "server_tool_use"
                | "web_search_tool_result"
                | "search_result"
                | "tool_reference"
                | "compaction" => {}
                other => {
                    return Err(Refusal::invalid(&format!(
                        "{here}: Input tag '{other}' found using 'type' does not match any of the expected tags"
                    )));
                }
            }
        }
    }
    pairs(asked)
}

/// Refuses calls without results and results without calls.
fn pairs(asked: &Asked) -> Checked {
    let ids = |message: Option<&Json>, kind: &str, key: &str| -> Vec<String> {
        let content = message.map(|message| blocks(&message["content"]));
        let found = content.into_iter().flatten();
        let found = found.filter(|block| block["type"] == kind);
        found
            .map(|block| block[key].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for (at, message) in asked.list.iter().enumerate() {
        let is_agent = message["role"] == "assistant";
        let next = asked.list.get(at + 1);
        if is_agent {
            let answered = ids(next, "tool_result", "tool_use_id");
            let mut open = ids(Some(message), "tool_use", "id");
            open.retain(|id| !answered.contains(id));
            unless(open.is_empty(), || {
                format!(
                    "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
                     `tool_use` block must have a corresponding `tool_result` block in the next message.",
                    open.join(", ")
                )
            })?;
        }
        let before = at.checked_sub(1).and_then(|at| asked.list.get(at));
        let called = ids(before, "tool_use", "id");
        let mut seen = HashSet::new();
        for (place, block) in blocks(&message["content"]).iter().enumerate() {
            if block["type"] != "tool_result" {
                continue;
            }
            let id = block["tool_use_id"].as_str().unwrap_or_default().to_owned();
            unless(called.contains(&id), || {
                format!(
                    "messages.{at}.content.{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                     `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
            })?;
            unless(seen.insert(id.clone()), || {
                format!(
                    "messages.{at}.content.{place}: each tool_use must have a single result. Found multiple `tool_result` \
                     blocks with id: {id}"
                )
            })?;
        }
    }
    Ok(())
}

/// Refuses too many marks, and marks in places that may have none.
fn marks(asked: &Asked) -> Checked {
    fn count(json: &Json, wrong: &mut bool) -> usize {
        match json {
            Json::Object(map) => {
                let own = usize::from(map.get(MARK).is_some_and(|mark| !mark.is_null()));
                let kind = map.get("type").and_then(Json::as_str);
                *wrong |= own > 0 && matches!(kind, Some("thinking" | "redacted_thinking"));
                let inner = map
                    .iter()
                    .filter(|(key, _)| *key != "input" && *key != "input_schema");
                own + inner.map(|(_, value)| count(value, wrong)).sum::<usize>()
            }
            Json::Array(items) => items.iter().map(|item| count(item, wrong)).sum(),
            _ => 0,
        }
    }
    let mut wrong = false;
    let found = count(&asked.json, &mut wrong);
    unless(found <= 4, || {
        format!("A maximum of 4 blocks with cache_control may be provided. Found {found}.")
    })?;
    unless(!wrong, || {
        "cache_control cannot be set for thinking blocks".into()
    })
}

/// Refuses pictures of unknown types, and data that is not a picture.
fn image(block: &Json, here: &str) -> Checked {
    let source = &block["source"];
    if source["type"] != "base64" {
        return unless(
            matches!(source["type"].as_str(), Some("url" | "file")),
            || {
                format!(
                    "{here}.image.source: Input tag does not match any of the expected tags: 'base64', 'url', 'file'"
                )
            },
        );
    }
    let kinds = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    unless(
        kinds.contains(&source["media_type"].as_str().unwrap_or_default()),
        || {
            format!(
                "{here}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
            )
        },
    )?;
    let data = BASE64_STANDARD.decode(source["data"].as_str().unwrap_or_default());
    unless(data.as_ref().is_ok_and(|data| !data.is_empty()), || {
        format!("{here}.image.source.base64: invalid base64 data")
    })?;
    let bytes = data.map_or(0, |data| data.len());
    unless(bytes <= 5 << 20, || {
        format!(
            "{here}.image.source.base64: image exceeds 5 MB maximum: {bytes} bytes > 5242880 bytes"
        )
    })
}

/// Refuses what OpenAI refuses in a list of chat.
pub(super) fn chat(asked: &Asked) -> Checked {
    unless(!asked.list.is_empty(), || {
        "Invalid 'messages': empty array.".into()
    })?;
    let mut open: Vec<String> = Vec::new();
    for (at, message) in asked.list.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(place) = open.iter().position(|called| called == id) else {
                let text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(Refusal::of("messages", text));
            };
            open.swap_remove(place);
        } else if !open.is_empty() {
            return Err(unanswered(&open));
        }
        let known = [
            "developer",
            "system",
            "user",
            "assistant",
            "tool",
            "function",
        ];
        unless(known.contains(&role), || {
            format!(
                "Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
            )
        })?;
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.push(call["id"].as_str().unwrap_or_default().to_owned());
            unless(call["function"]["arguments"].is_string(), || {
                format!(
                    "Invalid type for 'messages[{at}].tool_calls[0].function.arguments': expected a string."
                )
            })?;
        }
        for (place, part) in message["content"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let kind = part["type"].as_str().unwrap_or_default();
            let known = [
                "text",
                "image_url",
                "input_audio",
                "refusal",
                "audio",
                "file",
            ];
            unless(known.contains(&kind), || {
                format!(
                    "Invalid value: '{kind}'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'."
                )
            })?;
            if kind == "image_url" {
                picture(
                    part["image_url"]["url"].as_str(),
                    &format!("messages[{at}].content[{place}].image_url.url"),
                )?;
            }
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(unanswered(&open))
    }
}

fn unanswered(open: &[String]) -> Refusal {
    let text = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The \
        following tool_call_ids did not have response messages: ";
    Refusal::of("messages", &format!("{text}{}", open.join(", ")))
}

fn picture(url: Option<&str>, here: &str) -> Checked {
    let url = url.unwrap_or_default();
    let Some(data) = url.strip_prefix("data:") else {
        return unless(url.starts_with("http"), || {
            format!(
                "Invalid '{here}'. Expected a valid URL, but got a value with an invalid format."
            )
        });
    };
    let kind = data.split(';').next().unwrap_or_default();
    let known = ["image/jpeg", "image/png", "image/gif", "image/webp"];
    unless(known.contains(&kind), || {
        "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].".into()
    })
}

/// Refuses what OpenAI refuses in the items of Responses.
pub(super) fn responses(asked: &Asked) -> Checked {
    let mut called: Vec<&str> = Vec::new();
    let mut answered = HashSet::new();
    for (at, item) in asked.list.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or("message");
        let id = item["call_id"].as_str().unwrap_or_default();
        if kind.ends_with("_call_output") {
            let wanted = kind.trim_end_matches("_call_output").replace('_', " ");
            if !called.contains(&id) {
                let text =
                    format!("No tool call found for {wanted} call output with call_id {id}.");
                return Err(Refusal::of("input", &text));
            }
            answered.insert(id);
        } else if matches!(
            kind,
            "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call"
        ) {
            called.push(id);
        }
        for (place, part) in item["content"].as_array().into_iter().flatten().enumerate() {
            if part["type"] == "input_image" {
                picture(
                    part["image_url"].as_str(),
                    &format!("input[{at}].content[{place}].image_url"),
                )?;
            }
        }
    }
    match called.into_iter().find(|id| !answered.contains(id)) {
        Some(id) => Err(Refusal::of(
            "input",
            &format!("No tool output found for function call {id}."),
        )),
        None => Ok(()),
    }
}
