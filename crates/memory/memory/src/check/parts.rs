//! Checks the parts and calls of OpenAI's chat, each by itself.

use serde_json::{Value as Json, json};

use super::flaw::Flaws;
use super::names::array;
use super::{as_text, media};
use crate::edit::Edit;
use crate::finding::Code;
use crate::message::{ListMessage, Role};
use crate::raw::{Pointer, PointerStep};

/// The types of parts that messages of each role may have. From the types of the package openai 3.57.0, of November
/// 2026.
const USER: &[&str] = &["text", "image_url", "input_audio", "file"];
const ASSISTANT: &[&str] = &["text", "refusal"];
const OTHERS: &[&str] = &["text"];

pub(super) fn check(message: &ListMessage, flaws: &mut Flaws) {
    let json = message.json();
    let kinds = match message.role {
        Role::User => USER,
        Role::Assistant => ASSISTANT,
        Role::System | Role::Tool => OTHERS,
        Role::Other => return,
    };
    let content = Pointer::of(["content".into()]);
    match &json["content"] {
        Json::Array(parts) if parts.is_empty() => {
            let has_calls = !message.calls.is_empty();
            let new = if has_calls { "null" } else { r#""""# };
            let text = "the content is an empty array; give a text, `\"\"` if there is none";
            flaws.cured(
                Code::ContentEmpty,
                text,
                [Edit::Set(content, new.to_owned())],
            );
        }
        Json::Array(parts) => {
            for (index, part) in parts.iter().enumerate() {
                self::part(part, &content.inside(index), kinds, flaws);
            }
        }
        Json::Null | Json::String(_) => {}
        other => {
            let text = "the content is neither a text nor an array of parts; write it as a text";
            let edit = if other["type"].is_string() {
                Some(Edit::set(content, &Json::Array(vec![other.clone()])))
            } else {
                as_text(message, &content).map(|text| Edit::Set(content, text))
            };
            flaws.cured(Code::ContentKind, text, edit);
        }
    }
    let calls = &json["tool_calls"];
    if calls.as_array().is_some_and(Vec::is_empty) {
        let text = "`tool_calls` is empty; leave it out where there is no call";
        let edit = Edit::Remove(Pointer::default(), "tool_calls");
        flaws.cured(Code::CallsEmpty, text, [edit]);
    } else if !(calls.is_null() || calls.is_array()) {
        flaws.add(
            Code::CallKind,
            "`tool_calls` is not an array; write an array of calls",
        );
    }
    for (index, call) in array(calls) {
        let at = Pointer::of(["tool_calls".into(), index.into()]);
        self::call(message, call, &at, flaws);
    }
    let old = Pointer::of(["function_call".into()]);
    if json["function_call"].is_object() {
        arguments(message, &old.inside("arguments"), &old, None, flaws);
    }
}

fn part(part: &Json, at: &Pointer, kinds: &[&str], flaws: &mut Flaws) {
    let kind = part["type"].as_str().unwrap_or_default();
    if !kinds.contains(&kind) {
        let text = format!(
            "a part of the type `{}` does not belong here; the role takes the types {}",
            if kind.is_empty() { "none" } else { kind },
            kinds.join(", ")
        );
        let edit = match part {
            Json::String(words) => Some(Edit::set(
                at.clone(),
                &json!({ "type": "text", "text": words }),
            )),
            _ if matches!(kind, "input_text" | "output_text") && part["text"].is_string() => {
                Some(Edit::set(at.inside("type"), &"text".into()))
            }
            _ => None,
        };
        flaws.cured(Code::PartKind, text, edit);
        return;
    }
    let fits = match kind {
        "image_url" => return media::chat(part, at, flaws),
        "text" | "refusal" => part[kind].is_string(),
        _ => part[kind].is_object(),
    };
    if !fits {
        let text =
            format!("a part of the type `{kind}` has no `{kind}`; give it, or drop the part");
        flaws.add(Code::MemberMissing, text);
    }
}

fn call(message: &ListMessage, call: &Json, at: &Pointer, flaws: &mut Flaws) {
    let id = call["id"].as_str();
    let inner = ["function", "custom"].into_iter();
    let inner: Vec<_> = inner.filter(|key| call[*key].is_object()).collect();
    let kind = call["type"].as_str();
    match (kind, &inner[..]) {
        (Some(kind), [inner]) if kind == *inner => {}
        (kind, found) => {
            let text = "a call has no type, or not the member of its type; write `\"type\": \"function\"` with `function`, \
                        or `\"type\": \"custom\"` with `custom`";
            // If the type of a call disagrees with its member, only the author of the list knows
            // which is right, so there is no cure.
            let edit = match found {
                [inner] if call.get("type").is_none() => {
                    Some(Edit::Put(at.clone(), "type", json!(inner).to_string()))
                }
                [inner] if kind.is_none() => Some(Edit::set(at.inside("type"), &(*inner).into())),
                _ => None,
            };
            flaws.cured_of(Code::CallKind, text, id, edit);
        }
    }
    for inner in inner {
        let holder = at.inside(PointerStep::from(inner));
        let key = if inner == "function" {
            "arguments"
        } else {
            "input"
        };
        arguments(message, &holder.inside(key), &holder, id, flaws);
    }
}

/// Checks that the arguments of a call are a text.
pub(super) fn arguments(
    message: &ListMessage,
    at: &Pointer,
    holder: &Pointer,
    id: Option<&str>,
    flaws: &mut Flaws,
) {
    let value = at.value(message.json());
    if value.is_some_and(Json::is_string) {
        return;
    }
    let key = match at.key() {
        Some("input") => "input",
        _ => "arguments",
    };
    let nothing = if key == "input" { "" } else { "{}" };
    let edit = match value {
        None => Some(Edit::Put(holder.clone(), key, json!(nothing).to_string())),
        Some(Json::Null) => Some(Edit::set(at.clone(), &nothing.into())),
        Some(_) => as_text(message, at).map(|text| Edit::Set(at.clone(), text)),
    };
    let text = format!(
        "the `{key}` of a call is not a text; write JSON as a text, or run `accp context repair`"
    );
    flaws.cured_of(Code::Arguments, text, id, edit);
}
