//! The hash of a registry: peers compare it to know that they hold the same one (draft section
//! 6.4).

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::model::{Registry, Schema};

/// The digest of a registry.
///
/// SHA-256 over the canonical JSON (RFC 8785) of the schemas. The schemas are resolved: types and abbreviations are
/// written out, each default is its wire text, docs, aliases, `keep`, `rules` and `to` are left out. So the hash does
/// not depend on spacing, the order of keys, docs and advice, or on whether a file writes values that it could leave
/// out. Defaults that differ on the wire (`1` and `1.0` in a field of type `any`) give different hashes; as JSON
/// numbers they would give the same one.
///
/// Only objects, arrays, strings and whole numbers below 2^53 remain. For these, RFC 8785 needs only sorted keys, and
/// no special format of numbers. This takes twenty lines here, and no dependency.
///
/// ```
/// use accp_registry::Registry;
///
/// let hash = Registry::standard().hash();
/// assert_eq!(hash.to_string().len(), 64);
/// assert_eq!(hash.short(6), &hash.to_string()[..6]);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Returns the digest of bytes, such as a value that is kept outside the context.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the bytes of the digest.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the first hex digits, as `sync:registry` carries them: at least 6 and at most 64.
    ///
    /// A short hash is enough for peers that trust each other. Otherwise, compare all digits.
    pub fn short(&self, digits: usize) -> String {
        let mut text = self.to_string();
        text.truncate(digits.clamp(6, 64));
        text
    }
}

