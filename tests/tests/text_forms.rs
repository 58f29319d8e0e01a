//! The text form and the mark, the literals and the keys. The tests use every character of Unicode,
//! texts with many special characters, and wire texts that no encoder wrote. Every value comes back
//! unchanged, and no two values share a spelling.
//!
//! A long run: `PROPTEST_CASES=1000000 cargo test --release -p accp-tests --test all text_forms`.
//! Recorded texts: `cargo run --release -p accp-tests --example corpus -- FILES...`.

use std::collections::{BTreeMap, BTreeSet};

use accp_frame::Reader;
use accp_registry::lexical::{
    Literal, decode_string, decode_text, is_delimiter, is_safe_char, unescape, write_string,
    write_text, write_untyped,
};
use accp_runtime::{
    Decimal, DecodeOptions, DynamicFrame, EncodeOptions, Limits, Map, Registry, Value,
};
use accp_tests::judges::agree;
use proptest::prelude::*;

/// ```abnf
/// string = 1*( safe-char / escaped-char )
/// ```
fn is_grammatical(wire: &str) -> bool {
    let mut bytes = wire.bytes();
    let mut valid = !wire.is_empty();
    while let Some(byte) = bytes.next() {
        valid &= match byte {
            b'\\' => bytes.next().is_some_and(is_delimiter),
            byte => is_safe_char(byte),
        };
    }
    valid
}

/// A form of a string, with its writer, its rule and its reader.
struct Form {
    name: &'static str,
    write: fn(&mut String, &str),
    rule: fn(&str) -> String,
    reads_back: fn(&str, &str) -> bool,
}

const FORMS: [Form; 3] = [
    Form {
        name: "text",
        write: write_text,
        rule: text_by_rule,
        reads_back: |wire, text| decode_text(wire) == text,
    },
    Form {
        name: "string",
        write: write_string,
        rule: |text| marked_by_rule(text, false),
        reads_back: |wire, text| decode_string(wire) == text,
    },
    Form {
        name: "untyped",
        write: write_untyped,
        rule: |text| marked_by_rule(text, is_typed(text)),
        reads_back: |wire, text| match Literal::classify(wire) {
            Literal::Text(form) => decode_text(form) == text,
            Literal::String(raw) => unescape(raw) == text,
            _ => false,
        },
    },
];

impl Form {
    /// Returns the spelling of a text, in a buffer that is used again.
    fn spell<'b>(&self, text: &str, buffer: &'b mut String) -> &'b str {
        buffer.clear();
        (self.write)(buffer, text);
        assert!(
            is_grammatical(buffer),
            "{} of {text:?}: {buffer}",
            self.name
        );
        assert!(
            (self.reads_back)(buffer, text),
            "{} of {text:?}: {buffer}",
            self.name
        );
        buffer
    }
}

// ---- The rules, written a second time ------------------------------------------------

fn is_spacing(c: Option<&char>) -> bool {
    matches!(c, Some(' ' | '_'))
}

/// Writes a text by the rule. An underscore is doubled. A space is written as an underscore, unless another space
/// or an underscore is beside it. A percent sign is escaped before two hexadecimal digits, and if it is the whole
/// text. A backslash comes before each delimiter. Unprintable bytes are `%XX`. The empty text is `%`.
fn text_by_rule(text: &str) -> String {
    match text {
        "" => return "%".to_owned(),
        "%" => return "%25".to_owned(),
        _ => {}
    }
    let chars: Vec<char> = text.chars().collect();
    let mut wire = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        let next = &chars[at + 1..];
        let is_hex = |c: Option<&char>| c.is_some_and(char::is_ascii_hexdigit);
        match c {
            '_' => wire += "__",
            ' ' if !is_spacing(before) && !is_spacing(next.first()) => wire.push('_'),
            '%' if is_hex(next.first()) && is_hex(next.get(1)) => wire += "%25",
            '!'..='~' => wire += &escaped(c),
            _ => {
                let mut utf8 = [0; 4];
                wire.extend(
                    c.encode_utf8(&mut utf8)
                        .bytes()
                        .map(|byte| format!("%{byte:02X}")),
                );
            }
        }
    }
    wire
}

