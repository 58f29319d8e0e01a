//! Conformance, FRAME-01 to FRAME-05: the grammar of draft section 3.1.
//! `docs/conformance.md` lists the tests of each requirement.

use accp_grammar::testing::{frame_text, mutated, value};
use accp_registry::lexical::{self, is_delimiter};
use accp_runtime::profiles::InferStream;
use accp_runtime::{DynamicFrame, ErrorCode, Frame, Map, Registry, Typed, Value};
use accp_tests::judges::agree;
use proptest::prelude::*;

const DELIMITERS: &[u8] = br"@>:{}[]|$,~\";

fn accepted(text: &str) -> Frame<'_> {
    assert!(agree(text.as_bytes()), "{text}");
    Frame::parse(text).unwrap()
}

/// Checks that both judges and every reader above the scanner refuse the text with E1001. Returns
/// the place of the fault.
fn refused(bytes: &[u8]) -> usize {
    let shown = String::from_utf8_lossy(bytes);
    assert!(!agree(bytes), "{shown:?} is taken");
    let error = Frame::parse_bytes(bytes).unwrap_err();
    assert_eq!(error.code(), ErrorCode::PARSE_ERROR, "{shown:?}");
    assert!(DynamicFrame::decode_bytes(bytes, Registry::shared()).is_err());
    assert!(Typed::<InferStream<'_>>::decode_bytes(bytes).is_err());
    error.at()
}

fn with_value(text: &str) -> String {
    format!("@a>qry:lookup{{k:{text}}}")
}

/// Returns the value of a wire text without a declared type.
fn read(wire: &str) -> Value<'static> {
    let text = with_value(wire);
    accepted(&text).value("k").unwrap().into_owned()
}

// ---- FRAME-01 ----------------------------------------------------------------------

proptest! {
    #[test]
    fn frame_01_accepts_one_line_of_header_body_and_metadata(text in frame_text()) {
        let frame = accepted(&text);
        prop_assert_eq!(frame.to_string(), text);
    }

    /// A frame that is cut short, or that has one more byte at either end, is not a frame.
    #[test]
    fn frame_01_refuses_anything_less_or_more(text in frame_text(), byte: u8) {
        let [header, body, _] = accepted(&text).parts();
        for end in 0..text.len() {
            // A frame without its metadata is complete.
            if end != header.len() + body.len() {
                refused(&text.as_bytes()[..end]);
            }
        }
        refused(&[&[byte], text.as_bytes()].concat());
        refused(&[text.as_bytes(), &[byte]].concat());
        refused(format!("{text}\n{text}").as_bytes());
    }

    #[test]
    fn frame_01_refuses_nothing_by_halves(bytes in mutated()) {
        // The judges must agree: the text is a frame, or both name the same fault.
        if !agree(&bytes) {
            prop_assert!(refused(&bytes) <= bytes.len());
        }
    }
}

// ---- FRAME-02 ----------------------------------------------------------------------

/// A place of one of the five name productions, with the characters that it allows besides
/// letters. An intent has no digits.
struct Name {
    before: &'static str,
    after: &'static str,
    others: &'static str,
}

const NAMES: [Name; 7] = [
    name("@", ">b:c{}", "0123456789-_"),
    name("@a>", ":c{}", ""),
    name("@a>b:", "{}", "0123456789_"),
    name("@a>b:c{", ":v}", "0123456789_"),
    name("@a>b:c{}[", ":v]", "0123456789_"),
    name("@a>b:c{k:{", ":v}}", "0123456789_"),
    name("@a>b:c{k:$", "}", "0123456789_."),
];

const fn name(before: &'static str, after: &'static str, others: &'static str) -> Name {
    Name {
        before,
        after,
        others,
    }
}

/// Returns every byte in each of the places: alone, at the end and at the start of a name.
fn names_of_every_byte() -> impl Iterator<Item = (bool, Vec<u8>)> {
    NAMES.iter().flat_map(|name| {
        (0..=u8::MAX).flat_map(move |byte| {
            let belongs = byte.is_ascii_alphabetic() || name.others.as_bytes().contains(&byte);
            [&[byte][..], &[b'a', byte], &[byte, b'a']]
                .map(|text| [name.before.as_bytes(), text, name.after.as_bytes()].concat())
                .map(|text| (belongs, text))
        })
    })
}

#[test]
fn frame_02_accepts_exactly_its_character_sets() {
    for (_, text) in names_of_every_byte().filter(|(belongs, _)| *belongs) {
        assert!(agree(&text), "{}", String::from_utf8_lossy(&text));
    }
}

#[test]
fn frame_02_refuses_every_other_byte_and_no_character_at_all() {
    for (_, text) in names_of_every_byte().filter(|(belongs, _)| !*belongs) {
        refused(&text);
    }
    for Name { before, after, .. } in NAMES {
        assert_eq!(refused([before, after].concat().as_bytes()), before.len());
    }
}

// ---- FRAME-03 ----------------------------------------------------------------------

