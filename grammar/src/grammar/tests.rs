//! Agreement of the description of the protocol with the ABNF.

use accp_registry::protocol::Vocabulary;
use pest::Parser as _;

use super::*;
use crate::pest_parser::{FrameParser, Rule};

/// Returns whether a whole text matches a rule.
fn is(rule: Rule, text: &str) -> bool {
    FrameParser::parse(rule, text).is_ok_and(|mut pairs| {
        pairs
            .next()
            .is_some_and(|pair| pair.as_str().len() == text.len())
    })
}

fn ascii() -> impl Iterator<Item = String> {
    (0..=0x7f_u8).map(|byte| char::from(byte).to_string())
}

#[test]
fn each_part_of_the_head_is_a_rule_with_the_same_words() {
    let rules = [("intent", Rule::intent), ("operation", Rule::operation)];
    assert_eq!(ACCP.protocol.head.len(), rules.len());
    for (part, (name, rule)) in ACCP.protocol.head.iter().zip(rules) {
        assert_eq!(part.name, name);
        assert!(is(rule, part.example));
        match part.vocabulary {
            Vocabulary::Closed { words, .. } => {
                assert!(words.iter().all(|word| is(rule, word)));
                assert!(words.contains(&part.example));
            }
            Vocabulary::Open(allowed) => {
                for text in ascii().chain([String::new(), "a_1".into(), "a-1".into()]) {
                    assert_eq!((allowed.fits)(&text), is(rule, &text), "{name} {text:?}");
                }
            }
        }
    }
    for text in ascii() {
        assert_eq!(
            (ACCP.protocol.key.fits)(&text),
            is(Rule::key, &text),
            "{text:?}"
        );
    }
}

#[test]
fn the_marks_are_those_of_the_grammar() {
    let layout = ACCP.protocol.layout;
    let [before, behind] = layout.sender.unwrap();
    let (fields, metadata, assign) = (layout.fields, layout.metadata.unwrap(), layout.assign);
    let list = |list: accp_registry::protocol::List| {
        let separator = list.separator;
        format!(
            "{}a{assign}1{separator}b{assign}2{separator}c{assign}3{}",
            list.open, list.close
        )
    };
    let head = ACCP.protocol.title(&["req", "plan"]);
    let text = format!(
        "{before}dev{behind}{head}{}{}",
        list(fields),
        list(metadata)
    );
    let frame = crate::parse(&text).unwrap();
    assert_eq!(
        (frame.agent, frame.intent, frame.operation),
        ("dev", "req", "plan")
    );
    assert_eq!(frame.payload.len(), 3);
    assert_eq!(frame.metadata.map(|pairs| pairs.len()), Some(3));
}

#[test]
fn the_delimiters_are_those_that_can_be_escaped() {
    let escape = ACCP.protocol.layout.escape.unwrap();
    for text in ascii() {
        let is_one = escape.delimiters.contains(&text);
        assert_eq!(is(Rule::delimiter, &text), is_one, "{text:?}");
        let escaped = format!("{}{text}", escape.by);
        assert_eq!(is(Rule::escaped_char, &escaped), is_one, "{text:?}");
    }
}
