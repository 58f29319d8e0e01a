//! Checks the items of OpenAI's Responses, each by itself.

use serde_json::{Value as Json, json};

use super::flaw::Flaws;
use super::{as_text, media, parts};
use crate::edit::Edit;
use crate::finding::Code;
use crate::message::{ListMessage, Role};
use crate::raw::Pointer;

/// The types of the parts that messages have: of the user, and of the model. From the types of the package openai
/// 3.57.0, of November 2026.
const GIVEN: &[&str] = &["input_text", "input_image", "input_file", "input_audio"];
const ANSWERED: &[&str] = &["output_text", "refusal"];
/// How the ids of items begin.
const IDS: [(&str, &str); 4] = [
    ("message", "msg"),
    ("reasoning", "rs"),
    ("function_call", "fc"),
    ("custom_tool_call", "ctc"),
];

pub(super) fn check(message: &ListMessage, flaws: &mut Flaws) {
    let json = message.json();
    let kind = json["type"].as_str().unwrap_or("message");
    let missing = |key: &str| {
        format!("an item of the type `{kind}` has no `{key}`; give it, or drop the item")
    };
    item_id(kind, json, flaws);
    match kind {
        "message" if message.role != Role::Other => content(message, flaws),
        "function_call" | "custom_tool_call" => {
            let key = if kind == "function_call" {
                "arguments"
            } else {
                "input"
            };
            let at = Pointer::of([key.into()]);
            let id = json["call_id"].as_str();
            parts::arguments(message, &at, &Pointer::default(), id, flaws);
        }
        "function_call_output" | "custom_tool_call_output" => match json.get("output") {
            Some(Json::String(_)) => {}
            Some(Json::Array(parts)) => {
                for (index, part) in parts.iter().enumerate() {
                    let at = Pointer::of(["output".into(), index.into()]);
                    self::part(part, &at, GIVEN, "input_text", flaws);
                }
            }
            None => flaws.add(Code::MemberMissing, missing("output")),
            Some(_) => {
                let at = Pointer::of(["output".into()]);
                let text =
                    "the output is neither a text nor an array of parts; write its JSON as a text";
                let edit = as_text(message, &at).map(|text| Edit::Set(at, text));
                flaws.cured(Code::ContentKind, text, edit);
            }
        },
        "reasoning" if !json["summary"].is_array() => {
            let edit = match json.get("summary") {
                None => Edit::Put(Pointer::default(), "summary", "[]".to_owned()),
                Some(_) => Edit::Set(Pointer::of(["summary".into()]), "[]".to_owned()),
            };
            let empty = json["summary"].is_null();
            flaws.cured(
                Code::MemberMissing,
                missing("summary"),
                empty.then_some(edit),
            );
        }
        "item_reference" if json["id"].as_str().is_none_or(str::is_empty) => {
            flaws.add(Code::MemberMissing, missing("id"));
        }
        _ => {}
    }
}

fn item_id(kind: &str, json: &Json, flaws: &mut Flaws) {
    let start = IDS.iter().find(|(known, _)| *known == kind);
    let (Some((_, start)), Some(id)) = (start, json["id"].as_str()) else {
        return;
    };
    if id.starts_with(start) {
        return;
    }
    let text = format!(
        "the `id` of an item of the type `{kind}` has to begin with `{start}`; leave it out if the provider did not give it"
    );
    // A provider that keeps reasoning items refuses a reasoning item without its id, so the id
    // stays.
    let edit = (kind != "reasoning").then(|| Edit::Remove(Pointer::default(), "id"));
    flaws.cured_of(Code::ItemId, text, json["call_id"].as_str(), edit);
}

fn content(message: &ListMessage, flaws: &mut Flaws) {
    let content = Pointer::of(["content".into()]);
    let is_model = message.role == Role::Assistant;
    let (kinds, plain) = if is_model {
        (ANSWERED, "output_text")
    } else {
        (GIVEN, "input_text")
    };
    match &message.json()["content"] {
        Json::String(_) => {}
        Json::Array(parts) => {
            if parts.is_empty() && !is_model {
                let text = "the content is an empty array; give a text, or leave out the message";
                flaws.add(Code::ContentEmpty, text);
            }
            for (index, part) in parts.iter().enumerate() {
                self::part(part, &content.inside(index), kinds, plain, flaws);
            }
        }
        other => {
            let text = "the content is neither a text nor an array of parts; write it as a text";
            let edit = match other {
                Json::Null => None,
                _ => as_text(message, &content).map(|text| Edit::Set(content, text)),
            };
            flaws.cured(Code::ContentKind, text, edit);
        }
    }
}

fn part(part: &Json, at: &Pointer, kinds: &[&str], plain: &str, flaws: &mut Flaws) {
    let kind = part["type"].as_str().unwrap_or_default();
    if kinds.contains(&kind) {
        let member = if kind == "refusal" { "refusal" } else { "text" };
        if kind == "input_image" {
            media::responses(part, at, flaws);
        } else if (kind.ends_with("_text") || kind == "refusal") && !part[member].is_string() {
            let text =
                format!("a part of the type `{kind}` has no `{member}`; give it, or drop the part");
            flaws.add(Code::MemberMissing, text);
        }
        return;
    }
    let text = format!(
        "a part of the type `{}` does not belong here; the item takes the types {}",
        if kind.is_empty() { "none" } else { kind },
        kinds.join(", ")
    );
    let mut edits = Vec::new();
    if let Some(words) = part.as_str() {
        edits.push(Edit::set(
            at.clone(),
            &json!({ "type": plain, "text": words }),
        ));
    } else if matches!(kind, "text" | "input_text" | "output_text") && part["text"].is_string() {
        edits.push(Edit::set(at.inside("type"), &plain.into()));
    } else if let (true, "image_url", Some(url)) =
        (kinds == GIVEN, kind, part["image_url"]["url"].as_str())
    {
        edits.push(Edit::set(at.inside("type"), &"input_image".into()));
        edits.push(Edit::set(at.inside("image_url"), &url.into()));
        if let Some(detail) = part["image_url"].get("detail") {
            edits.push(Edit::Put(at.clone(), "detail", detail.to_string()));
        }
    }
    flaws.cured(Code::PartKind, text, edits);
}