#[test]
fn frame_03_accepts_bars_between_params_and_commas_between_pairs() {
    let pairs = |count: usize, separator: &str| {
        (0..count)
            .map(|at| format!("k{at}:v{at}"))
            .collect::<Vec<_>>()
            .join(separator)
    };
    for params in 0..20 {
        for metadata in 1..8 {
            let text = format!("@a>b:c{{{}}}[{}]", pairs(params, "|"), pairs(metadata, ","));
            let frame = accepted(&text);
            assert_eq!(
                (frame.payload.len(), frame.metadata.len()),
                (params, metadata)
            );
        }
    }
    assert_eq!(accepted("@a>b:c{}").payload, []);
}

#[test]
fn frame_03_refuses_any_other_separator_and_any_gap() {
    for byte in 0..=u8::MAX {
        for (before, after, right) in [("@a>b:c{k:v", "k:v}", b'|'), ("@a>b:c{}[k:v", "k:v]", b',')]
        {
            let text = [before.as_bytes(), &[byte], after.as_bytes()].concat();
            if byte == right {
                assert!(agree(&text));
            } else {
                refused(&text);
            }
        }
    }
    for text in [
        "@a>b:c{|}",
        "@a>b:c{k:v|}",
        "@a>b:c{|k:v}",
        "@a>b:c{k:v||k:v}",
        "@a>b:c{k}",
        "@a>b:c{k:}",
        "@a>b:c{}[]",
        "@a>b:c{}[k:v,]",
        "@a>b:c{}[,k:v]",
        "@a>b:c{}[k:v,,k:v]",
        "@a>b:c{}[k]",
        "@a>b:c{}[k:]",
        "@a>b:c{}[k:v][k:v]",
        "@a>b:c{}{}",
        "@a>b:c[k:v]",
    ] {
        refused(text.as_bytes());
    }
}

// ---- FRAME-04 ----------------------------------------------------------------------

proptest! {
    #[test]
    fn frame_04_accepts_any_printable_string(text in "[!-~]{1,40}") {
        let mut wire = String::new();
        lexical::write_escaped(&mut wire, &text);
        let frame = with_value(&wire);
        let frame = accepted(&frame);
        prop_assert_eq!(frame.get("k").unwrap().as_str(), &wire);
        prop_assert_eq!(lexical::unescape(&wire), text);
    }
}

#[test]
fn frame_04_accepts_every_escaped_delimiter() {
    assert_eq!(DELIMITERS.len(), 12);
    for byte in (b'!'..=b'~').map(char::from) {
        let is_delimiter = DELIMITERS.contains(&(byte as u8));
        let wire = if is_delimiter {
            format!("x\\{byte}")
        } else {
            format!("x{byte}")
        };
        assert_eq!(read(&wire), Value::from(format!("x{byte}")));
    }
}

#[test]
fn frame_04_refuses_other_escapes_and_bare_delimiters() {
    for byte in 0..=u8::MAX {
        let is_safe = (b'!'..=b'~').contains(&byte) && !DELIMITERS.contains(&byte);
        assert_eq!(
            (is_delimiter(byte), lexical::is_safe_char(byte)),
            (DELIMITERS.contains(&byte), is_safe)
        );
        if !is_delimiter(byte) {
            refused(&[b"@a>b:c{k:x\\", &[byte][..], b"y}"].concat());
        }
        if !is_safe {
            refused(&[b"@a>b:c{k:x", &[byte][..], b"y}"].concat());
        }
    }
    assert_eq!(refused(br"@a>b:c{k:x\}"), 12);
}

// ---- FRAME-05 ----------------------------------------------------------------------

proptest! {
    #[test]
    fn frame_05_accepts_values_of_every_shape(wire in value()) {
        let text = with_value(&wire);
        let frame = accepted(&text);
        prop_assert_eq!(frame.get("k").unwrap().as_str(), &wire);
    }
}

#[test]
fn frame_05_accepts_null_arrays_maps_and_references() {
    let map = |key: &'static str, value| Value::Map([(key, value)].into_iter().collect());
    for (wire, value) in [
        ("~", Value::Null),
        ("[]", Value::Array(Vec::new())),
        ("{}", Value::Map(Map::new())),
        ("[~,1]", Value::Array(vec![Value::Null, Value::from(1)])),
        (
            "{a:[{}]}",
            map("a", Value::Array(vec![Value::Map(Map::new())])),
        ),
        (
            "$warm.ckpt_1.status",
            Value::Ref("warm.ckpt_1.status".into()),
        ),
    ] {
        assert_eq!(read(wire), value);
        assert_eq!(value.to_string(), wire);
    }
}

#[test]
fn frame_05_refuses_brackets_that_do_not_fit() {
    for wire in [
        "",
        "~~",
        "~x",
        "x~",
        "$",
        "$-",
        "$a-b",
        "$$a",
        "x$a",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[,]",
        "[1,,2]",
        "[1|2]",
        "[a:1]",
        "[1}",
        "{",
        "{1}",
        "{a}",
        "{a:}",
        "{:1}",
        "{a:1,}",
        "{,a:1}",
        "{a:1|b:2}",
        "{a:1]",
        "[[1]",
        "[1]]",
        "[1]x",
        "x[1]",
        "{}{}",
        "[1][2]",
    ] {
        refused(with_value(wire).as_bytes());
        refused(format!("@a>b:c{{}}[k:{wire}]").as_bytes());
    }
}
