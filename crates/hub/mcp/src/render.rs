//! Frames as a model reads them: the text, and the fields under their full names.

use std::collections::BTreeMap;

use accp_client::Agent;
use accp_frame::{DynamicFrame, Registry, Value};
use accp_session::Inbound;
use serde_json::{Value as Json, json};

/// The media type of frames (draft section 12).
pub(crate) const ACCP: &str = "application/accp";

/// The longest value, in bytes, that replaces its reference. `accp_expand` returns longer values.
const MAX_VALUE: usize = 8_000;
/// The most bytes of all values in one result. A value counts once for each reference that it replaces.
const MAX_VALUES: usize = 64 << 10;
/// How many values are read for one result at most.
const READS: usize = 64;

/// Returns the id under which a model names a frame: its place in the log.
pub(crate) fn id(position: u64) -> String {
    format!("p{position}")
}

/// Reads the id of a frame.
pub(crate) fn position(id: &str) -> Option<u64> {
    let id = id.trim().trim_start_matches('$');
    let id = id.strip_prefix("cold.").unwrap_or(id);
    id.strip_prefix('p').unwrap_or(id).parse().ok()
}

/// Renders the frames of one result. Values replace references as far as they fit.
pub(crate) struct FrameRenderer<'a> {
    agent: &'a Agent,
    bytes: usize,
    /// The values that were read, with their lengths. `None`: the reference stays.
    read: BTreeMap<String, Option<(Value<'static>, usize)>>,
}

impl<'a> FrameRenderer<'a> {
    pub(crate) fn of(agent: &'a Agent) -> Self {
        Self {
            agent,
            bytes: MAX_VALUES,
            read: BTreeMap::new(),
        }
    }

    /// Returns a frame with values instead of the references in its payload.
    pub(crate) async fn frame(&mut self, registry: &Registry, inbound: &Inbound) -> Json {
        let Ok(mut message) = inbound.message(registry) else {
            return json!({ "id": id(inbound.position()), "text": inbound.text() });
        };
        for (_, value) in message.payload.iter_mut() {
            let Value::Ref(key) = &*value else { continue };
            if let Some(read) = self.value(key).await {
                *value = read;
            }
        }
        described(&message, inbound)
    }

    /// Returns a value, if it fits.
    async fn value(&mut self, key: &str) -> Option<Value<'static>> {
        if self.bytes == 0 {
            return None;
        }
        if !self.read.contains_key(key) {
            if self.read.len() >= READS {
                return None;
            }
            let value = self.agent.expand(key).await.ok();
            let value = value.map(|value| (value.to_string().len(), value));
            let value = value.filter(|(length, _)| *length <= MAX_VALUE);
            let value = value.map(|(length, value)| (value, length));
            self.read.insert(key.to_owned(), value);
        }
        let (value, length) = self.read.get(key)?.as_ref()?;
        self.bytes = self.bytes.checked_sub(*length)?;
        Some(value.clone())
    }
}

fn described(message: &DynamicFrame<'_>, inbound: &Inbound) -> Json {
    let mut whole = message.to_exact_json();
    let mut json = json!({
        "id": id(inbound.position()),
        "from": message.agent.as_str(),
        "intent": message.intent.as_str(),
        "operation": message.operation,
    });
    if let Some(code) = &message.schema {
        json["schema"] = json!(code);
    }
    json["params"] = whole["payload"].take();
    if let Some(chain) = &message.envelope.correlation_id {
        json["chain"] = json!(chain);
    }
    json["text"] = inbound.text().into();
    json
}

/// Returns a frame in words, from its JSON.
pub(crate) fn words(frame: &Json) -> String {
    let text = |key: &str| frame[key].as_str().unwrap_or_default();
    if frame["from"].is_null() {
        return format!("{}: {}", text("id"), text("text"));
    }
    let head = format!(
        "{} from {}: {}:{}",
        text("id"),
        text("from"),
        text("intent"),
        text("operation")
    );
    let chain = match frame["chain"].as_str() {
        Some(chain) => format!(", chain {chain}"),
        None => String::new(),
    };
    format!("{head} {}{chain}", frame["params"])
}
