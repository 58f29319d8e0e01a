//! Pictures, documents and sounds in a message: where they stand, what they cost, and the line that says what they are.
//!
//! They are found by structure: a part whose type names a picture, a file or a sound, and that has its bytes, an address
//! or an id. A text is never looked into, so that base64 in the result of a tool counts as the text that it is.

mod bytes;

use std::borrow::Cow;

use accp_tokens::{Detail, MediaPrices, Medium};
use serde_json::{Map, Value as Json, json};

use crate::form::Form;
use crate::names::CommandOptions;
use crate::raw::Pointer;
use bytes::{Bytes, size};

pub(crate) use bytes::named;

/// The members of a message, and of its parts, that may have parts.
const PARTS: [&str; 4] = ["content", "output", "outputs", "source"];
/// The objects of a part that may have its bytes, address or id.
const HOLDERS: [&str; 8] = [
    "source",
    "image_url",
    "input_audio",
    "audio_url",
    "video_url",
    "file",
    "audio",
    "image",
];
/// Members with the bytes in base64.
const DATA: [&str; 4] = ["data", "file_data", "base64", "b64_json"];
/// Members with an address, which may have the bytes in itself.
const URL: [&str; 5] = ["url", "image_url", "file_url", "audio_url", "video_url"];
/// Members with the id of a file at the provider.
const ID: [&str; 1] = ["file_id"];
const MIME: [&str; 4] = ["media_type", "mime_type", "mimeType", "format"];
const NAME: [&str; 2] = ["title", "filename"];
/// The most characters of an address in a line.
const ADDRESS: usize = 120;

/// A picture, a document or a sound in a message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The part of the content.
    pub(crate) part: Pointer,
    /// The text with the bytes, the address or the id, which no model reads as text.
    at: Pointer,
    pub(crate) medium: Medium,
    /// What it is: `image image/png, 1280 x 720 pixels, 300 KB`.
    what: String,
    /// Whether the provider takes a text in the place of the part.
    pub(crate) can_leave: bool,
}

impl Found {
    /// Returns the line that describes the medium.
    pub(crate) fn line(&self) -> String {
        format!("[{}]", self.what)
    }

    /// Returns the line that describes the medium of a message, with how a reader gets it.
    pub(crate) fn line_of(&self, way: Way<'_>, message: usize) -> String {
        format!("[{}; {}]", self.what, way.to(message))
    }

    /// Returns the part that takes the medium's place after it has left the list.
    pub(crate) fn left(&self, form: Form, way: Way<'_>, message: usize) -> Json {
        let how = way.to(message);
        text_part(form, &format!("[{}; left this list; {how}]", self.what))
    }
}

/// How a reader gets a medium that is not in the list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way<'o> {
    /// By a command with these options.
    Command(&'o CommandOptions),
    /// Only from the speaker who gave it, because the tool of a [`Memory`](crate::Memory) reads only texts.
    Asking,
}

impl Way<'_> {
    fn to(self, message: usize) -> String {
        match self {
            Self::Command(options) => {
                format!("`accp context restore{options} --message {message}` gives it")
            }
            Self::Asking => {
                format!("it was in message {message}, and is to be asked for if it is needed again")
            }
        }
    }
}

/// Returns a part of a content with a text.
pub(crate) fn text_part(form: Form, text: &str) -> Json {
    let kind = match form {
        Form::Responses => "input_text",
        Form::OpenAi | Form::Anthropic => "text",
    };
    json!({ "type": kind, "text": text })
}

/// Returns the prices of a provider of this form, which apply if no model is named.
pub(crate) const fn prices(form: Form) -> MediaPrices {
    match form {
        Form::OpenAi | Form::Responses => MediaPrices::openai(),
        Form::Anthropic => MediaPrices::anthropic(),
    }
}

