//! The form of a recorded conversation in frames, shared by the recorder and the restorer.

use std::collections::BTreeMap;

use accp_context::Calls;
use accp_frame::{DynamicFrame, Intent, Map, Value};

use crate::layout::Layout;

/// The agent of the frames about the conversation itself.
pub const HOST: &str = "accp";
/// The operation of the frame that opens a conversation.
pub(crate) const OPENING: &str = "conversation";
/// The operation of a frame that holds a recorded message unchanged, because no profile has
/// fields for its shape.
pub(crate) const VERBATIM: &str = "message";
/// Params that are not recorded keys: the fields of the profiles, and the recorder's own params.
/// A recorded key with such a name goes to `x`.
const OWN: [&str; 23] = [
    "arguments",
    "bare",
    "call",
    "content",
    "error_code",
    "lang",
    "lay",
    "lone",
    "messages",
    "name",
    "no",
    "parts",
    "raw",
    "reply_to",
    "result",
    "role",
    "shell",
    "status",
    "target",
    "tool_name",
    "turn",
    "type",
    "x",
];

/// Returns whether a param is not a recorded key.
pub(crate) fn is_own(param: &str) -> bool {
    OWN.contains(&param)
}

/// Facts from the earlier frames of a conversation. The writer and the reader keep equal states.
#[derive(Debug, Default)]
pub(crate) struct State {
    layouts: BTreeMap<String, Layout>,
    /// The layout of the last text, without its keys. A tool that was not seen before probably
    /// has the same layout.
    usual: Layout,
    pub(crate) calls: Calls,
    /// The message id of the last frame.
    pub(crate) last_mid: String,
}

impl State {
    pub(crate) fn layout(&self, slot: &str) -> &Layout {
        self.layouts.get(slot).unwrap_or(&self.usual)
    }

    /// Updates the state with the frames of one recorded message.
    pub(crate) fn learn(&mut self, frames: &[DynamicFrame<'_>]) {
        for frame in frames {
            let tool = frame.payload.get("tool_name").and_then(Value::as_str);
            let id = frame.envelope.correlation_id.as_deref();
            let is_call = frame.intent == Intent::REQ;
            if let (Some(tool), Some(layout)) = (tool, layout_of(&frame.payload)) {
                let slot = slot(if is_call { "args" } else { "res" }, tool);
                self.usual = layout.without_keys();
                self.layouts.entry(slot).or_default().learn(&layout);
            }
            if let (Some(tool), true) = (tool, is_call) {
                self.calls.note(id, tool);
            }
            if let Some(mid) = &frame.envelope.msg_id {
                self.last_mid.clear();
                self.last_mid.push_str(mid);
            }
        }
    }
}

/// Returns the layout that travels with a frame.
pub(crate) fn layout_of(payload: &Map<'_>) -> Option<Layout> {
    payload.get("lay").and_then(Layout::from_value)
}

/// Returns the key under which a layout is kept: the arguments or the results of a tool.
pub(crate) fn slot(part: &str, tool: &str) -> String {
    format!("{part} {tool}")
}

/// Makes an agent id from a name: characters that do not fit become `_`.
pub(crate) fn agent_id(name: &str) -> String {
    let id: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if id.is_empty() { "_".into() } else { id }
}
