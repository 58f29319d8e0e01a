//! The side file: the values that frames send by reference, one JSON object a line.
//!
//! ```json
//! {"key":"cold.3f4a1b2c9d0e","sha256":"3f4a1b2c9d0e..","reason":"characters","value":"..."}
//! ```
//!
//! The file is content-addressed. `sha256` is the digest of the value as compact JSON, with the
//! keys of objects ascending by their bytes and numbers as `serde_json` writes them (so that `1`
//! and `1.0` stay two values). The key is `cold.` and the first 12 digits of the digest, or more
//! digits where two values agree in these. The file holds equal values once, with the reason of
//! the first. A reference inside a value is `{"$ref":"cold.."}` and leads to an earlier line.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io::{self, BufRead, Write};

use accp_frame::{EncodeError, ErrorCode, External, Externals, Value};
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::exact::read_json;
use crate::resolve::{Unresolved, resolve};

/// Digits of a key, unless two values agree in them.
const DIGITS: usize = 12;

/// Writes a side file.
pub struct SideFile<W> {
    file: W,
    /// The digest behind each key.
    keys: HashMap<String, String>,
    failure: Option<io::Error>,
}

impl<W> fmt::Debug for SideFile<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("SideFile");
        out.field("values", &self.keys.len())
            .finish_non_exhaustive()
    }
}

impl<W: Write> SideFile<W> {
    /// Makes a side file whose records go to `file`.
    pub fn new(file: W) -> Self {
        Self {
            file,
            keys: HashMap::new(),
            failure: None,
        }
    }

    /// Returns the error of the file, if writing it failed. Call this method first after an encoding that failed: the
    /// cause may be the file, and not a value.
    pub fn failed(&mut self) -> io::Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Returns the file, with all records in it.
    pub fn finish(mut self) -> io::Result<W> {
        self.failed()?;
        Ok(self.file)
    }

    /// Returns the key for a value of this digest, and whether the key is new.
    fn key(&mut self, digest: &str) -> (String, bool) {
        for digits in DIGITS..=digest.len() {
            let key = format!("cold.{}", &digest[..digits]);
            match self.keys.get(&key) {
                None => {
                    self.keys.insert(key.clone(), digest.to_owned());
                    return (key, true);
                }
                Some(other) if other == digest => return (key, false),
                Some(_) => {}
            }
        }
        // All 64 digits of the digest agree, so the value is the same.
        (format!("cold.{digest}"), false)
    }
}

impl<W: Write> Externals for SideFile<W> {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        let value = canonical(external.value.to_json());
        let text = value.to_string();
        let digest = hex_digest(&text);
        let (key, is_new) = self.key(&digest);
        if is_new {
            let reason = external.reason.as_str();
            let written = writeln!(
                self.file,
                r#"{{"key":"{key}","sha256":"{digest}","reason":"{reason}","value":{text}}}"#
            );
            if let Err(error) = written {
                let message = error.to_string();
                self.failure = Some(error);
                return Err(EncodeError::new(ErrorCode::INTERNAL_ERROR, message));
            }
        }
        Ok(key)
    }
}

/// The reason why a side file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SideFileError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A record is damaged.
    #[error("{line}: {message}")]
    Record {
        /// The line of the record, from 1.
        line: u64,
        /// The fault of the record, and the cure.
        message: String,
    },
}

/// The values behind references: from a side file, or kept in memory.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// The name of the side file; `None` for values kept in memory.
    name: Option<String>,
    values: HashMap<String, Json>,
}

impl Externals for Values {
    fn put(&mut self, external: External<'_, '_>) -> Result<String, EncodeError> {
        let key = format!("cold.k{}", self.values.len());
        self.values.insert(key.clone(), external.value.to_json());
        Ok(key)
    }
}

impl Values {
    /// Reads the side file of this name, and checks every value against its digest.
    ///
    /// # Errors
    /// When reading fails, or a record is damaged.
    pub fn read(name: &str, file: impl BufRead) -> Result<Self, SideFileError> {
        let mut values = Self {
            name: Some(name.to_owned()),
            values: HashMap::new(),
        };
        for (number, line) in (1..).zip(file.split(b'\n')) {
            let text = line?;
            if !text.trim_ascii().is_empty() {
                let line = number;
                values
                    .take(&text)
                    .map_err(|message| SideFileError::Record { line, message })?;
            }
        }
        Ok(values)
    }

    /// Returns the value with this key. References inside the value stay: `{"$ref":"cold.."}`.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.values.get(key)
    }

    /// Replaces each reference in the value by the value that the reference leads to.
    ///
    /// # Errors
    /// When a reference leads nowhere; the error names the first such reference.
    pub fn resolve(&self, value: &Value<'_>) -> Result<Value<'static>, Unresolved> {
        resolve(value, &mut |key| match (self.get(key), &self.name) {
            (Some(json), _) => Ok(Some(Value::from_json(json).into_owned())),
            (None, Some(name)) => Err(format!("expected a key of {name}, found `{key}`")),
            (None, None) => Err(format!("`{key}` is a reference, and there is no side file")),
        })
    }

    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        const CURE: &str = "write the side file anew, or restore it from a copy";
        let (record, _) = read_json(line)
            .map_err(|error| format!("not a record of a side file: {error}; {CURE}"))?;
        let text = |name: &str| {
            record
                .get(name)
                .and_then(Json::as_str)
                .ok_or_else(|| format!("the record has no text under `{name}`; {CURE}"))
        };
        let (key, sha256) = (text("key")?, text("sha256")?);
        let value = record
            .get("value")
            .ok_or_else(|| format!("the record has no `value`; {CURE}"))?;
        let value = canonical(value.clone());
        let digest = hex_digest(&value.to_string());
        if digest != sha256 {
            return Err(format!(
                "the value of `{key}` was changed: its sha256 is {digest}, the record says \
                 {sha256}; {CURE}"
            ));
        }
        let digits = key.strip_prefix("cold.").unwrap_or_default();
        if digits.len() < DIGITS || !digest.starts_with(digits) {
            return Err(format!(
                "the key `{key}` does not belong to its value; {CURE}"
            ));
        }
        match self.values.insert(key.to_owned(), value) {
            Some(_) => Err(format!("two records have the key `{key}`; {CURE}")),
            None => Ok(()),
        }
    }
}

