//! Reads messages of the AI SDK of Vercel, versions 4 to 7. There are two kinds: messages for a page, with `parts`, and
//! messages for a model, whose contents have calls and results.

mod model;
mod ui;

use serde_json::Value as Json;

use super::draft::Draft;
use super::fault::{Fault, Parsed};
use super::fields::Fields;
use super::listed::{self, Listed, has_text, list};
use super::media;

/// The key under which programs keep the messages.
const LISTS: [&str; 1] = ["messages"];
/// Keys of a part or a message that only say how it was recorded.
const ABOUT: [&str; 24] = [
    "id",
    "state",
    "step",
    "metadata",
    "createdAt",
    "revisionId",
    "annotations",
    "providerMetadata",
    "providerOptions",
    "callProviderMetadata",
    "resultProviderMetadata",
    "toolMetadata",
    "experimental_providerMetadata",
    "providerExecuted",
    "preliminary",
    "dynamic",
    "title",
    "signature",
    "details",
    "approval",
    "rawInput",
    "invalid",
    "detail",
    "isAutomatic",
];
/// Keys of a part that hold a picture, a sound or a file.
const MEDIA: [&str; 8] = [
    "url",
    "data",
    "image",
    "mediaType",
    "mimeType",
    "filename",
    "name",
    "contentType",
];

/// Returns whether the document is of this format and of no other.
pub(crate) fn detect(json: &Json) -> bool {
    list(json, &LISTS).is_some_and(|all| ui::detect(all) || model::detect(all))
}

/// Reads messages.
///
/// # Errors
/// When the messages are of neither kind.
pub(crate) fn read(json: Json) -> Result<Parsed, Fault> {
    let expected = "messages with `parts`, or contents with `tool-call` and `tool-result`";
    let is_ui = list(&json, &LISTS).is_some_and(ui::detect);
    Fault::unless(detect(&json), expected)?;
    let Listed { objects: all, rest } = listed::taken(json, &LISTS, expected)?;
    let mut parsed = Parsed {
        rest,
        ..Parsed::default()
    };
    for message in all {
        let fields = Fields::of(Json::Object(message)).unwrap_or_default();
        if is_ui {
            ui::message(fields, &mut parsed.messages);
        } else {
            model::message(fields, &mut parsed.messages);
        }
    }
    Ok(parsed)
}

/// Adds a part that both kinds of messages may have. Returns any other part as `Err`.
fn shared(draft: &mut Draft, json: Json) -> Result<(), Json> {
    let whole = json.clone();
    let Ok(mut part) = Fields::of(json) else {
        draft.opaque(&whole);
        return Ok(());
    };
    let kind = part.text("type").unwrap_or_default();
    let key = ["text", "reasoning"]
        .into_iter()
        .find(|key| has_text(&whole, key));
    match (kind.as_str(), key) {
        ("text", Some("text")) => {
            let text = part.text("text").unwrap_or_default();
            draft.part("text", text, part, &ABOUT);
        }
        ("reasoning", Some(key)) => {
            let text = part.text(key).unwrap_or_default();
            draft.part("thinking", text, part, &ABOUT);
        }
        ("redacted-reasoning", _) if part.str("data").is_some() => {
            let text = media::redacted(part.str("data").unwrap_or_default());
            let (about, unknown) = part.split(&[&["data"][..], &ABOUT].concat());
            draft.named("redacted_thinking", text, about);
            draft.shown(unknown);
        }
        ("file" | "image" | "media" | "image-data" | "image-url" | "file-data" | "file-url", _) => {
            media(draft, &kind, part, &whole);
        }
        _ => return Err(whole),
    }
    Ok(())
}

/// Adds a picture, a sound or a file. The type of the part may say how its bytes are given.
fn media(draft: &mut Draft, kind: &str, part: Fields, whole: &Json) {
    let kind = kind.replace('-', "_");
    media::add(draft, &kind, part, &[&MEDIA[..], &ABOUT].concat(), whole);
}
