//! Spellings of scalars: a value that is written is read back unchanged, and no two values share a spelling.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::borrow::Cow;

use accp_registry::lexical::*;
use proptest::prelude::*;

/// Returns any string. About half of its pieces have a special meaning in the text form.
fn any_text() -> impl Strategy<Value = String> {
    let telling = proptest::sample::select(
        &[
            " ",
            "_",
            "__",
            "  ",
            "%",
            "%41",
            "%e2%82%ac",
            "%E2",
            "\\",
            ":",
            "|",
            "~",
            "\"",
            "#",
            "\n",
            "é",
            "😀",
            "\u{0}",
            "42",
            "-",
            ".",
            "true",
            "A",
        ][..],
    );
    let pieces = proptest::collection::vec(
        prop_oneof![
            telling.prop_map(ToOwned::to_owned),
            ".".prop_map(String::from)
        ],
        0..8,
    );
    prop_oneof![pieces.prop_map(|pieces| pieces.concat()), any::<String>()]
}

/// Returns any text that the grammar accepts as a string, even one that no encoder would write.
fn any_wire() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[!-~]".prop_filter_map("a delimiter", |c| {
            (!is_delimiter(c.as_bytes()[0])).then_some(c)
        }),
        "[@>:{}\\[\\]|$,~\\\\]".prop_map(|c| "\\".to_owned() + &c),
        proptest::sample::select(
            &["%41", "%C3%A9", "%C3", "%5F", "%20", "%25", "%", "__", "_"][..]
        )
        .prop_map(ToOwned::to_owned),
        "-?[0-9]{1,20}(\\.[0-9]{1,7})?".prop_map(String::from),
    ];
    proptest::collection::vec(piece, 1..8).prop_map(|pieces| pieces.concat())
}

fn any_float() -> impl Strategy<Value = f64> {
    let short =
        (any::<i32>(), 0..9).prop_map(|(digits, places)| f64::from(digits) / 10f64.powi(places));
    let bits = any::<u64>().prop_map(f64::from_bits);
    prop_oneof![short, bits].prop_filter("finite", |float| float.is_finite())
}

fn written(write: impl Fn(&mut String)) -> String {
    let mut out = "before".to_owned();
    write(&mut out);
    out.strip_prefix("before").unwrap().to_owned()
}

fn text_form(text: &str) -> String {
    written(|out| write_text(out, text))
}

fn untyped(text: &str) -> String {
    written(|out| write_untyped(out, text))
}

fn string(text: &str) -> String {
    written(|out| write_string(out, text))
}

fn float(value: f64) -> String {
    written(|out| write_float(out, value))
}

/// Returns whether a text fits `string = 1*( safe-char / escaped-char )`.
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

fn read_untyped(wire: &str) -> Cow<'_, str> {
    match Literal::classify(wire) {
        Literal::Text(text) => decode_text(text),
        Literal::String(raw) => unescape(raw),
        other => panic!("{wire} is {other:?}"),
    }
}