/// Writes a text by the rule. A text has no mark if it is printable and not empty, if it does not read as another
/// type, and if it does not begin with a mark. In such a text, only delimiters are escaped. Any other text is
/// written as a mark and the text form. For the empty text nothing follows the mark.
fn marked_by_rule(text: &str, is_typed: bool) -> String {
    let is_raw = !is_typed
        && !text.is_empty()
        && text.chars().all(|c| matches!(c, '!'..='~'))
        && !text.starts_with(['"', '#']);
    match text {
        text if is_raw => text.chars().map(escaped).collect(),
        "" => "\"".to_owned(),
        text => format!("\"{}", text_by_rule(text)),
    }
}

/// Returns whether a raw text would be read as a boolean, an integer or a decimal.
fn is_typed(text: &str) -> bool {
    let integer = text.parse::<i64>().map(|integer| integer.to_string());
    let decimal = text.parse::<Decimal>().map(|decimal| decimal.to_string());
    matches!(text, "true" | "false")
        || integer.as_deref() == Ok(text)
        || decimal.as_deref() == Ok(text)
}

fn escaped(c: char) -> String {
    let escape = if r"@>:{}[]|$,~\".contains(c) {
        "\\"
    } else {
        ""
    };
    format!("{escape}{c}")
}

// ---- Every character of Unicode -------------------------------------------------------

/// The surroundings of a character in a text: the pieces before, between and after it.
const PLACES: [&[&str]; 5] = [
    &["", ""],
    &["", "", ""],
    &["_", "_"],
    &[" ", " "],
    &["%", "%"],
];

fn place(text: &mut String, c: char, around: &[&str]) {
    text.clear();
    for (at, piece) in around.iter().enumerate() {
        if at > 0 {
            text.push(c);
        }
        text.push_str(piece);
    }
}

/// Calls `look` with every character in every place.
fn each_character(mut look: impl FnMut(char, &str)) {
    let mut text = String::new();
    for c in '\0'..=char::MAX {
        for around in PLACES {
            place(&mut text, c, around);
            look(c, &text);
        }
    }
}

#[test]
fn every_character_comes_back_from_the_text_form() {
    let mut wire = String::new();
    each_character(|_, text| {
        FORMS[0].spell(text, &mut wire);
    });
}

/// Beyond ASCII, a string and an untyped value have the same spelling: a mark and the text form.
#[test]
fn every_character_comes_back_from_a_string_and_where_no_type_is_declared() {
    let (mut string, mut untyped) = (String::new(), String::new());
    each_character(|c, text| {
        if c.is_ascii() {
            FORMS[1].spell(text, &mut string);
            FORMS[2].spell(text, &mut untyped);
            return;
        }
        string.clear();
        untyped.clear();
        write_string(&mut string, text);
        write_untyped(&mut untyped, text);
        assert_eq!(string, untyped, "{text:?}");
        let Literal::Text(form) = Literal::classify(&string) else {
            panic!("{text:?}: {string}")
        };
        assert_eq!(decode_text(form), text);
    });
}

#[test]
fn every_character_comes_back_from_a_key() {
    let characters: Vec<char> = ('\0'..=char::MAX).collect();
    for chunk in characters.chunks(256) {
        let mut keys = Vec::new();
        for &c in chunk {
            for around in [PLACES[0], &["_ ", "%"]] {
                let mut key = String::new();
                place(&mut key, c, around);
                keys.push((key, Value::Null));
            }
        }
        let map: Map<'_> = keys.into_iter().collect();
        assert_eq!(map.len(), 2 * chunk.len());
        let value = Value::Map(map);
        assert_eq!(read(&value.to_string()), value);
    }
}

fn read(wire: &str) -> Value<'_> {
    let options = DecodeOptions {
        limits: Limits::NONE,
        ..DecodeOptions::default()
    };
    let mut r = Reader::new(wire, options).unwrap();
    let value = Value::read(&mut r).unwrap_or_else(|error| panic!("{wire}: {error}"));
    assert_eq!(r.at(), wire.len(), "{wire}");
    value
}

// ---- Short texts, all of them ---------------------------------------------------------

