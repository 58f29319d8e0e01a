//! Schemas that are unions: their mistakes, and the readers that a change of a union breaks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{FrameSpec, Registry, Schema, SchemaRules, Type, diff};
use insta::assert_snapshot;

/// Makes a union of a schema: its first field is the tag.
pub(crate) fn make_union(schema: &mut Schema, bits: [bool; 8]) {
    for field in &mut schema.fields {
        (field.required, field.optional) = (false, false);
    }
    let tag = &mut schema.fields[0];
    (tag.ty, tag.default, tag.inline) = (Type::Any, None, false);
    schema.frames.clear();
    schema.rules = SchemaRules::default();
    let others: Vec<String> = schema.fields[1..].iter().map(|f| f.name.clone()).collect();
    for (name, bits) in ["first", "second", "third"]
        .into_iter()
        .zip(bits.windows(4))
    {
        let chosen = |bits: &[bool]| -> Vec<String> {
            let chosen = others.iter().zip(bits).filter(|(_, yes)| **yes);
            chosen.map(|(name, _)| name.clone()).collect()
        };
        let mut variant = FrameSpec::new(&[name]);
        variant.required = chosen(&bits[..1]);
        // The first variant has every field, so that each field belongs to some variant.
        let own = if schema.variants.is_empty() {
            others.clone()
        } else {
            chosen(&bits[1..])
        };
        variant.fields = Some(own);
        if schema.variants.is_empty() || bits[3] {
            schema.variants.push(variant);
        }
    }
    schema.union = Some(schema.fields[0].name.clone());
}

/// Returns the problems of a document.
fn problems(text: &str) -> String {
    let problems = Registry::from_json(text).expect_err("this has no fault");
    problems.to_string()
}

/// Returns the problems of a schema `a` with the code `A`, fields `x` and `priority`, and `keys`.
fn with(keys: &str) -> String {
    let text = format!(
        "{{ \"schemas\": {{ \"a\": {{ \"code\": \"A\", \"fields\": [\"x\", \"priority\"],\n{keys} }} }} }}"
    );
    problems(&text)
}