impl From<[u8; 32]> for Hash {
    /// Takes a digest that was computed elsewhere.
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for Hash {
    type Err = HashSyntax;

    /// Reads all 64 digits, in either case.
    fn from_str(text: &str) -> Result<Self, HashSyntax> {
        let digits = text.as_bytes();
        let mut bytes = [0; 32];
        if digits.len() != 64 {
            return Err(HashSyntax);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16).ok_or(HashSyntax);
            *byte = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for Hash {
    /// Writes the 64 digits.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'d> Deserialize<'d> for Hash {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits")]
pub struct HashSyntax;

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl Registry {
    /// Returns the hash of the schemas. It does not cover the version and the tokenizer of the
    /// registry, because `sync:registry` announces them beside the hash.
    pub fn hash(&self) -> Hash {
        let compute = |schemas: &Vec<Schema>| {
            let schemas = schemas.iter();
            let schemas =
                schemas.map(|schema| (schema.name.clone(), schema.to_canonical(self.protocol)));
            hash_of(&Value::Object(schemas.collect())).0
        };
        Hash(self.schemas.get_or_compute(compute))
    }
}

fn hash_of(json: &Value) -> Hash {
    let mut text = String::new();
    write_canonical(&mut text, json);
    Hash(Sha256::digest(text).into())
}

/// Writes JSON without fractions as RFC 8785 does.
pub(crate) fn write_canonical(out: &mut String, json: &Value) {
    match json {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_canonical(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (key, value)) in sorted(members).into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                write_canonical(out, value);
            }
            out.push('}');
        }
        // serde_json escapes the same characters as RFC 8785, in the same way.
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// Sorts the members by the UTF-16 code units of their keys (RFC 8785 section 3.2.3).
fn sorted(members: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut members: Vec<_> = members.iter().collect();
    members.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    members
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::model::Field;
    use crate::types::Type;

    fn canonical(text: &str) -> String {
        let mut out = String::new();
        write_canonical(&mut out, &serde_json::from_str(text).unwrap());
        out
    }

    #[test]
    fn sorts_as_rfc_8785_section_3_2_3_does() {
        let text = r#"{ "\u20ac": "Euro Sign", "\r": "Carriage Return",
            "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
            "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
            "\u00f6": "Latin Small Letter O With Diaeresis" }"#;
        assert_eq!(
            canonical(text),
            "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\
             \"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\
             \"😀\":\"Emoji: Grinning Face\",\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
        );
    }

    #[test]
    fn escapes_as_rfc_8785_section_3_2_2_does() {
        let text = r#"{ "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
            "literals": [null, true, false] }"#;
        assert_eq!(
            canonical(text),
            r#"{"literals":[null,true,false],"string":"€$\u000f\nA'B\"\\\\\"/"}"#,
        );
    }

    #[test]
    fn is_the_sha_256_of_the_canonical_text() {
        // The SHA-256 of the empty object, computed as FIPS 180-2 defines it.
        assert_eq!(
            hash_of(&json!({})).to_string(),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
        );
        assert_eq!(Registry::empty().hash(), hash_of(&json!({})));
    }

    #[test]
    fn short_is_a_prefix_of_6_to_64_digits() {
        let hash = Registry::standard().hash();
        let full = hash.to_string();
        for (asked, given) in [(0, 6), (6, 6), (7, 7), (64, 64), (65, 64)] {
            assert_eq!(hash.short(asked), full[..given]);
        }
    }

    #[test]
    fn comes_back_from_its_text() {
        let hash = Hash::of(b"abc"); // FIPS 180-2, appendix B.1
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        assert_eq!(text.to_uppercase().parse(), Ok(hash));
        for wrong in [
            "",
            "ba78",
            &text[1..],
            &text.replace('a', "g"),
            &text.replace("ba", "é"),
        ] {
            assert_eq!(wrong.parse::<Hash>(), Err(HashSyntax), "{wrong}");
        }
    }

    fn of(schema: &str) -> Hash {
        Registry::from_json(&format!(r#"{{ "schemas": {{ "a": {schema} }} }}"#))
            .unwrap()
            .hash()
    }

    #[test]
    fn sees_the_meaning_and_nothing_else() {
        let terse = of(r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 } }"#);
        let wordy = of(
            r#"{ "doc": "A.", "docs": { "n": "N." }, "keep": ["n"], "version": 1, "optional": [],
            "types": { "n": "integer", "priority": "any" },
            "abbreviations": { "priority": "pri" },
            "defaults": { "n": 1 }, "fields": ["priority", "n"], "frames": [], "code": "A" }"#,
        );
        assert_eq!(terse, wordy);
        for other in [
            r#"{ "code": "B", "fields": ["priority", "n"], "defaults": { "n": 1 } }"#,
            r#"{ "code": "A", "fields": ["n", "priority"], "defaults": { "n": 1 } }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 2 } }"#,
            r#"{ "code": "A", "fields": ["priority"], "optional": ["n"], "defaults": { "n": 1 } }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "required": ["priority"] }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "inline": ["priority"] }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "types": { "n": "any" } }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "abbreviations": { "priority": "priority" } }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "version": 2 }"#,
            r#"{ "code": "A", "fields": ["priority", "n"], "defaults": { "n": 1 }, "frames": [{ "intent": "req", "operation": "plan" }] }"#,
        ] {
            assert_ne!(terse, of(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn differs_for_defaults_that_differ_on_the_wire(a: f64, b: f64) {
            prop_assume!(a.is_finite() && b.is_finite());
            let of_default = |value: f64| {
                let mut schema = Schema::new("a", "A");
                let mut field = Field::new("x", Type::Any);
                field.default = Some(json!(value));
                schema.fields.push(field);
                let mut registry = Registry::empty();
                registry.register(schema).unwrap();
                registry.hash()
            };
            prop_assert_eq!(of_default(a) == of_default(b), a.to_bits() == b.to_bits());
        }
    }

    #[test]
    fn a_change_of_a_registry_changes_its_hash() {
        let mut registry = Registry::standard();
        let before = registry.hash();
        let mut schema = Schema::new("finding", "FD");
        schema.fields.push(Field::new("topic", Type::String));
        registry.register(schema).unwrap();
        let added = registry.hash();
        assert_ne!(added, before);
        let read = Registry::from_json(&registry.to_json().to_string()).unwrap();
        assert_eq!(read.hash(), added);
    }
}
