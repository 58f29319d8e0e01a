//! Checks the blocks of Anthropic's messages, each by itself.

use serde_json::{Value as Json, json};

use super::flaw::Flaws;
use super::media;
use super::names::array;
use crate::edit::Edit;
use crate::finding::Code;
use crate::message::{ListMessage, Role};
use crate::raw::Pointer;

/// The type of value that a member of a block has to have.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Object,
    Array,
    Any,
}

/// The members that the provider requires of each block, apart from the blocks that other rules check. From the types
/// of the package anthropic 2.14.0, of November 2026. The results of the provider's own tools all have the members of
/// `_tool_result`.
const BLOCKS: &[(&str, &[(&str, Kind)])] = &[
    ("document", &[("source", Kind::Object)]),
    (
        "search_result",
        &[
            ("source", Kind::Text),
            ("title", Kind::Text),
            ("content", Kind::Array),
        ],
    ),
    ("thinking", &[("thinking", Kind::Text)]),
    ("redacted_thinking", &[("data", Kind::Text)]),
    (
        "server_tool_use",
        &[("id", Kind::Text), ("name", Kind::Text)],
    ),
    (
        "mcp_tool_use",
        &[
            ("id", Kind::Text),
            ("name", Kind::Text),
            ("server_name", Kind::Text),
        ],
    ),
    (
        "_tool_result",
        &[("tool_use_id", Kind::Text), ("content", Kind::Any)],
    ),
    ("container_upload", &[("file_id", Kind::Text)]),
    ("tool_reference", &[("tool_name", Kind::Text)]),
];
/// Types of parts that Anthropic does not know: from OpenAI's chat, from Responses, and from what programs keep. Any
/// other type that is not in the table may be a new type of Anthropic.
const FOREIGN: [&str; 13] = [
    "image_url",
    "input_text",
    "input_image",
    "input_file",
    "input_audio",
    "output_text",
    "refusal",
    "file",
    "function",
    "tool_call",
    "tool-call",
    "tool-result",
    "reasoning",
];
/// Members of OpenAI's chat messages that messages of Anthropic may not have.
const MEMBERS: [&str; 7] = [
    "tool_calls",
    "tool_call_id",
    "function_call",
    "refusal",
    "audio",
    "annotations",
    "reasoning_content",
];

/// Checks a message; `is_last` if none follows it.
pub(super) fn check(message: &ListMessage, is_last: bool, flaws: &mut Flaws) {
    if !matches!(message.role, Role::User | Role::Assistant) {
        return;
    }
    let json = message.json();
    texts(message, is_last && message.role == Role::Assistant, flaws);
    for key in MEMBERS {
        let Some(value) = json.get(key) else {
            continue;
        };
        let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        let text = format!(
            "`{key}` is a member of messages in OpenAI's chat; say it in blocks, or convert the list with `accp convert \
             --format-out anthropic`"
        );
        let edit = empty.then(|| Edit::Remove(Pointer::default(), key));
        flaws.cured(Code::MemberForeign, text, edit);
    }
    for (index, block) in array(&json["content"]) {
        let at = Pointer::of(["content".into(), index.into()]);
        let Some(kind) = block["type"].as_str() else {
            let text = "a block has no type; give it the type that says what it is, such as `text`";
            let part = block
                .as_str()
                .map(|text| json!({ "type": "text", "text": text }));
            flaws.cured(Code::PartKind, text, part.map(|part| Edit::set(at, &part)));
            continue;
        };
        if FOREIGN.contains(&kind) {
            foreign(kind, block, &at, flaws);
            continue;
        }
        members(kind, block, flaws);
        role(kind, message.role, flaws);
        match kind {
            "image" => media::anthropic(block, &at, flaws),
            "thinking" if block["signature"].as_str().is_none_or(str::is_empty) => {
                let text = "a thought has no signature; drop the block, or send it as the provider gave it";
                flaws.add(Code::Signature, text);
            }
            "tool_result" => result(message, index, &at, flaws),
            _ if kind.ends_with("tool_use") => input(block, &at, flaws),
            _ => {}
        }
    }
}

fn is_blank(block: &Json) -> bool {
    let text = block["text"].as_str().unwrap_or_default();
    block["type"] == "text" && text.trim().is_empty()
}

