//! The keys of an object of a recording, taken one by one.

use accp_context::Recorded;
use serde_json::{Map, Value as Json};

/// An object of a recording. A reader takes the keys that it knows, and has to say what becomes of
/// the others. So no key is lost by mistake.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields(Map<String, Json>);

impl Fields {
    /// Takes an object apart.
    ///
    /// # Errors
    /// Returns JSON that is not an object.
    pub(crate) fn of(json: Json) -> Result<Self, Json> {
        match json {
            Json::Object(map) => Ok(Self(map)),
            other => Err(other),
        }
    }

    /// Returns the value of a key that is still there.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.0.get(key)
    }

    /// Returns the string under a key that is still there.
    pub(crate) fn str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Takes the value of a key.
    pub(crate) fn take(&mut self, key: &str) -> Option<Json> {
        self.0.shift_remove(key)
    }

    /// Takes the value of a key if it is a string.
    pub(crate) fn text(&mut self, key: &str) -> Option<String> {
        match self.take(key) {
            Some(Json::String(text)) => Some(text),
            other => self.put_back(key, other),
        }
    }

    /// Takes the value of a key if it is an array.
    pub(crate) fn list(&mut self, key: &str) -> Option<Vec<Json>> {
        match self.take(key) {
            Some(Json::Array(list)) => Some(list),
            other => self.put_back(key, other),
        }
    }

    /// Takes the value of a key if it is an object.
    pub(crate) fn object(&mut self, key: &str) -> Option<Self> {
        match self.take(key) {
            Some(Json::Object(map)) => Some(Self(map)),
            other => self.put_back(key, other),
        }
    }

    /// Sets a key, such as one that a reader took and could not use.
    pub(crate) fn put(&mut self, key: &str, value: Json) {
        self.0.insert(key.to_owned(), value);
    }

    fn put_back<T>(&mut self, key: &str, value: Option<Json>) -> Option<T> {
        if let Some(value) = value {
            self.put(key, value);
        }
        None
    }

    /// Splits the keys that no reader took into recorded and unknown keys. Recorded keys only say how something was
    /// recorded: the keys in `about`, the keys inside our own key, and all keys with an empty value.
    pub(crate) fn split(mut self, about: &[&str]) -> (Map<String, Json>, Map<String, Json>) {
        let recorded = self.object(Recorded::ABOUT).unwrap_or_default();
        let known = |key: &str, value: &Json| about.contains(&key) || is_void(value);
        let (mut about, unknown) = self
            .0
            .into_iter()
            .partition(|(key, value)| known(key, value));
        merge(&mut about, recorded.0);
        (about, unknown)
    }

    /// Returns the keys that no reader took.
    pub(crate) fn into_map(self) -> Map<String, Json> {
        self.0
    }
}

/// Adds entries to a map. Two values of one key are both kept.
pub(crate) fn merge(map: &mut Map<String, Json>, more: Map<String, Json>) {
    for (mut key, value) in more {
        while map.contains_key(&key) {
            key.push('\'');
        }
        map.insert(key, value);
    }
}

/// Returns whether a value says nothing: null, or an empty text, array or object.
pub(crate) fn is_void(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(map) => map.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    }
}
