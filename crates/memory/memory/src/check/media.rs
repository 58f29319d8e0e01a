//! Images: how many there are, and whether they say rightly what they are.

use serde_json::{Value as Json, json};

use super::flaw::Flaws;
use crate::edit::Edit;
use crate::finding::Code;
use crate::list::MessageList;
use crate::raw::Place;

/// The types of images that Anthropic reads, each with the start of its bytes as base64.
const TYPES: [(&str, &str); 4] = [
    ("image/jpeg", "/9j/"),
    ("image/png", "iVBORw0KGgo"),
    ("image/gif", "R0lGOD"),
    ("image/webp", "UklGR"),
];

/// Counts the images of the whole list, also those in results.
pub(super) fn count(list: &MessageList, flaws: &mut Flaws) {
    let most = list.form().most().images;
    let mut seen = 0;
    for (at, message) in list.messages().iter().enumerate() {
        let before = seen;
        seen += images(&message.json()["content"]) + images(&message.json()["output"]);
        if before <= most && seen > most {
            let text = format!(
                "this is image {} of the request, and the provider takes {most}; leave out old ones, or run \
                 `accp context compress`",
                most + 1
            );
            flaws.at(Some(at)).add(Code::ImagesOver, text);
        }
    }
}

fn images(content: &Json) -> usize {
    let is_image = |part: &Json| {
        let kind = part["type"].as_str();
        matches!(kind, Some("image" | "image_url" | "input_image"))
    };
    let parts = content.as_array().into_iter().flatten();
    parts
        .map(|part| usize::from(is_image(part)) + images(&part["content"]))
        .sum()
}

/// Checks an image of Anthropic's form.
pub(super) fn anthropic(block: &Json, at: &Place, flaws: &mut Flaws) {
    let source = &block["source"];
    let place = at.inside("source");
    let text = |key: &str| source[key].as_str();
    let wrong = match text("type") {
        Some("base64") => return base64(source, &place, flaws),
        Some("url") => text("url").is_none_or(str::is_empty),
        Some("file") => text("file_id").is_none_or(str::is_empty),
        _ => true,
    };
    if wrong {
        let text = "an image has no source that the provider reads; give `source` with the type `base64`, `url` or \
                    `file`, and its data";
        flaws.add(Code::ImageForm, text);
    }
}

fn base64(source: &Json, place: &Place, flaws: &mut Flaws) {
    let kind = source["media_type"].as_str().unwrap_or_default();
    let Some(data) = source["data"].as_str().filter(|data| !data.is_empty()) else {
        let text = "an image has no data; give them as base64, or leave the image out";
        flaws.add(Code::ImageForm, text);
        return;
    };
    if let Some((head, rest)) = data
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','))
    {
        let named = head.split(';').next().unwrap_or_default();
        let mut edits = vec![Edit::set(place.inside("data"), &rest.into())];
        if TYPES.iter().any(|(known, _)| *known == named) && source.get("media_type").is_some() {
            edits.push(Edit::set(place.inside("media_type"), &named.into()));
        }
        let text = "the data of an image are a data URL; leave out what stands before the comma";
        flaws.cured(Code::ImageForm, text, edits);
        return;
    }
    let sniffed = TYPES.iter().find(|(_, start)| data.starts_with(start));
    let known = TYPES.iter().any(|(known, _)| *known == kind);
    let Some((real, _)) = sniffed.filter(|(real, _)| *real != kind) else {
        if !known {
            let text = format!(
                "an image has the type `{kind}`; the provider reads JPEG, PNG, GIF and WebP: convert it"
            );
            flaws.add(Code::ImageForm, text);
        }
        return;
    };
    let text = format!(
        "an image says that it is `{kind}`, and its data are `{real}`; name the type of the data"
    );
    let edit = match source.get("media_type") {
        Some(_) => Edit::set(place.inside("media_type"), &(*real).into()),
        None => Edit::Put(place.clone(), "media_type", json!(real).to_string()),
    };
    flaws.cured(Code::ImageForm, text, [edit]);
}

/// Checks an image of OpenAI's chat.
pub(super) fn chat(part: &Json, at: &Place, flaws: &mut Flaws) {
    let image = &part["image_url"];
    if image["url"].as_str().is_some_and(|url| !url.is_empty()) {
        return;
    }
    let text = "an image has no `url`; write `\"image_url\": {\"url\": ...}`";
    let url = image.as_str().filter(|url| !url.is_empty());
    let edit = url.map(|url| Edit::set(at.inside("image_url"), &json!({ "url": url })));
    flaws.cured(Code::ImageForm, text, edit);
}

/// Checks an image of Responses.
pub(super) fn responses(part: &Json, at: &Place, flaws: &mut Flaws) {
    let has = |key: &str| part[key].as_str().is_some_and(|text| !text.is_empty());
    if has("image_url") || has("file_id") {
        return;
    }
    let text = "an image has no address; write `\"image_url\": \"...\"`, a text, or `file_id`";
    let url = part["image_url"]["url"]
        .as_str()
        .filter(|url| !url.is_empty());
    let edit = url.map(|url| Edit::set(at.inside("image_url"), &url.into()));
    flaws.cured(Code::ImageForm, text, edit);
}
