//! The reference parser of packets: properties of every text, and the faults with their cures.

use proptest::prelude::*;

use super::*;
use crate::testing::{mutated_packet, packet_text};

/// Returns a text that completes the beginning of a packet, if there is one. The function tries every part that can
/// be missing. It does not use the place that the parser reports.
fn completion(before: &str) -> Option<String> {
    let rests = ["", "a|b|c:", "|b|c:", "b|c:", "|c:", "c:", ":"];
    let texts = rests.map(|rest| format!("{before}{rest}"));
    texts.into_iter().find(|text| run(text).is_ok())
}

fn check_fault(bytes: &[u8], error: &SyntaxError) -> Result<(), TestCaseError> {
    let at = error.at();
    prop_assert!(at <= bytes.len());
    let before = std::str::from_utf8(&bytes[..at]);
    prop_assert!(before.is_ok());
    let before = before.unwrap_or_default();
    prop_assert!(
        completion(before).is_some(),
        "no packet begins with {before:?}"
    );
    if let Fault::Expected(expected) = error.fault() {
        prop_assert!(!expected.is_empty());
        prop_assert!(error.cure().is_some());
        let text = String::from_utf8_lossy(bytes);
        if let Some(found) = error.found().filter(|found| *found != '\u{fffd}') {
            prop_assert!(text[at..].starts_with(found));
            let one = format!("{before}{found}");
            prop_assert_eq!(completion(&one), None);
        }
    }
    Ok(())
}

