//! Checks images: how many there are, how large they are, and whether their stated type is right.

use accp_tokens::Medium;
use serde_json::{Value as Json, json};

use super::flaw::Flaws;
use crate::edit::Edit;
use crate::finding::Code;
use crate::list::MessageList;
use crate::raw::Pointer;

/// The types of images that Anthropic reads, each with the start of its bytes as base64.
const TYPES: [(&str, &str); 4] = [
    ("image/jpeg", "/9j/"),
    ("image/png", "iVBORw0KGgo"),
    ("image/gif", "R0lGOD"),
    ("image/webp", "UklGR"),
];

/// The most pixels that a side of an image may have for Anthropic.
const SIDE: u32 = 8_000;
/// The most pixels of a side in a request with more than `MANY` images.
const SIDE_OF_MANY: u32 = 2_000;
const MANY: usize = 20;
/// The most characters of an image in base64: 10 MB. Some platforms that sell Anthropic's models take only half as
/// much.
const DIGITS: usize = 10 * 1_024 * 1_024;

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

/// Checks the sizes of images in Anthropic's form, if the list has their bytes.
pub(super) fn sizes(list: &MessageList, flaws: &mut Flaws) {
    let all = list.messages().iter();
    let count: usize = all.map(|message| images(&message.json()["content"])).sum();
    let (most, why) = if count > MANY {
        (SIDE_OF_MANY, " in a request with more than 20 images")
    } else {
        (SIDE, "")
    };
    for (at, message) in list.messages().iter().enumerate() {
        for found in message.media.iter() {
            let part = found.part.value(message.json()).unwrap_or(&Json::Null);
            if part["type"] != "image" {
                continue;
            }
            flaws.at(Some(at));
            if let Medium::Image {
                pixels: Some((width, height)),
                ..
            } = found.medium
                && width.max(height) > most
            {
                let text = format!(
                    "an image has {width} x {height} pixels, and the provider takes {most} a side{why}; make it smaller"
                );
                flaws.add(Code::ImageSize, text);
            }
            let data = part["source"]["data"].as_str().unwrap_or_default();
            if data.len() > DIGITS {
                let text = format!(
                    "an image has {} characters of base64, and the provider takes {DIGITS}; make it smaller",
                    data.len()
                );
                flaws.add(Code::ImageSize, text);
            }
        }
    }
}

/// Checks an image of Anthropic's form.
pub(super) fn anthropic(block: &Json, at: &Pointer, flaws: &mut Flaws) {
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

fn base64(source: &Json, place: &Pointer, flaws: &mut Flaws) {
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
pub(super) fn chat(part: &Json, at: &Pointer, flaws: &mut Flaws) {
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
pub(super) fn responses(part: &Json, at: &Pointer, flaws: &mut Flaws) {
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
