//! The grammars that a registry gives for constrained decoding. A decoder accepts every text of a
//! grammar, and the grammar accepts every text that an encoder writes.

mod formats;
mod gbnf;
mod json_form;
mod views;

use std::sync::LazyLock;

use accp_registry::export::{Export, Expr, Grammar, Options};
use accp_registry::lexical::Literal;
use accp_runtime::profiles::{
    ChatMessageFrame, ErrorFail, InferStream, TaskAssignmentFrame, ToolCallFrame, TransactionFrame,
};
use accp_runtime::{DecodeError, DecodeFrame, DynamicFrame, EncodeFrame, Registry, Typed, Value};
use proptest::prelude::*;
use regex_automata::meta::Regex;

use crate::codec::inline;
use accp_tests::machine::Machine;
use accp_tests::messages::{Metadata, OWN, holds_reference, message, text};

/// A registry, its grammar, and machines that read the grammar.
struct Subject {
    registry: Registry,
    grammar: Grammar,
    lark: Machine,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a registry and its grammar")
    }
}

impl Subject {
    fn new(registry: Registry, metadata: Metadata, depth: u32) -> Self {
        let options = Options {
            envelope: metadata == Metadata::Whole,
            ..Options::default()
        };
        let export = Export::of(&registry, &options).unwrap();
        let grammar = export.grammar(depth).unwrap();
        let lark = Machine::lark(grammar.to_lark());
        Self {
            registry,
            grammar,
            lark,
        }
    }
}

fn own() -> Registry {
    Registry::from_json(OWN).unwrap()
}

static STANDARD: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(Registry::standard(), Metadata::Required, Export::DEPTH));
static STANDARD_WHOLE: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(Registry::standard(), Metadata::Whole, Export::DEPTH));
static OURS: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(own(), Metadata::Required, Export::DEPTH));
static OURS_WHOLE: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(own(), Metadata::Whole, Export::DEPTH));

fn subjects() -> impl Strategy<Value = &'static Subject> {
    prop_oneof![
        Just(&*STANDARD),
        Just(&*STANDARD_WHOLE),
        Just(&*OURS),
        Just(&*OURS_WHOLE)
    ]
}

/// Returns a subject and any message of its registry.
fn written() -> impl Strategy<Value = (&'static Subject, DynamicFrame<'static>)> {
    let of = |subject: &'static Subject, metadata| {
        message(&subject.registry, metadata).prop_map(move |message| (subject, message))
    };
    prop_oneof![
        of(&STANDARD, Metadata::Required),
        of(&STANDARD_WHOLE, Metadata::Whole),
        of(&OURS, Metadata::Required),
        of(&OURS_WHOLE, Metadata::Whole),
    ]
}

/// Returns whether the error is a repeated key in data. No grammar can prevent that.
fn is_a_key_twice(error: &DecodeError) -> bool {
    error.expected().contains("once")
}

/// Decodes the text of a standard frame into its struct, and encodes the struct.
fn through_type(code: &str, text: &str) -> Result<String, String> {
    fn through<'a, T: DecodeFrame<'a> + EncodeFrame>(text: &'a str) -> Result<String, String> {
        let typed = Typed::<T>::decode(text).map_err(|error| error.to_string())?;
        let mut out = String::new();
        let written = typed.encode_into(&mut out, inline());
        written.map(|()| out).map_err(|error| error.to_string())
    }
    match code {
        "CH" => through::<ChatMessageFrame<'_>>(text),
        "ER" => through::<ErrorFail<'_>>(text),
        "ST" => through::<InferStream<'_>>(text),
        "TA" => through::<TaskAssignmentFrame<'_>>(text),
        "TC" => through::<ToolCallFrame<'_>>(text),
        "TX" => through::<TransactionFrame<'_>>(text),
        other => Err(format!("no struct for {other}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_the_grammar_takes_a_decoder_takes(
        subject in subjects(),
        seed in any::<u64>(),
        length in 20..200_usize,
    ) {
        let text = subject.lark.sample(seed, length);
        let message = match DynamicFrame::decode(&text, &subject.registry) {
            Ok(message) => message,
            Err(error) if is_a_key_twice(&error) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("{text}\n{error}"))),
        };
        let again = message.encode_with(&subject.registry, inline());
        let again = again.map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
        prop_assert!(subject.lark.takes(&again), "{}\nas written {}", text, again);
        let refers = message.payload.iter().any(|(_, value)| holds_reference(value));
        let code = message.schema.as_deref().unwrap();
        if Registry::shared().schema(code).is_some() && !refers {
            let typed = through_type(code, &text);
            let typed = typed.map_err(|error| TestCaseError::fail(format!("{text}\n{error}")))?;
            prop_assert!(subject.lark.takes(&typed), "{}\nas written {}", text, typed);
        }
    }

    #[test]
    fn what_an_encoder_writes_the_grammar_takes((subject, message) in written()) {
        let text = match message.encode_with(&subject.registry, inline()) {
            Ok(text) => text,
            // A map that is written as pairs may nest its values too deep.
            Err(error) if error.to_string().contains("deeper") => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        prop_assert!(DynamicFrame::decode(&text, &subject.registry).is_ok(), "{}", text);
        prop_assert!(subject.lark.takes(&text), "{}", text);
        let refers = message.payload.iter().any(|(_, value)| holds_reference(value));
        let code = message.schema.as_deref().unwrap();
        if Registry::shared().schema(code).is_some() && !refers {
            let typed = through_type(code, &text).map_err(TestCaseError::fail)?;
            prop_assert!(subject.lark.takes(&typed), "{}", typed);
        }
    }
}

// The regular expression ---------------------------------------------------------------

/// A registry that is small enough for all its levels to fit in one expression.
const SMALL: &str = r#"{ "schemas": { "order": {
    "code": "OR", "fields": ["a", "b", "c"],
    "types": { "a": "{integer}", "b": "[PT]", "c": "any" },
    "frames": [{ "intent": "req", "operation": "order", "required": ["a"] }]
}, "point": { "code": "PT", "fields": ["x", "y"], "types": { "x": "enum(up=+,down)", "y": "decimal" } } } }"#;

