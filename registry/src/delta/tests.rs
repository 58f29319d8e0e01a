use alloc::vec;

use proptest::prelude::*;

use super::*;
use crate::tables::ErrorCode;

const ALL: DeltaPolicy = DeltaPolicy {
    allow_redefine: true,
    allow_remove: true,
};
const NONE: DeltaPolicy = DeltaPolicy {
    allow_redefine: false,
    allow_remove: false,
};

/// Returns registries that often share names, codes and schemas.
fn any_registry() -> impl Strategy<Value = Registry> {
    let field = (
        "[x-z]|task|priority",
        prop::sample::select(vec![
            "string",
            "integer",
            "any",
            "[string]",
            "{any}",
            "enum(a,b)",
            "A",
            "[B]",
        ]),
    );
    let schema = (
        1_u8..3,
        prop::collection::btree_map(field.0, field.1, 0..3),
        any::<[bool; 4]>(),
    );
    let schemas = prop::collection::vec(prop::option::of(schema), 4);
    let codes = Just(vec!["A", "B", "C", "D", "E", "F"]).prop_shuffle();
    (schemas, codes, any::<bool>()).prop_filter_map("faulty", |(schemas, codes, keeps)| {
        let mut document = json!({ "version": 3, "schemas": {} });
        for (index, (schema, name)) in schemas.into_iter().zip(["p", "q", "r", "s"]).enumerate() {
            let Some((version, types, [required, inline, doc, frame])) = schema else {
                continue;
            };
            let fields: Vec<String> = types.keys().cloned().collect();
            let code = if keeps {
                ["A", "B", "C", "D"][index]
            } else {
                codes[index]
            };
            let mut json =
                json!({ "code": code, "version": version, "fields": fields, "types": types });
            let first = &fields[..fields.len().min(1)];
            if required {
                json["required"] = json!(first);
            } else if let Some(field) = first.first().filter(|field| types[*field] == "any") {
                json["defaults"] = json!({ field: { "a": [1.5, null, "text"] } });
            }
            if inline {
                json["inline"] = json!(first);
            }
            if doc {
                json["doc"] = json!("What it is for.");
                json["keep"] = json!(first);
            }
            if frame {
                json["frames"] = json!([{ "intent": "req", "operation": "plan", "doc": "Asks." }]);
            }
            document["schemas"][name] = json;
        }
        Registry::from_json(&document.to_string()).ok()
    })
}

/// Returns whether a known code has another meaning in `next`, and whether one is missing there. This is computed
/// without the code under test.
fn codes_lost(held: &Registry, next: &Registry) -> (bool, bool) {
    let mut lost = (false, false);
    for schema in held.schemas() {
        let (mut before, after) = (schema.clone(), next.schema(&schema.code));
        let Some(after) = after else {
            lost.1 = true;
            continue;
        };
        before.name.clone_from(&after.name);
        lost.0 |= !before.means_the_same(after);
    }
    lost
}

proptest! {
    #[test]
    fn leads_from_each_registry_to_each_other(a in any_registry(), b in any_registry()) {
        let text = b.delta_from(&a).to_json();
        let delta = Delta::from_json(&text).unwrap();
        prop_assert_eq!(&delta, &b.delta_from(&a));
        prop_assert!(!text.contains("What it is for") && !text.contains("Asks"));
        prop_assert!(!text.contains("keep"));
        let applied = delta.apply(&a, ALL).unwrap();
        prop_assert_eq!(applied.hash(), b.hash());
        prop_assert_eq!((applied.version, &applied.tokenizer), (a.version, &a.tokenizer));
    }

    #[test]
    fn all_of_a_registry_applies_to_any(a in any_registry(), b in any_registry()) {
        let delta = b.delta_from(&Registry::empty());
        prop_assert!(delta.is_whole());
        prop_assert_eq!(delta.apply(&a, ALL).unwrap().hash(), b.hash());
        let part = b.delta_from(&a);
        if !part.is_whole() && a.hash() != b.hash() {
            let error = part.apply(&b, ALL).unwrap_err();
            prop_assert_eq!(error, DeltaError::Base { base: a.hash(), held: b.hash() });
        }
    }

    #[test]
    fn only_a_policy_lets_codes_go(a in any_registry(), b in any_registry(), whole: bool) {
        let base = if whole { Registry::empty() } else { a.clone() };
        let delta = b.delta_from(&base);
        let (redefines, removes) = codes_lost(&a, &b);
        for policy in [ALL, NONE, DeltaPolicy { allow_remove: true, ..NONE }, DeltaPolicy { allow_redefine: true, ..NONE }] {
            let refused = (redefines && !policy.allow_redefine) || (removes && !policy.allow_remove);
            match delta.apply(&a, policy) {
                Ok(_) => prop_assert!(!refused),
                Err(error) => {
                    prop_assert!(refused, "{}", error);
                    prop_assert_eq!(error.code(), ErrorCode::POLICY_DENIED);
                }
            }
        }
    }

    #[test]
    fn a_byte_that_changed_leads_nowhere_else(
        a in any_registry(), b in any_registry(), at: prop::sample::Index, byte: u8,
    ) {
        let mut bytes = b.delta_from(&a).to_json().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let Ok(text) = String::from_utf8(bytes) else {
            return Ok(());
        };
        if let Ok(applied) = Delta::from_json(&text).and_then(|delta| delta.apply(&a, ALL)) {
            prop_assert_eq!(applied.hash(), b.hash());
            prop_assert_eq!((applied.version, applied.tokenizer), (a.version, a.tokenizer));
        }
    }

    #[test]
    fn takes_any_text(text in r#"[{](["a-z:{}\[\],0-9]{0,4}){0,12}|.{0,40}"#) {
        if let Ok(delta) = Delta::from_json(&text) {
            let _ = delta.apply(&Registry::empty(), ALL);
        }
    }
}

