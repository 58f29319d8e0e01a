//! Counts the content of a document leaf by leaf, to find values that messages would lose.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value as Json;

use crate::format::Format;
use crate::words::Formats;

/// The strings, numbers and booleans of JSON, each with the number of its places.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leaves(HashMap<u64, usize>);

impl Leaves {
    /// Adds all leaves of this JSON, also those of JSON in its strings.
    pub(crate) fn add(&mut self, json: &Json) {
        each(json, "", &mut |_, leaf| {
            *self.0.entry(hash(leaf)).or_default() += 1;
            if let Some(inner) = inner(leaf) {
                self.add(&inner);
            }
        });
    }

    /// Adds all leaves of this JSON as the document has them. JSON in a string is one leaf if the document has the
    /// same string as a leaf. Otherwise, each leaf of the JSON in the string is added.
    pub(crate) fn add_as_in(&mut self, document: &Self, json: &Json) {
        each(json, "", &mut |_, leaf| {
            let digest = hash(leaf);
            match inner(leaf).filter(|_| !document.0.contains_key(&digest)) {
                Some(inner) => self.add_as_in(document, &inner),
                None => *self.0.entry(digest).or_default() += 1,
            }
        });
    }

    /// Returns the JSON pointer of the first leaf of the document that is not here. A string of JSON is here if its
    /// leaves are here. If recordings of the format repeat the conversation, one leaf here stands for all equal
    /// leaves of the document.
    pub(crate) fn first_lost(
        &self,
        document: &Json,
        formats: impl Into<Formats>,
    ) -> Option<String> {
        let formats = formats.into();
        let mut left = self.clone();
        let mut lost = None;
        each_of_file(document, formats, &mut |pointer, leaf| {
            if lost.is_none() && !left.has(leaf, formats) {
                lost = Some(pointer.to_owned());
            }
        });
        lost
    }

    /// Returns whether a leaf with this digest is here. Removes the leaf, unless the format `repeats` leaves, so that
    /// one leaf stands for several.
    pub(crate) fn take(&mut self, digest: u64, repeats: bool) -> bool {
        match self.0.get_mut(&digest).filter(|count| **count > 0) {
            Some(count) => {
                *count -= usize::from(!repeats);
                true
            }
            None => false,
        }
    }

    fn has(&mut self, leaf: &Json, formats: Formats) -> bool {
        if self.take(hash(leaf), formats.document.repeats()) {
            return true;
        }
        let Some(inner) = inner(leaf) else {
            return false;
        };
        let mut all = true;
        each_of_file(&inner, formats, &mut |_, leaf| {
            all = all && self.has(leaf, formats);
        });
        all
    }
}

/// Calls `take` for each leaf that says something, with its JSON pointer.
pub(crate) fn each(json: &Json, pointer: &str, take: &mut dyn FnMut(&str, &Json)) {
    match json {
        Json::Null => {}
        Json::String(text) if text.is_empty() => {}
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each(item, &format!("{pointer}/{index}"), take);
            }
        }
        Json::Object(map) => {
            for (key, value) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                each(value, &format!("{pointer}/{key}"), take);
            }
        }
        leaf => take(pointer, leaf),
    }
}

/// The ends of the pointers to the value of an OTLP entry. The entry has the name of the value under `key`.
const VALUE: [&str; 3] = ["/value/stringValue", "/value/string_value", "/value"];

/// Calls `take` for each leaf of a file, except for the words of its format. OTLP writes the keys of objects as
/// strings, under `key`.
pub(crate) fn each_of_file(json: &Json, formats: Formats, take: &mut dyn FnMut(&str, &Json)) {
    each(json, "", &mut |pointer, leaf| {
        let is_otel = formats.document == Format::Otel;
        let entry = VALUE.iter().find_map(|end| pointer.strip_suffix(end));
        let named = || json.pointer(&format!("{}/key", entry?))?.as_str();
        let own = pointer.rsplit('/').next().unwrap_or_default();
        let key = if is_otel { named().unwrap_or(own) } else { own };
        let word = leaf.as_str().unwrap_or_default();
        let is_key = is_otel && own == "key";
        if !is_key && !formats.say(key, word) {
            take(pointer, leaf);
        }
    });
}

/// Returns the JSON in a string of JSON.
pub(crate) fn inner(leaf: &Json) -> Option<Json> {
    let text = leaf.as_str()?;
    let json = text
        .starts_with(['{', '['])
        .then(|| serde_json::from_str(text));
    json?.ok()
}

pub(crate) fn text(leaf: &Json) -> std::borrow::Cow<'_, str> {
    match leaf {
        Json::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

pub(crate) fn hash(leaf: &Json) -> u64 {
    let mut hasher = DefaultHasher::new();
    text(leaf).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_lost_leaf_has_its_place() {
        let mut kept = Leaves::default();
        kept.add(&json!({ "text": "Four bags.", "part": "{\"n\":12}" }));
        let lost = |json: Json| kept.first_lost(&json, Format::OpenAi);
        let file = json!({ "content": [{ "text": "Four bags." }, { "a/b": "Of rye." }] });
        assert_eq!(lost(file).as_deref(), Some("/content/1/a~1b"));
        assert_eq!(
            lost(json!(["Four bags.", "Four bags."])).as_deref(),
            Some("/1")
        );
        assert_eq!(
            lost(json!([{ "type": "text", "text": "Four bags." }, 12, null, ""])),
            None
        );
        assert_eq!(lost(json!(["[12, \"Four bags.\"]"])), None);
        // A word counts as content unless the reader of this format knows the word.
        for word in ["new", "blob", "input_text"] {
            let lost = lost(json!({ "type": word }));
            assert_eq!(lost.as_deref(), Some("/type"), "{word}");
        }
        let item = json!({ "type": "input_text", "role": "input_text" });
        assert_eq!(
            kept.first_lost(&item, Format::Responses).as_deref(),
            Some("/role")
        );
    }
}