/// Returns all texts that consist of up to `length` pieces.
fn sequences(pieces: &[&str], length: usize) -> BTreeSet<String> {
    let mut all = BTreeSet::from([String::new()]);
    let mut last = vec![String::new()];
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|start| pieces.iter().map(move |piece| format!("{start}{piece}")))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn every_short_text_is_spelt_by_the_rule_and_no_two_alike() {
    let pieces = [
        "_", " ", "%", "2", "0", "F", "-", ".", "\"", "#", ":", "\\", "é", "e",
    ];
    let texts = sequences(&pieces, 4);
    for form in &FORMS {
        let mut buffer = String::new();
        for text in &texts {
            assert_eq!(
                form.spell(text, &mut buffer),
                (form.rule)(text),
                "{}",
                form.name
            );
        }
        let spellings: BTreeSet<String> = texts
            .iter()
            .map(|text| form.spell(text, &mut buffer).to_owned())
            .collect();
        assert_eq!(spellings.len(), texts.len(), "{}", form.name);
    }
}

/// Pieces of wire texts. An encoder writes only some of them.
const WIRE_PIECES: [&str; 19] = [
    "0", "_", "__", "%", "%20", "%5F", "%5f", "%25", "%C3%A9", "%C3", "%FF", "2", "F", "\"", "#",
    "-", ".", "\\:", "a",
];

/// A wire text that is not canonical is another spelling of a value. The canonical spelling of this value reads as
/// the same value.
#[test]
fn every_short_wire_text_decodes_and_its_value_has_one_spelling() {
    let mut wires = sequences(&WIRE_PIECES, 3);
    wires.remove("");
    let mut canonical: BTreeMap<String, Value<'_>> = BTreeMap::new();
    for wire in &wires {
        is_stable(wire);
        let value = read(wire);
        let spelling = value.to_string();
        let kept = canonical.entry(spelling).or_insert_with(|| value.clone());
        assert_eq!(*kept, value, "{wire}");
    }
}

/// Checks that decoding, encoding and decoding again keep the value, for a field of any type.
fn is_stable(wire: &str) {
    assert!(is_grammatical(wire), "{wire}");
    let mut buffer = String::new();
    let text = decode_text(wire);
    assert_eq!(
        decode_text(FORMS[0].spell(&text, &mut buffer)),
        text,
        "{wire}"
    );
    let text = decode_string(wire);
    assert_eq!(
        decode_string(FORMS[1].spell(&text, &mut buffer)),
        text,
        "{wire}"
    );
    let value = read(wire);
    let spelling = value.to_string();
    assert!(is_grammatical(&spelling), "{wire}");
    assert_eq!(read(&spelling), value, "{wire}");
    // Only a text after a mark has several spellings.
    assert!(
        spelling == wire || wire.starts_with(['"', '#']),
        "{wire} is {spelling}"
    );
}

// ---- Any text, any value ----------------------------------------------------------------

/// Returns texts with many special characters.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[_ %]{1,3}",
        2 => "%[0-9A-Fa-f]{2}",
        2 => "[0-9A-Fa-f]{1,3}",
        2 => r##"["#@>:{}\[\]|$,~\\]"##,
        1 => "-?[0-9]{1,20}(\\.[0-9]{1,7})?",
        1 => "true|false|null|NaN|\\$ref",
        2 => any::<char>().prop_map(String::from),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Returns wire texts of strings, most of which no encoder writes.
fn wire() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(&WIRE_PIECES[..]).prop_map(str::to_owned),
        2 => "%[0-9A-Fa-f]{2}",
        2 => r"\\[@>:{}\[\]|$,~\\]",
        2 => "[!-#%-+./0-9;-=?A-Z^_`a-z-]{1,3}",
        1 => "-?[0-9]{1,20}(\\.[0-9]{1,7})?",
        1 => "#-?[0-9]{1,20}(\\.[0-9]{1,20})?",
        1 => "true|false",
    ];
    proptest::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

fn scalar() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        4 => text().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => prop_oneof![any::<i64>(), -9..10_i64].prop_map(Value::from),
        1 => prop_oneof![any::<i64>(), -9_999_999..10_000_000_i64]
            .prop_map(|millionths| Decimal::from_millionths(millionths.into()).unwrap().into()),
        1 => any::<f64>().prop_filter_map("finite", |float| Value::try_from(float).ok()),
        1 => "[A-Za-z0-9_.]{1,8}".prop_map(|key| Value::Ref(key.into())),
    ]
}

