//! What turns one registry into another, as it travels when two peers differ (draft section
//! 6.4).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

use crate::assemble::{Source, assemble};
use crate::hash::{Hash, write_canonical};
use crate::model::Registry;
use crate::problem::Problems;
use crate::tables::ErrorCode;

/// The schemas in which two registries differ, bound to both of them by their full hashes.
///
/// Docs and `keep` do not travel, nor do the version and the tokenizer of the registry: the
/// hash does not cover them, so nothing would tell whether they had been changed on the way.
///
/// ```
/// use accp_registry::{Delta, DeltaPolicy, Field, Registry, Schema, Type};
///
/// let held = Registry::standard();
/// let mut theirs = Registry::standard();
/// let mut finding = Schema::new("finding", "FD");
/// finding.fields.push(Field::new("topic", Type::String));
/// theirs.register(finding)?;
///
/// let text = theirs.delta_from(&held).to_json();
/// let learnt = Delta::from_json(&text)?.apply(&held, DeltaPolicy::default())?;
/// assert_eq!(learnt.hash(), theirs.hash());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delta {
    base: Hash,
    result: Hash,
    /// The schemas that are new or other than before, as in a registry document.
    schemas: Map<String, Value>,
    /// The names of those that are gone, ascending.
    removed: Vec<String>,
}

/// What a delta may do to the registry it is applied to. By default it may add codes and
/// nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeltaPolicy {
    /// A code that is known may come to stand for something else.
    pub allow_redefine: bool,
    /// A code that is known may stand for nothing any more.
    pub allow_remove: bool,
}

/// Why a delta was not applied. Nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeltaError {
    /// More bytes, or more entries in one of its lists and objects, than a delta may have.
    #[error("a delta has at most {limit} {of}, and this one has {found}")]
    Size {
        /// What there is too much of.
        of: &'static str,
        /// How much there may be.
        limit: usize,
        /// How much there is.
        found: usize,
    },
    /// The text is no delta.
    #[error("this is no registry delta: {0}")]
    Syntax(String),
    /// What it leads to is no registry.
    #[error("the delta leads to a faulty registry\n{0}")]
    Faulty(Problems),
    /// It starts from another registry.
    #[error(
        "the delta starts from the registry {base}, and {held} is held; ask for all of the registry"
    )]
    Base {
        /// The registry that it starts from.
        base: Hash,
        /// The registry that it was applied to.
        held: Hash,
    },
    /// It does not lead to the registry that it names.
    #[error("the delta leads to the registry {found}, and not to {promised} as it says")]
    Tampered {
        /// The registry that it names.
        promised: Hash,
        /// The registry that it leads to.
        found: Hash,
    },
    /// Codes that are known would stand for something else.
    #[error("the delta redefines {}, which only a policy can allow", .0.join(", "))]
    Redefines(Vec<String>),
    /// Codes that are known would stand for nothing.
    #[error("the delta removes {}, which only a policy can allow", .0.join(", "))]
    Removes(Vec<String>),
}

impl DeltaError {
    /// The code that names the refusal (draft section 3.6).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Size { .. } | Self::Syntax(_) => ErrorCode::PARSE_ERROR,
            Self::Faulty(_) => ErrorCode::INVALID_TYPE,
            Self::Base { .. } => ErrorCode::REF_NOT_FOUND,
            Self::Tampered { .. } | Self::Redefines(_) | Self::Removes(_) => {
                ErrorCode::POLICY_DENIED
            }
        }
    }
}

impl Registry {
    /// What turns `base` into this registry. From [`Registry::empty`] it is all of it, and
    /// then a peer can apply it whatever it holds.
    pub fn delta_from(&self, base: &Self) -> Delta {
        let mut document = self.to_json();
        let mut schemas = Map::new();
        for schema in self.schemas() {
            let before = base.schema_by_name(&schema.name);
            if before.is_some_and(|before| before.to_canonical() == schema.to_canonical()) {
                continue;
            }
            let mut json = document["schemas"][&schema.name].take();
            remove_uncovered(&mut json);
            schemas.insert(schema.name.clone(), json);
        }
        let is_gone = |name: &String| self.schema_by_name(name).is_none();
        let names = base.schemas().map(|schema| schema.name.clone());
        Delta {
            base: base.hash(),
            result: self.hash(),
            schemas,
            removed: names.filter(is_gone).collect(),
        }
    }
}

impl Delta {
    /// What the text of a delta may have: 256 KiB. A registry that differs by more is no
    /// matter of a session: give it to both sides.
    pub const MAX_BYTES: usize = 256 * 1024;

