//! Lists with one fault, and the parts that they are made of.

use accp_memory::Form;
use serde_json::{Value as Json, json};

/// A form, a list or a request with one fault, the code of the fault, its message, and the list after a repair.
pub(crate) type Row = (Form, Json, &'static str, Option<usize>, Option<Json>);

pub(crate) const PNG: &str = "iVBORw0KGgo=";

pub(crate) fn mark(ttl: Option<&str>) -> Json {
    match ttl {
        Some(ttl) => json!({ "type": "ephemeral", "ttl": ttl }),
        None => json!({ "type": "ephemeral" }),
    }
}

pub(crate) fn text(said: &str) -> Json {
    json!({ "type": "text", "text": said })
}

pub(crate) fn marked(said: &str, ttl: Option<&str>) -> Json {
    json!({ "type": "text", "text": said, "cache_control": mark(ttl) })
}

pub(crate) fn user(content: impl Into<Json>) -> Json {
    json!({ "role": "user", "content": content.into() })
}

pub(crate) fn assistant(content: impl Into<Json>) -> Json {
    json!({ "role": "assistant", "content": content.into() })
}

pub(crate) fn uses(id: &str, name: &str, input: impl Into<Json>) -> Json {
    assistant(json!([{ "type": "tool_use", "id": id, "name": name, "input": input.into() }]))
}

pub(crate) fn given(id: &str, content: impl Into<Json>) -> Json {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content.into() })
}

pub(crate) fn image(kind: &str, data: &str) -> Json {
    json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
}
