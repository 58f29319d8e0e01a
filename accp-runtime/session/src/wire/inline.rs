//! Puts schemas, values and the last checkpoint into frames for a peer that knows only the draft. Other peers fetch
//! them.

use std::sync::Arc;

use accp_registry::{Change, Delta, DeltaPolicy, Hash, diff};
use serde_json::{Map as JsonMap, Value as Json};

use crate::reference::{ColdKey, Reference, Target, places, read_value};
use crate::wire::marks;
use crate::wire::scan::Scanned;
use accp_context::Digest;
use accp_frame::{Limits, Map, Registry, Value};

/// The greatest number of references in a frame that are replaced by their values, which are all in
/// memory.
const REPLACED: usize = 64;

/// Returns the schemas that a peer lacks. `theirs` is the hash of the peer's registry, or its first digits. A peer
/// that has neither this registry nor the standard one gets all schemas.
pub(crate) fn lacking(own: &Registry, hash: Hash, theirs: &str) -> Vec<(String, Value<'static>)> {
    let has = |hash: Hash| !theirs.is_empty() && hash.to_string().starts_with(theirs);
    if has(hash) {
        return Vec::new();
    }
    let standard = Registry::shared();
    let document = own.to_json();
    let schemas = document.get("schemas").and_then(Json::as_object);
    let is_known = |name: &str| {
        let known = standard.schema_by_name(name);
        has(standard.hash()) && known.is_some() && known == own.schema_by_name(name)
    };
    let schemas = schemas.into_iter().flatten();
    let lacking = schemas.filter(|(name, _)| !is_known(name));
    lacking
        .map(|(name, schema)| (name.clone(), value_of(schema)))
        .collect()
}

/// Returns a schema in the form of section 6.2 of the draft: without its documentation, and without the parts that are
/// nested deeper than a frame allows.
fn value_of(schema: &Json) -> Value<'static> {
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        for key in ["doc", "docs", "keep", "rules"] {
            schema.remove(key);
        }
        let frames = schema.get_mut("frames").and_then(Json::as_array_mut);
        for frame in frames.into_iter().flatten().filter_map(Json::as_object_mut) {
            frame.remove("doc");
        }
    }
    Value::from_data(&schema).into_owned()
}

/// Returns a registry with the schemas that a peer of the draft alone has sent, without those whose codes the
/// registry `own` already has.
///
/// # Errors
/// The fault of the schemas.
pub(crate) fn registry_of(schemas: &Map<'_>, own: &Registry) -> Result<Registry, String> {
    let document = Value::Map(schemas.clone()).into_data(&mut |_| None);
    let Json::Object(schemas) = document.map_err(|key| format!("${key} is not a schema"))? else {
        return Err("schemas are a map".into());
    };
    let is_new = |schema: &Json| {
        let code = schema.get("code").and_then(Json::as_str);
        code.is_none_or(|code| own.schema(code).is_none())
    };
    let new: JsonMap<_, _> = schemas
        .into_iter()
        .filter(|(_, schema)| is_new(schema))
        .collect();
    let document = Json::Object(
        [("schemas".to_owned(), Json::Object(new))]
            .into_iter()
            .collect(),
    );
    Registry::from_json(&document.to_string()).map_err(|problems| problems.to_string())
}

/// Reads the difference between two registries.
///
/// # Errors
/// What is wrong with the text.
pub(crate) fn delta_of(bytes: &[u8]) -> Result<Delta, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
    Delta::from_json(text).map_err(|error| error.to_string())
}

/// Returns the registry that a peer sent whole.
///
/// # Errors
/// What is wrong with the registry.
pub(crate) fn whole(delta: &Delta) -> Result<Registry, String> {
    let registry = delta.apply(&Registry::empty(), DeltaPolicy::default());
    registry.map_err(|error| error.to_string())
}

/// Returns the changes from one registry to another that break a reader. Nobody knows which of the two registries
/// is older. So a schema counts only if it breaks a reader in both directions: a schema or an optional field that
/// only one registry has may simply be newer.
pub(crate) fn clashes(one: &Registry, other: &Registry) -> Vec<Change> {
    let breaking = |from, to| {
        let mut changes = diff(from, to);
        changes.retain(|change| change.breaking.is_some());
        changes
    };
    let back = breaking(other, one);
    let mut changes = breaking(one, other);
    changes.retain(|change| {
        let schema = schema_of(change);
        back.iter().any(|back| schema_of(back) == schema)
    });
    changes
}