/// The grammar of the small registry, and the regular expression of the same depth.
static SMALL_AND_REGEX: LazyLock<(Subject, Regex)> = LazyLock::new(|| {
    let registry = Registry::from_json(SMALL).unwrap();
    let subject = Subject::new(registry, Metadata::Required, 3);
    let regex = regex(&subject.grammar);
    (subject, regex)
});

/// Returns a matcher of whole texts.
fn regex(grammar: &Grammar) -> Regex {
    Regex::new(&format!("^(?:{})$", grammar.to_regex().unwrap())).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The grammar and the regex accept the same texts. The tested texts are texts of the grammar and slightly
    /// changed ones.
    #[test]
    fn the_regex_is_the_same_grammar(
        seed in any::<u64>(),
        length in 20..120_usize,
        at in any::<prop::sample::Index>(),
        edit in prop_oneof![
            Just(String::new()),
            "[!-~]",
            "[]\\[{}|,:~$]",
            Just("\0".to_owned()),
        ],
    ) {
        let (subject, regex) = &*SMALL_AND_REGEX;
        let mut text = subject.lark.sample(seed, length);
        prop_assert!(regex.is_match(&text), "{}", text);
        let at = at.index(text.len());
        match edit.as_str() {
            "" => text.replace_range(at..=at, ""),
            "\0" => text.truncate(at),
            other => text.insert_str(at, other),
        }
        prop_assert_eq!(regex.is_match(&text), subject.lark.takes(&text), "{}", text);
    }

    /// The key of a pair is a scalar that reads as a string and as no other type.
    #[test]
    fn the_key_of_a_pair_is_no_other_value(
        key in prop_oneof![
            "-?[0-9]{0,2}(\\.[0-9]{0,8})?[-.a]?",
            "-?(922337203685477580[5-9]|[0-9]{17,20})(\\.[0-9]{1,7})?",
            "tr?u?e?x?|fa?l?s?e?[0-9\\\\@]?",
            "[\"#a]?[-0-9.]{0,3}",
            prop::sample::select(&["-0", "-0.0", "-0.5", "0.0", "1.10", "007", "-", "1."][..])
                .prop_map(str::to_owned),
            text(),
        ],
    ) {
        let (subject, regex) = &*SMALL_AND_REGEX;
        let frame = format!("@a>req:order{{a:{{_:[[{key},1]]}}|schema:OR}}");
        let is_string = matches!(Literal::classify(&key), Literal::String(_) | Literal::Text(_));
        let is_scalar = DynamicFrame::decode(&format!("@a>req:x{{k:{key}}}"), &subject.registry)
            .is_ok_and(|message| matches!(message.payload.get("k"), Some(Value::String(_))));
        let expected = is_string && is_scalar && !key.starts_with('#');
        prop_assert_eq!(regex.is_match(&frame), expected, "{}", frame);
        prop_assert_eq!(subject.lark.takes(&frame), expected, "{}", frame);
    }
}

#[test]
fn the_regex_of_all_standard_frames_takes_what_is_as_flat_as_it() {
    let registry = Registry::standard();
    let grammar = Export::of(&registry, &Options::default())
        .and_then(|export| export.grammar(Export::REGEX_DEPTH))
        .unwrap();
    let regex = regex(&grammar);
    assert!(regex.is_match("@a>req:tool{tool:search|args:{q:ACCP,in:[a,b]}|schema:TC}"));
    assert!(!regex.is_match("@a>req:tool{tool:search|args:{q:[{a:[1]}]}|schema:TC}"));
    assert!(!regex.is_match("@a>req:tool{args:{q:ACCP}|schema:TC}"));
}