/// Finds the pictures, documents and sounds of a message, in its order.
pub(crate) fn found(form: Form, message: &Map<String, Json>) -> Vec<Found> {
    let mut out = Vec::new();
    let whole = Pointer::default();
    // Sounds and pictures that the model made are in other members than the content.
    if form == Form::OpenAi && message.get("role").is_some_and(|role| role == "assistant") {
        out.extend(own(
            message.get("audio"),
            "audio",
            &whole.inside("audio"),
            &["data", "id"],
        ));
    }
    if form == Form::Responses
        && message
            .get("type")
            .is_some_and(|kind| kind == "image_generation_call")
    {
        let item = Json::Object(message.clone());
        out.extend(own(Some(&item), "image", &whole, &["result"]));
    }
    for key in PARTS {
        if let Some(parts) = message.get(key) {
            let is_screen = message
                .get("type")
                .is_some_and(|kind| kind == "computer_call_output");
            look(parts, &whole.inside(key), !is_screen, &mut out);
        }
    }
    out
}

/// Returns the message with a line instead of each medium that was found; `None` if none was found.
pub(crate) fn described(form: Form, message: &Json, found: &[Found]) -> Option<Json> {
    let mut out = (!found.is_empty()).then(|| message.clone())?;
    for one in found {
        let (place, text) = if one.part == one.at {
            (&one.at, Json::from(one.line()))
        } else {
            (&one.part, text_part(form, &one.line()))
        };
        if let Some(value) = place.value_mut(&mut out) {
            *value = text;
        }
    }
    Some(out)
}

/// Returns the text of a message without the bytes, addresses and ids of its media; `None` if it has no media.
pub(crate) fn bare(raw: &str, message: &Json, found: &[Found]) -> Option<String> {
    let mut rest = raw;
    let mut out = String::new();
    for one in found {
        let text = one.at.value(message)?.to_string();
        // The raw message may escape the text differently. Then the pointer finds the place.
        let Some((before, behind)) = rest.split_once(&text) else {
            let empty = |one: &Found| (one.at.clone(), "\"\"".to_owned());
            return crate::raw::replaced(raw, &found.iter().map(empty).collect::<Vec<_>>());
        };
        out.push_str(before);
        out.push_str("\"\"");
        rest = behind;
    }
    out.push_str(rest);
    (!found.is_empty()).then_some(out)
}

/// Finds the media in a part, or in an array of parts.
fn look(json: &Json, at: &Pointer, can_leave: bool, out: &mut Vec<Found>) {
    match json {
        Json::Array(parts) => {
            for (index, part) in parts.iter().enumerate() {
                look(part, &at.inside(index), can_leave, out);
            }
        }
        Json::Object(part) => match read(part, at, can_leave) {
            Some(found) => out.push(found),
            None => {
                for key in PARTS {
                    if let Some(inner) = part.get(key).filter(|inner| !inner.is_string()) {
                        look(inner, &at.inside(key), can_leave, out);
                    }
                }
            }
        },
        _ => {}
    }
}

/// The kind of medium that a part names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Image,
    Audio,
    Video,
    File,
}

impl Kind {
    /// Returns the kind that a type of a part names: `input_image`, `document`, `computer_screenshot`.
    fn of(name: &str) -> Option<Self> {
        let words = name.split('_');
        let mut kinds = words.filter_map(|word| match word {
            "image" | "screenshot" => Some(Self::Image),
            "audio" => Some(Self::Audio),
            "video" => Some(Self::Video),
            "file" | "document" => Some(Self::File),
            _ => None,
        });
        kinds.next()
    }

    /// Returns the kind that a media type names; `None` if it names none of these kinds.
    fn of_mime(mime: &str) -> Option<Self> {
        match mime.split('/').next()? {
            "image" => Some(Self::Image),
            "audio" => Some(Self::Audio),
            "video" => Some(Self::Video),
            _ => None,
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::File => "document",
        }
    }
}

