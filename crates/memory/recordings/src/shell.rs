//! Cuts the values that messages hold out of a document, and puts them back.
//!
//! The shell of a document is the document with holes. A hole is an object with one key. `{"$":"3/content"}` is the
//! value at this pointer in message 3. `{"$":"4-7"}` in an array are the messages 4 to 7. `{"$j":["3/content","/x"]}`
//! is the value at `/x` of the JSON in the text at `3/content`. `{"$t":["[", "3/content", "]"]}` is a text of JSON:
//! the JSON of the value at `3/content`, between two pieces of text. `{"$o":[[key, value],..]}` is an object in which
//! a key begins with `$`.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Map, Value as Json, json};

/// Values of fewer bytes are cheaper than a hole.
const SMALL: usize = 16;

/// Returns the shell of a document for these messages.
pub(crate) fn cut(document: &Json, messages: &[Json]) -> Json {
    let mut places = Places::default();
    // A hole stands for a value of a message. One hole for a whole message is better than holes for
    // its parts, so whole messages are noted first.
    for (index, message) in messages.iter().enumerate() {
        places.note(message, || Place::At(index, String::new()));
    }
    for (index, message) in messages.iter().enumerate() {
        places.note_in(message, index, "", None);
    }
    places.cut(document)
}

/// Returns the document of a shell, or `None` if a hole does not fit the messages.
pub(crate) fn fill(shell: &Json, messages: &[Json]) -> Option<Json> {
    match shell {
        Json::Array(items) => {
            let mut out = Vec::new();
            for item in items {
                match run(item) {
                    Some((from, to)) => out.extend_from_slice(messages.get(from..=to)?),
                    None => out.push(fill(item, messages)?),
                }
            }
            Some(Json::Array(out))
        }
        Json::Object(map) => {
            let only = map.iter().next().filter(|_| map.len() == 1);
            match only.map(|(key, value)| (key.as_str(), value)) {
                Some(("$", place)) => at(place.as_str()?, messages).cloned(),
                Some(("$j", place)) => {
                    let text = at(place.get(0)?.as_str()?, messages)?.as_str()?;
                    let json: Json = serde_json::from_str(text).ok()?;
                    json.pointer(place.get(1)?.as_str()?).cloned()
                }
                Some(("$t", pieces)) => text(pieces.as_array()?, messages).map(Json::from),
                Some(("$o", entries)) => {
                    let entries = entries.as_array()?.iter().map(|entry| {
                        let key = entry.get(0)?.as_str()?.to_owned();
                        Some((key, fill(entry.get(1)?, messages)?))
                    });
                    entries.collect::<Option<Map<_, _>>>().map(Json::Object)
                }
                _ => {
                    let filled = map
                        .iter()
                        .map(|(key, value)| Some((key.clone(), fill(value, messages)?)));
                    filled.collect::<Option<Map<_, _>>>().map(Json::Object)
                }
            }
        }
        leaf => Some(leaf.clone()),
    }
}

/// Returns a text of pieces and places in turn. The value at each place is written as JSON.
fn text(pieces: &[Json], messages: &[Json]) -> Option<String> {
    let mut out = String::new();
    for (number, piece) in pieces.iter().enumerate() {
        let piece = piece.as_str()?;
        if number % 2 == 0 {
            out.push_str(piece);
        } else {
            out.push_str(&at(piece, messages)?.to_string());
        }
    }
    Some(out)
}

/// Returns the indexes of the first and the last message that a hole in an array stands for.
fn run(item: &Json) -> Option<(usize, usize)> {
    let map = item.as_object().filter(|map| map.len() == 1)?;
    let (from, to) = map.get("$")?.as_str()?.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// Returns the value at a place: the number of a message and a pointer.
fn at<'m>(place: &str, messages: &'m [Json]) -> Option<&'m Json> {
    let split = place.find('/').unwrap_or(place.len());
    let message = messages.get(place[..split].parse::<usize>().ok()?)?;
    message.pointer(&place[split..])
}

/// A place in the messages: a pointer in a message, or a pointer in the JSON of a text of a message.
#[derive(Debug, Clone)]
enum Place {
    At(usize, String),
    In(usize, String, String),
}

/// The values in the messages, by the digest of their JSON.
#[derive(Default)]
struct Places(HashMap<u64, (Json, Place)>);