proptest! {
    #[test]
    fn every_string_comes_back(text in any_text()) {
        let wire = text_form(&text);
        prop_assert!(is_grammatical(&wire), "{wire}");
        prop_assert_eq!(decode_text(&wire), text.as_str());

        let wire = string(&text);
        prop_assert!(is_grammatical(&wire), "{wire}");
        prop_assert_eq!(decode_string(&wire), text.as_str());

        let wire = untyped(&text);
        prop_assert!(is_grammatical(&wire), "{wire}");
        prop_assert_eq!(read_untyped(&wire), text.as_str());
        prop_assert_eq!(decode_string(&wire), text.as_str());
    }

    #[test]
    fn every_wire_text_is_one_value_whose_spelling_is_stable(wire in any_wire()) {
        let text = decode_text(&wire);
        let again = text_form(&text);
        prop_assert_eq!(decode_text(&again), text);
        let text = decode_string(&wire);
        let again = string(&text);
        prop_assert_eq!(decode_string(&again), text);

        let canonical = match Literal::classify(&wire) {
            Literal::Boolean(value) => value.to_string(),
            Literal::Integer(value) => value.to_string(),
            Literal::Decimal(value) => value.to_string(),
            Literal::Number(value) => written(|out| value.write(out)),
            Literal::Text(text) => untyped(&decode_text(text)),
            Literal::String(raw) => untyped(&unescape(raw)),
        };
        prop_assert!(is_grammatical(&canonical), "{canonical}");
        // Only texts with a mark, or with an escape of the text form, have several spellings.
        if !matches!(Literal::classify(&wire), Literal::Text(_)) && !wire.starts_with('#') {
            prop_assert_eq!(canonical, wire);
        }
    }

    #[test]
    fn two_strings_never_share_a_spelling(a in any_text(), b in any_text()) {
        prop_assert_eq!(text_form(&a) == text_form(&b), a == b);
        prop_assert_eq!(string(&a) == string(&b), a == b);
        prop_assert_eq!(untyped(&a) == untyped(&b), a == b);
    }

    #[test]
    fn no_string_is_spelt_as_another_type(text in any_wire()) {
        let wire = untyped(&text);
        prop_assert!(matches!(Literal::classify(&wire), Literal::Text(_) | Literal::String(_)), "{wire}");
    }

    #[test]
    fn every_integer_comes_back(value: i64) {
        let wire = value.to_string();
        prop_assert_eq!(Literal::classify(&wire), Literal::Integer(value));
        prop_assert_eq!(parse_integer(&wire), Some(value));
        prop_assert_eq!(parse_integer(&wire.replacen(|c: char| c.is_ascii_digit(), "00", 1)).is_some(), true);
    }

    #[test]
    fn every_unsigned_comes_back(value: u64) {
        let wire = written(|out| Number::Unsigned(value).write(out));
        let expected = match i64::try_from(value) {
            Ok(value) => Literal::Integer(value),
            Err(_) => Literal::Number(Number::Unsigned(value)),
        };
        prop_assert_eq!(Literal::classify(&wire), expected);
    }

    #[test]
    fn every_float_comes_back(value in any_float()) {
        let wire = float(value);
        prop_assert!(is_grammatical(&wire) && !wire.contains(['e', 'E']), "{wire}");
        let back = match Literal::classify(&wire) {
            Literal::Decimal(decimal) => decimal.to_f64(),
            Literal::Number(Number::Float(float)) => float,
            other => panic!("{wire} is {other:?}"),
        };
        prop_assert_eq!(back.to_bits(), value.to_bits(), "{}", wire);
        prop_assert_eq!(parse_number(&wire).map(f64::to_bits), Some(value.to_bits()));
    }

    #[test]
    fn two_numbers_never_share_a_spelling(float_value in any_float(), integer: i64, unsigned: u64) {
        let spellings = [
            float(float_value),
            integer.to_string(),
            written(|out| Number::Unsigned(unsigned | 1 << 63).write(out)),
        ];
        prop_assert!(spellings[0] != spellings[1] && spellings[0] != spellings[2]);
    }

    #[test]
    fn a_number_mark_before_anything_else_is_a_string(spelling in "[-.0-9]{0,24}") {
        let wire = "#".to_owned() + &spelling;
        match Literal::classify(&wire) {
            Literal::Number(number) => {
                prop_assert_eq!(written(|out| number.write(out)), wire);
            }
            Literal::String(raw) => prop_assert_eq!(raw, &wire),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reading_never_panics(text in any_text()) {
        let _ = (Literal::classify(&text), decode_text(&text), decode_string(&text));
        let _ = (unescape(&text), parse_integer(&text), parse_decimal(&text), parse_number(&text));
    }
}

#[test]
fn the_text_form_by_example() {
    for (text, wire) in [
        ("What are Q3 findings?", "What_are_Q3_findings?"),
        ("snake_case", "snake__case"),
        ("", "%"),
        ("%", "%25"),
        ("12%.", "12%."),
        ("%41", "%2541"),
        ("%4", "%4"),
        (" world", "_world"),
        ("trailing ", "trailing_"),
        ("two  spaces", "two%20%20spaces"),
        ("_ ", "__%20"),
        (" _", "%20__"),
        ("a:b", "a\\:b"),
        ("é\n", "%C3%A9%0A"),
        ("€%", "%E2%82%AC%"),
        ("€%41", "%E2%82%AC%2541"),
    ] {
        assert_eq!(text_form(text), wire);
        assert_eq!(decode_text(wire), text);
    }
}

#[test]
fn the_text_form_takes_what_no_encoder_writes() {
    for (wire, text) in [
        ("", ""),
        ("___", "_ "),
        ("%2", "%2"),
        ("%zz", "%zz"),
        ("%C3", "%C3"),
        ("%C3%A9%FF", "%C3%A9%FF"),
        ("%c3%a9", "é"),
        ("\\", ""),
        ("a\\x", "ax"),
    ] {
        assert_eq!(decode_text(wire), text, "{wire}");
    }
}

#[test]
fn literals_by_example() {
    let number = |value| Literal::Number(Number::Float(value));
    let decimal = |text: &str| Literal::Decimal(text.parse().unwrap());
    for (wire, literal) in [
        ("true", Literal::Boolean(true)),
        ("True", Literal::String("True")),
        ("0", Literal::Integer(0)),
        ("-7", Literal::Integer(-7)),
        ("-0", Literal::String("-0")),
        ("007", Literal::String("007")),
        ("9223372036854775807", Literal::Integer(i64::MAX)),
        (
            "9223372036854775808",
            Literal::String("9223372036854775808"),
        ),
        ("-9223372036854775808", Literal::Integer(i64::MIN)),
        ("1.0", decimal("1.0")),
        ("-0.5", decimal("-0.5")),
        ("1.10", Literal::String("1.10")),
        ("-0.0", Literal::String("-0.0")),
        ("00.5", Literal::String("00.5")),
        ("1.1234567", Literal::String("1.1234567")),
        ("1e5", Literal::String("1e5")),
        ("-", Literal::String("-")),
        ("#40.7127753", number(40.712_775_3)),
        ("#-0", number(-0.0)),
        ("#1.5", Literal::String("#1.5")),
        (
            "#18446744073709551615",
            Literal::Number(Number::Unsigned(u64::MAX)),
        ),
        ("#NaN", Literal::String("#NaN")),
        ("\"94107", Literal::Text("94107")),
        ("\"", Literal::Text("")),
        ("a\\:b", Literal::String("a\\:b")),
    ] {
        assert_eq!(Literal::classify(wire), literal, "{wire}");
    }
}

#[test]
fn strings_by_example() {
    for (text, in_string, in_any) in [
        ("94107", "94107", "\"94107"),
        ("true", "true", "\"true"),
        ("web_search", "web_search", "web_search"),
        ("hello world", "\"hello_world", "\"hello_world"),
        ("", "\"", "\""),
        ("\"quoted\"", "\"\"quoted\"", "\"\"quoted\""),
        ("#1", "\"#1", "\"#1"),
        ("a:b", "a\\:b", "a\\:b"),
    ] {
        assert_eq!(string(text), in_string);
        assert_eq!(untyped(text), in_any);
    }
}

#[test]
fn floats_by_example() {
    for (value, wire) in [
        (1.0, "1.0"),
        (142.5, "142.5"),
        (-0.0, "#-0"),
        (40.712_775_3, "#40.7127753"),
        (1e20, "#100000000000000000000"),
        (1e18, "1000000000000000000.0"),
        (9_223_372_036_854_775_808.0, "#9223372036854776000.0"),
        (0.000_000_1, "#0.0000001"),
    ] {
        assert_eq!(float(value), wire);
    }
    assert_eq!(float(f64::NAN), "\"NaN");
    assert_eq!(float(f64::NEG_INFINITY), "\"-inf");
    assert_eq!(parse_number("142"), Some(142.0));
    assert_eq!(parse_number("007.50"), Some(7.5));
    for text in [
        "", "-", "1.", ".5", "--1", "1-1", "1.2.3", "#1.5", "1e5", "NaN", "inf",
    ] {
        assert_eq!(parse_number(text), None, "{text}");
    }
}

#[test]
fn character_sets() {
    assert!(is_key("a_Z9") && !is_key("") && !is_key("a-b"));
    assert!(is_agent_id("a-b_9") && !is_agent_id("") && !is_agent_id("@a"));
    assert!(is_ref_key("warm.k_1") && !is_ref_key("") && !is_ref_key("a-b"));
    let printable = (0x21..=0x7e_u8).count();
    let delimiters = (0..=u8::MAX).filter(|b| is_delimiter(*b)).count();
    let safe = (0..=u8::MAX).filter(|b| is_safe_char(*b)).count();
    assert_eq!((delimiters, safe), (12, printable - 12));
}

/// A long text is written in blocks, and a block may end anywhere.
#[test]
fn a_long_text_is_written_as_its_pieces_are() {
    let form = |text: &str| {
        let mut out = String::new();
        write_text(&mut out, text);
        out
    };
    let piece = "rye_and spelt,  50% of %41: \"é\"|x";
    for begin in 0..300 {
        let begin = "r".repeat(begin);
        let text = format!("{begin}{}", piece.repeat(20));
        let expected = format!("{begin}{}", form(piece).repeat(20));
        assert_eq!(form(&text), expected);
        assert_eq!(decode_text(&expected), text);
    }
}
