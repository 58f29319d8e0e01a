//! A protocol unlike ACCP, for the tests of every stage that reads a description.

use crate::limits::Limits;
use crate::protocol::{
    HeadPart, Layout, List, NameRule, Protocol, RustNames, UnknownKeys, Vocabulary,
};

fn is_word(text: &str) -> bool {
    let is_other = |b: u8| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    !text.is_empty() && !text.bytes().any(is_other)
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && crate::lexical::is_key(text)
}

const WORD: NameRule = NameRule {
    fits: is_word,
    words: "letters, digits, '_' and '-'",
    list: "A-Z, a-z, 0-9, `_` and `-`",
};

const KEY: NameRule = NameRule {
    fits: is_key,
    words: "a letter, then letters, digits and '_'",
    list: "A-Z, a-z, 0-9 and `_`, a letter first",
};

/// `TASK|AREA|key:value|..`: a head by position, with open vocabularies; no schema in the text, no
/// metadata, no nesting, no abbreviations, no escapes.
pub static TOY: Protocol = Protocol {
    name: "toy",
    noun: "packet",
    head: &[
        HeadPart {
            name: "task",
            plural: "tasks",
            example: "FETCH",
            vocabulary: Vocabulary::Open(WORD),
        },
        HeadPart {
            name: "area",
            plural: "areas",
            example: "HR",
            vocabulary: Vocabulary::Open(WORD),
        },
    ],
    schema_key: None,
    key: KEY,
    pairs_key: None,
    unknown_keys: UnknownKeys::Refused,
    nests: false,
    abbreviations: &[],
    envelope: &[],
    layout: Layout {
        sender: None,
        head: "|",
        fields: List {
            open: "|",
            separator: "|",
            close: "",
        },
        assign: ":",
        metadata: None,
        escape: None,
    },
    limits: Limits {
        frame_bytes: 8 * 1024,
        depth: 0,
        params: 64,
        elements: 64,
    },
    profiles: &[("packet.json", PACKET)],
    rust: RustNames {
        runtime: "toy_runtime",
        derive: "ToyPacket",
        attribute: "toy",
        rest: "extra",
        variable: "TOY_REGISTRY",
        type_name: &[0, 1],
        version_doc: "The version of the vocabulary.",
        hash_doc: "The hash of the vocabulary.",
    },
};

/// The field `schema` is allowed here, and `priority` travels under its full name.
const PACKET: &str = r#"{ "schemas": { "packet": {
    "code": "P",
    "fields": ["schema", "priority", "parts"],
    "types": { "schema": "string", "priority": "integer", "parts": "[string]" },
    "frames": [
        { "task": "FETCH", "area": "HR", "required": ["priority"] },
        { "task": "FETCH-ALL", "area": "HR" }
    ]
} } }"#;
