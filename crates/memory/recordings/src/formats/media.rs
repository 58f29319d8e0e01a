//! Pictures, sounds and files in the forms of all formats: the data, an address or an id.

use accp_context::Recorded;
use serde_json::{Map, Value as Json, json};

use super::draft::Draft;
use super::fields::{Fields, merge};

/// The keys of the objects that hold a picture, a sound or a file inside a part.
const HOLDERS: [&str; 8] = [
    "image_url",
    "input_audio",
    "file",
    "source",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
];
const DATA: [&str; 4] = ["data", "base64", "file_data", "image"];
const URL: [&str; 6] = ["url", "image_url", "file_url", "fileUri", "file_uri", "uri"];
const ID: [&str; 2] = ["file_id", "fileId"];
const MIME: [&str; 6] = [
    "media_type",
    "mime_type",
    "mimeType",
    "mediaType",
    "contentType",
    "format",
];
const NAME: [&str; 5] = ["title", "filename", "displayName", "display_name", "name"];

/// A picture, a sound or a file of a message. A model of text sees [`Media::text`] instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    /// `image`, `audio`, `video` or `file`.
    pub(super) kind: &'static str,
    /// The media type, such as `image/png`.
    pub(super) mime: Option<String>,
    pub(super) name: Option<String>,
    pub(super) at: At,
}

/// Where the bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum At {
    /// Here, in base64.
    Data(String),
    Url(String),
    /// At the provider, under this id.
    File(String),
}

impl Media {
    /// From a part of this type, takes the keys that say where the bytes are. The other keys stay in the part.
    pub(super) fn take(kind: &str, part: &mut Map<String, Json>) -> Option<Self> {
        let mut flat = part.clone();
        for key in HOLDERS {
            if flat.get(key).is_some_and(Json::is_object)
                && let Some(Json::Object(inner)) = flat.shift_remove(key)
            {
                merge(&mut flat, inner);
            }
        }
        let modality = text(&mut flat, &["modality"]);
        if modality.is_some()
            && let Some(data) = text(&mut flat, &["content"])
        {
            flat.insert("data".to_owned(), data.into());
        }
        let mut mime = text(&mut flat, &MIME);
        let at = if let Some(data) = text(&mut flat, &DATA) {
            At::Data(data)
        } else if let Some(url) = text(&mut flat, &URL) {
            At::Url(url)
        } else {
            At::File(text(&mut flat, &ID)?)
        };
        let at = match at {
            At::Data(url) | At::Url(url) if data_url(&url).is_some() => {
                let (media, data) = data_url(&url)?;
                mime = Some(media.to_owned());
                At::Data(data.to_owned())
            }
            // Some programs write URL-safe base64, which no provider accepts, so the usual base64
            // takes its place.
            At::Data(data) if data.contains(['-', '_']) && !data.contains(':') => {
                At::Data(data.replace('-', "+").replace('_', "/"))
            }
            // Some formats have data and addresses under one key. Base64 has no colon, so a text
            // with `://` is an address.
            At::Data(url) if url.contains("://") => At::Url(url),
            at => at,
        };
        if ["base64", "url", "file"]
            .iter()
            .any(|word| flat.get("type") == Some(&(*word).into()))
        {
            flat.shift_remove("type");
        }
        let kind = kind_of(modality.as_deref().unwrap_or(kind), mime.as_deref());
        if kind == "audio" {
            mime = mime.map(|mime| {
                if mime.contains('/') {
                    mime
                } else {
                    format!("audio/{mime}")
                }
            });
        }
        let name = text(&mut flat, &NAME);
        *part = flat;
        Some(Self {
            kind,
            mime,
            name,
            at,
        })
    }

    /// Returns the text that stands for the bytes.
    pub(super) fn text(&self) -> String {
        let name = self.name.as_ref();
        let name = name.map(|name| format!(" \"{name}\"")).unwrap_or_default();
        let kind = self.kind;
        match &self.at {
            At::Data(data) => placeholder(&format!("{kind}{name}"), self.mime.as_deref(), data),
            At::Url(url) => format!("[{kind}{name} {url}]"),
            At::File(id) => format!("[{kind}{name} file {id}]"),
        }
    }