/// Returns the changes from one version of a schema `a` with the code `A` to the next.
fn changes(old: &str, new: &str) -> String {
    let registry = |keys: &str| {
        let text = format!(r#"{{ "schemas": {{ "a": {{ "code": "A", {keys} }} }} }}"#);
        Registry::from_json(&text).unwrap()
    };
    let changes = diff(&registry(old), &registry(new));
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    changes.join("\n")
}

#[test]
fn mistakes_in_a_union() {
    assert_snapshot!(with(r#""variants": [{ "name": "b" }]"#), @r#"
    registry:2:1 at /schemas/a/variants: only a union has variants
        add "union": "kind", the field that names the variant
    "#);
    assert_snapshot!(with(r#""union": "kind", "variants": [{ "name": "b" }]"#), @"
    registry:2:1 at /schemas/a/union: there is no field `kind`
        the fields are x, priority
    ");
    assert_snapshot!(with(r#""union": "x""#), @r#"
    registry:2:1 at /schemas/a/union: this union has no variants
        add "variants": [{ "name": "a_name", "fields": ["a_field"] }]
    "#);
    assert_snapshot!(with(r#""union": "x", "variants": [{ "name": "b", "fields": ["y"] }, { "name": "b" }, {}, 1]"#), @r#"
    registry:1:52 at /schemas/a/fields/1: no variant has the field `priority`
        name it in the `fields` of a variant, or remove it
    registry:2:54 at /schemas/a/variants/0/fields/0: there is no field `y`
        the fields are x, priority
    registry:2:62 at /schemas/a/variants/1: the variant `b` stands twice
        make one entry of the two
    registry:2:79 at /schemas/a/variants/2: the variant has no `name`
        add "name": "a_name"
    registry:2:83 at /schemas/a/variants/3: expected an object, found the integer 1
        replace it with an object
    "#);
    assert_snapshot!(with(r#""union": "x", "variants": [{ "name": "b c", "fields": ["x", "pri"], "needs": [] }]"#), @"
    registry:1:52 at /schemas/a/fields/1: no variant has the field `priority`
        name it in the `fields` of a variant, or remove it
    registry:2:30 at /schemas/a/variants/0/name: `b c` is not a valid name of a variant
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:2:56 at /schemas/a/variants/0/fields/0: every variant has the tag `x`
        remove it here
    registry:2:61 at /schemas/a/variants/0/fields/1: there is no field `pri`
        `pri` is the abbreviation of `priority`; write the full name
    registry:2:69 at /schemas/a/variants/0/needs: unknown key `needs`
        the keys here are name, fields, required, doc
    ");
    assert_snapshot!(with(r#""union": "x", "variants": [{ "name": "b", "fields": ["priority"] }], "required": ["priority"],
"optional": ["z"], "types": { "x": "string" }, "defaults": { "x": "b" }, "inline": ["x"],
"frames": [{ "intent": "req", "operation": "o" }]"#), @"
    registry:2:70 at /schemas/a/required: a union has no `required`
        name the field in the `required` of the variants that need it
    registry:3:1 at /schemas/a/optional: a union has no `optional`
        name the field in `fields`: a variant requires what its `required` names
    registry:3:14 at /schemas/a/optional/0: no variant has the field `z`
        name it in the `fields` of a variant, or remove it
    registry:3:31 at /schemas/a/types/x: `x` is the tag of the union, so it has the names of the variants alone
        remove this entry
    registry:3:62 at /schemas/a/defaults/x: `x` is the tag of the union, so it has the names of the variants alone
        remove this entry
    registry:3:74 at /schemas/a/inline: `x` is the tag of the union, and never long
        remove it here
    registry:4:1 at /schemas/a/frames: a union has no `frames`
        a union is nested: give a field of a frame its code as the type
    ");
    // A union is finite if one of its variants does not require a record of the same union.
    let of = |variants: &str| {
        format!(
            r#"{{ "schemas": {{ "a": {{ "code": "A", "fields": ["k", "x"], "types": {{ "x": "A" }}, "union": "k",
"variants": [{variants}] }} }} }}"#
        )
    };
    let more = r#"{ "name": "more", "required": ["x"] }"#;
    assert_snapshot!(problems(&of(more)), @"
    registry:2:1 at /schemas/a/variants: a `a` requires `x`, and so holds a `A` without end: a.x > a
        take `x` out of `required`, or make it a list
    ");
    assert!(Registry::from_json(&of(&format!(r#"{more}, {{ "name": "end" }}"#))).is_ok());
    // A default has to be a record of one of the variants.
    let default = |json: &str| {
        format!(
            r#"{{ "schemas": {{ "a": {{ "code": "A", "fields": ["k", "x", "y"], "union": "k", "variants": [
{{ "name": "b", "required": ["x"] }}, {{ "name": "c", "fields": ["y"] }}] }},
"z": {{ "code": "Z", "fields": ["v"], "types": {{ "v": "A" }}, "defaults": {{ "v": {json} }} }} }} }}"#
        )
    };
    assert_snapshot!(problems(&default(r#"{ "k": "d" }"#)), @r#"
    registry:3:82 at /schemas/z/defaults/v/k: the default of `v` should be one of b, c; found the string "d"
        write such a value, or change the type of `v`
    "#);
    assert_snapshot!(problems(&default(r#"{ "k": "b" }"#)), @"
    registry:3:75 at /schemas/z/defaults/v: the default of `v` should be an object with the required field `x`; found an object without it
        write such a value, or change the type of `v`
    ");
    assert_snapshot!(problems(&default(r#"{ "k": "c", "x": 1 }"#)), @"
    registry:3:92 at /schemas/z/defaults/v/x: the default of `v` should be a field of the variant `c`; found the key `x`
        write such a value, or change the type of `v`
    ");
    assert_snapshot!(problems(&default(r#"{ "y": 1 }"#)), @"
    registry:3:75 at /schemas/z/defaults/v: the default of `v` should be an object with the required field `k`; found an object without it
        write such a value, or change the type of `v`
    ");
    assert!(Registry::from_json(&default(r#"{ "k": "b", "x": 1 }"#)).is_ok());
}

#[test]
fn changes_of_a_union() {
    let of = |fields: &str, variants: &str| {
        format!(r#""fields": ["kind", {fields}], "union": "kind", "variants": [{variants}]"#)
    };
    let card = r#"{ "name": "card", "fields": ["no"], "required": ["no"] }"#;
    let cash = r#"{ "name": "cash", "fields": ["sum"] }"#;
    let old = of(r#""no", "sum""#, &format!("{card}, {cash}"));
    let coin = of(
        r#""no", "sum""#,
        &format!(r#"{cash}, {card}, {{ "name": "coin" }}"#),
    );
    assert_eq!(
        changes(&old, &of(r#""no", "sum""#, &format!("{cash}, {card}"))),
        ""
    );
    assert_snapshot!(changes(&old, &coin), @"
    /schemas/a/variants/2: the variant `coin` was added
        breaks the old reader: it refuses the records that it does not know (E1004)
    ");
    assert_snapshot!(changes(&coin, &old), @"
    /schemas/a/variants: the variant `coin` was removed
        breaks the new reader: it refuses the records that it does not know (E1004)
    ");
    // A reader refuses a field that belongs to another variant. If no variant of the reader has a field, the reader
    // takes it for an unknown key.
    let more = of(
        r#""no", "sum", "at""#,
        r#"{ "name": "card", "fields": ["no", "sum"] }, { "name": "cash", "fields": ["sum", "at"], "required": ["at"] }"#,
    );
    assert_snapshot!(changes(&old, &more), @"
    /schemas/a/fields: the field `at` was added
    /schemas/a/variants/0/fields: the variant `card` now has `sum`
        breaks the old reader: it refuses the field, which another variant has (E1004)
    /schemas/a/variants/0/required: `no` is no longer required in the variant `card`
        breaks the old reader: it refuses a frame without the field (E1004)
    /schemas/a/variants/1/required: `at` is now required in the variant `cash`
        breaks the new reader: it refuses a frame without the field (E1004)
    ");
    assert_snapshot!(changes(&more, &old), @"
    /schemas/a/fields: the field `at` was removed
        breaks the old reader: it no longer gets the value
    /schemas/a/variants/0/fields: the variant `card` no longer has `sum`
        breaks the new reader: it refuses the field, which another variant has (E1004)
    /schemas/a/variants/0/required: `no` is now required in the variant `card`
        breaks the new reader: it refuses a frame without the field (E1004)
    /schemas/a/variants/1/required: `at` is no longer required in the variant `cash`
        breaks the old reader: it refuses a frame without the field (E1004)
    ");
    // A renamed field or tag is compared with its earlier state.
    let renamed = format!(
        r#""fields": ["way", "number", "sum"], "aliases": {{ "way": ["kind"], "number": ["no"] }}, "union": "way",
        "variants": [{{ "name": "card", "fields": ["number"], "required": ["number"] }}, {cash}]"#
    );
    assert_snapshot!(changes(&old, &renamed), @"
    /schemas/a/fields: the field `kind` was renamed to `way`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    /schemas/a/fields: the field `no` was renamed to `number`
        breaks the old reader: it does not know the key, so it refuses a frame that needs the field (E1004)
    ");
    let plain = r#""fields": ["kind", "no", "sum"], "types": { "kind": "enum(card,cash)" }, "required": ["kind"]"#;
    assert_snapshot!(changes(plain, &old), @"
    /schemas/a/union: the schema became a union by `kind`
        breaks the new reader: it refuses the records that it does not know (E1004)
    ");
    assert_snapshot!(changes(&old, plain), @"
    /schemas/a/union: the schema is no longer a union by `kind`
        breaks the old reader: it refuses the records that it does not know (E1004)
    ");
    let other = r#""fields": ["kind", "no", "sum"], "union": "sum", "variants": [
        { "name": "card", "fields": ["no", "kind"], "required": ["no"] }, { "name": "cash", "fields": [] }]"#;
    assert_snapshot!(changes(&old, other), @"
    /schemas/a/types/kind: the type of `kind` changed from enum(card,cash) to any
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    /schemas/a/required: `kind` is no longer required
        breaks the old reader: it refuses a frame without the field (E1004)
    /schemas/a/types/sum: the type of `sum` changed from any to enum(card,cash)
        breaks either reader: it refuses a value of the other type, or reads another value (E1004)
    /schemas/a/required: `sum` is now required
        breaks the new reader: it refuses a frame without the field (E1004)
    /schemas/a/union: the tag changed from `kind` to `sum`
        breaks either reader: it refuses the records that it does not know (E1004)
    ");
}
