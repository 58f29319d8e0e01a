//! Values in the place of references, which only members of a session can read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_client::Error;
use accp_frame::{EncodeOptions, Limits, Message, Registry, Value};
use accp_session::ReadError;

use crate::log::Log;
use crate::said::WIDE;

/// The bytes of the largest value that a hub takes.
const BYTES: usize = 8 << 20;
/// The references that are read for one answer.
const READS: usize = 256;
/// What a value counts for at least, such as one of many numbers in a list.
const LEAST: usize = 8;

/// The room that one answer has for values in the place of references. A value takes room wherever it stands.
pub(crate) struct Room {
    bytes: usize,
    reads: usize,
}

impl Room {
    pub(crate) fn of_an_answer() -> Self {
        Self {
            bytes: BYTES,
            reads: READS,
        }
    }

    /// Takes room for one more reference that is read.
    fn reads(&mut self) -> bool {
        let has_room = self.reads > 0 && self.bytes > 0;
        self.reads = self.reads.saturating_sub(1);
        has_room
    }

    /// Takes room for a value that stands in so many places. The first value that does not fit closes the
    /// room, so that what is read for an answer is bounded, too.
    fn takes(&mut self, value: &Value<'_>, places: usize) -> bool {
        let left = self.bytes.checked_sub(size(value).saturating_mul(places));
        self.bytes = left.unwrap_or_default();
        left.is_some()
    }

    fn close(&mut self) {
        self.bytes = 0;
    }
}

/// Puts values in the place of references, as long as there is room. A reference that cannot be read stays.
pub(crate) async fn with_values<'t>(
    text: &'t str,
    log: &Log,
    registry: &Registry,
    room: &mut Room,
) -> Cow<'t, str> {
    let Ok(mut message) = Message::decode_with(text, registry, &WIDE) else {
        return Cow::Borrowed(text);
    };
    let mut keys = BTreeMap::new();
    for (_, value) in message.payload.iter() {
        count(value, &mut keys);
    }
    let values = read(keys, log, room).await;
    if values.is_empty() {
        return Cow::Borrowed(text);
    }
    for (_, value) in message.payload.iter_mut() {
        put(value, &values);
    }
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    let whole = message.encode_with(registry, options);
    whole.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Reads each value once, if it fits in all of its places.
async fn read(
    keys: BTreeMap<String, usize>,
    log: &Log,
    room: &mut Room,
) -> BTreeMap<String, Value<'static>> {
    let mut values = BTreeMap::new();
    for (key, places) in keys {
        if !room.reads() {
            break;
        }
        match log.expand(&key).await {
            Ok(value) if room.takes(&value, places) => {
                values.insert(key, value);
            }
            // Whoever reads has waited long enough for a value that nobody sends.
            Err(Error::Reference(_, ReadError::Unavailable)) => room.close(),
            Ok(_) | Err(_) => {}
        }
    }
    values
}

/// Counts the places of each reference.
fn count(value: &Value<'_>, keys: &mut BTreeMap<String, usize>) {
    match value {
        Value::Ref(key) => *keys.entry(key.to_string()).or_default() += 1,
        Value::Array(items) => items.iter().for_each(|item| count(item, keys)),
        Value::Map(map) => map.iter().for_each(|(_, item)| count(item, keys)),
        _ => {}
    }
}

fn put(held: &mut Value<'_>, values: &BTreeMap<String, Value<'static>>) {
    match held {
        Value::Ref(key) => {
            if let Some(value) = values.get(&**key) {
                *held = value.clone();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, values)),
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| put(item, values)),
        _ => {}
    }
}

/// Returns about how many bytes a value takes.
fn size(value: &Value<'_>) -> usize {
    match value {
        Value::String(text) => text.len().max(LEAST),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Map(map) => map.iter().map(|(key, item)| key.len() + size(item)).sum(),
        _ => LEAST,
    }
}