    /// What a list or an object in it may have: as many entries as a frame has params.
    pub const MAX_ENTRIES: usize = 256;

    /// The registry that it starts from.
    pub const fn base(&self) -> Hash {
        self.base
    }

    /// The registry that it leads to.
    pub const fn result(&self) -> Hash {
        self.result
    }

    /// Whether it holds all of a registry, because it starts from the empty one.
    pub fn is_whole(&self) -> bool {
        self.base == Registry::empty().hash()
    }

    /// The text: one line of JSON, the same for equal deltas.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        let json = json!({
            "base": self.base.to_string(),
            "result": self.result.to_string(),
            "removed": self.removed,
            "schemas": self.schemas,
        });
        write_canonical(&mut text, &json);
        text
    }

    /// Reads what [`to_json`](Self::to_json) gives. What the schemas say is looked at when
    /// the delta is applied.
    ///
    /// # Errors
    /// When the text is too large or no delta.
    pub fn from_json(text: &str) -> Result<Self, DeltaError> {
        if text.len() > Self::MAX_BYTES {
            return Err(too_many("bytes", Self::MAX_BYTES, text.len()));
        }
        let json: Value =
            serde_json::from_str(text).map_err(|error| DeltaError::Syntax(error.to_string()))?;
        check_entries(&json)?;
        let Value::Object(mut members) = json else {
            return syntax("it must be an object");
        };
        let mut hash = |key: &str| {
            let hash = members.remove(key);
            let hash = hash.as_ref().and_then(Value::as_str);
            hash.and_then(|text| text.parse().ok())
                .ok_or_else(|| DeltaError::Syntax(format!("`{key}` must be a digest of 64 digits")))
        };
        let (base, result) = (hash("base")?, hash("result")?);
        let Some(Value::Object(schemas)) = members.remove("schemas") else {
            return syntax("`schemas` must be an object");
        };
        let removed = members.remove("removed").map(serde_json::from_value);
        let Some(Ok(removed)) = removed else {
            return syntax("`removed` must be a list of names");
        };
        if let Some(key) = members.keys().next() {
            return syntax(&format!("unknown key `{key}`"));
        }
        Ok(Self {
            base,
            result,
            schemas,
            removed,
        })
    }

    /// The registry that this delta makes of `held`, with the version and the tokenizer of
    /// `held`.
    ///
    /// # Errors
    /// As [`DeltaError`] says, in this order: `held` is not what the delta starts from, what
    /// it leads to is faulty, or not what it names, or more than `policy` allows.
    pub fn apply(&self, held: &Registry, policy: DeltaPolicy) -> Result<Registry, DeltaError> {
        let before = held.hash();
        let mut document = if self.is_whole() {
            Registry::empty().to_json()
        } else if self.base == before {
            held.to_json()
        } else {
            let (base, held) = (self.base, before);
            return Err(DeltaError::Base { base, held });
        };
        if let Value::Object(schemas) = &mut document["schemas"] {
            for name in &self.removed {
                schemas.remove(name);
            }
            schemas.extend(self.schemas.clone());
        }
        let registry = assemble(&[Source::from_value(document)]).map_err(DeltaError::Faulty)?;
        let (promised, found) = (self.result, registry.hash());
        if promised != found {
            return Err(DeltaError::Tampered { promised, found });
        }
        permit(held, &registry, policy)?;
        Ok(Registry {
            version: held.version,
            tokenizer: held.tokenizer.clone(),
            ..registry
        })
    }
}

/// Whether every code that is known means the same still, so far as `policy` asks for it.
/// The name of a schema does not travel in frames, so it may change.
fn permit(held: &Registry, next: &Registry, policy: DeltaPolicy) -> Result<(), DeltaError> {
    let (mut redefined, mut removed) = (Vec::new(), Vec::new());
    for schema in held.schemas() {
        match next.schema(&schema.code) {
            None => removed.push(schema.code.clone()),
            Some(after) if after.to_canonical() != schema.to_canonical() => {
                redefined.push(schema.code.clone());
            }
            Some(_) => {}
        }
    }
    if !redefined.is_empty() && !policy.allow_redefine {
        return Err(DeltaError::Redefines(redefined));
    }
    if !removed.is_empty() && !policy.allow_remove {
        return Err(DeltaError::Removes(removed));
    }
    Ok(())
}

/// Takes out what the hash does not cover.
fn remove_uncovered(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    for key in ["doc", "docs", "keep"] {
        members.remove(key);
    }
    let frames = members.get_mut("frames").and_then(Value::as_array_mut);
    for frame in frames
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        frame.remove("doc");
    }
}

