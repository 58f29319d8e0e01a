//! Reads and writes the kinds of parts and calls that several formats share.

use serde_json::{Map, Value as Json, json};

use super::anthropic;
use super::draft::Draft;
use super::fields::{Fields, merge};
use super::media::{self, At, Media};
use super::neutral::PartContent;
use super::signature;

/// Keys of a part that hold a picture, a sound or a file: of OpenAI's chat, and of `LangChain`.
const MEDIA: [&str; 11] = [
    "image_url",
    "input_audio",
    "file",
    "base64",
    "data",
    "url",
    "file_id",
    "mime_type",
    "source_type",
    "filename",
    "title",
];

/// The types of calls.
const CALLS: [&str; 4] = ["function", "custom", "tool_call", "invalid_tool_call"];

/// Adds a part of a content that may be of OpenAI's chat, of `LangChain` or of Anthropic's
/// messages.
pub(super) fn any(draft: &mut Draft, json: Json) {
    let kind = json["type"].as_str().unwrap_or_default();
    match kind {
        "image" | "document" if json.get("source").is_some() => anthropic::block(draft, json),
        "text" | "refusal" | "reasoning" | "image_url" | "input_audio" | "file" | "image"
        | "audio" | "video" => openai(draft, json),
        _ => match json {
            Json::String(text) => draft.text(text),
            json => anthropic::block(draft, json),
        },
    }
}

/// Adds a part of OpenAI's chat or of `LangChain`.
fn openai(draft: &mut Draft, json: Json) {
    let Some((kind, mut part, whole)) = draft.open(json) else {
        return;
    };
    if let Some(mut text) = part.object("text").filter(|_| kind == "text") {
        // OpenAI's threads have the text in an object.
        match text.text("value") {
            Some(value) => draft.part("text", value, text, &["annotations"]),
            None => draft.opaque(&whole),
        }
        draft.shown(part.into_map());
        return;
    }
    match kind.as_str() {
        "text" if part.str("text").is_some() => {
            let text = part.text("text").unwrap_or_default();
            draft.part(
                "text",
                text,
                part,
                &[
                    &["annotations", "cache_control", "id", "index"],
                    &signature::EXTRA[..],
                ]
                .concat(),
            );
        }
        "refusal" if part.str("refusal").is_some() => {
            let text = part.text("refusal").unwrap_or_default();
            draft.part("refusal", text, part, &[]);
        }
        "reasoning" if part.str("reasoning").is_some() => {
            let text = part.text("reasoning").unwrap_or_default();
            draft.part("thinking", text, part, &["id", "index", "extras"]);
        }
        "text" | "refusal" | "reasoning" => draft.opaque(&whole),
        kind => media::add(draft, kind, part, &MEDIA, &whole),
    }
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
        let form = [
            &["type", "index"][..],
            &signature::EXTRA,
            &signature::GEMINI,
        ]
        .concat();
        let (known, more) = fields.split(&form);
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

/// Writes a part of a content of OpenAI's chat.
pub(super) fn write(what: &PartContent) -> Option<Json> {
    Some(match what {
        PartContent::Text(text) => json!({ "type": "text", "text": text }),
        PartContent::Refusal(text) => json!({ "type": "refusal", "refusal": text }),
        PartContent::Media(media) => match (media.kind, &media.at, media.data_url()) {
            ("image", At::Url(url), _) => media.with_mime(image(url)),
            ("image", At::Data(_), Some(url)) => image(&url),
            ("audio", At::Data(data), _) => {
                let format = media.mime.as_deref()?.strip_prefix("audio/")?;
                json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
            }
            ("file", At::File(id), _) => media.with_mime(named("file_id", id, media)),
            ("file", At::Data(data), url) => {
                named("file_data", &url.unwrap_or(data.clone()), media)
            }
            _ => return None,
        },
        PartContent::Thinking(_) | PartContent::Redacted(_) | PartContent::Other(..) => {
            return None;
        }
    })
}

fn image(url: &str) -> Json {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

/// Writes a file under this key, with its name.
fn named(key: &str, value: &str, media: &Media) -> Json {
    let mut file = json!({ key: value });
    if let Some(name) = &media.name {
        file["filename"] = name.as_str().into();
    }
    json!({ "type": "file", "file": file })
}
