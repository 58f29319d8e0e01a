//! Primers of any registry: their notes must agree with the registry, and their examples must be valid blocks.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod notes;
mod strategies;

use std::sync::Arc;

use accp_runtime::view::{PRIMER, Primer, View};
use accp_runtime::{DynamicFrame, Envelope, Registry};
use proptest::prelude::*;
use serde_json::json;

use notes::{check_notes, names};
use strategies::{DOC, any_registry};

fn primer(registry: &Registry) -> (View, Primer) {
    let view = View::new(Arc::new(registry.clone()));
    let primer = view.primer(registry.schemas().map(|schema| &*schema.code));
    (view, primer.unwrap())
}

/// Returns the blocks of the examples.
fn examples(primer: &Primer) -> &str {
    let start = primer.writing.find("\n@").unwrap();
    &primer.writing[start + 1..]
}

proptest! {
    #[test]
    fn notes_say_what_the_registry_says(registry in any_registry()) {
        let (view, primer) = primer(&registry);
        for part in &primer.schemas {
            let schema = registry.schema(&part.code).unwrap();
            // A schema without frames may have no notes, because nothing checks its records.
            if !part.notes.is_empty() || !schema.frames.is_empty() {
                check_notes(&view, schema, &names(&part.definition), &part.notes);
            }
        }
    }

    #[test]
    fn examples_are_read_and_travel(registry in any_registry()) {
        let view = View::new(Arc::new(registry.clone()));
        for schema in registry.schemas() {
            let primer = view.primer([&*schema.code]).unwrap();
            let messages = view.read(examples(&primer)).unwrap();
            prop_assert!((1..=3).contains(&messages.len()));
            for message in messages {
                // The host fills in the metadata that the registry requires.
                let envelope = Envelope::new("100001000002", 1).answering("100001000001");
                let frame = message.in_envelope(envelope).encode(&registry).unwrap();
                let again = DynamicFrame::decode(&frame, &registry).unwrap().encode(&registry);
                prop_assert_eq!(again.unwrap(), frame);
            }
        }
    }

    #[test]
    fn definitions_are_read_and_nothing_else_begins_a_line_like_them(registry in any_registry()) {
        let (view, primer) = primer(&registry);
        let mut expected = vec![PRIMER.trim_end_matches('\n')];
        expected.extend(examples(&primer).lines().filter(|line| line.starts_with('@')));
        for part in &primer.schemas {
            prop_assert_eq!(view.read(&part.definition), Ok(Vec::new()));
            prop_assert!(part.notes.lines().count() <= 1, "{}", part.notes);
            expected.push(part.definition.trim_end_matches('\n'));
        }
        let text = primer.to_string();
        let begun: Vec<&str> = text.lines().filter(|line| line.starts_with('@')).collect();
        prop_assert_eq!(begun, expected);
        prop_assert!(!text.contains(DOC.trim()));
        let is_hidden = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
        prop_assert!(!text.contains(is_hidden), "{text:?}");
    }
}

#[test]
fn what_it_says() {
    let registry = json!({ "schemas": {
        "seat": { "code": "SE", "fields": ["row", "kind", "note"],
            "types": { "row": "integer", "kind": "enum(window,aisle=+,no;seat,12)", "note": "text" },
            "defaults": { "note": "" }, "required": ["row"] },
        "order": { "code": "OR", "fields": ["number", "seats", "first", "paid", "mood", "more"],
            "types": { "number": "string", "seats": "[SE]", "first": "SE", "mood": "string" },
            "defaults": { "paid": false, "mood": "at ease", "more": { "a": ["b\nc"] } },
            "required": ["number"],
            "frames": [{ "intent": "req", "operation": "order", "required": ["seats"] },
                { "intent": "req", "operation": "change" }, { "intent": "done", "operation": "order" },
                { "intent": "done", "operation": "pay", "required": ["paid"] }] },
        "note": { "code": "NO", "fields": ["about", "by"], "types": { "about": "string", "by": "agent" },
            "frames": [{ "intent": "done", "operation": "note" }] },
        "result": { "code": "RE", "fields": ["flight", "left"], "required": ["left"],
            "types": { "flight": "string", "left": "integer" } },
    } });
    let registry = Registry::from_json(&registry.to_string()).unwrap();
    let view = View::new(Arc::new(registry));
    let text = view.primer(["OR", "NO", "RE", "OR"]).unwrap().to_string();
    insta::assert_snapshot!(text.strip_prefix(PRIMER).unwrap(), @r#"
    You are @me: write so, no spaces after commas, empty is default or none, ~ null, texts like 12, true, -x or with ,()[]{}|"\ JSON strings. Under a schema its frames, a? optional, a=b default, a:type else text.
    @me>req:order OR(number,[])
    @me>req:op{a:"12",b:|}
    Long text with
    \@ for leading @
    @=OR(number,seats,first:SE,paid,mood,more)
    req:order need number,seats; req:change,done:order need number; done:pay need number,paid; seats:[SE] paid=false mood="at ease" more={a:["b\nc"]}
    @=NO(about,by)
    done:note; about? by?:agent
    @=RE(flight,left)
    @=SE(row,kind,note)
    row:integer kind?:window|aisle|"no;seat"|"12" note=""
    "#);
}

#[test]
fn a_reader_gets_only_the_definitions() {
    let view = View::new(Arc::new(Registry::standard()));
    assert_eq!(view.primer(["TA", "AT"]), None);
    let primer = view.primer(["TA"]).unwrap();
    let reading = primer.for_reading();
    let definition = view.definition("TA").unwrap();
    assert_eq!(reading.to_string(), format!("{PRIMER}{definition}"));
}

#[test]
fn chat_is_shown_where_words_say_all_of_it() {
    let chat = |types: &str, required: &str| {
        let json = format!(
            r#"{{ "schemas": {{ "talk": {{ "code": "CH", "fields": ["said", "turn"],
            "types": {{ "said": "{types}", "turn": "integer" }}, "required": [{required}],
            "frames": [{{ "intent": "done", "operation": "chat" }}] }} }} }}"#
        );
        let view = View::new(Arc::new(Registry::from_json(&json).unwrap()));
        let primer = view.primer([]).unwrap();
        examples(&primer).lines().next().unwrap().to_owned()
    };
    assert_eq!(chat("text", r#""said""#), "@me: text");
    assert_eq!(chat("text", r#""turn""#), r#"@me>req:op{a:"12",b:|}"#);
    assert_eq!(chat("string", ""), r#"@me>req:op{a:"12",b:|}"#);
}
