//! Properties of all texts. The scanner is compared with the reference parser and the validator, and the writer with
//! the reader. No finding shows a part of a packet.

use crate::support::HEAD;
use accp_aacp::{Code, Limits, Packet, PacketBuf, Validator, Vocabulary, lint, validate};
use accp_grammar::aacp as reference;
use accp_registry::AACP;
use accp_registry::aacp::is_value_char;
use proptest::collection::vec;
use proptest::prelude::*;

/// The findings that show that a text breaks the grammar.
const OF_THE_GRAMMAR: [Code; 12] = [
    Code::PacketEmpty,
    Code::TaskMissing,
    Code::TaskInvalid,
    Code::DomMissing,
    Code::DomInvalid,
    Code::FieldEmpty,
    Code::FieldUnnamed,
    Code::KeyInvalid,
    Code::ControlCharacter,
    Code::TooLong,
    Code::TooManyFields,
    Code::NotUtf8,
];

/// Pieces of packets, of texts, and of bytes that are not text.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "\\|(return|aacp|p|res|fields|RES|1x)?:?[a-z0-9.:,= ]{0,6}".prop_map(String::into_bytes),
        2 => Just(HEAD.as_bytes().to_vec()),
        1 => Just(b"|aacp:1.0".to_vec()),
        2 => "[A-Z|:_a-z0-9 -]{0,8}".prop_map(String::into_bytes),
        1 => ".{0,4}".prop_map(String::into_bytes),
        1 => vec(any::<u8>(), 0..4),
        1 => "[\\x00-\\x20\\u{7f}-\\u{ad}\\u{200b}-\\u{2029}\\u{e0001}]{0,2}".prop_map(String::into_bytes),
    ];
    vec(part, 0..6).prop_map(|parts| parts.concat())
}

/// Removes the spaces around keys and values, which the grammar does not allow and the reader
/// ignores.
fn without_spaces(text: &[u8]) -> Vec<u8> {
    let trim = |mut part: &[u8]| {
        while let [b' ', rest @ ..] | [rest @ .., b' '] = part {
            part = rest;
        }
        part.to_vec()
    };
    let slots = text.split(|byte| *byte == b'|').enumerate();
    let slots = slots.map(|(index, slot)| {
        let slot = trim(slot);
        match slot.iter().position(|byte| *byte == b':') {
            Some(at) if index > 1 => {
                [trim(&slot[..at]), b":".to_vec(), trim(&slot[at + 1..])].concat()
            }
            _ => slot,
        }
    });
    slots.collect::<Vec<_>>().join(&b'|')
}

/// Returns the number of separators.
fn bars(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'|').count() - 1
}

