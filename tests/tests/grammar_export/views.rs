//! The grammars of views. A reader of views takes every text of a grammar. A grammar takes every
//! text that a view writes of the fields of a schema, except those that `Export::view_grammar`
//! names.

use std::sync::{Arc, LazyLock};

use accp_registry::Type;
use accp_registry::export::{Export, Grammar, Options};
use accp_runtime::view::View;
use accp_runtime::{DynamicFrame, EncodeOptions, Limits, Registry, Value};
use proptest::prelude::*;

use super::{SMALL, check_gbnf, check_rules, regex};
use accp_tests::machine::Machine;
use accp_tests::messages::{Metadata, OWN, message};

struct Subject {
    view: View,
    grammar: Grammar,
    lark: Machine,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a registry and the grammar of its views")
    }
}

impl Subject {
    fn new(registry: Registry, depth: u32) -> Self {
        let export = Export::of(&registry, &Options::default()).unwrap();
        let grammar = export.view_grammar(depth).unwrap();
        let lark = Machine::view(grammar.to_lark());
        Self {
            view: View::new(Arc::new(registry)),
            grammar,
            lark,
        }
    }
}

static STANDARD: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(Registry::standard(), Export::DEPTH));
static OURS: LazyLock<Subject> =
    LazyLock::new(|| Subject::new(Registry::from_json(OWN).unwrap(), Export::DEPTH));

fn unlimited() -> EncodeOptions<'static> {
    EncodeOptions {
        inline: true,
        limits: Limits {
            depth: Limits::MAX_DEPTH,
            ..Limits::NONE
        },
        ..EncodeOptions::default()
    }
}

/// Returns the text without its JSON strings.
fn outside_of_quotes(text: &str) -> String {
    let (mut out, mut is_quoted, mut is_escaped) = (String::new(), false, false);
    for c in text.chars() {
        if c == '"' && !is_escaped {
            is_quoted = !is_quoted;
        } else if !is_quoted {
            out.push(c);
        }
        is_escaped = is_quoted && c == '\\' && !is_escaped;
    }
    out
}