/// Checking a registry compares names with one another, so their number is bounded first.
fn check_entries(json: &Value) -> Result<(), DeltaError> {
    let (length, inner): (usize, Vec<&Value>) = match json {
        Value::Array(items) => (items.len(), items.iter().collect()),
        Value::Object(members) => (members.len(), members.values().collect()),
        _ => return Ok(()),
    };
    if length > Delta::MAX_ENTRIES {
        return Err(too_many("entries in one place", Delta::MAX_ENTRIES, length));
    }
    inner.into_iter().try_for_each(check_entries)
}

fn too_many(of: &'static str, limit: usize, found: usize) -> DeltaError {
    DeltaError::Size { of, limit, found }
}

fn syntax<T>(message: &str) -> Result<T, DeltaError> {
    Err(DeltaError::Syntax(message.to_string()))
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    const ALL: DeltaPolicy = DeltaPolicy {
        allow_redefine: true,
        allow_remove: true,
    };
    const NONE: DeltaPolicy = DeltaPolicy {
        allow_redefine: false,
        allow_remove: false,
    };

    /// Registries that share names, codes and schemas every so often.
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
            for (index, (schema, name)) in schemas.into_iter().zip(["p", "q", "r", "s"]).enumerate()
            {
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
                    json["frames"] =
                        json!([{ "intent": "req", "operation": "plan", "doc": "Asks." }]);
                }
                document["schemas"][name] = json;
            }
            Registry::from_json(&document.to_string()).ok()
        })
    }

    /// What the rules say, told without the code above.
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
    fn says_what_is_no_delta() {
        let error = |text: &str| {
            let error = Delta::from_json(text).unwrap_err();
            format!("{}: {error}", error.code())
        };
        let hash = Registry::empty().hash();
        let with = |rest: &str| format!(r#"{{"base":"{hash}","result":"{hash}"{rest}}}"#);
        insta::assert_snapshot!(error("{"), @"E1001: this is no registry delta: EOF while parsing an object at line 1 column 1");
        insta::assert_snapshot!(error("[]"), @"E1001: this is no registry delta: it must be an object");
        insta::assert_snapshot!(error(r#"{"base":"44136f"}"#), @"E1001: this is no registry delta: `base` must be a digest of 64 digits");
        insta::assert_snapshot!(error(&with("")), @"E1001: this is no registry delta: `schemas` must be an object");
        insta::assert_snapshot!(error(&with(r#","schemas":{},"removed":[1]"#)), @"E1001: this is no registry delta: `removed` must be a list of names");
        insta::assert_snapshot!(error(&with(r#","schemas":{},"removed":[],"version":2"#)), @"E1001: this is no registry delta: unknown key `version`");
        insta::assert_snapshot!(error(&format!("[[{}0]]", "0,".repeat(256))), @"E1001: a delta has at most 256 entries in one place, and this one has 257");
        insta::assert_snapshot!(error(&" ".repeat(Delta::MAX_BYTES + 1)), @"E1001: a delta has at most 262144 bytes, and this one has 262145");
    }

    #[test]
    fn says_why_it_is_not_applied() {
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
        insta::assert_snapshot!(error(&delta, &b, ALL), @"E2001: the delta starts from the registry 0c39294ef27785966cf7b93636e5f542cfd07f874f8496b2efc77e0d564179cb, and 79e93eb90988f5970b39c7ef2eef994bbcc7a98d1081445002ca2ea25c520e8a is held; ask for all of the registry");
        insta::assert_snapshot!(error(&delta, &a, NONE), @"E5001: the delta redefines P, which only a policy can allow");
        let keeps = DeltaPolicy {
            allow_redefine: true,
            ..NONE
        };
        insta::assert_snapshot!(error(&delta, &a, keeps), @"E5001: the delta removes Q, which only a policy can allow");
        let mut other = delta.clone();
        other.removed.clear();
        insta::assert_snapshot!(error(&other, &a, ALL), @"E5001: the delta leads to the registry 4bb37a678f326fc69a6adfab901c84116a55290fde01159e70e06b81f5d835fc, and not to 79e93eb90988f5970b39c7ef2eef994bbcc7a98d1081445002ca2ea25c520e8a as it says");
        other.schemas["p"]["fields"] = json!("x");
        insta::assert_snapshot!(error(&other, &a, ALL), @r#"
        E1004: the delta leads to a faulty registry
        registry at /schemas/p/fields: expected an array, found the string "x"
        registry at /schemas/p/types/y: there is no field `y`
            the fields are
        "#);
    }
}
