//! Mistakes that a registry can hold: the place, the message and the cure of each.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{Field, FrameSpec, Registry, Schema, Type};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

/// Returns the problems of a document.
fn problems(text: &str) -> String {
    Registry::from_json(text)
        .expect_err("this has no fault")
        .to_string()
}

/// Returns the problems of a schema `a` with the code `A`, fields `x` and `priority`, and `keys`.
fn with(keys: &str) -> String {
    let text = format!(
        "{{ \"schemas\": {{ \"a\": {{ \"code\": \"A\", \"fields\": [\"x\", \"priority\"],\n{keys} }} }} }}"
    );
    problems(&text)
}

#[test]
fn not_json() {
    assert_snapshot!(problems("{ \"schemas\": {\n  \"a\": { \"code\": \"A\", }\n} }"), @"
    registry:2:23: this is not JSON: trailing comma
        keys stand in double quotes; no comments, no comma before a closing bracket
    ");
    assert_snapshot!(problems("{ \"schemas\": {\n  \"a\": {"), @"
    registry:2:8: this is not JSON: EOF while parsing an object
        the text ends here; close what is still open
    ");
    assert_snapshot!(problems(""), @"
    registry:1:1: this is not JSON: EOF while parsing a value
        the text ends here; close what is still open
    ");
    assert_snapshot!(problems(&"[".repeat(100_000)), @"
    registry:1:128: this is not JSON: recursion limit exceeded
        no registry nests so deep; remove the inner arrays and objects
    ");
    assert_snapshot!(problems("{ \"schemas\": {\n  \"é\": { code } } }"), @"
    registry:2:10: this is not JSON: key must be a string
        keys stand in double quotes; no comments, no comma before a closing bracket
    ");
}

#[test]
fn wrong_shapes() {
    assert_snapshot!(problems("[]"), @"
    registry:1:1: expected an object, found an array
        replace it with an object
    ");
    assert_snapshot!(problems("{}"), @r#"
    registry:1:1: there are no `schemas`
        a registry is { "schemas": { "a_name": { "code": "AN", "fields": [] } } }
    "#);
    assert_snapshot!(problems(r#"{ "version": "1", "tokenizer": 2, "schemas": [] }"#), @r#"
    registry:1:3 at /version: expected a whole number from 0 to 2^53 - 1, found the string "1"
        replace it with a whole number from 0 to 2^53 - 1
    registry:1:19 at /tokenizer: expected a string, found the integer 2
        replace it with a string
    registry:1:35 at /schemas: expected an object, found an array
        replace it with an object
    "#);
    assert_snapshot!(problems(r#"{ "schemas": { "a": null, "b": { "code": 1, "fields": {} } } }"#), @"
    registry:1:16 at /schemas/a: expected an object, found null
        replace it with an object
    registry:1:34 at /schemas/b/code: expected a string, found the integer 1
        replace it with a string
    registry:1:45 at /schemas/b/fields: expected an array, found an object
        replace it with an array
    ");
    assert_snapshot!(with(r#""version": 9007199254740992, "doc": 1, "optional": [2], "defaults": [], "docs": { "x": 1 }"#), @"
    registry:2:1 at /schemas/a/version: expected a whole number from 0 to 2^53 - 1, found the integer 9007199254740992
        replace it with a whole number from 0 to 2^53 - 1
    registry:2:30 at /schemas/a/doc: expected a string, found the integer 1
        replace it with a string
    registry:2:53 at /schemas/a/optional/0: expected a string, found the integer 2
        replace it with a string
    registry:2:57 at /schemas/a/defaults: expected an object, found an array
        replace it with an object
    registry:2:83 at /schemas/a/docs/x: expected a string, found the integer 1
        replace it with a string
    ");
    assert_snapshot!(with(r#""types": { "x": [] }, "abbreviations": { "x": 1 }, "required": "x", "frames": [1]"#), @r#"
    registry:2:12 at /schemas/a/types/x: expected a string, found an array
        replace it with a string
    registry:2:42 at /schemas/a/abbreviations/x: expected a string, found the integer 1
        replace it with a string
    registry:2:52 at /schemas/a/required: expected an array, found the string "x"
        replace it with an array
    registry:2:80 at /schemas/a/frames/0: expected an object, found the integer 1
        replace it with an object
    "#);
}

#[test]
fn unknown_keys() {
    assert_snapshot!(problems(r#"{ "schema": {}, "schemas": {} }"#), @"
    registry:1:3 at /schema: unknown key `schema`
        did you mean `$schema`?
    ");
    assert_snapshot!(problems(r#"{ "schema": { "a": {} } }"#), @r#"
    registry:1:1: there are no `schemas`
        a registry is { "schemas": { "a_name": { "code": "AN", "fields": [] } } }
    registry:1:3 at /schema: unknown key `schema`
        did you mean `schemas`?
    "#);
    assert_snapshot!(with(r#""abbrevations": {}, "xyz": 1"#), @"
    registry:2:1 at /schemas/a/abbrevations: unknown key `abbrevations`
        did you mean `abbreviations`?
    registry:2:21 at /schemas/a/xyz: unknown key `xyz`
        the keys here are code, version, doc, fields, optional, defaults, types, abbreviations, aliases, required, inline, docs, frames, union, variants, keep, rules
    ");
    assert_snapshot!(with(r#""frames": [{ "intent": "req", "operation": "o", "require": [] }]"#), @"
    registry:2:49 at /schemas/a/frames/0/require: unknown key `require`
        did you mean `required`?
    ");
}

#[test]
fn missing_keys() {
    assert_snapshot!(problems("{ \"schemas\": {\n  \"a\": {} } }"), @r#"
    registry:2:3 at /schemas/a: the schema has no `fields`
        add "fields": ["a_name"]
    registry:2:3 at /schemas/a: the schema has no `code`
        add "code": "XY"
    "#);
    assert_snapshot!(with(r#""frames": [{}]"#), @r#"
    registry:2:12 at /schemas/a/frames/0: the frame has no `intent`
        a frame is { "intent": "req", "operation": "plan" }
    registry:2:12 at /schemas/a/frames/0: the frame has no `operation`
        a frame is { "intent": "req", "operation": "plan" }
    "#);
}

#[test]
fn duplicate_keys() {
    assert_snapshot!(with("\"types\": { \"x\": \"text\",\n\"x\": \"string\" }"), @"
    registry:3:1 at /schemas/a/types/x: this key stands twice in its object
        keep one of the two
    ");
    assert_snapshot!(problems("{ \"schemas\": {},\n  \"schemas\": {} }"), @"
    registry:2:3 at /schemas: this key stands twice in its object
        keep one of the two
    ");
}

#[test]
fn names() {
    assert_snapshot!(problems(r#"{ "schemas": { "a-b": { "code": "A B", "fields": ["first-name", "", "schema", "x", "x"], "optional": ["x"] } } }"#), @"
    registry:1:16 at /schemas/a-b: `a-b` is not a valid schema name
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:1:25 at /schemas/a-b/code: `A B` is not a valid code
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:1:51 at /schemas/a-b/fields/0: `first-name` is not a valid field name
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:1:65 at /schemas/a-b/fields/1: `` is not a valid field name
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:1:69 at /schemas/a-b/fields/2: a field cannot be called `schema`
        `schema` names the schema of a frame; take another name
    registry:1:84 at /schemas/a-b/fields/4: the field `x` stands twice
        remove one of the two
    registry:1:103 at /schemas/a-b/optional/0: the field `x` stands twice
        remove one of the two
    ");
    assert_snapshot!(problems(r#"{ "schemas": { "a": { "code": "text", "fields": [] }, "b": { "code": "enum", "fields": [] } } }"#), @"
    registry:1:23 at /schemas/a/code: the code `text` is the name of a type
        take another code: the code of a schema can stand in the place of a type
    registry:1:62 at /schemas/b/code: the code `enum` is the name of a type
        take another code: the code of a schema can stand in the place of a type
    ");
    assert_snapshot!(problems(r#"{ "schemas": { "b": { "code": "A", "fields": [] },
        "a": { "code": "A", "fields": [] } } }"#), @"
    registry:1:23 at /schemas/b/code: the code `A` already stands for the schema `a`
        give one of the two another code
    ");
}

#[test]
fn abbreviations() {
    assert_snapshot!(with(r#""abbreviations": { "x": "y", "priority": "y" }"#), @"
    registry:2:30 at /schemas/a/abbreviations/priority: `priority` and `x` are both abbreviated `y`
        give `priority` another abbreviation
    ");
    assert_snapshot!(with(r#""abbreviations": { "priority": "x" }"#), @"
    registry:2:20 at /schemas/a/abbreviations/priority: the abbreviation `x` of `priority` is the name of the field `x`
        give `priority` another abbreviation
    ");
    assert_snapshot!(with(r#""abbreviations": { "x": "pri" }"#), @"
    registry:2:20 at /schemas/a/abbreviations/x: `pri` is the standard abbreviation of `priority`
        abbreviate `x` in another way
    ");
    assert_snapshot!(with(r#""abbreviations": { "x": "d" }"#), @"
    registry:2:20 at /schemas/a/abbreviations/x: `d` is the standard abbreviation of `data`
        abbreviate `x` in another way
    ");
    assert_snapshot!(with(r#""abbreviations": { "x": "schema", "priority": "a-b" }"#), @"
    registry:2:20 at /schemas/a/abbreviations/x: an abbreviation cannot be `schema`
        `schema` names the schema of a frame; take another name
    registry:2:35 at /schemas/a/abbreviations/priority: `a-b` is not a valid abbreviation
        it is one or more of A-Z, a-z, 0-9 and `_`
    ");
    assert_snapshot!(with(r#""optional": ["pri"]"#), @"
    registry:1:52 at /schemas/a/fields/1: the standard abbreviation `pri` of `priority` is the name of the field `pri`
        give `priority` another abbreviation
    ");
    assert_snapshot!(with(r#""abbreviations": { "pri": "p", "prority": "p", "zzz": "z" }"#), @"
    registry:2:20 at /schemas/a/abbreviations/pri: there is no field `pri`
        `pri` is the abbreviation of `priority`; write the full name
    registry:2:32 at /schemas/a/abbreviations/prority: there is no field `prority`
        did you mean `priority`?
    registry:2:48 at /schemas/a/abbreviations/zzz: there is no field `zzz`
        the fields are x, priority
    ");
}

#[test]
fn defaults() {
    assert_snapshot!(with(r#""types": { "x": "integer" }, "defaults": { "x": "4", "y": 1 }"#), @r#"
    registry:2:44 at /schemas/a/defaults/x: the default of `x` should be an integer; found the string "4"
        write such a value, or change the type of `x`
    registry:2:54 at /schemas/a/defaults/y: there is no field `y`
        the fields are x, priority
    "#);
    assert_snapshot!(with(r#""types": { "x": "[{decimal}]" }, "defaults": { "x": [{}, { "a/b": 0.1234567 }] }"#), @"
    registry:2:60 at /schemas/a/defaults/x/1/a~1b: the default of `x` should be a decimal of at most 6 places; found the number 0.1234567
        write such a value, or change the type of `x`
    ");
    assert_snapshot!(with(r#""types": { "x": "enum(up=+,down=-)" }, "defaults": { "x": "left" }"#), @r#"
    registry:2:54 at /schemas/a/defaults/x: the default of `x` should be one of up, down; found the string "left"
        write such a value, or change the type of `x`
    "#);
    assert_snapshot!(with(r#""types": { "x": "agent" }, "defaults": { "x": "a b" }"#), @r#"
    registry:2:42 at /schemas/a/defaults/x: the default of `x` should be an agent id (A-Z, a-z, 0-9, `-`, `_`); found the string "a b"
        write such a value, or change the type of `x`
    "#);
    assert_snapshot!(with(r#""types": { "x": "A" }, "defaults": { "x": { "pri": 1, "priority": 2 } }"#), @"
    registry:2:24 at /schemas/a/defaults: the defaults of `a` contain themselves, so they never end
        leave one of the nested defaults out
    ");
    assert_snapshot!(with(r#""types": { "x": "A" }, "defaults": { "x": {} }"#), @"
    registry:2:24 at /schemas/a/defaults: the defaults of `a` contain themselves, so they never end
        leave one of the nested defaults out
    ");
    assert_snapshot!(problems(r#"{ "schemas": {
        "a": { "code": "A", "fields": ["b"], "types": { "b": "[B]" }, "defaults": { "b": [{}] } },
        "b": { "code": "B", "fields": ["a"], "types": { "a": "A" }, "defaults": { "a": {} } } } }"#), @"
    registry:2:71 at /schemas/a/defaults: the defaults of `a` contain themselves, so they never end
        leave one of the nested defaults out
    registry:3:69 at /schemas/b/defaults: the defaults of `b` contain themselves, so they never end
        leave one of the nested defaults out
    ");
    assert_snapshot!(problems(r#"{ "schemas": {
        "a": { "code": "A", "fields": ["b"], "types": { "b": "B" }, "defaults": { "b": { "yy": 1 } } },
        "b": { "code": "B", "fields": ["y"], "required": ["y"] } } }"#), @"
    registry:2:90 at /schemas/a/defaults/b/yy: the default of `b` should be a field of `b`, such as `y`; found the key `yy`
        write such a value, or change the type of `b`
    ");
    assert_snapshot!(problems(r#"{ "schemas": {
        "a": { "code": "A", "fields": ["b"], "types": { "b": "B" }, "defaults": { "b": {} } },
        "b": { "code": "B", "fields": ["y"], "required": ["y"] } } }"#), @"
    registry:2:83 at /schemas/a/defaults/b: the default of `b` should be an object with the required field `y`; found an object without it
        write such a value, or change the type of `b`
    ");
}

#[test]
fn types() {
    assert_snapshot!(with(r#""types": { "x": "strng", "priority": "XYZ" }"#), @"
    registry:2:12 at /schemas/a/types/x: `strng` is neither a type nor the code of a schema
        did you mean `string`?
    registry:2:26 at /schemas/a/types/priority: `XYZ` is neither a type nor the code of a schema
        the types are string, text, integer, decimal, number, boolean, agent, date, time, timestamp, duration, uuid, url, bytes, any, enum(a,b), [T], {T} and the codes of the schemas here
    ");
    assert_snapshot!(with(r#""types": { "x": "[string", "priority": "" }"#), @"
    registry:2:12 at /schemas/a/types/x: `[string` opens `[` without a closing `]`
    registry:2:28 at /schemas/a/types/priority: `` is not a type; expected one of string, text, integer, decimal, number, boolean, agent, date, time, timestamp, duration, uuid, url, bytes, any, enum(a,b), [T], {T} or the code of a schema
    ");
    assert_snapshot!(with(r#""types": { "x": "enum(a,a)", "priority": "enum(a=+,b=+)" }"#), @"
    registry:2:12 at /schemas/a/types/x: the enum value `a` stands twice
        keep one of the two, or spell one otherwise: names and symbols are read alike
    registry:2:30 at /schemas/a/types/priority: the enum value `+` stands twice
        keep one of the two, or spell one otherwise: names and symbols are read alike
    ");
    assert_snapshot!(with(r#""types": { "x": "enum()", "priority": "enum(a=a)" }"#), @"
    registry:2:12 at /schemas/a/types/x: `enum()` has no value
        name each value, as in enum(low,high), or take the type string
    registry:2:27 at /schemas/a/types/priority: the enum value `a` is its own symbol
        write the name alone
    ");
    assert_snapshot!(with(r#""types": { "x": "enum(up=↑)", "priority": "enum" }"#), @"
    registry:2:12 at /schemas/a/types/x: the enum value `↑` holds more than printable ASCII without spaces
        spell it otherwise, as in in_progress
    registry:2:31 at /schemas/a/types/priority: `enum` is not a type; expected one of string, text, integer, decimal, number, boolean, agent, date, time, timestamp, duration, uuid, url, bytes, any, enum(a,b), [T], {T} or the code of a schema
    ");
    assert_snapshot!(with(&format!(r#""types": {{ "x": "{}" }}"#, "[".repeat(20) + "any" + &"]".repeat(20))), @"registry:2:12 at /schemas/a/types/x: a type nests at most 16 deep");
}

#[test]
fn lists_of_fields() {
    assert_snapshot!(with(r#""required": ["y", "x", "x"], "inline": ["pri"]"#), @"
    registry:2:14 at /schemas/a/required/0: there is no field `y`
        the fields are x, priority
    registry:2:24 at /schemas/a/required/2: `x` stands twice
        remove one of the two
    registry:2:41 at /schemas/a/inline/0: there is no field `pri`
        `pri` is the abbreviation of `priority`; write the full name
    ");
    assert_snapshot!(with(r#""optional": ["y"], "required": ["y", "x"], "defaults": { "x": 1 }"#), @"
    registry:2:33 at /schemas/a/required/0: `y` is both required and optional
        move it from `optional` to `fields`, or require it in a frame only
    registry:2:38 at /schemas/a/required/1: `x` is required, so its default is never used
        remove the default, or require it in a frame only
    ");
    assert_snapshot!(with(r#""keep": ["x", "pri", "y", "x"]"#), @r"
    registry:2:15 at /schemas/a/keep/1: there is no field `pri`
        `pri` is the abbreviation of `priority`; write the full name
    registry:2:22 at /schemas/a/keep/2: there is no field `y`
        the fields are x, priority
    registry:2:27 at /schemas/a/keep/3: `x` stands twice
        remove one of the two
    ");
    let rules = |keys: &str, rules: &str| with(&format!(r#"{keys}, "rules": {rules}"#));
    let strings = r#""required": ["x"], "types": { "x": "string", "priority": "integer" }"#;
    assert_snapshot!(rules(r#""types": { "x": "string" }"#, r#"{ "idempotency": "x", "error_code": "pri", "errs": "ER" }"#), @"
    registry:2:40 at /schemas/a/rules/idempotency: `x` does not fit here
        name a field of type `string`, under `required`
    registry:2:60 at /schemas/a/rules/error_code: there is no field `pri`
        the fields are x, priority
    registry:2:81 at /schemas/a/rules/errs: unknown key `errs`
        did you mean `errors`?
    ");
    assert_snapshot!(rules(strings, r#"{ "idempotency": ["x"], "error_code": "priority", "errors": 1 }"#), @"
    registry:2:82 at /schemas/a/rules/idempotency: expected a string, found an array
        replace it with a string
    registry:2:104 at /schemas/a/rules/error_code: `priority` does not fit here
        name a field of type `string`
    registry:2:130 at /schemas/a/rules/errors: expected a string, found the integer 1
        replace it with a string
    ");
    assert_snapshot!(rules(strings, r#"{ "sequence": { "index": "priority", "total": "priority", "lst": "x" } }"#), @"
    registry:2:82 at /schemas/a/rules/sequence: there is no `last`
        name a field under each of index, total and last
    registry:2:96 at /schemas/a/rules/sequence/index: `priority` does not fit here
        name a field of type `integer`, under `required`
    registry:2:138 at /schemas/a/rules/sequence/lst: unknown key `lst`
        did you mean `last`?
    ");
    assert_snapshot!(rules(strings, "[]"), @"
    registry:2:71 at /schemas/a/rules: expected an object, found an array
        replace it with an object
    ");
    assert_snapshot!(with(r#""keep": "x""#), @r#"
    registry:2:1 at /schemas/a/keep: expected an array, found the string "x"
        replace it with an array
    "#);
}

#[test]
fn frames() {
    assert_snapshot!(with(r#""frames": [{ "intent": "request", "operation": "a-b", "required": ["pritority"], "fields": ["z"], "envelope": ["cdi", "correlation"] }]"#), @"
    registry:2:14 at /schemas/a/frames/0/intent: there is no intent `request`
        the intents are req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    registry:2:35 at /schemas/a/frames/0/operation: `a-b` is not a valid operation
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:2:68 at /schemas/a/frames/0/required/0: there is no field `pritority`
        did you mean `priority`?
    registry:2:93 at /schemas/a/frames/0/fields/0: there is no field `z`
        the fields are x, priority
    registry:2:112 at /schemas/a/frames/0/envelope/0: there is no envelope field `cdi`
        did you mean `cid`?
    registry:2:119 at /schemas/a/frames/0/envelope/1: there is no envelope field `correlation`
        did you mean `correlation_id`?
    ");
    assert_snapshot!(with(r#""frames": [{ "intent": "rqe", "operation": "o" }, { "intent": "req", "operation": "o", "envelope": ["cid", "correlation_id"] }, { "intent": "req", "operation": "o" }]"#), @"
    registry:2:14 at /schemas/a/frames/0/intent: there is no intent `rqe`
        did you mean `req`?
    registry:2:108 at /schemas/a/frames/1/envelope/1: `correlation_id` stands twice
        remove one of the two
    registry:2:129 at /schemas/a/frames/2: the frame req:o stands twice
        make one entry of the two
    ");
}

#[test]
fn all_at_once_in_the_order_of_the_text() {
    assert_snapshot!(problems(r#"{
  "version": true,
  "schemas": {
    "b": { "code": "B", "fields": ["x"], "types": { "x": "strin" } },
    "a": {
      "fields": ["x", "x"],
      "defaults": { "z": 1 },
      "code": "B"
    }
  }
}"#), @"
    registry:2:3 at /version: expected a whole number from 0 to 2^53 - 1, found true
        replace it with a whole number from 0 to 2^53 - 1
    registry:4:12 at /schemas/b/code: the code `B` already stands for the schema `a`
        give one of the two another code
    registry:4:53 at /schemas/b/types/x: `strin` is neither a type nor the code of a schema
        did you mean `string`?
    registry:6:23 at /schemas/a/fields/1: the field `x` stands twice
        remove one of the two
    registry:7:21 at /schemas/a/defaults/z: there is no field `z`
        the fields are x
    ");
}

#[test]
fn schemas_made_in_memory_pass_the_same_checks() {
    let mut registry = Registry::standard();
    let before = registry.clone();
    let mut schema = Schema::new("task", "TA");
    let mut field = Field::new("when", Type::Schema("XX".into()));
    field.default = Some(json!(1));
    schema.fields.push(field);
    schema.frames.push(FrameSpec::new(&["request", "plan"]));
    let error = registry.register(schema).unwrap_err();
    assert_snapshot!(error, @"
    registry at /schemas/task/frames/0/intent: there is no intent `request`
        the intents are req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong
    registry at /schemas/task/code: the code `TA` already stands for the schema `task_assignment`
        give one of the two another code
    registry at /schemas/task/types/when: `XX` is neither a type nor the code of a schema
        did you mean `TX`?
    ");
    assert_eq!(registry, before);
}

#[test]
fn merging_two_meanings() {
    let mut registry = Registry::standard();
    let draft = r#"{ "tokenizer": "o200k_base", "schemas": { "task_assignment": { "code": "TA", "fields": ["task"] },
        "talk": { "code": "CH", "fields": ["content"] } } }"#;
    let before = registry.clone();
    let error = registry
        .merge(Registry::from_json(draft).unwrap())
        .unwrap_err();
    assert_snapshot!(error, @"
    registry at /schemas/talk/code: the code `CH` already stands for the schema `chat_message`
        give one of the two another code
    registry at /schemas/task_assignment: the schema `task_assignment` is already defined, with other content
        give one of the two another name and another code
    ");
    assert_eq!(registry, before);

    registry.tokenizer = Some("cl100k_base".into());
    let other = Registry::from_json(r#"{ "tokenizer": "o200k_base", "schemas": {} }"#).unwrap();
    assert_snapshot!(registry.merge(other).unwrap_err(), @"
    registry at /tokenizer: the tokenizer is `o200k_base` here and `cl100k_base` elsewhere
        merged registries must use one tokenizer
    ");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".*") {
        let _ = Registry::from_json(&text);
    }

    /// A profile with a piece cut out, doubled or overwritten must not cause a panic.
    #[test]
    fn no_damage_makes_it_panic(
        profile in proptest::sample::select(&["TC", "TX", "ER"][..]),
        (from, length) in (any::<prop::sample::Index>(), 0..40_usize),
        piece in "[\\[\\]{},:\"a-z0-9 é-]{0,6}",
    ) {
        let file = format!("{}/profiles/{profile}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(file).unwrap();
        let from = from.index(text.len());
        let to = (from + length).min(text.len());
        let damaged = [&text[..from], &piece, &text[to..]].concat();
        if let Err(problems) = Registry::from_json(&damaged) {
            let lines = damaged.lines().count().max(1);
            for problem in &problems {
                let position = problem.position.unwrap();
                prop_assert!((1..=lines + 1).contains(&position.line) && position.column > 0);
                prop_assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'));
                prop_assert!(!problem.message.contains('\n'));
            }
        }
    }
}
