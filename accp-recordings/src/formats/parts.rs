//! Parts of a content, of the kinds that several formats share.

use serde_json::{Map, Value as Json};

use super::anthropic;
use super::draft::{Draft, merge, placeholder};
use super::fields::Fields;
use super::responses::data_url;

/// The types of the parts of OpenAI's chat.
const OPENAI: [&str; 5] = ["text", "refusal", "image_url", "input_audio", "file"];

/// The types of calls.
const CALLS: [&str; 4] = ["function", "custom", "tool_call", "invalid_tool_call"];

/// Adds a part of a content that may be of OpenAI's chat or of Anthropic's messages.
pub(super) fn any(draft: &mut Draft, json: Json) {
    match json {
        Json::String(text) => draft.text(text),
        json if json["type"]
            .as_str()
            .is_some_and(|kind| OPENAI.contains(&kind)) =>
        {
            openai(draft, json);
        }
        json => anthropic::block(draft, json),
    }
}

/// Adds a part of OpenAI's chat.
pub(super) fn openai(draft: &mut Draft, json: Json) {
    let Some((kind, mut part, whole)) = draft.open(json) else {
        return;
    };
    match kind.as_str() {
        "text" if part.str("text").is_some() => {
            let text = part.text("text").unwrap_or_default();
            draft.part(
                "text",
                text,
                part,
                &["annotations", "cache_control", "id", "index"],
            );
        }
        "refusal" if part.str("refusal").is_some() => {
            let text = part.text("refusal").unwrap_or_default();
            draft.part("refusal", text, part, &[]);
        }
        "image_url" | "input_audio" | "file" => match part.get(&kind).and_then(|m| media(&kind, m))
        {
            Some((kind, text)) => {
                let key = whole["type"].as_str().unwrap_or_default();
                draft.part(kind, text, part, &[key]);
            }
            None => draft.opaque(&whole),
        },
        _ => draft.opaque(&whole),
    }
}

/// Returns the kind of a picture, a sound or a file, and the text that stands for it.
fn media<'k>(kind: &'k str, value: &Json) -> Option<(&'k str, String)> {
    let field = |key: &str| value.get(key).and_then(Json::as_str);
    Some(match kind {
        "image_url" => {
            let url = value.as_str().or_else(|| field("url"))?;
            let text = match data_url(url) {
                Some((media, data)) => placeholder("image", Some(media), data),
                None => format!("[image {url}]"),
            };
            ("image", text)
        }
        "input_audio" => {
            let text = placeholder("audio", field("format"), field("data")?);
            ("audio", text)
        }
        _ => {
            let name = field("filename").or_else(|| field("file_id"));
            let text = match field("file_data") {
                Some(data) => placeholder("file", name, data),
                None => format!("[file {}]", name?),
            };
            ("file", text)
        }
    })
}

/// Adds a call in a form of OpenAI's or `LangChain`'s: the function is an object, or its name and
/// its arguments stand in the call.
pub(super) fn call(draft: &mut Draft, json: Json) {
    let whole = json.clone();
    let Ok(mut call) = Fields::of(json) else {
        draft.opaque(&whole);
        return;
    };
    let id = call.take("id");
    let inner = ["function", "custom"]
        .into_iter()
        .find_map(|key| call.object(key));
    let mut function = match inner {
        Some(inner) => inner,
        None => std::mem::take(&mut call),
    };
    let name = function.take("name");
    let keys = ["arguments", "args", "input"];
    let arguments = keys.into_iter().find_map(|key| function.take(key));
    let mut unknown = Map::new();
    let mut about = Map::new();
    for fields in [call, function] {
        let (known, more) = fields.split(&["type", "index"]);
        let is_form =
            |key: &str, value: &Json| key == "type" && CALLS.iter().any(|kind| value == kind);
        let known = known
            .into_iter()
            .filter(|(key, value)| !is_form(key, value));
        merge(&mut about, known.collect());
        merge(&mut unknown, more);
    }
    draft.call(id, name, arguments, about);
    draft.shown(unknown);
}
