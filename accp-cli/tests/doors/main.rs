//! What the session promises, tried where users meet it: each program is a process of its own, is killed and started
//! again on its store, and speaks a registry that is not the standard one.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod addresses;
mod agents;
mod answers;
mod command;
mod http;
mod long_values;
mod processes;

/// The registry of these tests. It uses the codes of two standard profiles for frames of its own.
const REGISTRY: &str = r#"{ "schemas": {
    "note": {
        "code": "NOTE", "fields": ["text", "size"], "types": { "text": "text", "size": "integer" },
        "required": ["text"], "inline": ["text"],
        "frames": [ { "intent": "req", "operation": "note" }, { "intent": "done", "operation": "note" } ]
    },
    "emergency_room": {
        "code": "ER", "fields": ["room", "code"], "types": { "code": "integer" }, "required": ["room"],
        "frames": [ { "intent": "req", "operation": "book_room" } ]
    },
    "status": { "code": "ST", "fields": ["state"], "frames": [ { "intent": "req", "operation": "status" } ] },
    "lookup": {
        "code": "LU", "fields": ["question", "source", "answer"],
        "types": { "question": "string", "source": "string", "answer": "any" }, "required": ["question"],
        "frames": [ { "intent": "qry", "operation": "lookup" }, { "intent": "done", "operation": "lookup" } ]
    },
    "verdict": {
        "code": "VD", "fields": ["case", "ruling"],
        "types": { "case": "string", "ruling": "enum(guilty,free)" }, "required": ["case"],
        "frames": [
            { "intent": "req", "operation": "judge" },
            { "intent": "done", "operation": "judge", "required": ["ruling"], "envelope": ["cid"] }
        ]
    }
} }"#;