/// Reads a part that is a picture, a document or a sound.
fn read(part: &Map<String, Json>, at: &Pointer, can_leave: bool) -> Option<Found> {
    let kind = Kind::of(part.get("type")?.as_str()?)?;
    let (holder, inside) = holder(part, at);
    // A document that is a text, or has parts of its own, is not a medium.
    let is_text = ["text", "content"]
        .iter()
        .any(|kind| holder.get("type").is_some_and(|of| of == *kind));
    if is_text {
        return None;
    }
    let key = [&DATA[..], &URL, &ID]
        .concat()
        .into_iter()
        .find(|key| holder.get(*key).is_some_and(Json::is_string))?;
    let text = holder.get(key)?.as_str()?;
    let member = |keys: &[&str]| {
        let mut found = keys
            .iter()
            .filter_map(|key| holder.get(*key).or_else(|| part.get(*key))?.as_str());
        found.next().map(str::to_owned)
    };
    let detail = member(&["detail"]).map_or(Detail::Auto, |name| Detail::named(&name));
    let bytes = if ID.contains(&key) {
        Bytes::File(text)
    } else {
        Bytes::of(text, DATA.contains(&key))
    };
    let found = Seen {
        kind,
        detail,
        mime: bytes.mime().map(str::to_owned).or_else(|| member(&MIME)),
        name: member(&NAME),
        bytes,
    };
    Some(found.at(at.clone(), inside.inside(key), can_leave))
}

/// Returns the object that says where the bytes of a part are, and its place.
fn holder<'p>(part: &'p Map<String, Json>, at: &Pointer) -> (&'p Map<String, Json>, Pointer) {
    let mut inner = HOLDERS
        .iter()
        .filter_map(|key| Some((part.get(*key)?.as_object()?, at.inside(*key))));
    inner.next().unwrap_or((part, at.clone()))
}

/// Reads a sound or a picture that the model made.
fn own(json: Option<&Json>, kind: &str, at: &Pointer, keys: &[&'static str]) -> Option<Found> {
    let (kind, json) = (Kind::of(kind)?, json?);
    let key = keys.iter().find(|key| json[**key].is_string())?;
    let text = json[*key].as_str()?;
    let seen = Seen {
        kind,
        detail: Detail::Auto,
        mime: None,
        name: None,
        bytes: match *key {
            "id" => Bytes::File(text),
            _ => Bytes::of(text, true),
        },
    };
    let at = at.inside(*key);
    Some(seen.at(at.clone(), at, false))
}

/// A part that was read.
struct Seen<'t> {
    kind: Kind,
    detail: Detail,
    mime: Option<String>,
    name: Option<String>,
    bytes: Bytes<'t>,
}

impl Seen<'_> {
    fn at(self, part: Pointer, at: Pointer, can_leave: bool) -> Found {
        let kind = self.mime.as_deref().and_then(Kind::of_mime);
        let kind = kind.unwrap_or(self.kind);
        let medium = match kind {
            Kind::Image => self.bytes.image(self.detail),
            Kind::Audio => self.bytes.audio(),
            Kind::Video => Medium::Video,
            Kind::File => self.bytes.document(self.mime.as_deref()),
        };
        let mut words = vec![kind.word().to_owned()];
        words.extend(self.mime.filter(|mime| mime.contains('/')));
        words.extend(self.name.map(|name| format!("{name:?}")));
        let mut what = words.join(" ");
        let amount = match medium {
            Medium::Image { pixels, .. } => {
                pixels.map(|(width, height)| format!("{width} x {height} pixels"))
            }
            Medium::Document { pages } => pages.map(|pages| format!("{pages} pages")),
            Medium::Audio { millis } => {
                millis.map(|millis| format!("{} seconds", millis.div_ceil(1_000)))
            }
            _ => None,
        };
        let place = match self.bytes {
            Bytes::Here { length, .. } => Cow::Owned(size(length)),
            Bytes::Url(url) => short(url),
            Bytes::File(id) => Cow::Owned(format!("file {}", short(id))),
        };
        for part in amount.into_iter().chain([place.into_owned()]) {
            what.push_str(", ");
            what.push_str(&part);
        }
        Found {
            part,
            at,
            medium,
            what,
            can_leave,
        }
    }
}

fn short(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(ADDRESS) {
        Some((end, _)) => Cow::Owned(format!("{}...", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
