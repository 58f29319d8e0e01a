//! A protocol that differs from ACCP, for the tests of all code that reads the description of a protocol. Unlike
//! AACP, this protocol has a schema.

use crate::aacp::{KEY, LAYOUT, LIMITS, WORD};
use crate::protocol::{
    HeadPart, Protocol, RegistryNames, RustNames, UnknownKeys, Values, Vocabulary,
};

/// `TASK|AREA|key:value|..`: the position gives the meaning of each part of the head, and the vocabularies are open;
/// no schema in the text, no metadata, no nesting, no abbreviations, no escapes.
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
    common: &[],
    pairs_key: None,
    unknown_keys: UnknownKeys::Refused,
    values: Values::Typed { nests: false },
    abbreviations: &[],
    envelope: &[],
    layout: LAYOUT,
    limits: LIMITS,
    profiles: &[("packet.json", PACKET)],
    rust: RustNames {
        runtime: "toy_runtime",
        derive: "ToyPacket",
        attribute: "toy",
        rest: "extra",
        type_name: &[0, 1],
        registry: Some(RegistryNames {
            variable: "TOY_REGISTRY",
            version_doc: "The version of the vocabulary.",
            hash_doc: "The hash of the vocabulary.",
        }),
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
