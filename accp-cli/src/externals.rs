//! The side file: the values that went out by reference, one JSON object a line.
//!
//! ```json
//! {"key":"cold.3f4a1b2c9d0e","sha256":"3f4a1b2c9d0e..","reason":"characters","value":"..."}
//! ```
//!
//! It is content-addressed. `sha256` is the digest of the value as compact JSON, the keys of
//! objects ascending by their bytes, numbers as `serde_json` writes them (so that `1` and
//! `1.0` stay two values); the key is `cold.` and the first 12 of its digits, or more where
//! two values agree in these. Equal values stand once, under the reason of the first. A
//! reference inside a value is `{"$ref":"cold.."}` and leads to an earlier line.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};

use accp_runtime::{EncodeError, ErrorCode, External, Value};
use serde_json::{Map as JsonMap, Value as Json};
use sha2::{Digest as _, Sha256};

use crate::outcome::Failure;
use crate::output::NewFile;

/// Digits of a key, unless two values agree in them.
const DIGITS: usize = 12;

/// References within referenced values, followed this deep. An encoder nests three: a long
/// text in a deep value in one over the limits.
const MAX_CHAIN: usize = 32;

/// References that one value may lead to, all levels together: a few lines that reference
/// each other twice would double at every level. A frame holds 4096 elements at most.
const MAX_RESOLVED: usize = 100_000;

/// Writes a side file. It takes its place at [`finish`](Self::finish), never before.
#[derive(Debug)]
pub(crate) struct Externals {
    path: PathBuf,
    file: NewFile,
    /// The digest behind each key.
    keys: HashMap<String, String>,
    failure: Option<io::Error>,
}

impl Externals {
    /// Starts a side file at `path`.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let file = NewFile::create(path).map_err(Failure::at(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            keys: HashMap::new(),
            failure: None,
        })
    }

    /// Why a value could not be kept, when the fault is with the file and not with the value.
    /// After an encoding that failed, ask this first.
    pub(crate) fn failed(&mut self) -> Result<(), Failure> {
        match self.failure.take() {
            Some(error) => Err(Failure::at(&self.path)(error)),
            None => Ok(()),
        }
    }

    /// Completes the file and puts it in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        self.failed()?;
        self.file.finish().map_err(Failure::at(&self.path))
    }

    /// Reads a side file, and holds every value to its digest.
    pub(crate) fn load(path: &Path) -> Result<Loaded, Failure> {
        let file = File::open(path).map_err(Failure::at(path))?;
        let mut loaded = Loaded {
            path: Some(path.to_owned()),
            values: HashMap::new(),
        };
        for (index, line) in BufReader::new(file).split(b'\n').enumerate() {
            let line = line.map_err(Failure::at(path))?;
            if !line.trim_ascii().is_empty() {
                loaded.take(&line).map_err(|message| {
                    Failure::Input(format!("{}:{}: {message}", path.display(), index + 1))
                })?;
            }
        }
        Ok(loaded)
    }

    /// The key for a value of this digest, and whether it is new.
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
        // All 64 digits agree: it is the same value.
        (format!("cold.{digest}"), false)
    }
}

impl accp_runtime::Externals for Externals {
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
                let message = format!("{}: {error}", self.path.display());
                self.failure = Some(error);
                return Err(EncodeError::new(ErrorCode::INTERNAL_ERROR, message));
            }
        }
        Ok(key)
    }
}

/// A side file that has been read.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// The file; `None` when the values are kept in memory.
    path: Option<PathBuf>,
    values: HashMap<String, Json>,
}

impl Loaded {
    /// Values that are kept in memory and in no file.
    pub(crate) fn in_memory() -> Self {
        Self {
            path: None,
            values: HashMap::new(),
        }
    }

    /// Keeps a value and gives its key.
    pub(crate) fn keep(&mut self, value: &Value<'_>) -> String {
        let key = format!("cold.k{}", self.values.len());
        self.values.insert(key.clone(), value.to_json());
        key
    }

