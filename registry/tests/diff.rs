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
        breaks the old reader: the value is lost
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
        breaks either reader: it does not know the key, so the value is lost
    ");
}

#[test]
fn renamed_fields() {
    let old = r#""fields": ["amount"]"#;
    let reads = r#""fields": ["amount"], "aliases": { "amount": ["total"] }"#;
    let new = r#""fields": ["total"], "aliases": { "total": ["amount"] }"#;
    assert_snapshot!(changes(old, new), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks the old reader: it does not know the key, so the value is lost
    ");
    // A rename in two steps breaks no reader.
    assert_snapshot!(changes(old, reads), @"/schemas/a/aliases/amount: `total` is now read as `amount`");
    assert_snapshot!(changes(reads, new), @"/schemas/a/fields: the field `amount` was renamed to `total`");
    assert_snapshot!(changes(new, r#""fields": ["total"]"#), @"/schemas/a/aliases/total: `amount` is no longer read as `total`");
    // The written key counts, and not the name.
    let short = r#""fields": ["amount"], "abbreviations": { "amount": "amt" }"#;
    assert_snapshot!(changes(short, new), @"
    /schemas/a/fields: the field `amount` was renamed to `total`
        breaks either reader: it does not know the key, so the value is lost
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
        breaks the old reader: it does not know the key, so the value is lost
    /schemas/a/fields: the field `x` was renamed to `y`
        breaks the old reader: it does not know the key, so the value is lost
    /schemas/a/types/total: the type of `total` changed from any to integer
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    /schemas/a/required: `total` is no longer required
        breaks the old reader: it refuses a frame without the field (E1004)
    ");
    // Two fields become one.
    assert_snapshot!(changes(r#""fields": ["amount", "total"]"#, new), @"
    /schemas/a/fields: the field `amount` was removed
        breaks the old reader: the value is lost
    /schemas/a/aliases/total: `amount` is now read as `total`
        breaks the new reader: it refuses a frame with both keys as one field twice (E1001)
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
    assert_snapshot!(changes(&frames(""), &frames(plain)), @"/schemas/a/frames/0: the frame req:o was added");
    assert_snapshot!(changes(&frames(plain), &frames("")), @"
    /schemas/a/frames: the frame req:o was removed
        breaks the new reader: the other side still sends a frame that is no longer declared
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
