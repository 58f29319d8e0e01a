//! The description of the Agent Context Compression Protocol.

use crate::lexical;
use crate::limits::Limits;
use crate::protocol::{
    Escape, HeadPart, Layout, List, NameRule, Protocol, RegistryNames, RustNames, UnknownKeys,
    Values, Vocabulary,
};
use crate::tables::{ABBREVIATIONS, ENVELOPE, Intent};

/// `key` and `operation` of the grammar.
const NAME: NameRule = NameRule {
    fits: lexical::is_key,
    words: "letters, digits and '_'",
    list: "A-Z, a-z, 0-9 and `_`",
};

/// The Agent Context Compression Protocol (draft sections 3 and 4):
/// `@agent>intent:operation{key:value|..}[key:value,..]`.
///
/// The intents are closed: a frame with any other intent is E1002. Operations are open: a `frames`
/// entry registers one. A reader skips unknown keys.
pub static ACCP: Protocol = Protocol {
    name: "accp",
    noun: "frame",
    head: &[
        HeadPart {
            name: "intent",
            plural: "intents",
            example: "req",
            vocabulary: Vocabulary::Closed {
                words: Intent::CODES,
                constants: "Intent",
            },
        },
        HeadPart {
            name: "operation",
            plural: "operations",
            example: "plan",
            vocabulary: Vocabulary::Open(NAME),
        },
    ],
    schema_key: Some("schema"),
    key: NAME,
    common: &[],
    pairs_key: Some("_"),
    unknown_keys: UnknownKeys::ReadOver,
    values: Values::Typed { nests: true },
    abbreviations: ABBREVIATIONS,
    envelope: ENVELOPE,
    layout: Layout {
        sender: Some(["@", ">"]),
        head: ":",
        fields: List {
            open: "{",
            separator: "|",
            close: "}",
        },
        assign: ":",
        metadata: Some(List {
            open: "[",
            separator: ",",
            close: "]",
        }),
        escape: Some(Escape {
            by: lexical::ESCAPE,
            delimiters: lexical::DELIMITERS,
        }),
    },
    limits: Limits::DEFAULT,
    profiles: &[
        ("CH.json", include_str!("../profiles/CH.json")),
        ("TC.json", include_str!("../profiles/TC.json")),
        ("TX.json", include_str!("../profiles/TX.json")),
        ("ST.json", include_str!("../profiles/ST.json")),
        ("TA.json", include_str!("../profiles/TA.json")),
        ("ER.json", include_str!("../profiles/ER.json")),
    ],
    rust: RustNames {
        runtime: "accp_runtime",
        derive: "AccpFrame",
        attribute: "accp",
        rest: "flatten",
        // The operation comes first: `ScheduleReq`.
        type_name: &[1, 0],
        registry: Some(RegistryNames {
            variable: "ACCP_REGISTRY",
            version_doc: "The version of the registry: the `v` of `sync:registry`.",
            hash_doc: "The hash of the registry, all of it; its first digits are the `hash` of\n\
                       `sync:registry`.",
        }),
    },
};