/// Checks that no text is blank.
fn texts(message: &ListMessage, may_be_empty: bool, flaws: &mut Flaws) {
    let content = Pointer::of(["content".into()]);
    let blank = |text: &str| text.trim().is_empty();
    let mut edits = Vec::new();
    let is_wrong = match &message.json()["content"] {
        Json::String(text) => blank(text) && !(may_be_empty && text.is_empty()),
        Json::Array(blocks) if blocks.is_empty() => {
            if !may_be_empty {
                let text = "the content is an empty array; give a text or a block, or leave out the message";
                flaws.add(Code::ContentEmpty, text);
            }
            return;
        }
        Json::Array(blocks) => {
            let all = array(&message.json()["content"]).filter(|(_, block)| is_blank(block));
            edits.extend(all.map(|(index, _)| Edit::Drop(content.clone(), index)));
            let is_blank = !edits.is_empty();
            // A message that is empty, or that ends with a thought, is a flaw as well. So no cure
            // drops the blank texts if such a message would remain.
            let last = blocks.iter().rfind(|block| !self::is_blank(block));
            if last.is_none_or(|block| {
                matches!(
                    block["type"].as_str(),
                    Some("thinking" | "redacted_thinking")
                )
            }) {
                edits.clear();
            }
            is_blank
        }
        _ => true,
    };
    if is_wrong {
        let text = "a text is blank; leave the block out, or give a text that is not white space";
        flaws.cured(Code::TextBlank, text, edits);
        return;
    }
    let blocks = message.blocks().len();
    let last = match &message.json()["content"] {
        Json::Array(_) => content.inside(blocks.saturating_sub(1)).inside("text"),
        _ => content,
    };
    let end = last.value(message.json()).and_then(Json::as_str);
    if let Some(text) = end.filter(|text| may_be_empty && text.ends_with(char::is_whitespace)) {
        let edit = Edit::set(last, &text.trim_end().into());
        let text = "the last text of the assistant ends in white space; cut the white space";
        flaws.cured(Code::TextBlank, text, [edit]);
    }
}

fn foreign(kind: &str, block: &Json, at: &Pointer, flaws: &mut Flaws) {
    let text = format!(
        "a part of the type `{kind}` is not of this form; write a block of Anthropic's, such as `text` or `image`, or \
         convert the list with `accp convert --format-out anthropic`"
    );
    let is_text = matches!(kind, "input_text" | "output_text") && block["text"].is_string();
    let edit = is_text.then(|| Edit::set(at.inside("type"), &"text".into()));
    flaws.cured(Code::PartKind, text, edit);
}

fn members(kind: &str, block: &Json, flaws: &mut Flaws) {
    let is_result = kind != "tool_result" && kind.ends_with("_tool_result");
    let kind = if is_result { "_tool_result" } else { kind };
    let known = BLOCKS.iter().find(|(known, _)| *known == kind);
    for (member, wanted) in known.map_or(&[][..], |(_, members)| members) {
        let value = &block[*member];
        let (fits, what) = match wanted {
            Kind::Text => (value.is_string(), "a text"),
            Kind::Object => (value.is_object(), "an object"),
            Kind::Array => (value.is_array(), "an array"),
            Kind::Any => (!value.is_null(), "a value"),
        };
        if !fits {
            let kind = block["type"].as_str().unwrap_or_default();
            let text = format!(
                "a block of the type `{kind}` has to have {what} as `{member}`; give it as the provider did, or drop the \
                 block"
            );
            flaws.add(Code::MemberMissing, text);
        }
    }
}

fn role(kind: &str, role: Role, flaws: &mut Flaws) {
    let result = kind != "tool_result" && kind.ends_with("_tool_result");
    let own = matches!(
        kind,
        "thinking" | "redacted_thinking" | "server_tool_use" | "mcp_tool_use" | "compaction"
    );
    let (wrong, whose) = match role {
        Role::User => (own || result, "the assistant"),
        _ => (matches!(kind, "image" | "document"), "the user"),
    };
    if wrong {
        let text =
            format!("a block of the type `{kind}` belongs in a turn of {whose}; move it there");
        flaws.add(Code::BlockRole, text);
    }
}

/// Checks the input of a call.
fn input(block: &Json, at: &Pointer, flaws: &mut Flaws) {
    let input = block.get("input");
    if input.is_some_and(Json::is_object) {
        return;
    }
    let edit = match input {
        None => Some(Edit::Put(at.clone(), "input", "{}".to_owned())),
        Some(Json::Null) => Some("{}".to_owned()).map(|text| Edit::Set(at.inside("input"), text)),
        Some(Json::String(text)) if text.trim().is_empty() => {
            Some(Edit::Set(at.inside("input"), "{}".to_owned()))
        }
        Some(Json::String(text)) => {
            let is_object = serde_json::from_str::<Json>(text).is_ok_and(|json| json.is_object());
            is_object.then(|| Edit::Set(at.inside("input"), text.clone()))
        }
        Some(_) => None,
    };
    let text =
        "the `input` of a call is not an object; write an object, `{}` if the tool takes nothing";
    flaws.cured_of(Code::Arguments, text, block["id"].as_str(), edit);
}

