//! Finds all mistakes of a message in JSON.
//!
//! Each part of the message is encoded alone, in a message that is otherwise valid. References replace all other
//! values, because a reference fits every type. So no mistake hides another one.

use std::collections::BTreeSet;

use accp_frame::{DynamicFrame, EncodeError, ErrorCode};
use accp_registry::Registry;
use accp_registry::checked::child;
use serde_json::{Map, Value as Json, json};

use crate::registries::cure_of_code;

/// The keys that every message needs, each with a valid value.
const HEAD: [(&str, &str); 3] = [("agent", "a"), ("intent", "req"), ("operation", "x")];

/// The most missing keys that are reported for one object.
const MISSING: usize = 64;

/// A mistake, and the JSON pointer to its place.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) pointer: String,
    pub(super) error: EncodeError,
}

/// Encodes a message to get its error, and drops the text.
pub(super) type Encode<'e> = dyn Fn(&DynamicFrame<'_>) -> Result<(), EncodeError> + 'e;

/// Returns all mistakes of a message, at least one. `reason` is the error that encoding the whole message gave.
pub(super) fn all(
    json: &Json,
    registry: &Registry,
    encode: &Encode<'_>,
    reason: EncodeError,
) -> Vec<Mistake> {
    let mut trial = Trial {
        encode,
        mistakes: Vec::new(),
    };
    if let Json::Object(message) = json {
        trial.message(message, registry);
    }
    if trial.mistakes.is_empty() {
        trial.note("", reason);
    }
    trial.mistakes
}

struct Trial<'e> {
    encode: &'e Encode<'e>,
    mistakes: Vec<Mistake>,
}

/// Makes an otherwise valid message that has this value in the place that is tried.
type Around<'a> = dyn Fn(Json) -> Json + 'a;