    /// Adds the media type to a part that has no key for it, if the bytes are at an address or at the provider.
    pub(super) fn with_mime(&self, mut part: Json) -> Json {
        if let (At::Url(_) | At::File(_), Some(mime)) = (&self.at, &self.mime) {
            part[Recorded::ABOUT] = json!({ "mime_type": mime });
        }
        part
    }

    /// Returns the data as a `data:` URL.
    pub(super) fn data_url(&self) -> Option<String> {
        match (&self.at, &self.mime) {
            (At::Data(data), Some(mime)) => Some(format!("data:{mime};base64,{data}")),
            _ => None,
        }
    }
}

/// Adds a picture, a sound or a file, or the whole part if no key says where the bytes are. The text replaces some
/// keys in `about`; the others only say how the part was recorded.
pub(super) fn add(draft: &mut Draft, kind: &str, part: Fields, about: &[&str], whole: &Json) {
    match Media::take(kind, &mut part.clone().into_map()) {
        Some(media) => draft.part(media.kind, media.text(), part, about),
        None => draft.opaque(whole),
    }
}

/// Returns the kind of a part, from its type or its media type.
pub(super) fn kind_of(kind: &str, mime: Option<&str>) -> &'static str {
    let mime = mime.and_then(|mime| mime.split('/').next());
    let words = kind.split('_').chain(mime);
    let kinds = ["image", "audio", "video"];
    let mut found = words.filter_map(|word| kinds.into_iter().find(|kind| *kind == word));
    found.next().unwrap_or("file")
}

/// Takes the first of these keys that has a text.
fn text(map: &mut Map<String, Json>, keys: &[&str]) -> Option<String> {
    let key = keys
        .iter()
        .find(|key| map.get(**key).is_some_and(Json::is_string))?;
    match map.shift_remove(*key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// Returns the text that stands for data that no model saw as text.
fn placeholder(kind: &str, media: Option<&str>, data: &str) -> String {
    let media = media.map(|media| format!(" {media}")).unwrap_or_default();
    format!("[{kind}{media}, {} characters of base64]", data.len())
}

/// Returns the text that stands for thinking that only its provider can read.
pub(super) fn redacted(data: &str) -> String {
    placeholder("redacted thinking", None, data)
}

/// Splits a `data:` URL into its media type and its base64.
fn data_url(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix("data:")?.split_once(";base64,")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_picture_is_found_in_the_words_of_each_format() {
        let data = "iVBORw0KGgo=";
        let url = format!("data:image/png;base64,{data}");
        for (kind, part) in [
            ("image_url", json!({ "image_url": { "url": url } })),
            ("input_image", json!({ "image_url": url })),
            (
                "image",
                json!({ "source": { "type": "base64", "media_type": "image/png", "data": data } }),
            ),
            (
                "",
                json!({ "inlineData": { "mimeType": "image/png", "data": data } }),
            ),
            (
                "blob",
                json!({ "modality": "image", "mime_type": "image/png", "content": data }),
            ),
            ("image", json!({ "base64": data, "mime_type": "image/png" })),
        ] {
            let Json::Object(mut part) = part else {
                continue;
            };
            let media = Media::take(kind, &mut part).unwrap();
            assert_eq!(
                media.text(),
                "[image image/png, 12 characters of base64]",
                "{kind}"
            );
            assert_eq!(media.data_url().as_ref(), Some(&url));
            assert!(part.is_empty(), "{kind}: {part:?}");
        }
    }

    #[test]
    fn what_says_more_stays() {
        let Json::Object(mut part) =
            json!({ "image_url": { "url": "https://a", "detail": "low" } })
        else {
            return;
        };
        let media = Media::take("image_url", &mut part).unwrap();
        assert_eq!(media.text(), "[image https://a]");
        assert_eq!(Json::Object(part), json!({ "detail": "low" }));
    }
}