fn value() -> impl Strategy<Value = Value<'static>> {
    scalar().prop_recursive(2, 12, 4, |inner| {
        let key = prop_oneof![text(), "[a-z_]{1,3}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..4)
                .prop_map(|entries| Value::Map(entries.into_iter().collect())),
        ]
    })
}

/// Returns a frame with a `text`, a `string` and an untyped field, as in the profiles.
fn chat(content: &str, role: &str, note: &str) -> String {
    format!("@a>done:chat{{role:{role}|content:{content}|note:{note}|schema:CH}}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn every_text_is_spelt_by_the_rule_and_comes_back(text in text()) {
        let mut buffer = String::new();
        for form in &FORMS {
            prop_assert_eq!(form.spell(&text, &mut buffer), (form.rule)(&text), "{}", form.name);
        }
    }

    #[test]
    fn two_texts_never_share_a_spelling(a in text(), b in text()) {
        let (mut one, mut two) = (String::new(), String::new());
        for form in &FORMS {
            prop_assert_eq!(form.spell(&a, &mut one) == form.spell(&b, &mut two), a == b);
        }
    }

    #[test]
    fn every_wire_text_decodes_and_is_stable(wire in wire()) {
        is_stable(&wire);
    }

    #[test]
    fn every_value_comes_back_and_two_never_share_a_spelling(a in value(), b in value()) {
        let (one, two) = (a.to_string(), b.to_string());
        prop_assert_eq!(&read(&one), &a);
        prop_assert_eq!(&read(&two), &b);
        prop_assert_eq!(one == two, a == b);
    }

    /// A key is any text, even `_` or the empty text.
    #[test]
    fn every_key_comes_back(keys in proptest::collection::btree_set(text(), 0..4), value in value()) {
        let map: Map<'_> = keys.into_iter().map(|key| (key, value.clone())).collect();
        let wire = map.to_string();
        prop_assert_eq!(read(&wire), Value::Map(map));
    }

    /// A text comes back from a frame, in a field of each type. Both judges accept the frame.
    #[test]
    fn every_text_comes_back_from_a_frame(content in text(), role in text(), note in text(), key in text()) {
        prop_assume!(key != "schema" && Registry::shared().schema("CH").unwrap().field(&key).is_none());
        let message = DynamicFrame::new("a", "done", "chat").unwrap().under("CH")
            .with("content", content.as_str()).with("role", role.as_str())
            .with("note", note.as_str()).with(key.as_str(), note.as_str());
        let options = EncodeOptions { inline: true, ..EncodeOptions::default() };
        let frame = message.encode_with(Registry::shared(), options).unwrap();
        prop_assert!(agree(frame.as_bytes()));
        let back = DynamicFrame::decode(&frame, Registry::shared()).unwrap();
        for (key, value) in message.payload.iter() {
            let full = accp_registry::expand(key).unwrap_or(key);
            prop_assert_eq!(back.payload.get(full), Some(value), "{}", frame);
        }
    }

    /// A text that no encoder wrote is accepted. Written again, it has the same values.
    #[test]
    fn every_wire_text_is_taken_in_a_frame_and_says_the_same_again(
        content in wire(), role in wire(), note in wire()
    ) {
        let frame = chat(&content, &role, &note);
        prop_assert!(agree(frame.as_bytes()));
        let message = DynamicFrame::decode(&frame, Registry::shared()).unwrap();
        prop_assert_eq!(message.payload.get("content").unwrap().as_str().unwrap(), decode_text(&content));
        prop_assert_eq!(message.payload.get("role").unwrap().as_str().unwrap(), decode_string(&role));
        prop_assert_eq!(message.payload.get("note"), Some(&read(&note)));
        let options = EncodeOptions { inline: true, ..EncodeOptions::default() };
        let again = message.encode_with(Registry::shared(), options).unwrap();
        prop_assert_eq!(DynamicFrame::decode(&again, Registry::shared()).unwrap(), message);
    }
}
