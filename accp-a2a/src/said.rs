//! Frames of a log, as far as a task needs them.

use std::borrow::Cow;

use accp_client::Agent;
use accp_runtime::session::Mid;
use accp_runtime::{
    DecodeError, DecodeOptions, EncodeOptions, Envelope, Frame, Limits, Message, Registry, Value,
};

/// The media type of a frame (draft section 12).
pub(crate) const ACCP: &str = "application/accp";
pub(crate) const TEXT: &str = "text/plain";
/// The bytes of words that go into a frame in any script. Longer ones go by reference.
pub(crate) const LONG: usize = 16 << 10;

/// How frames are read that may have values in the place of references. The size of a request is bounded
/// before.
pub(crate) const WIDE: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Puts values in the place of references, which only members of the session can read. A reference that
/// cannot be read stays.
pub(crate) async fn with_values<'t>(
    text: &'t str,
    agent: &Agent,
    registry: &Registry,
) -> Cow<'t, str> {
    let Ok(mut message) = Message::decode_with(text, registry, &WIDE) else {
        return Cow::Borrowed(text);
    };
    let mut keys = Vec::new();
    for (_, value) in message.payload.iter() {
        references(value, &mut keys);
    }
    let mut is_changed = false;
    for key in keys {
        if let Ok(whole) = agent.expand(&key).await {
            for (_, value) in message.payload.iter_mut() {
                put(value, &key, &whole);
            }
            is_changed = true;
        }
    }
    let options = EncodeOptions {
        limits: Limits::NONE,
        inline: true,
        ..EncodeOptions::default()
    };
    match message.encode_with(registry, options) {
        Ok(whole) if is_changed => Cow::Owned(whole),
        _ => Cow::Borrowed(text),
    }
}

fn references(value: &Value<'_>, keys: &mut Vec<String>) {
    match value {
        Value::Ref(key) => keys.push(key.clone().into_owned()),
        Value::Array(items) => items.iter().for_each(|item| references(item, keys)),
        Value::Map(map) => map.iter().for_each(|(_, item)| references(item, keys)),
        _ => {}
    }
}

fn put(held: &mut Value<'_>, key: &str, value: &Value<'static>) {
    match held {
        Value::Ref(other) if other == key => *held = value.clone(),
        Value::Array(items) => items.iter_mut().for_each(|item| put(item, key, value)),
        Value::Map(map) => map.iter_mut().for_each(|(_, item)| put(item, key, value)),
        _ => {}
    }
}

/// A frame with its envelope.
pub(crate) struct Said<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) envelope: Envelope<'static>,
}

impl<'a> Said<'a> {
    pub(crate) fn read(text: &'a str) -> Result<Self, DecodeError> {
        let frame = Frame::parse(text)?;
        let envelope = frame.envelope()?;
        Ok(Self { frame, envelope })
    }

    pub(crate) fn agent(&self) -> &str {
        &self.frame.agent
    }

    pub(crate) fn intent(&self) -> &str {
        &self.frame.intent
    }

    /// Returns the chain of the frame: its `cid`, or else its own id.
    pub(crate) fn chain(&self) -> Option<Mid> {
        let envelope = &self.envelope;
        let chain = envelope.correlation_id.as_deref();
        chain.or(envelope.msg_id.as_deref()).map(Mid::parse)
    }

    /// Returns the name of the chain as it is written.
    pub(crate) fn chain_name(&self) -> Option<&str> {
        let envelope = &self.envelope;
        let chain = envelope.correlation_id.as_deref();
        chain.or(envelope.msg_id.as_deref())
    }

    /// Returns the id of the message that caused this one.
    pub(crate) fn cause(&self) -> Option<Mid> {
        self.envelope.causation_id.as_deref().map(Mid::parse)
    }

    /// Returns the value of a param, under its short or its full name, as it is written.
    fn param(&self, short: &str, full: &str) -> Option<&str> {
        let value = self.frame.get(short).or_else(|| self.frame.get(full));
        value.map(accp_runtime::RawValue::as_str)
    }

    /// Returns whether a piece of a stream is the last one.
    pub(crate) fn is_final(&self) -> bool {
        self.param("done", "is_final") == Some("true")
    }

    /// Reads a frame that may have values in the place of references.
    pub(crate) fn read_wide(text: &'a str) -> Result<Self, DecodeError> {
        let frame = Frame::parse_with(text, &WIDE)?;
        let envelope = frame.envelope()?;
        Ok(Self { frame, envelope })
    }

    /// Returns the text of the frame without its metadata.
    pub(crate) fn head(&self) -> String {
        let [header, body, _] = self.frame.parts();
        header + &body
    }
}