/// Returns the value with the keys of its objects in ascending order.
fn canonical(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(canonical).collect(),
        Json::Object(members) => {
            let mut members: Vec<_> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            members
                .into_iter()
                .map(|(key, value)| (key, canonical(value)))
                .collect()
        }
        scalar => scalar,
    }
}

fn hex_digest(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

#[cfg(test)]
mod tests {
    use accp_frame::Reason;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn put(externals: &mut SideFile<Vec<u8>>, json: &Json) -> String {
        let value = Value::from_json(json);
        externals
            .put(External {
                value: &value,
                reason: Reason::Characters,
            })
            .unwrap()
    }

    fn written(externals: SideFile<Vec<u8>>) -> String {
        String::from_utf8(externals.finish().unwrap()).unwrap()
    }

    fn read(text: &str) -> Result<Values, SideFileError> {
        Values::read("side.jsonl", text.as_bytes())
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            any::<u64>().prop_map(Json::from),
            any::<f64>().prop_map(Json::from),
            any::<String>().prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                proptest::collection::btree_map("[$]{0,2}ref|[a-c]|\\PC{0,3}", inner, 0..4)
                    .prop_map(|members| Json::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_comes_back(values in proptest::collection::vec(any_json(), 1..4)) {
            let mut externals = SideFile::new(Vec::new());
            let keys = values.iter().map(|json| {
                let value = Value::from_data(json);
                externals.put(External { value: &value, reason: Reason::Depth }).unwrap()
            });
            let keys: Vec<_> = keys.collect();
            let loaded = read(&written(externals)).unwrap();
            for (key, json) in keys.iter().zip(&values) {
                let value = loaded.resolve(&Value::Ref(key.into())).unwrap();
                prop_assert_eq!(value.into_data(&mut |_| None), Ok(json.clone()));
            }
        }
    }

    #[test]
    fn equal_values_stand_once_and_come_back() {
        let mut externals = SideFile::new(Vec::new());
        let values = [
            json!("a text"),
            json!(1),
            json!(1.0),
            json!({"b": [1, null], "a": true}),
        ];
        let keys: Vec<_> = values
            .iter()
            .map(|value| put(&mut externals, value))
            .collect();
        assert_eq!(
            put(&mut externals, &json!({"a": true, "b": [1, null]})),
            keys[3]
        );
        let text = written(externals);
        let loaded = read(&text).unwrap();
        for (key, value) in keys.iter().zip(&values) {
            assert_eq!(loaded.get(key), Some(value));
        }
        assert_eq!(text.lines().count(), 4);
        insta::assert_snapshot!(text.lines().next().unwrap(), @r#"{"key":"cold.382632c74f3e","sha256":"382632c74f3e60e503647f6ae94ba092cb72f79cab0af8a0ee05cba12e32e29a","reason":"characters","value":"a text"}"#);
    }

    #[test]
    fn a_reference_within_a_value_is_followed() {
        let mut externals = SideFile::new(Vec::new());
        let inner = put(&mut externals, &json!(["deep"]));
        let outer = put(&mut externals, &json!({"x": {"$ref": inner}}));
        let loaded = read(&written(externals)).unwrap();
        let outer = Value::Ref(outer.into());
        let resolved = loaded.resolve(&outer).unwrap();
        assert_eq!(resolved.to_json(), json!({"x": ["deep"]}));
        let missing = loaded
            .resolve(&Value::Ref("cold.nothing".into()))
            .unwrap_err();
        assert_eq!(missing.key, "cold.nothing");
        assert!(
            missing.message.ends_with("found `cold.nothing`"),
            "{missing:?}"
        );
    }

    #[test]
    fn values_that_agree_in_twelve_digits_get_longer_keys() {
        let mut externals = SideFile::new(Vec::new());
        let [a, b] = ["a", "b"].map(|end| format!("{}{end}", "0".repeat(63)));
        let (short, long) = (externals.key(&a), externals.key(&b));
        assert_eq!(short, ("cold.000000000000".to_owned(), true));
        assert_eq!(long, ("cold.0000000000000".to_owned(), true));
        assert_eq!(externals.key(&a), (short.0, false));
        assert_eq!(externals.key(&b), (long.0, false));
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_line() {
        let mut externals = SideFile::new(Vec::new());
        put(&mut externals, &json!("one"));
        put(&mut externals, &json!("two"));
        let good = written(externals);

        let second = good.lines().nth(1).unwrap();
        let cases = [
            (good.replace("two", "tow"), "was changed"),
            (format!("{second}\n{second}\n"), "two records"),
            (good[..good.len() - 4].to_owned(), "not a record"),
            (
                format!("{}\n{{}}\n", good.lines().next().unwrap()),
                "no text under `key`",
            ),
            (good.replace("cold.", "warm."), "does not belong"),
        ];
        for (text, expected) in cases {
            let message = read(&text).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
            assert!(
                message.starts_with("2: ") || expected == "does not belong",
                "{message}"
            );
        }
    }
}