fn is_grammar(code: Code) -> bool {
    OF_THE_GRAMMAR.contains(&code)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn scanner_and_reference_parser_give_the_same_verdict(text in bytes()) {
        let plain = without_spaces(&text);
        let report = validate(&text);
        let broken = report.findings().iter().any(|finding| is_grammar(finding.code));
        // The grammar requires at least one field, of any name. The validator requires fields with
        // certain names. So `has_field` covers a packet without fields.
        let has_field = bars(&plain) > 1;
        let by_reference = reference::parse_bytes(&plain);
        prop_assert_eq!(by_reference.is_ok(), !broken && has_field, "{:?}", by_reference);
        if let (Ok(tree), Ok(packet)) = (&by_reference, Packet::parse_bytes(&text)) {
            prop_assert_eq!((tree.task, tree.dom), (packet.task(), packet.dom()));
            let fields: Vec<_> = tree.fields.iter().map(|field| (field.key, field.value)).collect();
            prop_assert_eq!(&fields, packet.fields());
            prop_assert_eq!(packet.to_string().into_bytes(), plain.clone());
            prop_assert_eq!(packet.text().as_bytes(), &text[..]);
        }
    }

    #[test]
    fn a_text_is_a_packet_exactly_if_the_validator_finds_no_error(text in bytes()) {
        let report = validate(&text);
        match Packet::parse_bytes(&text) {
            Ok(packet) => {
                prop_assert!(report.is_valid());
                let again = Packet::parse_bytes(&text).unwrap().to_string();
                let back = Packet::parse(&again).unwrap();
                prop_assert_eq!(&back.to_string(), &again);
                prop_assert_eq!(back.fields(), packet.fields());
            }
            Err(error) => {
                let code = error.code().unwrap();
                prop_assert!(report.errors().any(|finding| finding.code == code), "{}", error);
            }
        }
    }

    #[test]
    fn places_are_in_the_text_and_each_code_stands_once(text in bytes()) {
        let report = validate(&text);
        let slots = bars(&text) + 1;
        for finding in report.findings() {
            prop_assert!(finding.at.is_none_or(|at| at <= text.len()), "{:?}", finding);
            prop_assert!(finding.field.is_none_or(|field| field < slots), "{:?}", finding);
            if let (Some(field), Some(at)) = (finding.field, finding.at) {
                let before = bars(&text[..at]);
                prop_assert_eq!(before, field, "{:?}", finding);
            }
        }
        let mut codes: Vec<_> = report.errors().chain(report.warnings()).map(|f| (f.severity, f.code)).collect();
        let count = codes.len();
        codes.sort_unstable();
        codes.dedup();
        prop_assert_eq!(codes.len(), count);
    }

    #[test]
    fn what_the_writer_takes_comes_back(
        task in "[A-Z|:]{1,6}",
        fields in vec(("[a-zA-Z_:|0-9]{0,5}|return|aacp|p", ".{0,8}|[a-z|: ,\\t]{0,6}"), 0..6),
        old in any::<bool>(),
    ) {
        let mut fields: Vec<(String, String)> = fields;
        fields.push(("return".into(), "a".into()));
        fields.push(("aacp".into(), if old { "1.0" } else { "1.1" }.into()));
        let Ok(packet) = PacketBuf::new(&task, "HR", fields.clone()) else { return Ok(()) };
        prop_assert_eq!(packet.text().matches('|').count(), fields.len() + 1);
        let read = Packet::parse(packet.text()).unwrap();
        prop_assert_eq!(read.task(), task);
        let back: Vec<_> = read.fields().iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        prop_assert_eq!(back, fields);
    }

    #[test]
    fn the_writer_takes_every_value_that_can_come_back(value in ".{0,12}") {
        let fields = [("return", "a"), ("aacp", "1.1"), ("issue", &value)];
        let can = value.chars().all(is_value_char) && value.trim_matches(' ') == value;
        prop_assert_eq!(PacketBuf::new("FLAG", "HR", fields).is_ok(), can);
        prop_assert_eq!(PacketBuf::check(&value).is_ok(), can);
    }

    #[test]
    fn no_finding_shows_a_part_of_the_packet(secret in "[xjqz]{6}", form in 0..6_usize) {
        let text = match form {
            0 => format!("{secret} |HR|return:a|aacp:1.1"),
            1 => format!("FETCH|{secret}|return:a|aacp:1.1"),
            2 => format!("{HEAD}|{secret}:{secret}"),
            3 => format!("{HEAD}|{secret}"),
            4 => format!("FETCH|HR|return:a|p:{secret}|aacp:{secret}"),
            _ => format!("{HEAD}|res:{secret}\t|res:{secret}"),
        };
        let report = validate(&text);
        prop_assert!(!report.findings().is_empty());
        for finding in report.findings() {
            prop_assert!(!finding.to_string().contains(&secret), "{}", finding);
        }
        if let Err(error) = Packet::parse(&text) {
            prop_assert!(!error.to_string().contains(&secret), "{}", error);
        }
    }

    #[test]
    fn english_has_every_key_and_value_and_nothing_invisible(text in bytes()) {
        let Ok(packet) = Packet::parse_bytes(&text) else { return Ok(()) };
        let english = Vocabulary::standard().english(&packet);
        prop_assert!(english.chars().all(|c| c == '|' || is_value_char(c)), "{}", english);
        let mut rest = &english[..];
        for (key, value) in packet.fields() {
            for part in [key, value] {
                let at = rest.find(part).unwrap();
                rest = &rest[at + part.len()..];
            }
        }
        for note in lint(&packet) {
            let (_, value) = packet.fields()[note.field - 2];
            prop_assert!(packet.text()[note.at..].starts_with(value));
        }
    }

    #[test]
    fn limits_bound_what_is_read(fields in 0..5_usize, bytes in 0..60_usize) {
        let limits = Limits { packet_bytes: bytes, fields };
        let text = format!("{HEAD}|res:a");
        let validator = Validator { limits, ..Validator::default() };
        let report = validator.validate(&text);
        let has = |code| report.errors().any(|finding| finding.code == code);
        prop_assert_eq!(has(Code::TooLong), text.len() > bytes);
        let seen = bars(&text.as_bytes()[..text.len().min(bytes)]);
        prop_assert_eq!(has(Code::TooManyFields), seen > fields + 1);
        prop_assert_eq!(Packet::parse_with(&text, limits).is_ok(), report.is_valid());
    }
}

#[test]
fn the_limits_are_those_of_the_protocol() {
    let Limits {
        packet_bytes,
        fields,
    } = Limits::DEFAULT;
    assert_eq!(packet_bytes, AACP.limits.frame_bytes);
    assert_eq!(u32::try_from(fields), Ok(AACP.limits.params));
}

#[test]
fn a_task_or_domain_with_a_space_is_not_written() {
    for (task, dom) in [(" FETCH", "HR"), ("FETCH", "HR ")] {
        let packet = PacketBuf::new(task, dom, [("return", "a"), ("aacp", "1.1")]);
        assert!(packet.is_err(), "{task}|{dom}");
    }
}
