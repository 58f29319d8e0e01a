//! Replaces references in frames by their values, because clients outside of the session cannot read references.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_client::Error;
use accp_frame::{DynamicFrame, EncodeOptions, Limits, Registry, Value};
use accp_session::ReadError;

use crate::frame::WIDE;
use crate::log::Log;

/// The most bytes of all values in one answer. The largest value that a hub accepts has this size.
const BYTES: usize = 8 << 20;
/// How many references are read for one answer at most.
const READS: usize = 256;
/// Each value counts as at least this many bytes, even a number in a list.
const LEAST: usize = 8;

/// Limits the frames of one answer, and the values that replace references in them. A value counts once for each place
/// where it is put.
pub(crate) struct AnswerQuota {
    /// The bytes that further frames may take.
    frames: usize,
    /// The bytes that further values may take.
    bytes: usize,
    reads: usize,
}

impl AnswerQuota {
    /// Makes the quota of an answer whose frames take this many bytes at most.
    pub(crate) fn new(frames: usize) -> Self {
        Self {
            frames,
            bytes: BYTES,
            reads: READS,
        }
    }

    /// Counts a frame. Returns whether it fits. After the first frame that does not fit, no later frame fits.
    pub(crate) fn count_frame(&mut self, text: &str) -> bool {
        let left = self.frames.checked_sub(text.len());
        self.frames = left.unwrap_or_default();
        left.is_some()
    }

    /// Counts one more reference to read. Returns whether the quota allows it.
    fn count_read(&mut self) -> bool {
        let has_room = self.reads > 0 && self.bytes > 0;
        self.reads = self.reads.saturating_sub(1);
        has_room
    }

    /// Counts a value once for each of `places` places. Returns whether the value fits. After the first value that
    /// does not fit, no more values are read, so that reading is limited, too.
    fn count_value(&mut self, value: &Value<'_>, places: usize) -> bool {
        let left = self.bytes.checked_sub(size(value).saturating_mul(places));
        self.bytes = left.unwrap_or_default();
        left.is_some()
    }

    fn close(&mut self) {
        self.bytes = 0;
    }
}

/// Replaces references by their values, as far as the quota allows. A reference that cannot be read stays.
pub(crate) async fn with_values<'t>(
    text: &'t str,
    log: &Log,
    registry: &Registry,
    quota: &mut AnswerQuota,
) -> Cow<'t, str> {
    let Ok(mut message) = DynamicFrame::decode_with(text, registry, &WIDE) else {
        return Cow::Borrowed(text);
    };
    let mut keys = BTreeMap::new();
    for (_, value) in message.payload.iter() {
        count(value, &mut keys);
    }
    let values = read(keys, log, quota).await;
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

/// Reads each value once, and returns the values that fit. `keys` has the number of places for each value.
async fn read(
    keys: BTreeMap<String, usize>,
    log: &Log,
    quota: &mut AnswerQuota,
) -> BTreeMap<String, Value<'static>> {
    let mut values = BTreeMap::new();
    for (key, places) in keys {
        if !quota.count_read() {
            break;
        }
        match log.expand(&key).await {
            Ok(value) if quota.count_value(&value, places) => {
                values.insert(key, value);
            }
            // No agent has supplied this value in time. Other missing values would cost the same
            // wait, so no more values are read.
            Err(Error::Reference(_, ReadError::Unavailable)) => quota.close(),
            Ok(_) | Err(_) => {}
        }
    }
    values
}

/// Counts in how many places each reference occurs.
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
