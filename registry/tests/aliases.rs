//! Aliases of fields: how a document declares them, and what they leave unchanged.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use accp_registry::{Delta, DeltaPolicy, Field, Registry, Schema, Type, diff};
use insta::assert_snapshot;

fn registry(keys: &str) -> Registry {
    Registry::from_json(&document(keys)).unwrap()
}

fn document(keys: &str) -> String {
    format!("{{ \"schemas\": {{ \"a\": {{ \"code\": \"A\",\n{keys} }} }} }}")
}

fn problems(keys: &str) -> String {
    Registry::from_json(&document(keys))
        .unwrap_err()
        .to_string()
}

fn keys<'s>(schema: &'s Schema, key: &str) -> Vec<&'s str> {
    schema.field(key).unwrap().1.keys().collect()
}

#[test]
fn a_field_is_found_by_its_aliases() {
    let registry = registry(
        r#""fields": ["urgency", "total"], "abbreviations": { "total": "t" },
           "aliases": { "urgency": ["priority"], "total": ["amount", "sum"] }"#,
    );
    let schema = registry.schema("A").unwrap();
    assert_eq!(keys(schema, "sum"), ["total", "t", "amount", "sum"]);
    // A peer that knew the field as `priority` wrote the standard abbreviation.
    assert_eq!(keys(schema, "pri"), ["urgency", "priority", "pri"]);
    assert!(schema.field("amounts").is_none());
    let again = Registry::from_json(&registry.to_json().to_string()).unwrap();
    assert_eq!(again, registry);
}

#[test]
fn an_implied_abbreviation_gives_way_to_a_field() {
    let registry =
        registry(r#""fields": ["urgency", "pri"], "aliases": { "urgency": ["priority"] }"#);
    let schema = registry.schema("A").unwrap();
    assert_eq!(keys(schema, "priority"), ["urgency", "priority"]);
    assert_eq!(keys(schema, "pri"), ["pri"]);
}

#[test]
fn nobody_writes_an_alias_so_the_hash_does_not_cover_it() {
    let (bare, named) = (
        registry(r#""fields": ["total"]"#),
        registry(r#""fields": ["total"], "aliases": { "total": ["amount"] }"#),
    );
    assert_eq!(bare.hash(), named.hash());
    let changes: Vec<String> = diff(&bare, &named)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        changes,
        ["/schemas/a/aliases/total: `amount` is now read as `total`"]
    );
    let changes: Vec<String> = diff(&named, &bare)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        changes,
        ["/schemas/a/aliases/total: `amount` is no longer read as `total`"]
    );
    // So a delta does not carry the alias: nobody could notice if it was changed on the way.
    let delta = named.delta_from(&Registry::empty()).to_json();
    assert!(!delta.contains("amount"));
    let learnt = Delta::from_json(&delta)
        .unwrap()
        .apply(&Registry::empty(), DeltaPolicy::default());
    assert_eq!(learnt.unwrap().hash(), named.hash());
}

#[test]
fn clashes() {
    assert_snapshot!(problems(
        r#""fields": ["x", "y", "z"], "abbreviations": { "y": "wy" },
"aliases": {
  "x": ["x", "y", "wy", "schema", "not a key"],
  "y": ["wy", "old", "old"],
  "z": ["old", 7],
  "w": ["x"]
}"#), @"
    registry:4:9 at /schemas/a/aliases/x/0: `x` is the name of `x` already
        remove the alias
    registry:4:14 at /schemas/a/aliases/x/1: the alias `y` of `x` is the name of a field
        a key has one meaning: remove the alias, or rename the other
    registry:4:19 at /schemas/a/aliases/x/2: the alias `wy` of `x` is the short name of `y`
        a key has one meaning: remove the alias, or rename the other
    registry:4:25 at /schemas/a/aliases/x/3: an alias cannot be `schema`
        `schema` names the schema of a frame; remove the alias
    registry:4:35 at /schemas/a/aliases/x/4: `not a key` is not a valid alias
        it is one or more of A-Z, a-z, 0-9 and `_`
    registry:5:9 at /schemas/a/aliases/y/0: `wy` is the short name of `y` already
        remove the alias
    registry:5:22 at /schemas/a/aliases/y/2: `old` is an alias of `y` already
        remove the alias
    registry:6:9 at /schemas/a/aliases/z/0: the alias `old` of `z` is an alias of `y`
        a key has one meaning: remove the alias, or rename the other
    registry:6:16 at /schemas/a/aliases/z/1: expected a string, found the integer 7
        replace it with a string
    registry:7:3 at /schemas/a/aliases/w: there is no field `w`
        the fields are x, y, z
    ");
    assert_snapshot!(problems(r#""fields": ["x"], "aliases": { "x": "old" }"#), @r#"
    registry:2:31 at /schemas/a/aliases/x: expected an array, found the string "old"
        replace it with an array
    "#);
}

/// Registering a schema again is an error if it changes a part that the hash does not cover: the hash would not show
/// the change.
#[test]
fn a_schema_is_registered_again_only_as_it_is() {
    let with = |more: &str| {
        let text = format!(
            r#"{{ "schemas": {{ "note": {{ "code": "NOTE", "fields": ["x", "cook"], "types": {{ "cook": "agent" }},
                "frames": [{{ "intent": "req", "operation": "note"{more} }}] }} }} }}"#
        );
        Registry::from_json(&text).unwrap()
    };
    let schema = |registry: &Registry| registry.schemas().next().unwrap().clone();
    let (plain, addressed) = (with(""), with(r#", "to": "cook""#));
    assert_eq!(plain.hash(), addressed.hash());
    for (own, other) in [(&plain, &addressed), (&addressed, &plain)] {
        let mut registry = own.clone();
        let problems = registry.register(schema(other)).unwrap_err().to_string();
        assert!(
            problems.contains("already registered, with other `to`"),
            "{problems}"
        );
        assert!(problems.contains("start the host"), "{problems}");
        assert_eq!(registry.to_json(), own.to_json());
        // Registering the same schema, even with another doc, changes nothing.
        registry.register(schema(own)).unwrap();
        let mut told = schema(own);
        told.doc = Some("A note.".into());
        registry.register(told).unwrap();
        assert_eq!(registry.to_json(), own.to_json());
    }
}

#[test]
fn no_field_has_the_key_of_the_pairs_of_a_map() {
    assert_snapshot!(problems(r#""fields": ["x", "priority"], "optional": ["_"], "abbreviations": { "x": "_" }, "aliases": { "priority": ["_"] }"#), @"
    registry:2:43 at /schemas/a/optional/0: a field cannot be called `_`
        `_` is the key of the pairs in a map; take another name
    registry:2:68 at /schemas/a/abbreviations/x: an abbreviation cannot be `_`
        `_` is the key of the pairs in a map; take another name
    registry:2:68 at /schemas/a/abbreviations/x: the abbreviation `_` of `x` is the name of the field `_`
        give `x` another abbreviation
    registry:2:106 at /schemas/a/aliases/priority/0: an alias cannot be `_`
        `_` is the key of the pairs in a map; remove the alias
    ");
    // A longer name may begin with `_`.
    let text = r#"{ "schemas": { "a": { "code": "A", "fields": ["_x"] } } }"#;
    assert!(Registry::from_json(text).is_ok());
    let mut schema = Schema::new("a", "A");
    schema.fields.push(Field::new("_", Type::Any));
    assert!(Registry::empty().register(schema).is_err());
}
