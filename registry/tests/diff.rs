//! Rules of the module `diff`, one by one.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{Registry, diff};
use insta::assert_snapshot;

fn registry(schema: &str) -> Registry {
    Registry::from_json(&format!(r#"{{ "schemas": {{ {schema} }} }}"#)).unwrap()
}

/// Returns the changes from one version of a schema `a` with the code `A` to the next.
fn changes(old: &str, new: &str) -> String {
    let schema = |keys: &str| registry(&format!(r#""a": {{ "code": "A", {keys} }}"#));
    described(&schema(old), &schema(new))
}

fn described(old: &Registry, new: &Registry) -> String {
    let changes: Vec<String> = diff(old, new).iter().map(ToString::to_string).collect();
    changes.join("\n")
}

#[test]
fn schemas() {
    let (a, b) = (
        r#""a": { "code": "A", "fields": [] }"#,
        r#""b": { "code": "B", "fields": [] }"#,
    );
    assert_snapshot!(described(&registry(a), &registry(b)), @"
    /schemas/a: the schema `A` was removed
        breaks the new reader: it refuses frames with the code that it does not know (E1003)
    /schemas/b: the schema `B` was added
    ");
    assert_snapshot!(described(&registry(a), &registry(r#""z": { "code": "A", "fields": [] }"#)), @"/schemas/z: the name changed from `a` to `z`");
    assert_snapshot!(described(&registry(a), &registry(r#""a": { "code": "Z", "version": 2, "fields": [] }"#)), @"
    /schemas/a/code: the code changed from `A` to `Z`
        breaks either reader: it refuses frames with the code that it does not know (E1003)
    /schemas/a/version: the version changed from `1` to `2`
    ");
    let swapped =
        registry(r#""a": { "code": "B", "fields": [] }, "b": { "code": "A", "fields": [] }"#);
    assert_snapshot!(described(&registry(&format!("{a}, {b}")), &swapped), @"
    /schemas/a/code: the code changed from `A` to `B`
        breaks either reader: it refuses frames with the code that it does not know (E1003)
    /schemas/b/code: the code changed from `B` to `A`
        breaks either reader: it refuses frames with the code that it does not know (E1003)
    ");
}

#[test]
fn the_registry_itself() {
    let old = Registry::from_json(r#"{ "version": 1, "schemas": {} }"#).unwrap();
    let new = Registry::from_json(r#"{ "version": 2, "tokenizer": "o200k_base", "schemas": {} }"#)
        .unwrap();
    assert_snapshot!(described(&old, &new), @"
    /version: the version changed from `1` to `2`
    /tokenizer: the tokenizer changed from `none` to `o200k_base`
    ");
}

#[test]
fn fields() {
    assert_snapshot!(changes(r#""fields": ["x", "y"]"#, r#""fields": ["y", "z"]"#), @"
    /schemas/a/fields: the field `x` was removed
        breaks the old reader: it no longer gets the value
    /schemas/a/fields: the field `z` was added
    ");
    assert_snapshot!(changes(r#""fields": ["x"]"#, r#""fields": ["x", "y"], "required": ["y"]"#), @"
    /schemas/a/fields: the field `y` was added
    /schemas/a/required: `y` is now required
        breaks the new reader: it refuses a frame without the field (E1004)
    ");
    assert_snapshot!(changes(r#""fields": ["x", "y"]"#, r#""fields": ["y", "x"]"#), @"/schemas/a/fields: the order of the fields changed from `x, y` to `y, x`");
    assert_snapshot!(changes(r#""fields": ["x"]"#, r#""fields": ["x"], "required": ["x"], "inline": ["x"]"#), @"
    /schemas/a/required: `x` is now required
        breaks the new reader: it refuses a frame without the field (E1004)
    /schemas/a/inline: `x` is now inline
    ");
    assert_snapshot!(changes(r#""fields": ["x"], "required": ["x"]"#, r#""fields": [], "optional": ["x"]"#), @"
    /schemas/a/required: `x` is no longer required
        breaks the old reader: it refuses a frame without the field (E1004)
    /schemas/a/optional: `x` is now optional
    ");
    assert_snapshot!(changes(r#""fields": ["priority"]"#, r#""fields": ["priority"], "abbreviations": { "priority": "p" }"#), @"
    /schemas/a/abbreviations/priority: the abbreviation of `priority` changed from `pri` to `p`
        breaks either reader: it does not know the key, so it drops the value
    ");
}

#[test]
fn renamed_fields() {
    let old = r#""fields": ["amount"]"#;
    let reads = r#""fields": ["amount"], "aliases": { "amount": ["total"] }"#;
    let new = r#""fields": ["total"], "aliases": { "total": ["amount"] }"#;
    assert_snapshot!(changes(old, new), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks the old reader: it does not know the key, so it drops the value
    ");
    // A rename in two steps breaks no reader.
    assert_snapshot!(changes(old, reads), @"/schemas/a/aliases/amount: `total` is now read as `amount`");
    assert_snapshot!(changes(reads, new), @"/schemas/a/fields: the field `amount` was renamed to `total`");
    assert_snapshot!(changes(new, r#""fields": ["total"]"#), @"/schemas/a/aliases/total: `amount` is no longer read as `total`");
    // What counts is the key that a writer uses, not the name.
    let short = r#""fields": ["amount"], "abbreviations": { "amount": "amt" }"#;
    assert_snapshot!(changes(short, new), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks either reader: it does not know the key, so it drops the value
    ");
    let known = r#""fields": ["total"], "abbreviations": { "total": "amt" }, "aliases": { "total": ["amount"] }"#;
    assert_snapshot!(changes(short, known), @"/schemas/a/fields: the field `amount` was renamed to `total`");
    // All other changes of a renamed field are reported under its new name.
    let strict = r#""fields": ["amount", "x"], "required": ["amount"],
        "frames": [{ "intent": "req", "operation": "o", "required": ["x"], "fields": ["amount"] }]"#;
    let lax = r#""fields": ["total", "y"], "aliases": { "total": ["amount"], "y": ["x"] }, "types": { "total": "integer" },
        "frames": [{ "intent": "req", "operation": "o", "required": ["y"], "fields": ["total"] }]"#;
    assert_snapshot!(changes(strict, lax), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    /schemas/a/fields: the field `x` was renamed to `y`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    /schemas/a/types/total: the type of `total` changed from any to integer
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    /schemas/a/required: `total` is no longer required
        breaks the old reader: it refuses a frame without the field (E1004)
    ");
    // Two fields become one.
    assert_snapshot!(changes(r#""fields": ["amount", "total"]"#, new), @"
    /schemas/a/fields: the field `amount` was removed
        breaks the old reader: it no longer gets the value
    /schemas/a/aliases/total: `amount` is now read as `total`
        breaks the new reader: it reads the value of one field as that of another, and refuses a frame with both (E1001)
    ");
}

#[test]
fn types() {
    let fields = |ty: &str| format!(r#""fields": ["x"], "types": {{ "x": "{ty}" }}"#);
    assert_snapshot!(changes(&fields("integer"), &fields("any")), @"
    /schemas/a/types/x: the type of `x` changed from integer to any
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    ");
    assert_snapshot!(changes(&fields("enum(a,b)"), &fields("enum(b,a)")), @"/schemas/a/types/x: the type of `x` changed from enum(a,b) to enum(b,a)");
    assert_snapshot!(changes(&fields("enum(a,b)"), &fields("enum(a,b,c)")), @"
    /schemas/a/types/x: the type of `x` changed from enum(a,b) to enum(a,b,c)
        breaks the old reader: it refuses the values that it does not know (E1004)
    ");
    assert_snapshot!(changes(&fields("enum(a,b,c)"), &fields("enum(a,b)")), @"
    /schemas/a/types/x: the type of `x` changed from enum(a,b,c) to enum(a,b)
        breaks the new reader: it refuses the values that it does not know (E1004)
    ");
    assert_snapshot!(changes(&fields("integer"), &fields("number")), @"
    /schemas/a/types/x: the type of `x` changed from integer to number
        breaks the old reader: it refuses a value of the other type, or reads another value (E1004)
    ");
    assert_snapshot!(changes(&fields("number"), &fields("integer")), @"
    /schemas/a/types/x: the type of `x` changed from number to integer
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    ");
    assert_snapshot!(changes(&fields("enum(up)"), &fields("enum(up=^)")), @"
    /schemas/a/types/x: the type of `x` changed from enum(up) to enum(up=^)
        breaks the old reader: it refuses the values that it does not know (E1004)
    ");
    assert_snapshot!(changes(&fields("enum(up=+)"), &fields("enum(up=^)")), @"
    /schemas/a/types/x: the type of `x` changed from enum(up=+) to enum(up=^)
        breaks either reader: it refuses the values that it does not know (E1004)
    ");
}

#[test]
fn defaults() {
    let fields = |default: &str| {
        format!(r#""fields": ["x"], "types": {{ "x": "any" }}, "defaults": {{ {default} }}"#)
    };
    assert_snapshot!(changes(&fields(""), &fields(r#""x": 1"#)), @"
    /schemas/a/defaults/x: the default of `x` changed from none to `1`
        breaks either reader: a field left out means another value
    ");
    assert_snapshot!(changes(&fields(r#""x": 1"#), &fields(r#""x": 1.0"#)), @"
    /schemas/a/defaults/x: the default of `x` changed from `1` to `1.0`
        breaks either reader: a field left out means another value
    ");
    assert_snapshot!(changes(&fields(r#""x": { "a": 1, "b": 2 }"#), &fields(r#""x": { "b": 2, "a": 1 }"#)), @"");
}

#[test]
fn frames() {
    let frames = |frames: &str| {
        format!(r#""fields": ["x", "y"], "defaults": {{ "y": 1 }}, "frames": [{frames}]"#)
    };
    let plain = r#"{ "intent": "req", "operation": "o" }"#;
    assert_snapshot!(changes(&frames(""), &frames(plain)), @"
    /schemas/a/frames/0: the frame req:o was added
    /schemas/a/frames: a frame without an entry takes no defaults any more
        breaks the new reader: a field left out means another value
    ");
    assert_snapshot!(changes(&frames(plain), &frames("")), @"
    /schemas/a/frames: the frame req:o was removed
    /schemas/a/frames: every frame takes the defaults now
        breaks the old reader: a field left out means another value
    ");
    let strict = r#"{ "intent": "req", "operation": "o", "required": ["x"], "envelope": ["cid"] }"#;
    assert_snapshot!(changes(&frames(plain), &frames(strict)), @"
    /schemas/a/frames/0/required: `x` is now required in req:o
        breaks the new reader: it refuses a frame without the field (E1004)
    /schemas/a/frames/0/envelope: the envelope field `cid` is now required in req:o
        breaks the new reader: it refuses a frame without the envelope field (E1001, E1004)
    ");
    assert_snapshot!(changes(&frames(strict), &frames(plain)), @"
    /schemas/a/frames/0/required: `x` is no longer required in req:o
        breaks the old reader: it refuses a frame without the field (E1004)
    /schemas/a/frames/0/envelope: the envelope field `cid` is no longer required in req:o
        breaks the old reader: it refuses a frame without the envelope field (E1001, E1004)
    ");
    let about =
        |fields: &str| format!(r#"{{ "intent": "req", "operation": "o", "fields": [{fields}] }}"#);
    assert_snapshot!(changes(&frames(plain), &frames(&about(r#""x""#))), @"
    /schemas/a/frames/0/fields: the fields with defaults in req:o changed
        breaks either reader: a field left out means another value
    ");
    assert_snapshot!(changes(&frames(plain), &frames(&about(r#""x", "y""#))), @"/schemas/a/frames/0/fields: the fields with defaults in req:o changed");
    assert_snapshot!(changes(&frames(&about(r#""x", "y""#)), &frames(&about(r#""y", "x""#))), @"");
}

#[test]
fn a_key_that_stands_for_another_field_gives_another_value() {
    // A new field takes a key that was an alias before: as its name, or as its abbreviation.
    let aliased = r#""fields": ["total"], "types": { "total": "decimal" }, "aliases": { "total": ["amount"] }"#;
    assert_snapshot!(changes(aliased, r#""fields": ["total", "amount"], "types": { "total": "decimal" }"#), @"
    /schemas/a/aliases/total: `amount` is no longer read as `total`
    /schemas/a/fields: the field `amount` was added
    /schemas/a/fields: the key `amount` stood for `total`, and now stands for `amount`
        breaks either reader: it reads the value of one field as that of another
    ");
    assert_snapshot!(changes(aliased, r#""fields": ["total", "net"], "types": { "total": "decimal" }, "abbreviations": { "net": "amount" }"#), @"
    /schemas/a/aliases/total: `amount` is no longer read as `total`
    /schemas/a/fields: the field `net` was added
    /schemas/a/fields: the key `amount` stood for `total`, and now stands for `net`
        breaks either reader: it reads the value of one field as that of another
    ");
    // A new field takes the key of a removed field.
    assert_snapshot!(changes(r#""fields": ["id", "b"]"#, r#""fields": ["id", "colour"], "abbreviations": { "colour": "b" }"#), @"
    /schemas/a/fields: the field `b` was removed
        breaks the old reader: it no longer gets the value
    /schemas/a/fields: the field `colour` was added
    /schemas/a/fields: the key `b` stood for `b`, and now stands for `colour`
        breaks either reader: it reads the value of one field as that of another
    ");
    // Two fields swap their keys.
    assert_snapshot!(changes(
        r#""fields": ["x", "y"], "abbreviations": { "x": "xx", "y": "yy" }"#,
        r#""fields": ["x", "y"], "abbreviations": { "x": "yy", "y": "xx" }"#,
    ), @"
    /schemas/a/abbreviations/x: the abbreviation of `x` changed from `xx` to `yy`
        breaks either reader: it reads the value of one field as that of another
    /schemas/a/abbreviations/y: the abbreviation of `y` changed from `yy` to `xx`
        breaks either reader: it reads the value of one field as that of another
    /schemas/a/fields: the key `yy` stood for `y`, and now stands for `x`
        breaks either reader: it reads the value of one field as that of another
    /schemas/a/fields: the key `xx` stood for `x`, and now stands for `y`
        breaks either reader: it reads the value of one field as that of another
    ");
    // An alias moves to another field.
    assert_snapshot!(changes(
        r#""fields": ["x", "y"], "aliases": { "x": ["old"] }"#,
        r#""fields": ["x", "y"], "aliases": { "y": ["old"] }"#,
    ), @"
    /schemas/a/aliases/x: `old` is no longer read as `x`
    /schemas/a/aliases/y: `old` is now read as `y`
        breaks the new reader: it reads the value of one field as that of another, and refuses a frame with both (E1001)
    ");
}

#[test]
fn a_required_field_under_a_key_that_the_reader_does_not_know() {
    let named =
        |name: &str, more: &str| format!(r#""fields": ["{name}"], "required": ["{name}"] {more}"#);
    let reads = r#", "aliases": { "total": ["amount"] }"#;
    assert_snapshot!(changes(&named("amount", ""), &named("total", reads)), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    ");
    assert_snapshot!(changes(&named("amount", ""), &named("amount", r#", "abbreviations": { "amount": "a" }"#)), @"
    /schemas/a/abbreviations/amount: the abbreviation of `amount` changed from `amount` to `a`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    ");
    assert_snapshot!(changes(&named("amount", ""), r#""fields": []"#), @"
    /schemas/a/fields: the field `amount` was removed
        breaks the old reader: it refuses a frame without the field (E1004)
    ");
    // One reader requires the field in a frame. The other reader loses its value.
    assert_snapshot!(changes(
        r#""fields": ["x"], "frames": [{ "intent": "req", "operation": "o" }]"#,
        r#""fields": ["x"], "abbreviations": { "x": "y" }, "frames": [{ "intent": "req", "operation": "o", "required": ["x"] }]"#,
    ), @"
    /schemas/a/abbreviations/x: the abbreviation of `x` changed from `x` to `y`
        breaks the old reader: it does not know the key, so it drops the value
    /schemas/a/frames/0/required: `x` is now required in req:o
        breaks the new reader: it refuses a frame without the field (E1004)
    ");
}

#[test]
fn a_schema_without_frames_takes_its_defaults_in_every_frame() {
    let schema = |frames: &str| {
        format!(r#""fields": ["id", "cur"], "defaults": {{ "cur": "USD" }} {frames}"#)
    };
    let (open, pay) = (
        schema(""),
        schema(r#", "frames": [{ "intent": "req", "operation": "pay" }]"#),
    );
    assert_snapshot!(changes(&open, &pay), @"
    /schemas/a/frames/0: the frame req:pay was added
    /schemas/a/frames: a frame without an entry takes no defaults any more
        breaks the new reader: a field left out means another value
    ");
    assert_snapshot!(changes(&pay, &open), @"
    /schemas/a/frames: the frame req:pay was removed
    /schemas/a/frames: every frame takes the defaults now
        breaks the old reader: a field left out means another value
    ");
    let both = schema(
        r#", "frames": [{ "intent": "req", "operation": "pay" }, { "intent": "done", "operation": "pay" }]"#,
    );
    // No peer relies on a frame that is not declared, so adding it breaks no reader.
    assert_snapshot!(changes(&pay, &both), @"/schemas/a/frames/1: the frame done:pay was added");
    let about =
        schema(r#", "frames": [{ "intent": "req", "operation": "pay", "fields": ["id"] }]"#);
    assert_snapshot!(changes(&open, &about), @"
    /schemas/a/frames/0: the frame req:pay was added
    /schemas/a/frames/0/fields: the fields with defaults in req:pay changed
        breaks either reader: a field left out means another value
    /schemas/a/frames: a frame without an entry takes no defaults any more
        breaks the new reader: a field left out means another value
    ");
    // Without defaults, each frame is read as before.
    let plain = r#""fields": ["id"]"#;
    assert_snapshot!(changes(plain, &format!(r#"{plain}, "frames": [{{ "intent": "req", "operation": "pay" }}]"#)), @"/schemas/a/frames/0: the frame req:pay was added");
}

#[test]
fn an_added_frame_is_read_by_those_who_do_not_list_it() {
    let schema = |frames: &str| {
        format!(
            r#""fields": ["id"], "required": ["id"], "frames": [{{ "intent": "req", "operation": "pay" }} {frames}]"#
        )
    };
    assert_snapshot!(changes(&schema(""), &schema(r#", { "intent": "done", "operation": "pay", "fields": [] }"#)), @"
    /schemas/a/frames/1: the frame done:pay was added
        breaks the old reader: it refuses a frame without the field (E1004)
    ");
}

#[test]
fn docs_and_what_is_kept_are_no_difference() {
    let terse = r#""fields": ["x"], "required": ["x"], "types": { "x": "string" }"#;
    let wordy =
        r#""doc": "A.", "docs": { "x": "X." }, "keep": ["x"], "rules": { "idempotency": "x" }"#;
    assert_eq!(changes(terse, &format!("{terse}, {wordy}")), "");
}

#[test]
fn a_frame_inherits_what_is_required_of_the_fields_that_it_is_about() {
    let frames = |fields: &str| {
        format!(
            r#""fields": ["order", "note"], "required": ["order"],
            "frames": [{{ "intent": "done", "operation": "refund" {fields} }}]"#
        )
    };
    let (whole, about) = (frames(""), frames(r#", "fields": ["note"]"#));
    assert_snapshot!(changes(&whole, &about), @"
    /schemas/a/frames/0/fields: `order` is no longer required in done:refund
        breaks the old reader: it refuses a frame without the field (E1004)
    /schemas/a/frames/0/fields: the fields with defaults in done:refund changed
    ");
    assert_snapshot!(changes(&about, &whole), @"
    /schemas/a/frames/0/fields: `order` is now required in done:refund
        breaks the new reader: it refuses a frame without the field (E1004)
    /schemas/a/frames/0/fields: the fields with defaults in done:refund changed
    ");
    let own = frames(r#", "fields": ["note"], "required": ["order"]"#);
    assert_snapshot!(changes(&whole, &own), @"/schemas/a/frames/0/fields: the fields with defaults in done:refund changed");
}