proptest! {
    /// AACP-01, AACP-02
    #[test]
    fn aacp_02_the_packets_of_the_grammar_are_read_and_written_back(text in packet_text()) {
        let packet = parse(&text).unwrap();
        prop_assert_eq!(packet.to_string(), &*text);
        let mut parts = text.split('|');
        prop_assert_eq!(parts.next(), Some(packet.task));
        prop_assert_eq!(parts.next(), Some(packet.dom));
        for (field, part) in packet.fields.iter().zip(parts.by_ref()) {
            prop_assert_eq!(part.split_once(':'), Some((field.key, field.value)));
            prop_assert_eq!(&text[field.span.start..field.span.end], part);
        }
        prop_assert_eq!(parts.next(), None);
    }

    #[test]
    fn a_packet_cut_short_fails_at_its_end(text in packet_text()) {
        for (end, _) in text.char_indices() {
            if let Err(error) = parse(&text[..end]) {
                prop_assert_eq!((error.at(), error.found()), (end, None));
            }
        }
    }

    #[test]
    fn near_packets_fail_at_the_first_wrong_byte(bytes in mutated_packet()) {
        if let Err(error) = parse_bytes(&bytes) {
            check_fault(&bytes, &error)?;
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match parse_bytes(&bytes) {
            Ok(packet) => prop_assert_eq!(packet.to_string().into_bytes(), bytes),
            Err(error) => check_fault(&bytes, &error)?,
        }
    }

    #[test]
    fn limits_come_before_later_faults(fields in 1..9_u32, most in 0..9_u32, fault in 0..9_usize) {
        let mut parts: Vec<String> = (0..fields).map(|n| format!("k{n}:v")).collect();
        if let Some(part) = parts.get_mut(fault) {
            *part = "?".to_owned();
        }
        let text = format!("A|B|{}", parts.join("|"));
        let limits = Limits { params: most, ..Limits::DEFAULT };
        let first = [(fault < parts.len()).then_some(fault), (most < fields).then_some(most as usize)];
        match (parse_with(&text, &limits), first) {
            (Ok(packet), [None, None]) => prop_assert_eq!(packet.fields.len(), fields as usize),
            (Err(error), [Some(wrong), beyond]) if beyond.is_none_or(|beyond| wrong < beyond) => {
                prop_assert_eq!(error.at(), text.find('?').unwrap_or_default());
                prop_assert!(matches!(error.fault(), Fault::Expected(_)));
            }
            (Err(error), [_, Some(_)]) => prop_assert_eq!(error.fault(), &Fault::Fields(most)),
            (verdict, _) => return Err(TestCaseError::fail(format!("{text} {most}: {verdict:?}"))),
        }
    }
}

/// The parser and the description of the protocol agree on which characters a value may have.
#[test]
fn aacp_02_a_value_is_any_text_but_its_separator_and_what_is_unseen() {
    let accp_registry::protocol::Values::Text(fits) = AACP.protocol.values else {
        panic!("the values of packets are text");
    };
    let (fitting, others): (Vec<char>, Vec<char>) = ('\0'..=char::MAX).partition(|c| fits(*c));
    let all: String = fitting.into_iter().collect();
    assert_eq!(run(&format!("A|B|c:{all}")).unwrap().fields[0].value, all);
    for c in others {
        assert!(run(&format!("A|B|c:x{c}y")).is_err(), "{c:?}");
    }
    for c in "|\t\n\u{7f}\u{85}\u{200b}\u{202e}\u{2028}\u{feff}".chars() {
        assert!(!fits(c), "{c:?}");
    }
    for c in " :,=\\\u{e4}\u{a0}\u{fffd}\u{1f600}".chars() {
        assert!(fits(c), "{c:?}");
    }
}

#[test]
fn aacp_01_a_packet_has_a_length_limit() {
    let text = |length: usize| format!("A|B|c:{}", "x".repeat(length - 6));
    assert!(parse(&text(8 * 1024)).is_ok());
    let error = parse(&text(8 * 1024 + 1)).unwrap_err();
    assert_eq!(
        (error.at(), error.fault()),
        (8192, &Fault::PacketBytes(8192))
    );
    // The parser checks the limit first, so bytes that are not UTF-8 do not change the error.
    assert_eq!(parse_bytes(&[0xff; 10_000]).unwrap_err(), error);
}

/// Returns each text with its error, as a person sees it.
fn errors(texts: &[&str]) -> String {
    let lines = texts.iter().map(|text| match parse(text) {
        Ok(_) => format!("{text:?}\n    is a packet\n"),
        Err(error) => format!("{text:?}\n    {error}\n"),
    });
    lines.collect()
}

#[test]
fn aacp_03_empty_slots_are_refused_with_their_byte() {
    insta::assert_snapshot!(errors(&[
        "FETCH|HR||p:1", "|HR|p:1", "FETCH||p:1", "FETCH|HR|p:1|", "FETCH|HR|", "FETCH|HR", "FETCH|HR|p:1||",
    ]), @r#"
"FETCH|HR||p:1"
    byte 9: expected a key after '|', found '|'; an empty slot is left out, with its '|'
"|HR|p:1"
    byte 0: expected a task at the start of the packet, found '|'; a packet begins with task and domain: TASK|DOM|key:value|..
"FETCH||p:1"
    byte 6: expected a domain after '|', found '|'; a packet begins with task and domain: TASK|DOM|key:value|..
"FETCH|HR|p:1|"
    byte 13: expected a key after '|', found the end; an empty slot is left out, with its '|'
"FETCH|HR|"
    byte 9: expected a key after '|', found the end; an empty slot is left out, with its '|'
"FETCH|HR"
    byte 8: expected '|' after the domain, found the end; the packet is cut short: it is written TASK|DOM|key:value|..
"FETCH|HR|p:1||"
    byte 13: expected a key after '|', found '|'; an empty slot is left out, with its '|'
"#);
}

#[test]
fn faults_have_their_place_and_cure() {
    insta::assert_snapshot!(errors(&[
        "", "FETCH", "FETCH|", "GET IT|HR|p:1", "FETCH:HR|p:1", "FETCH|H R|p:1", "FETCH|HR|HR-Agent|p:1", "FETCH|HR|:x",
        "FETCH|HR| p:1", "FETCH|HR|p :1", "FETCH|HR|2nd:x", "FETCH|HR|_a:x", "FETCH|HR|p:1\n", "FETCH|HR|note:a\tb", "FETCH|HR|note:a\u{85}b",
        "FETCH|HR|p", " FETCH|HR|p:1", "FETCH|HR|a_key_of_more_than_thirty_two_letters-x:",
    ]), @r#"
""
    byte 0: expected a task at the start of the packet, found the end; a packet begins with task and domain: TASK|DOM|key:value|..
"FETCH"
    byte 5: expected '|' after the task, found the end; the packet is cut short: it is written TASK|DOM|key:value|..
"FETCH|"
    byte 6: expected a domain after '|', found the end; the packet is cut short: it is written TASK|DOM|key:value|..
"GET IT|HR|p:1"
    byte 3: expected '|' after the task, found ' '; a task holds letters, digits, '_' and '-'
"FETCH:HR|p:1"
    byte 5: expected '|' after the task, found ':'; a task holds letters, digits, '_' and '-'
"FETCH|H R|p:1"
    byte 7: expected '|' after the domain, found ' '; a domain holds letters, digits, '_' and '-'
"FETCH|HR|HR-Agent|p:1"
    byte 11: expected ':' after the key `HR`, found '-'; a key holds letters, digits and '_'
"FETCH|HR|:x"
    byte 9: expected a key after '|', found ':'; a field has a name before its ':'
"FETCH|HR| p:1"
    byte 9: expected a key after '|', found ' '; a space around a key is left out
"FETCH|HR|p :1"
    byte 10: expected ':' after the key `p`, found ' '; a key holds letters, digits and '_'
"FETCH|HR|2nd:x"
    byte 9: expected a key after '|', found '2'; a key is a letter, then letters, digits and '_'
"FETCH|HR|_a:x"
    byte 9: expected a key after '|', found '_'; a key is a letter, then letters, digits and '_'
"FETCH|HR|p:1\n"
    byte 12: expected '|' or the end of the packet after the value of `p`, found '\n'; a packet is one line; leave out the line end
"FETCH|HR|note:a\tb"
    byte 15: expected '|' or the end of the packet after the value of `note`, found '\t'; a value holds no control characters and none that cannot be seen; replace this one
"FETCH|HR|note:a\u{85}b"
    byte 15: expected '|' or the end of the packet after the value of `note`, found '\u{85}'; a value holds no control characters and none that cannot be seen; replace this one
"FETCH|HR|p"
    byte 10: expected ':' after the key `p`, found the end; a field is written key:value; only task and domain have none
" FETCH|HR|p:1"
    byte 0: expected a task at the start of the packet, found ' '; a packet begins with task and domain: TASK|DOM|key:value|..
"FETCH|HR|a_key_of_more_than_thirty_two_letters-x:"
    byte 46: expected ':' after the key `a_key_of_more_than_thirty_two_le...`, found '-'; a key holds letters, digits and '_'
"#);
}

/// Returns whether a whole text matches a rule.
fn is(rule: Rule, text: &str) -> bool {
    let mut pairs = PacketParser::parse(rule, text).into_iter().flatten();
    pairs
        .next()
        .is_some_and(|pair| pair.as_str().len() == text.len())
}

#[test]
fn the_description_of_the_protocol_is_that_of_the_grammar() {
    let protocol = AACP.protocol;
    let ascii = (0..=0x7f_u8).map(|byte| char::from(byte).to_string());
    let others = ["", "a_1", "a-1", "1a", "_a", "-a", "\u{e4}"].map(str::to_owned);
    let texts: Vec<String> = ascii.chain(others).collect();
    let rules = [("task", Rule::task), ("dom", Rule::dom)];
    assert_eq!(protocol.head.len(), rules.len());
    for (part, (name, rule)) in protocol.head.iter().zip(rules) {
        assert_eq!(part.name, name);
        assert!(is(rule, part.example));
        let accp_registry::protocol::Vocabulary::Open(allowed) = part.vocabulary else {
            panic!("every task and domain may be used");
        };
        for text in &texts {
            assert_eq!((allowed.fits)(text), is(rule, text), "{name} {text:?}");
        }
    }
    for text in &texts {
        assert_eq!((protocol.key.fits)(text), is(Rule::key, text), "{text:?}");
    }
    let (head, layout) = (protocol.title(&["LOG", "HR"]), protocol.layout);
    let [open, separator, assign] = [layout.fields.open, layout.fields.separator, layout.assign];
    let text = format!(
        "{head}{open}a{assign}1{separator}b{assign}2{}",
        layout.fields.close
    );
    assert_eq!(parse(&text).unwrap().fields.len(), 2);
}