/// Checks the content of a result.
fn result(message: &ListMessage, index: usize, at: &Pointer, flaws: &mut Flaws) {
    let block = &message.blocks()[index];
    let content = at.inside("content");
    let parts = match &block["content"] {
        Json::Array(parts) => parts,
        Json::Null | Json::String(_) => return,
        other => {
            let text = "the content of a result is neither a text nor an array of blocks; write its JSON as a text";
            let edit =
                super::as_text(message, &content).map(|text| Edit::Set(content.clone(), text));
            let wrapped = other.get("type").map(|_| {
                let blocks = Json::Array(vec![other.clone()]);
                Edit::set(content.clone(), &blocks)
            });
            flaws.cured(Code::ContentKind, text, wrapped.or(edit));
            return;
        }
    };
    let is_empty = |part: &Json| part["type"] == "text" && part["text"] == "";
    if parts.iter().any(is_empty) {
        let text = "a text in a result is empty; leave it out, or run `accp context repair`";
        flaws.cured(
            Code::ContentEmpty,
            text,
            left_out(parts, &content, is_empty),
        );
    }
    let stray = |part: &Json| {
        let kind = part["type"].as_str().unwrap_or_default();
        let turns = matches!(
            kind,
            "thinking" | "redacted_thinking" | "tool_use" | "tool_result"
        );
        turns || kind.is_empty() || FOREIGN.contains(&kind)
    };
    for (inner, part) in parts.iter().enumerate() {
        let at = content.inside(inner);
        if stray(part) {
            let kind = part["type"].as_str().unwrap_or("none");
            let text = format!(
                "a block of the type `{kind}` stands in a result, which takes texts, images, documents and search \
                 results; write it as a text"
            );
            let is_text = matches!(kind, "input_text" | "output_text") && part["text"].is_string();
            let edit = is_text.then(|| Edit::set(at.inside("type"), &"text".into()));
            flaws.cured(Code::PartKind, text, edit);
        } else if part["type"] == "image" {
            media::anthropic(part, &at, flaws);
        }
    }
    if block["is_error"] == true {
        only_texts(message, parts, &content, flaws);
    }
}

/// Checks that a result that is an error has nothing but texts. Images move behind the results of the turn.
fn only_texts(message: &ListMessage, parts: &[Json], content: &Pointer, flaws: &mut Flaws) {
    let other = |part: &Json| part["type"] != "text";
    if !parts.iter().any(other) {
        return;
    }
    let text = "a result with `is_error` has something else than texts; put it behind the results, or run `accp context \
                repair`";
    let moves = |part: &&Json| {
        matches!(
            part["type"].as_str(),
            Some("image" | "document" | "search_result")
        )
    };
    let all = parts
        .iter()
        .filter(|part| other(part))
        .all(|part| moves(&part));
    let mut edits = Vec::new();
    if all {
        let blocks = message.blocks();
        let behind = blocks
            .iter()
            .rposition(|block| block["type"] == "tool_result");
        let turn = Pointer::of(["content".into()]);
        for (inner, _) in parts.iter().enumerate().filter(|(_, part)| other(part)) {
            let range = content.inside(inner).range(message.raw());
            let raw = range.and_then(|range| message.raw().get(range));
            edits.extend(raw.map(|raw| {
                Edit::Insert(turn.clone(), behind.map_or(0, |at| at + 1), raw.to_owned())
            }));
        }
        edits.extend(left_out(parts, content, other));
    }
    flaws.cured(Code::ErrorContent, text, edits);
}

/// Returns the edits that remove parts. If all parts would go, the content becomes an empty text instead.
fn left_out(parts: &[Json], content: &Pointer, leave: impl Fn(&Json) -> bool) -> Vec<Edit> {
    if parts.iter().all(&leave) {
        return vec![Edit::Set(content.clone(), r#""""#.to_owned())];
    }
    let out = parts.iter().enumerate().filter(|(_, part)| leave(part));
    out.map(|(index, _)| Edit::Drop(content.clone(), index))
        .collect()
}
