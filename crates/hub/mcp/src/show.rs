//! Frames as a model reads them: the text, and the fields under their full names.

use std::collections::BTreeMap;

use accp_client::Agent;
use accp_frame::{Message, Registry, Value};
use accp_session::Inbound;
use serde_json::{Value as Json, json};

/// Bytes of a value that is shown in the place of its reference. A longer one is read by `accp_expand`.
const SHOWN: usize = 8_000;
/// Bytes of all values that one answer shows in the place of references, each as often as it is there.
const ROOM: usize = 64 << 10;
/// Values that are read for one answer.
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

/// The room of one answer for values in the place of references. What does not fit stays a reference.
pub(crate) struct Room<'a> {
    agent: &'a Agent,
    bytes: usize,
    /// The values that were read, with their lengths. `None` is one that is not shown anywhere.
    read: BTreeMap<String, Option<(Value<'static>, usize)>>,
}

impl<'a> Room<'a> {
    pub(crate) fn of(agent: &'a Agent) -> Self {
        Self {
            agent,
            bytes: ROOM,
            read: BTreeMap::new(),
        }
    }

    /// Returns a frame with values in the place of the references in its payload.
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

    /// Returns a value, if it has room.
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
            let value = value.filter(|(length, _)| *length <= SHOWN);
            let value = value.map(|(length, value)| (value, length));
            self.read.insert(key.to_owned(), value);
        }
        let (value, length) = self.read.get(key)?.as_ref()?;
        self.bytes = self.bytes.checked_sub(*length)?;
        Some(value.clone())
    }
}

fn described(message: &Message<'_>, inbound: &Inbound) -> Json {
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
