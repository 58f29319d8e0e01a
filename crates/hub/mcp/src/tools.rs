//! The definitions of the tools. A model chooses tools by these words.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value as Json, json};

/// How many seconds a tool waits at most.
pub(crate) const MAX_WAIT: u64 = 300;
/// How many frames one call returns at most.
pub(crate) const MAX_FRAMES: u64 = 50;

pub(crate) const SEND: &str = "accp_send";
pub(crate) const ASK: &str = "accp_ask";
pub(crate) const RECEIVE: &str = "accp_receive";
pub(crate) const REPLY: &str = "accp_reply";
pub(crate) const DONE: &str = "accp_done";
pub(crate) const QUERY: &str = "accp_query";
pub(crate) const EXPAND: &str = "accp_expand";

/// Returns all tools.
pub(crate) fn all() -> Vec<Tool> {
    let send = tool(
        SEND,
        "Send a frame",
        "Sends one frame to all agents of the session, or a request to one of them (`to`). Use it to tell, report, announce. To ask another \
         agent and wait for its answer use accp_ask; to answer a frame you received use accp_reply. \
         Give the frame either as parts (`intent`, `operation`, `params` under full names: the easier \
         way) or as text (`frame`). Returns the id of the frame (`p12`) once it is in the log; if it does not come \
         there, an error says why.",
        &frame_properties(json!({})),
        &[],
    );
    let ask = tool(
        ASK,
        "Ask and wait",
        "Sends one frame that wants an answer (req, qry, esc) and waits for the frame that answers it. \
         Name the agent you ask (`to`), unless the frame has a field for it (`assignee`). If nobody \
         answers in time the question stands: its answer comes with accp_receive, so do not ask again.",
        &frame_properties(json!({
            "timeout": integer(1, MAX_WAIT, "Seconds to wait; 60 by default."),
            "cancel": {
                "type": "boolean",
                "description": "True to cancel the question if nobody answers in time, so that nobody works on it any more. False by default.",
            },
        })),
        &[],
    );
    let receive = tool(
        RECEIVE,
        "Receive frames",
        "Returns the next frames from other agents that wait for you, each with its id (`p12`), sender, \
         fields under full names, and `wants_answer`. Frames that want an answer stay open until you call \
         accp_reply or accp_done with their id; all others count as handled at your next accp_receive. \
         A request that names another agent does not come to you. Pieces of a stream come in \
         their order. With `again` you see what you have open, and the last answers to your questions.",
        &json!({
            "limit": integer(1, MAX_FRAMES, "How many frames at most; 10 by default."),
            "timeout": integer(0, MAX_WAIT, "Seconds to wait if nothing is there; 0 by default."),
            "again": {
                "type": "boolean",
                "description": "True to see once more the frames that you have open, before new ones, and the last answers to accp_ask: use it if a result did not reach you.",
            },
        }),
        &[],
    );
    let reply = tool(
        REPLY,
        "Reply to a frame",
        "Answers a frame that accp_receive returned, in its chain, and marks it as handled: both or \
         neither. A frame has one reply. Use intent `done` with the operation of the request if it is \
         done. If you cannot do it: intent `fail`, operation `error`, params `code` (E4002), `msg` and \
         `retry`.",
        &frame_properties(json!({
            "id": { "type": "string", "description": "The id of the frame that you answer, such as p12." },
        })),
        &["id"],
    );
    let done = tool(
        DONE,
        "Close frames",
        "Marks frames that accp_receive returned as handled, without an answer: because they are meant \
         for another agent, or you have nothing to say.",
        &json!({
            "ids": {
                "type": "array",
                "items": { "type": "string" },
                "minItems": 1,
                "description": "The ids of the frames, such as [\"p12\",\"p13\"].",
            },
        }),
        &["ids"],
    );
    let query = tool(
        QUERY,
        "Look into the session",
        "Looks into the session without changing it. `words` searches the frames that have left the \
         context; `state` is the state that the agents share; `budget` says how full the context is; \
         `context` is the context itself; `members` are the agents. One of them a call.",
        &json!({
            "words": { "type": "string", "description": "Words to look for." },
            "limit": integer(1, MAX_FRAMES, "How many matches at most; 10 by default."),
            "about": {
                "type": "string",
                "enum": ["state", "budget", "context", "members"],
                "description": "What to look at, if not for words.",
            },
        }),
        &[],
    );
    let expand = tool(
        EXPAND,
        "Read a reference",
        "Returns the value behind a reference that stands in a frame or in the context: `p57` or \
         `cold.p57` is the frame at that place of the log, `cold.k101_1` a value that was too long for \
         its frame, `cold.k101_1.rows.0` a part of it, `warm.ckpt_3` a checkpoint.",
        &json!({
            "reference": { "type": "string", "description": "The reference; `$` before it may stand." },
        }),
        &["reference"],
    );
    let reads =
        |tool: Tool| tool.annotate(ToolAnnotations::new().read_only(true).open_world(false));
    let writes = |tool: Tool, is_idempotent| {
        let kind = ToolAnnotations::new().read_only(false).destructive(false);
        tool.annotate(kind.idempotent(is_idempotent).open_world(false))
    };
    vec![
        writes(send, false),
        writes(ask, false),
        writes(receive, false),
        writes(reply, false),
        writes(done, true),
        reads(query),
        reads(expand),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    words: &'static str,
    properties: &Json,
    required: &[&str],
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.clone());
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.insert("additionalProperties".into(), false.into());
    Tool::new(name, words, Arc::new(schema)).with_title(title)
}

/// Returns the properties of a tool that takes a frame, with its own properties.
fn frame_properties(own: Json) -> Json {
    let mut all = json!({
        "intent": {
            "type": "string",
            "enum": ["req", "done", "fail", "wait", "esc", "comp", "sync", "qry", "ack", "cancel", "stream", "end"],
            "description": "What the frame does: req asks for work, qry asks for information, done answers, fail says that it did not work.",
        },
        "operation": { "type": "string", "description": "What it is about, such as schedule, chat, lookup." },
        "params": {
            "type": "object",
            "description": "The fields of the frame under their full names, as JSON. A reference is {\"$ref\":\"cold.p57\"}.",
        },
        "schema": { "type": "string", "description": "The code of the schema, such as TA. Leave it out: it follows from intent and operation." },
        "frame": {
            "type": "string",
            "description": "Instead of the parts: the text of the frame without its metadata, such as @me>req:schedule{asgn:dev|task:impl_auth|schema:TA}.",
        },
        "to": { "type": "string", "description": "The agent that a req or a qry is for. Without it, accp_ask goes to one agent that takes such frames, and accp_send to all." },
        "chain": { "type": "string", "description": "The chain that the frame continues. Leave it out to begin one." },
        "ttl": { "type": "integer", "minimum": 0, "description": "Seconds after which nobody needs the frame any more; 0 or absent for never." },
    });
    if let (Json::Object(all), Json::Object(own)) = (&mut all, own) {
        all.extend(own);
    }
    all
}

fn integer(least: u64, most: u64, words: &str) -> Json {
    json!({ "type": "integer", "minimum": least, "maximum": most, "description": words })
}