impl Places {
    fn note(&mut self, json: &Json, place: impl FnOnce() -> Place) {
        if let Some(digest) = digest(json) {
            self.0
                .entry(digest)
                .or_insert_with(|| (json.clone(), place()));
        }
    }

    /// Notes all values in a message, and in the JSON of its texts.
    fn note_in(&mut self, json: &Json, index: usize, pointer: &str, text: Option<&str>) {
        self.note(json, || match text {
            None => Place::At(index, pointer.to_owned()),
            Some(text) => Place::In(index, text.to_owned(), pointer.to_owned()),
        });
        match json {
            Json::Array(items) => {
                for (number, item) in items.iter().enumerate() {
                    self.note_in(item, index, &format!("{pointer}/{number}"), text);
                }
            }
            Json::Object(map) => {
                for (key, value) in map {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    self.note_in(value, index, &format!("{pointer}/{key}"), text);
                }
            }
            Json::String(inner) if text.is_none() && inner.starts_with(['{', '[']) => {
                if let Ok(inner) = serde_json::from_str(inner) {
                    self.note_in(&inner, index, "", Some(pointer));
                }
            }
            _ => {}
        }
    }

    fn find(&self, json: &Json) -> Option<&Place> {
        let (found, place) = self.0.get(&digest(json)?)?;
        (found == json).then_some(place)
    }

    fn cut(&self, json: &Json) -> Json {
        match self.find(json) {
            Some(Place::At(index, pointer)) => return json!({ "$": format!("{index}{pointer}") }),
            Some(Place::In(index, text, pointer)) => {
                return json!({ "$j": [format!("{index}{text}"), pointer] });
            }
            None => {}
        }
        match json {
            Json::Array(items) => join(items.iter().map(|item| self.cut(item))),
            Json::Object(map) if map.keys().any(|key| key.starts_with('$')) => {
                let entries = map.iter().map(|(key, value)| json!([key, self.cut(value)]));
                json!({ "$o": entries.collect::<Vec<_>>() })
            }
            Json::Object(map) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key.clone(), self.cut(value)));
                Json::Object(entries.collect())
            }
            Json::String(text) if text.len() >= SMALL && text.starts_with(['{', '[']) => {
                self.cut_text(text)
            }
            leaf => leaf.clone(),
        }
    }

    /// Cuts the strings out of a JSON text. All else of the text stays as it is, because frames do
    /// not keep the order of keys.
    fn cut_text(&self, text: &str) -> Json {
        let mut pieces = Vec::new();
        let (mut kept, mut at) = (0, 0);
        while let Some(start) = text[at..].find('"').map(|start| at + start) {
            let Some(end) = end_of_string(text, start) else {
                break;
            };
            let literal = &text[start..end];
            let said = serde_json::from_str::<Json>(literal).ok();
            let same = said.filter(|said| {
                let compact = said.to_string();
                compact == literal
            });
            if let Some(Place::At(index, pointer)) = same.and_then(|said| self.find(&said)) {
                pieces.push(Json::from(&text[kept..start]));
                pieces.push(Json::from(format!("{index}{pointer}")));
                kept = end;
            }
            at = end;
        }
        if pieces.is_empty() {
            return text.into();
        }
        pieces.push(Json::from(&text[kept..]));
        json!({ "$t": pieces })
    }
}

/// Returns the end of the JSON string that begins here.
fn end_of_string(text: &str, start: usize) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Makes an array in which the holes of consecutive messages become one hole.
fn join(items: impl Iterator<Item = Json>) -> Json {
    let mut out: Vec<Json> = Vec::new();
    for item in items {
        let whole = || item.get("$")?.as_str()?.parse::<usize>().ok();
        let last = || {
            let place = out.last()?.get("$")?.as_str()?;
            let (from, to) = place.split_once('-').unwrap_or((place, place));
            Some((from.parse::<usize>().ok()?, to.parse::<usize>().ok()?))
        };
        match (whole(), last()) {
            (Some(index), Some((from, to))) if index == to + 1 => {
                out.pop();
                out.push(json!({ "$": format!("{from}-{index}") }));
            }
            _ => out.push(item),
        }
    }
    Json::Array(out)
}

/// Returns the digest of a value, unless it is small.
fn digest(json: &Json) -> Option<u64> {
    let text = json.to_string();
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (text.len() >= SMALL).then(|| hasher.finish())
}
