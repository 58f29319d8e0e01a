//! The description of the Agent Action Compression Protocol, and the rules for its texts, which the
//! generator and the reader of packets share.

use crate::lexical;
use crate::limits::Limits;
use crate::protocol::{
    CommonField, HeadPart, Layout, List, NameRule, Presence, Protocol, RustNames, UnknownKeys,
    Values, Vocabulary,
};

/// `task` and `dom` of the grammar (AACP draft section 4.1): one or more letters, digits, `_` and `-`.
pub const WORD: NameRule = NameRule {
    fits: is_word,
    words: "letters, digits, '_' and '-'",
    list: "A-Z, a-z, 0-9, `_` and `-`",
};

/// `key` of the grammar (AACP draft section 4.2): a letter, then letters, digits and `_`.
pub const KEY: NameRule = NameRule {
    fits: is_key,
    words: "a letter, then letters, digits and '_'",
    list: "A-Z, a-z, 0-9 and `_`, a letter first",
};

fn is_word(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn is_key(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && lexical::is_key(text)
}

/// `value-char` of the grammar: no separator, no control character, no line break, no character without width, and no
/// character that changes the direction of the text around it. A person who reads a log does not see such characters,
/// but a model reads them (AACP draft section 15).
///
/// ```
/// use accp_registry::aacp::is_value_char;
///
/// assert!(is_value_char(' ') && is_value_char('é') && is_value_char(':'));
/// assert!(!is_value_char('|') && !is_value_char('\t') && !is_value_char('\u{202e}'));
/// ```
pub fn is_value_char(c: char) -> bool {
    let is_unseen = matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    c != '|' && !c.is_control() && !is_unseen
}

/// `HEAD|HEAD|key:value|..`
pub(crate) const LAYOUT: Layout = Layout {
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
};

/// 8 KiB and 64 fields; a value has no parts.
pub(crate) const LIMITS: Limits = Limits {
    frame_bytes: 8 * 1024,
    depth: 0,
    params: 64,
    elements: 64,
};

/// The Agent Action Compression Protocol (AACP draft section 4): `TASK|DOM|key:value|..`.
///
/// Tasks and domains are open: an unknown task or domain is a warning of the validator (5.1, 5.2). A packet names no
/// schema, and a value is text: the type of the field that holds it gives the meaning. So no stage needs a registry.
/// A struct reads a packet with an unknown key only if one of its fields takes such keys, so no field is lost (13).
///
/// ```
/// use accp_registry::AACP;
///
/// assert_eq!(AACP.title(&["FETCH", "HR"]), "FETCH|HR");
/// assert!((AACP.key.fits)("src_prev") && !(AACP.key.fits)("2nd"));
/// ```
pub static AACP: Protocol = Protocol {
    name: "aacp",
    noun: "packet",
    head: &[
        HeadPart {
            name: "task",
            plural: "tasks",
            example: "FETCH",
            vocabulary: Vocabulary::Open(WORD),
        },
        HeadPart {
            name: "dom",
            plural: "domains",
            example: "HR",
            vocabulary: Vocabulary::Open(WORD),
        },
    ],
    schema_key: None,
    key: KEY,
    common: &[
        CommonField {
            key: "return",
            presence: Presence::Required,
        },
        CommonField {
            key: "p",
            presence: Presence::Optional,
        },
        CommonField {
            key: "aacp",
            presence: Presence::Filled("1.1"),
        },
    ],
    pairs_key: None,
    unknown_keys: UnknownKeys::Refused,
    values: Values::Text(is_value_char),
    abbreviations: &[],
    envelope: &[],
    layout: LAYOUT,
    limits: LIMITS,
    profiles: &[],
    rust: RustNames {
        runtime: "accp_aacp",
        derive: "AacpPacket",
        attribute: "aacp",
        rest: "extra",
        type_name: &[0, 1],
        registry: None,
    },
};