/// A grammar accepts the same depth as a decoder, for every kind of level.
#[test]
fn levels_are_counted() {
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    for times in 0..8 {
        let tree = nested("{children:[", "~", "],label:x}", times);
        for param in [
            format!("root:{tree}|side:+"),
            format!("root:$k|side:+|extra:{}", nested("[", "1", "]", times)),
            format!("root:$k|side:+|extra:{}", nested("{a:", "1", "}", times)),
            format!(
                "root:$k|side:+|names:{}",
                nested("{_:[[a b,", "~", "]]}", times)
            ),
        ] {
            let text = format!("@a>req:order{{id:{times}|{param}|schema:OR}}");
            let is_read = DynamicFrame::decode(&text, &OURS.registry).is_ok();
            assert_eq!(OURS.lark.takes(&text), is_read, "{text}");
        }
    }
}

#[test]
fn the_edges_of_the_numbers() {
    let takes = |field: &str, value: &str| {
        let fixed = "@a>req:order{id:a|root:$k|side:+|";
        let order = ["price", "rate"].contains(&field);
        OURS.lark.takes(&if order {
            format!("{fixed}{field}:{value}|schema:OR}}")
        } else {
            format!("@a>ack:x{{id:{value}|schema:OR2}}")
        })
    };
    for value in [
        "0",
        "-7",
        "9223372036854775807",
        "-9223372036854775808",
        "$cold.k1",
    ] {
        assert!(takes("id", value), "{value}");
        assert!(takes("price", value), "{value}");
    }
    assert!(takes("price", "~"));
    for value in [
        "007",
        "1.0",
        "9223372036854775808",
        "-9223372036854775809",
        "\"1",
        "$",
    ] {
        assert!(!takes("id", value), "{value}");
    }
    for value in [
        "142.50",
        "-9223372036854775808.999999",
        "9223372036854775807.000001",
    ] {
        assert!(takes("price", value), "{value}");
    }
    for value in ["1.0000001", "1.", ".5", "9223372036854775808.0", "1e3"] {
        assert!(!takes("price", value), "{value}");
    }
    for value in [
        "#40.7127753",
        "#-0",
        "40.7127753",
        "#0.0000001",
        "007.50",
        "#12345678.1234567",
    ] {
        assert!(takes("rate", value), "{value}");
    }
    // Texts that are not canonical floats, and a number that needs no mark.
    for value in [
        "#0.5",
        "#1.0",
        "#7",
        "#40.71277530",
        "#0.30000000000000003",
        "1e3",
        "NaN",
    ] {
        assert!(!takes("rate", value), "{value}");
    }
}

// GBNF ---------------------------------------------------------------------------------

/// If the GBNF text is read back, its rules equal the rules of the grammar whose Lark text the tests above check.
#[test]
fn the_gbnf_is_the_same_grammar() {
    for subject in [&STANDARD, &STANDARD_WHOLE, &OURS, &OURS_WHOLE] {
        check_gbnf(&subject.grammar);
    }
}

fn check_gbnf(grammar: &Grammar) {
    let read = gbnf::parse(&grammar.to_gbnf());
    let written = grammar.rules().iter().enumerate().map(|(at, rule)| {
        let name = if at == 0 { "root" } else { &rule.name };
        (name.replace('_', "-"), with_dashes(&rule.body))
    });
    let written: Vec<_> = written.collect();
    assert_eq!(read.len(), written.len());
    for (read, written) in read.iter().zip(&written) {
        assert_eq!(read, written);
    }
}

/// Returns the expression with the names of GBNF.
fn with_dashes(expr: &Expr) -> Expr {
    let all = |parts: &[Expr]| parts.iter().map(with_dashes).collect();
    match expr {
        Expr::Rule(name) => Expr::Rule(name.replace('_', "-")),
        Expr::Sequence(parts) => Expr::Sequence(all(parts)),
        Expr::Choice(parts) => Expr::Choice(all(parts)),
        Expr::Repeat { item, min, max } => Expr::Repeat {
            item: Box::new(with_dashes(item)),
            min: *min,
            max: *max,
        },
        other => other.clone(),
    }
}

/// Every name has exactly one rule, and no rule contains itself, directly or through other rules. So the language
/// is regular.
#[test]
fn the_rules_are_sound() {
    for subject in [&STANDARD, &STANDARD_WHOLE, &OURS, &OURS_WHOLE] {
        check_rules(&subject.grammar);
    }
}

fn check_rules(grammar: &Grammar) {
    let mut done: Vec<&str> = Vec::new();
    let rules = grammar.rules();
    while done.len() < rules.len() {
        let ready = rules.iter().find(|rule| {
            !done.contains(&rule.name.as_str())
                && uses(&rule.body).iter().all(|name| done.contains(name))
        });
        let ready = ready.expect("a rule that rests on none but those before");
        done.push(&ready.name);
    }
    let distinct: std::collections::BTreeSet<_> = done.iter().collect();
    assert_eq!(distinct.len(), rules.len());
}

fn uses(expr: &Expr) -> Vec<&str> {
    match expr {
        Expr::Rule(name) => vec![name],
        Expr::Sequence(parts) | Expr::Choice(parts) => parts.iter().flat_map(uses).collect(),
        Expr::Repeat { item, .. } => uses(item),
        _ => Vec::new(),
    }
}