/// Returns whether a view writes the message in a way that its grammar does not have.
fn is_excepted(view: &View, message: &DynamicFrame<'_>, block: &str) -> bool {
    let schema = message.schema.as_deref();
    let schema = schema
        .and_then(|code| view.registry().schema(code))
        .unwrap();
    let is_untyped = |ty: &Type| matches!(ty, Type::Any | Type::Map(_));
    let is_record = |value: &Value<'_>| !view.value(value).codes.is_empty();
    let untyped = schema.fields.iter().filter(|field| {
        is_untyped(&field.ty) || matches!(&field.ty, Type::List(item) if is_untyped(item))
    });
    let mut values = untyped.filter_map(|field| message.payload.get(&field.name));
    if values.any(is_record) {
        return true;
    }
    let Some((_, cells)) = block.split_once('(') else {
        return false;
    };
    let cells = outside_of_quotes(cells);
    // The grammar leaves out floats with many digits or with hundreds of zeros, as the grammar of
    // frames does.
    let mut numbers = cells.split('#').skip(1);
    let has_many_digits = |number: &str| {
        let end = number.find(|c: char| !c.is_ascii_digit() && !"-.".contains(c));
        let number = &number[..end.unwrap_or(number.len())];
        let digits = number.trim_start_matches(['-', '0', '.']).replace('.', "");
        digits.len() > 15 || number.len() > 290
    };
    if numbers.any(has_many_digits) {
        return true;
    }
    // A cell that begins with a letter beyond ASCII is excepted. Another test is about the letters
    // of the usual writing systems.
    let before = std::iter::once('(').chain(cells.chars());
    let mut pairs = before.zip(cells.chars());
    if pairs.any(|(before, c)| !c.is_ascii() && ",([{:\n".contains(before)) {
        return true;
    }
    let mut codes = view.registry().schemas().map(|schema| &*schema.code);
    codes.any(|code| {
        let has_common = cells
            .match_indices(&format!("{code}["))
            .any(|(at, open)| !cells[at + open.len()..].starts_with('\n'));
        // No field is a list of records of another schema than TR.
        has_common || code != "TR" && cells.contains(&format!("{code}("))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_the_grammar_takes_a_reader_takes(
        subject in prop_oneof![Just(&*STANDARD), Just(&*OURS)],
        seed in any::<u64>(),
        length in 20..200_usize,
    ) {
        let text = subject.lark.sample(seed, length);
        let messages = match subject.view.read(&text) {
            Ok(messages) => messages,
            // No grammar can prevent a repeated key in a map whose keys are data.
            Err(error) if error.faults().iter().all(|fault| fault.expected.contains("once")) => return Ok(()),
            Err(error) => return Err(TestCaseError::fail(format!("{text}\n{error}"))),
        };
        prop_assert!(!messages.is_empty());
        for message in messages {
            let frame = message.clone();
            let schema = subject.view.registry().schema(message.schema.as_deref().unwrap());
            let spec = schema.unwrap().frame(&[message.intent.as_str(), &*message.operation]);
            // A view has no metadata, which some frames need.
            if spec.unwrap().envelope.is_empty() {
                let frame = frame.encode_with(subject.view.registry(), unlimited());
                prop_assert!(frame.is_ok(), "{}\n{:?}", text, frame);
            }
            let block = subject.view.block(&message).text;
            if !is_excepted(&subject.view, &message, &block) {
                prop_assert!(subject.lark.takes(&block), "{}\nas written {}", text, block);
            }
        }
    }

    #[test]
    fn what_a_view_writes_the_grammar_takes(
        (subject, message) in prop_oneof![
            message(STANDARD.view.registry(), Metadata::Required).prop_map(|message| (&*STANDARD, message)),
            message(OURS.view.registry(), Metadata::Required).prop_map(|message| (&*OURS, message)),
        ],
    ) {
        let block = subject.view.block(&message).text;
        prop_assume!(!is_excepted(&subject.view, &message, &block));
        let bare = message.in_envelope(accp_runtime::Envelope::default());
        prop_assert_eq!(subject.view.read(&block), Ok(vec![bare]), "{}", block);
        prop_assert!(subject.lark.takes(&block), "{}", block);
    }

    #[test]
    fn the_regex_is_the_same_grammar(
        seed in any::<u64>(),
        length in 20..120_usize,
        at in any::<prop::sample::Index>(),
        edit in prop_oneof![Just(String::new()), "[ -~]", "[]\\[{}|,:~$\n\"()@-]", "[é日…]"],
    ) {
        let (subject, regex) = &*SMALL_AND_REGEX;
        let mut text = subject.lark.sample(seed, length);
        prop_assert!(regex.is_match(&text), "{}", text);
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = *at.get(&places);
        match edit.as_str() {
            "" => drop(text.remove(at)),
            other => text.insert_str(at, other),
        }
        prop_assert_eq!(regex.is_match(&text), subject.lark.takes(&text), "{}", text);
    }
}

static SMALL_AND_REGEX: LazyLock<(Subject, regex_automata::meta::Regex)> = LazyLock::new(|| {
    let subject = Subject::new(Registry::from_json(SMALL).unwrap(), 3);
    let regex = regex(&subject.grammar);
    (subject, regex)
});

#[test]
fn the_notations_agree_and_the_rules_are_sound() {
    for subject in [&STANDARD, &OURS] {
        check_gbnf(&subject.grammar);
        check_rules(&subject.grammar);
    }
}

/// Texts that models write, and texts that they must not write.
#[test]
fn what_it_takes() {
    for text in [
        "@me: Two have one.\n",
        "@me? \"Ärger\", @you?\n\n\\@me: 日本\n@b: x\n",
        "@me>req:schedule TA(dev,impl_auth)\n",
        "@me>req:schedule TA(dev,Ärger,привет,日本 x,[かな,café])\n",
        "@me>req:schedule TA(dev,94107,,,[\"a,b\",true],~,-5)\n",
        "@me>done:schedule TA(,|)\nA long text\nof two lines.\n",
    ] {
        assert!(STANDARD.lark.takes(text), "{text}");
        assert!(STANDARD.view.read(text).is_ok(), "{text}");
    }
    for text in [
        "",
        "me: x\n",
        "@me: x",
        "@me: x\n@y\n",
        "@me>req:schedule TA(dev)\n",
        "@me>req:schedule TA(dev, impl_auth)\n",
        "@me>req:schedule TA(dev,~)\n",
        "@me>req:schedule TA(dev,impl_auth,,,,,lots)\n",
        "@me>req:schedule TA(dev,a b )\n",
        "@me>req:schedule TA(dev,\"\\ud800\")\n",
        "@me>req:schedule TA(|,|)\nx\n",
    ] {
        assert!(!STANDARD.lark.takes(text), "{text}");
    }
}
