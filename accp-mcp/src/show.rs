//! Frames as a model reads them: the text, and the fields under their full names.

use accp_client::Agent;
use accp_runtime::session::Inbound;
use accp_runtime::{Message, Registry, Value};
use serde_json::{Value as Json, json};

/// Bytes of a value that is shown in the place of its reference. A longer one is read by `accp_expand`.
const SHOWN: usize = 8_000;

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

/// Returns a frame with values in the place of the references in its payload.
pub(crate) async fn frame(agent: &Agent, registry: &Registry, inbound: &Inbound) -> Json {
    let Ok(mut message) = inbound.message(registry) else {
        return json!({ "id": id(inbound.position()), "text": inbound.text() });
    };
    for (_, value) in message.payload.iter_mut() {
        let Value::Ref(key) = &*value else { continue };
        if let Ok(read) = agent.expand(key).await
            && read.to_string().len() <= SHOWN
        {
            *value = read;
        }
    }
    described(&message, inbound)
}

fn described(message: &Message<'_>, inbound: &Inbound) -> Json {
    let mut whole = message.to_json();
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