    /// The value with this key, references inside it as they stand: `{"$ref":"cold.."}`.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        self.values.get(key)
    }

    /// The value with what each reference in it leads to in the place of the reference.
    pub(crate) fn resolve(&self, value: &Value<'_>) -> Result<Value<'static>, Unresolved> {
        self.resolve_at(value, 0, &mut 0)
    }

    fn resolve_at(
        &self,
        value: &Value<'_>,
        level: usize,
        resolved: &mut usize,
    ) -> Result<Value<'static>, Unresolved> {
        Ok(match value {
            Value::Array(items) => {
                let items = items
                    .iter()
                    .map(|item| self.resolve_at(item, level, resolved));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let entries = map.iter().map(|(key, item)| {
                    Ok((key.to_owned(), self.resolve_at(item, level, resolved)?))
                });
                Value::Map(entries.collect::<Result<_, _>>()?)
            }
            Value::Ref(key) => {
                let unresolved = |message| {
                    Err(Unresolved {
                        key: key.to_string(),
                        message,
                    })
                };
                let Some(json) = self.get(key) else {
                    return unresolved(match &self.path {
                        Some(path) => {
                            format!("expected a key of {}, found `{key}`", path.display())
                        }
                        None => format!("`{key}` is a reference, and there is no side file"),
                    });
                };
                *resolved += 1;
                if *resolved > MAX_RESOLVED {
                    return unresolved(format!("expected at most {MAX_RESOLVED} references"));
                }
                if level == MAX_CHAIN {
                    return unresolved(format!("expected at most {MAX_CHAIN} nested references"));
                }
                self.resolve_at(&Value::from_json(json), level + 1, resolved)
                    .map_err(|inner| Unresolved {
                        key: key.to_string(),
                        ..inner
                    })?
            }
            scalar => scalar.clone().into_owned(),
        })
    }

    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        const CURE: &str = "write the side file anew, or restore it from a copy";
        let record: JsonMap<String, Json> = serde_json::from_slice(line)
            .map_err(|error| format!("no record of a side file: {error}; {CURE}"))?;
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
            Some(_) => Err(format!("the key `{key}` stands twice; {CURE}")),
            None => Ok(()),
        }
    }
}

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    /// The reference in the frame; the one at fault may be inside its value.
    pub(crate) key: String,
    /// What was expected.
    pub(crate) message: String,
}

/// The value with the keys of its objects ascending.
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
    use accp_runtime::{Externals as _, Reason};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn put(externals: &mut Externals, json: &Json) -> String {
        let value = Value::from_json(json);
        externals
            .put(External {
                value: &value,
                reason: Reason::Characters,
            })
            .unwrap()
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
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("side.jsonl");
            let mut externals = Externals::create(&path).unwrap();
            let keys = values.iter().map(|json| {
                let value = Value::from_data(json);
                externals.put(External { value: &value, reason: Reason::Depth }).unwrap()
            });
            let keys: Vec<_> = keys.collect();
            externals.finish().unwrap();
            let loaded = Externals::load(&path).unwrap();
            for (key, json) in keys.iter().zip(&values) {
                let value = loaded.resolve(&Value::Ref(key.into())).unwrap();
                prop_assert_eq!(value.into_data(&mut |_| None), Ok(json.clone()));
            }
        }
    }

    #[test]
    fn equal_values_stand_once_and_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("side.jsonl");
        let mut externals = Externals::create(&path).unwrap();
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
        assert!(!path.exists());
        externals.finish().unwrap();

        let loaded = Externals::load(&path).unwrap();
        for (key, value) in keys.iter().zip(&values) {
            assert_eq!(loaded.get(key), Some(value));
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 4);
        insta::assert_snapshot!(text.lines().next().unwrap(), @r#"{"key":"cold.382632c74f3e","sha256":"382632c74f3e60e503647f6ae94ba092cb72f79cab0af8a0ee05cba12e32e29a","reason":"characters","value":"a text"}"#);
    }

    #[test]
    fn a_reference_within_a_value_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("side.jsonl");
        let mut externals = Externals::create(&path).unwrap();
        let inner = put(&mut externals, &json!(["deep"]));
        let outer = put(&mut externals, &json!({"x": {"$ref": inner}}));
        externals.finish().unwrap();

        let loaded = Externals::load(&path).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let mut externals = Externals::create(&folder.path().join("side.jsonl")).unwrap();
        let [a, b] = ["a", "b"].map(|end| format!("{}{end}", "0".repeat(63)));
        let (short, long) = (externals.key(&a), externals.key(&b));
        assert_eq!(short, ("cold.000000000000".to_owned(), true));
        assert_eq!(long, ("cold.0000000000000".to_owned(), true));
        assert_eq!(externals.key(&a), (short.0, false));
        assert_eq!(externals.key(&b), (long.0, false));
    }

    #[test]
    fn a_damaged_file_is_refused_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("side.jsonl");
        let mut externals = Externals::create(&path).unwrap();
        put(&mut externals, &json!("one"));
        put(&mut externals, &json!("two"));
        externals.finish().unwrap();
        let good = std::fs::read_to_string(&path).unwrap();

        let second = good.lines().nth(1).unwrap();
        let cases = [
            (good.replace("two", "tow"), "was changed"),
            (format!("{second}\n{second}\n"), "stands twice"),
            (good[..good.len() - 4].to_owned(), "no record"),
            (
                format!("{}\n{{}}\n", good.lines().next().unwrap()),
                "no text under `key`",
            ),
            (good.replace("cold.", "warm."), "does not belong"),
        ];
        for (text, expected) in cases {
            std::fs::write(&path, text).unwrap();
            let message = Externals::load(&path).unwrap_err().to_string();
            let message = message.strip_prefix(&path.display().to_string()).unwrap();
            assert!(message.contains(expected), "{message}");
            assert!(
                message.starts_with(":2: ") || expected == "does not belong",
                "{message}"
            );
        }
    }
}