impl Trial<'_> {
    fn message(&mut self, message: &Map<String, Json>, registry: &Registry) {
        let fine = || Map::from_iter(HEAD.map(|(key, value)| (key.to_owned(), json!(value))));
        // Each member of the message is read alone, in a copy of a valid head, so that no fault hides another one.
        for (key, value) in message {
            let mut alone = fine();
            let value = match key.as_str() {
                // The code below tries the members of these objects.
                "payload" | "metadata" if value.is_object() => continue,
                _ => value.clone(),
            };
            alone.insert(key.clone(), value);
            self.read(&child("", key), alone);
        }
        for (key, _) in HEAD.iter().filter(|(key, _)| !message.contains_key(*key)) {
            let mut alone = fine();
            alone.remove(*key);
            self.read("", alone);
        }
        let mut around = fine();
        if self.mistakes.is_empty() {
            around.extend(
                HEAD.iter()
                    .filter_map(|(key, _)| Some((String::from(*key), message.get(*key)?.clone()))),
            );
            if let Some(schema) = message.get("schema").filter(|schema| !schema.is_null()) {
                let is_known = schema.as_str().is_some_and(|code| {
                    let word =
                        |key: &str| message.get(key).and_then(Json::as_str).unwrap_or_default();
                    registry
                        .schema_of(code, &[word("intent"), word("operation")])
                        .is_some()
                });
                around.insert("schema".into(), schema.clone());
                if !is_known && let Some(error) = self.fault(&Json::Object(around.clone())) {
                    self.note("/schema", error);
                    around.remove("schema");
                }
            }
        }
        self.metadata(message, &fine());
        self.payload(message, around);
    }

    /// Reads a message with only some members, and notes the error, if there is one.
    fn read(&mut self, pointer: &str, alone: Map<String, Json>) {
        if let Err(error) = DynamicFrame::from_json(&Json::Object(alone)) {
            self.note(pointer, error);
        }
    }

    fn metadata(&mut self, message: &Map<String, Json>, fine: &Map<String, Json>) {
        let Some(Json::Object(metadata)) = message.get("metadata") else {
            return;
        };
        for (key, value) in metadata {
            let mut alone = fine.clone();
            alone.insert("metadata".into(), json!({ key: value }));
            if let Some(error) = self.fault(&Json::Object(alone)) {
                self.note(&child("/metadata", key), error);
            }
        }
    }

    fn payload(&mut self, message: &Map<String, Json>, mut around: Map<String, Json>) {
        let none = Json::Object(Map::new());
        let payload = message.get("payload").unwrap_or(&none);
        if !payload.is_object() {
            return;
        }
        // A schema may require any of these envelope fields, so the message has all of them.
        let metadata =
            json!({ "mid": "0", "seq": 0, "ts": 0, "cid": "0", "aid": "0", "sid": "0", "ttl": 0 });
        around.insert("metadata".into(), metadata);
        let pointer = if message.contains_key("payload") {
            "/payload"
        } else {
            ""
        };
        self.container(pointer, payload, &|payload| {
            let mut whole = around.clone();
            whole.insert("payload".into(), payload);
            Json::Object(whole)
        });
    }

    /// Tries a value, and then each of its parts.
    fn value(&mut self, pointer: &str, value: &Json, around: &Around<'_>) {
        let Some(error) = self.fault(&around(value.clone())) else {
            return;
        };
        let before = self.mistakes.len();
        match value {
            // Each item of a list is tried alone.
            Json::Array(items) if self.fault(&around(json!([]))).is_none() => {
                for (at, item) in items.iter().enumerate() {
                    if self.fault(&around(json!([item]))).is_some() {
                        // `nth` puts the item at its index in the list, so that the error names this index.
                        self.value(&child(pointer, at), item, &|item| around(nth(at, item)));
                    }
                }
            }
            // An object with `$num` is a number, as `exact_numbers` writes it.
            Json::Object(object) if !object.contains_key("$num") => {
                self.container(pointer, value, around);
            }
            _ => {}
        }
        if self.mistakes.len() == before {
            self.note(pointer, error);
        }
    }

    /// Tries an object: first its keys, with references as their values, then each value.
    fn container(&mut self, pointer: &str, value: &Json, around: &Around<'_>) {
        let Json::Object(object) = value else {
            return;
        };
        let Some(hollow) = self.hollow(pointer, object, around) else {
            return;
        };
        for (key, value) in object.iter().filter(|(key, _)| hollow.contains_key(*key)) {
            self.value(&child(pointer, key), value, &|value| {
                let mut whole = hollow.clone();
                whole.insert(key.clone(), value);
                around(Json::Object(whole))
            });
        }
    }

    /// Returns a valid object that has the keys of `object`, with references as their values; `None` if there is no
    /// such object. Notes missing keys as mistakes, and keys that the object must not have.
    ///
    /// The tag of a union cannot be a reference, and the tag decides which keys the record has. So if an error names
    /// a key, the key first gets its own value back. Only if the error stays is the key a mistake.
    fn hollow(
        &mut self,
        pointer: &str,
        object: &Map<String, Json>,
        around: &Around<'_>,
    ) -> Option<Map<String, Json>> {
        let keys = object.keys().map(|key| (key.clone(), reference()));
        let mut hollow: Map<_, _> = keys.collect();
        let mut missing = 0;
        let mut with_value = BTreeSet::new();
        while let Some(error) = self.fault(&around(Json::Object(hollow.clone()))) {
            let path = error.path();
            let key = path.rsplit('.').next().unwrap_or_default().to_owned();
            if let Some(value) = object.get(&key) {
                if with_value.insert(key.clone()) {
                    hollow.insert(key, value.clone());
                } else if hollow.remove(&key).is_some() {
                    self.note(&child(pointer, &key), error);
                } else {
                    return None;
                }
                continue;
            }
            missing += 1;
            // Adding the key has not changed the error, so adding keys cannot make this object valid.
            if missing > MISSING || hollow.contains_key(&key) {
                return None;
            }
            self.note(pointer, error);
            if key.is_empty() {
                return None;
            }
            hollow.insert(key, reference());
        }
        Some(hollow)
    }

    /// Returns the error if a message cannot be encoded.
    fn fault(&self, json: &Json) -> Option<EncodeError> {
        let message = DynamicFrame::from_json(json);
        message.and_then(|message| (self.encode)(&message)).err()
    }

    fn note(&mut self, pointer: &str, error: EncodeError) {
        self.mistakes.push(Mistake {
            pointer: pointer.to_owned(),
            error,
        });
    }
}

/// Returns a reference, which fits every type.
pub(super) fn reference() -> Json {
    json!({ "$ref": "ctx.budget" })
}

/// Returns a list with a value at this index. All items before the value are references.
fn nth(at: usize, value: Json) -> Json {
    let before = std::iter::repeat_with(reference).take(at);
    before.chain([value]).collect()
}

/// Returns the cure for a mistake of a message, if there is a special one.
pub(super) fn cure(error: &EncodeError, json: &Json, registry: &Registry) -> String {
    match error.code() {
        _ if json.is_array() => "; write one message a line, as `jq -c '.[]'` does".to_owned(),
        ErrorCode::UNKNOWN_SCHEMA => {
            let code = json.get("schema").and_then(Json::as_str);
            let cure = code.and_then(|code| cure_of_code(code, registry));
            let cure = cure
                .unwrap_or_else(|| "name the registry that holds it with --registry".to_owned());
            format!("; {cure}")
        }
        _ => String::new(),
    }
}