#[test]
fn holds_nothing_where_nothing_differs() {
    let registry = Registry::standard();
    let delta = registry.delta_from(&registry);
    assert_eq!(
        (delta.base(), delta.result()),
        (registry.hash(), registry.hash())
    );
    assert_eq!(delta.apply(&registry, NONE), Ok(registry));
    let hash = Registry::empty().hash();
    let nothing = Registry::empty().delta_from(&Registry::empty()).to_json();
    assert_eq!(
        nothing,
        format!(r#"{{"base":"{hash}","removed":[],"result":"{hash}","schemas":{{}}}}"#)
    );
}

#[test]
fn refuses_a_text_that_is_not_a_delta() {
    let error = |text: &str| {
        let error = Delta::from_json(text).unwrap_err();
        format!("{}: {error}", error.code())
    };
    let hash = Registry::empty().hash();
    let with = |rest: &str| format!(r#"{{"base":"{hash}","result":"{hash}"{rest}}}"#);
    insta::assert_snapshot!(error("{"), @"E1001: this is not a registry delta: EOF while parsing an object at line 1 column 1");
    insta::assert_snapshot!(error("[]"), @"E1001: this is not a registry delta: it must be an object");
    insta::assert_snapshot!(error(r#"{"base":"44136f"}"#), @"E1001: this is not a registry delta: `base` must be a digest of 64 digits");
    insta::assert_snapshot!(error(&with("")), @"E1001: this is not a registry delta: `schemas` must be an object");
    insta::assert_snapshot!(error(&with(r#","schemas":{},"removed":[1]"#)), @"E1001: this is not a registry delta: `removed` must be a list of names");
    insta::assert_snapshot!(error(&with(r#","schemas":{},"removed":[],"version":2"#)), @"E1001: this is not a registry delta: unknown key `version`");
    insta::assert_snapshot!(error(&format!("[[{}0]]", "0,".repeat(256))), @"E1001: a delta has at most 256 entries in one place, and this one has 257");
    insta::assert_snapshot!(error(&" ".repeat(Delta::MAX_BYTES + 1)), @"E1001: a delta has at most 262144 bytes, and this one has 262145");
}

#[test]
fn reports_why_it_is_not_applied() {
    let read = |text: &str| Registry::from_json(text).unwrap();
    let a = read(
        r#"{ "schemas": { "p": { "code": "P", "fields": ["x"] }, "q": { "code": "Q", "fields": [] } } }"#,
    );
    let b = read(r#"{ "schemas": { "p": { "code": "P", "fields": ["y"] } } }"#);
    let delta = b.delta_from(&a);
    let error = |delta: &Delta, held: &Registry, policy| {
        let error = delta.apply(held, policy).unwrap_err();
        format!("{}: {error}", error.code())
    };
    insta::assert_snapshot!(error(&delta, &b, ALL), @"E2001: the delta starts from the registry 0c39294ef27785966cf7b93636e5f542cfd07f874f8496b2efc77e0d564179cb, but this side holds 79e93eb90988f5970b39c7ef2eef994bbcc7a98d1081445002ca2ea25c520e8a; ask for the whole registry");
    insta::assert_snapshot!(error(&delta, &a, NONE), @"E5001: the delta redefines P, which only a policy can allow");
    let keeps = DeltaPolicy {
        allow_redefine: true,
        ..NONE
    };
    insta::assert_snapshot!(error(&delta, &a, keeps), @"E5001: the delta removes Q, which only a policy can allow");
    let mut other = delta.clone();
    other.removed.clear();
    insta::assert_snapshot!(error(&other, &a, ALL), @"E5001: the delta leads to the registry 4bb37a678f326fc69a6adfab901c84116a55290fde01159e70e06b81f5d835fc, but it names 79e93eb90988f5970b39c7ef2eef994bbcc7a98d1081445002ca2ea25c520e8a");
    other.schemas["p"]["fields"] = json!("x");
    insta::assert_snapshot!(error(&other, &a, ALL), @r#"
    E1004: the delta leads to a faulty registry
    registry at /schemas/p/fields: expected an array, found the string "x"
        replace it with an array
    registry at /schemas/p/types/y: there is no field `y`
        the fields are
    "#);
}
