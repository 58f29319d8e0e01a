//! A delta turns one registry into another. A peer sends a delta if its registry differs from that of another peer
//! (draft section 6.4).

mod error;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Map, Value, json};

pub use self::error::DeltaError;
use crate::assemble::{Source, assemble};
use crate::hash::{Hash, write_canonical};
use crate::model::{Registry, Schema};

/// The schemas in which two registries differ, bound to both registries by their full hashes.
///
/// Docs, aliases, `keep`, `rules` and `to` do not travel, nor do the version and the tokenizer of the registry. The hash
/// does not cover them, so a peer could not detect that somebody changed them on the way.
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
    /// The schemas that are new or changed, as in a registry document.
    schemas: Map<String, Value>,
    /// The names of the removed schemas, ascending.
    removed: Vec<String>,
}

/// The changes that a delta may make to a registry. By default it may only add codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeltaPolicy {
    /// Whether a known code may get another meaning.
    pub allow_redefine: bool,
    /// Whether a known code may lose its meaning.
    pub allow_remove: bool,
}

impl Registry {
    /// Returns the delta that turns `base` into this registry. From [`Registry::empty`] the delta
    /// holds the whole registry, so a peer can apply it to any registry.
    pub fn delta_from(&self, base: &Self) -> Delta {
        let mut document = self.to_json();
        let mut schemas = Map::new();
        for schema in self.schemas() {
            let before = base.schema_by_name(&schema.name);
            let protocol = self.protocol;
            let is_as_before =
                |before: &Schema| before.to_canonical(protocol) == schema.to_canonical(protocol);
            if before.is_some_and(is_as_before) {
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
    /// The maximum size of the text of a delta: 256 KiB. If registries differ by more, give both
    /// sides the same registry outside of the session.
    pub const MAX_BYTES: usize = 256 * 1024;

    /// The maximum number of entries in a list or object of a delta. A frame has the same limit for its params.
    pub const MAX_ENTRIES: usize = 256;

    /// Returns the hash of the registry that the delta starts from.
    pub const fn base(&self) -> Hash {
        self.base
    }

    /// Returns the hash of the registry that the delta leads to.
    pub const fn result(&self) -> Hash {
        self.result
    }

    /// Returns whether the delta holds a whole registry, because it starts from the empty one.
    pub fn is_whole(&self) -> bool {
        self.base == Registry::empty().hash()
    }

    /// Returns the text: one line of JSON, the same for equal deltas.
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

    /// Reads the text that [`to_json`](Self::to_json) gives. The content of the schemas is only
    /// checked when the delta is applied.
    ///
    /// # Errors
    /// When the text is too large or not a delta.
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

    /// Returns the registry that results from applying this delta to `held`. It keeps the version
    /// and the tokenizer of `held`.
    ///
    /// # Errors
    /// In this order: the delta starts from another registry than `held`, its result is faulty, its result is not the
    /// registry that the delta names, or the delta changes more than `policy` allows.
    pub fn apply(&self, held: &Registry, policy: DeltaPolicy) -> Result<Registry, DeltaError> {
        let before = held.hash();
        let mut document = if self.is_whole() {
            Registry::empty_of(held.protocol).to_json()
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
        let registry =
            assemble(held.protocol, &[Source::from_value(document)]).map_err(DeltaError::Faulty)?;
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

/// Checks that every known code keeps its meaning, as far as `policy` demands. The name of a schema
/// does not travel in frames, so it may change.
fn permit(held: &Registry, next: &Registry, policy: DeltaPolicy) -> Result<(), DeltaError> {
    let (mut redefined, mut removed) = (Vec::new(), Vec::new());
    let protocol = held.protocol;
    for schema in held.schemas() {
        match next.schema(&schema.code) {
            None => removed.push(schema.code.clone()),
            Some(after) if after.to_canonical(protocol) != schema.to_canonical(protocol) => {
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

/// Removes the parts that the hash does not cover.
fn remove_uncovered(schema: &mut Value) {
    let Value::Object(members) = schema else {
        return;
    };
    for key in ["doc", "docs", "aliases", "keep", "rules"] {
        members.remove(key);
    }
    let frames = members.get_mut("frames").and_then(Value::as_array_mut);
    for frame in frames
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        frame.remove("doc");
        frame.remove("to");
    }
}

/// Limits the number of entries, because checking a registry compares its names with one another.
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
mod tests;
