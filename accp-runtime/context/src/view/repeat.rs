//! References to values that the prompt shows already.

use accp_registry::Registry;
use accp_registry::lexical::is_key;

use super::facts::{changed, named};
use accp_frame::{DynamicFrame, Map, Value};

/// A value with fewer bytes is not replaced, because a reference to the value would be as long.
const LEAST: usize = 40;
/// The key for the reference to a record's earlier state.
const WAS: &str = "was";

/// A message that is shown whole, so later messages may refer to it.
#[derive(Debug)]
pub(super) struct Referent<'h> {
    pub(super) position: u64,
    pub(super) message: &'h DynamicFrame<'static>,
    pub(super) names: &'h [Name],
}

/// A record in a message: its param, or `None` for the whole payload, then the code of its schema
/// and its name.
pub(super) type Name = (Option<String>, (String, String));

/// Returns the named records in a message.
pub(super) fn names(registry: &Registry, message: &DynamicFrame<'_>) -> Vec<Name> {
    let name = |map: &Map<'_>| {
        let (schema, _, name) = named(registry, map)?;
        Some((schema.code.clone(), name))
    };
    let of_params = message
        .payload
        .iter()
        .filter_map(|(key, value)| match value {
            Value::Map(map) if is_param(key) => Some((Some(String::from(key)), name(map)?)),
            _ => None,
        });
    let of_all = name(&message.payload).map(|name| (None, name));
    of_params.chain(of_all).collect()
}

/// Replaces values that earlier messages in the prompt already show. A repeated value becomes a reference. A repeated
/// record keeps its changed fields and, under `was`, a reference to its earlier state. `None` if the message repeats
/// nothing.
pub(super) fn without(
    message: &DynamicFrame<'static>,
    names: &[Name],
    shown: &[Referent<'_>],
) -> Option<DynamicFrame<'static>> {
    let rest = |param: Option<&str>, map: &Map<'_>| {
        let (_, name) = names.iter().find(|(other, _)| other.as_deref() == param)?;
        rest(name, map, shown)
    };
    if message.schema.is_some()
        && let Some(payload) = rest(None, &message.payload)
    {
        return Some(DynamicFrame {
            schema: None,
            payload,
            ..message.clone()
        });
    }
    let params = message.payload.iter().filter(|(param, _)| is_param(param));
    let shorter = params.filter_map(|(param, value)| {
        let shorter = same(value, shown).or_else(|| match value {
            Value::Map(map) => rest(Some(param), map).map(Value::Map),
            _ => None,
        });
        Some((String::from(param), shorter?))
    });
    let shorter: Vec<_> = shorter.collect();
    if shorter.is_empty() {
        return None;
    }
    let mut message = message.clone();
    for (param, value) in shorter {
        message.payload.insert(param, value);
    }
    Some(message)
}

/// Returns whether a reference can name the param, and a reference can take the place of its value.
fn is_param(name: &str) -> bool {
    is_key(name) && name != WAS
}

/// Returns a reference to the same value.
fn same(value: &Value<'_>, shown: &[Referent<'_>]) -> Option<Value<'static>> {
    if size(value) < LEAST {
        return None;
    }
    shown.iter().find_map(|one| {
        let mut params = one.message.payload.iter();
        let (name, _) = params.find(|(name, other)| is_param(name) && *other == value)?;
        Some(one.reference(Some(name)))
    })
}

/// Estimates the bytes of a value, exactly enough to compare with [`LEAST`].
fn size(value: &Value<'_>) -> usize {
    let sum = |mut sizes: &mut dyn Iterator<Item = usize>| {
        let mut sum = 0;
        while let Some(size) = (&mut sizes).next().filter(|_| sum < LEAST) {
            sum += size;
        }
        sum
    };
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => sum(&mut items.iter().map(|item| 1 + size(item))),
        Value::Map(map) => sum(&mut map.iter().map(|(key, value)| key.len() + size(value))),
        _ => 1,
    }
}

/// Returns the changed fields of a record whose earlier state is shown.
fn rest(name: &(String, String), map: &Map<'_>, shown: &[Referent<'_>]) -> Option<Map<'static>> {
    let (before, place) = shown.iter().rev().find_map(|one| {
        let (param, _) = one.names.iter().find(|(_, other)| other == name)?;
        let payload = &one.message.payload;
        let before = match param.as_deref() {
            None => payload,
            Some(param) => match payload.get(param)? {
                Value::Map(map) => map,
                _ => return None,
            },
        };
        Some((before, one.reference(param.as_deref())))
    })?;
    // The short form cannot show that a field was removed: null would be a value. So a record that
    // has lost a field is shown whole.
    let has_gone = before.iter().any(|(key, _)| map.get(key).is_none());
    if has_gone || map.get(WAS).is_some() {
        return None;
    }
    let mut rest = changed(before, map);
    rest.insert(WAS, place);
    // A record that has changed much is easier to read whole.
    (2 * rest.len() <= map.len()).then_some(rest)
}

impl Referent<'_> {
    fn reference(&self, param: Option<&str>) -> Value<'static> {
        let mut path = format!("cold.p{}", self.position);
        if let Some(param) = param {
            path.push('.');
            path.push_str(param);
        }
        Value::Ref(path.into())
    }
}