/// Returns the name of the schema that a change is about.
fn schema_of(change: &Change) -> Option<&str> {
    change.pointer.split('/').nth(2)
}

/// Returns the registry of this side with the schemas of a peer added.
///
/// # Errors
/// How the schemas clash, or that they are too large together: then no peer could fetch them.
pub(crate) fn merged(own: &Registry, theirs: Registry) -> Result<Registry, String> {
    let mut all = own.clone();
    all.merge(theirs).map_err(|problems| problems.to_string())?;
    check_size(&all)?;
    Ok(all)
}

/// Checks that peers can fetch the schemas of a registry.
///
/// # Errors
/// How many bytes they may take together.
pub(crate) fn check_size(registry: &Registry) -> Result<(), String> {
    let most = Delta::MAX_BYTES;
    if registry.to_json().to_string().len() > most {
        return Err(format!("the schemas together take more than {most} bytes"));
    }
    Ok(())
}

/// Returns a checkpoint as a param of `sync:state`.
pub(crate) fn checkpoint(digest: &Digest) -> Map<'static> {
    let (_, last) = digest.checkpoints();
    let facts = digest.facts().iter().map(|fact| {
        let relationship = Value::from(fact.relationship());
        let triple = [fact.entity(), relationship, fact.value()];
        Value::Array(triple.map(Value::into_owned).into())
    });
    let facts: Vec<_> = facts.collect();
    [
        ("id", Value::from(format!("ckpt_{last}"))),
        ("summary", Value::from(digest.summary().to_owned())),
        ("facts", Value::Array(facts)),
    ]
    .into_iter()
    .collect()
}

/// Returns the keys of at most [`REPLACED`] values that a frame refers to without a path, each with the place of its
/// reference.
pub(crate) fn values(text: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    let found = places(text).filter_map(|(at, key)| {
        let reference = Reference::parse(key)?;
        let is_value = matches!(reference.target, Target::Cold(ColdKey::Value { .. }));
        (is_value && reference.path.is_none()).then_some((at, key.strip_prefix("cold.")?))
    });
    found.take(REPLACED)
}

/// Returns whether these bytes may stand in a frame in the place of their reference. A member can
/// put any bytes, and bytes that are not one value would change the frame around them.
pub(crate) fn fits(bytes: &[u8], limits: Limits) -> bool {
    bytes.len() <= limits.frame_bytes && read_value(bytes).is_ok()
}

/// Returns the frame with the values in the place of their references, as far as the frame stays
/// within the limits. The values have to [fit](fits).
pub(crate) fn with_values<'v>(
    text: &Arc<str>,
    registry: &Registry,
    limits: Limits,
    get: impl Fn(&str) -> Option<&'v str>,
) -> Arc<str> {
    let found = values(text).filter_map(|(at, key)| {
        let value = marks::in_place(text, at, get(key)?, registry)?;
        Some((at, key.len(), value))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        return Arc::clone(text);
    }
    let replaced = |text: &str, found: &[(usize, usize, String)]| {
        // Many references to one long value could make a text that is too large for memory, so
        // they stay.
        let values = found.iter().map(|(_, _, value)| value.len());
        let most = limits.frame_bytes.saturating_add(text.len());
        if values.fold(0, usize::saturating_add) > most {
            return None;
        }
        let (mut whole, mut end) = (String::new(), 0);
        for (at, length, value) in found {
            whole.push_str(text.get(end..*at)?);
            whole.push_str(value);
            end = at + "$cold.".len() + length;
        }
        whole.push_str(text.get(end..)?);
        Scanned::new(&whole, limits).is_ok().then_some(whole)
    };
    if let Some(whole) = replaced(text, &found) {
        return whole.into();
    }
    let mut text = text.to_string();
    // The loop begins at the end, so that the places of earlier references stay right.
    for one in found.iter().rev() {
        text = replaced(&text, std::slice::from_ref(one)).unwrap_or(text);
    }
    text.into()
}
