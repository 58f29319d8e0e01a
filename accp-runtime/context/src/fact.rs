//! Facts of warm state: entity, relationship, value.
use std::collections::BTreeMap;

use accp_registry::lexical;

use crate::preview::UNBOUNDED;
use accp_frame::{Reader, Value};

/// A key fact (draft section 5.3, item 2): the field `relationship` of `entity` is `value`.
///
/// The value is copied from a frame exactly: a scalar, a reference, or a list of scalars.
///
/// ```
/// use accp_runtime::Value;
/// use accp_runtime::context::Fact;
///
/// let fact = Fact::new(&Value::from("T1"), "status", &Value::from("done"));
/// assert_eq!(fact.relationship(), "status");
/// assert_eq!(fact.value(), Value::from("done"));
/// assert_eq!(fact.to_string(), "[T1,status,done]");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The wire text of the entity. `value` is wire text, too.
    entity: Box<str>,
    relationship: Box<str>,
    value: Box<str>,
}

impl Fact {
    /// Makes a fact.
    pub fn new(entity: &Value<'_>, relationship: &str, value: &Value<'_>) -> Self {
        Self::of_text(&entity.to_string(), relationship, &value.to_string())
    }

    /// Makes a fact from the wire texts of its entity and value.
    pub(crate) fn of_text(entity: &str, relationship: &str, value: &str) -> Self {
        Self {
            entity: entity.into(),
            relationship: relationship.into(),
            value: value.into(),
        }
    }

    /// Returns the entity: the id of a record, or `agent.operation` if there is no id.
    pub fn entity(&self) -> Value<'_> {
        read(&self.entity)
    }

    /// Returns the full name of the field.
    pub fn relationship(&self) -> &str {
        &self.relationship
    }

    /// Returns the value.
    pub fn value(&self) -> Value<'_> {
        read(&self.value)
    }

    pub(crate) fn entity_text(&self) -> &str {
        &self.entity
    }

    pub(crate) fn value_text(&self) -> &str {
        &self.value
    }

    /// Returns the key of the fact. A later fact with the same key replaces it.
    pub(crate) fn key(&self) -> (&str, &str) {
        (&self.entity, &self.relationship)
    }

    /// Returns whether `path` leads to the fact. The path is the relationship, or the entity, a dot
    /// and the relationship.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let Some(before) = path.strip_suffix(&*self.relationship) else {
            return false;
        };
        before.is_empty() || before.strip_suffix('.') == Some(&*plain(&self.entity))
    }
}

impl std::fmt::Display for Fact {
    /// Writes `[entity,relationship,value]`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut relationship = String::new();
        lexical::write_untyped(&mut relationship, &self.relationship);
        write!(f, "[{},{relationship},{}]", self.entity, self.value)
    }
}

/// Reads a value from its wire text.
pub(crate) fn read(wire: &str) -> Value<'_> {
    Reader::new(wire, UNBOUNDED)
        .and_then(|mut r| Value::read(&mut r))
        .unwrap_or(Value::Null)
}

/// Returns the text of a scalar without marks and escapes.
pub(crate) fn plain(wire: &str) -> String {
    match read(wire) {
        Value::String(text) => text.into_owned(),
        other => other.to_string(),
    }
}

/// Appends facts. Adjacent facts on one entity form a group:
///
/// ```text
/// group  = "[" [ kind "," ] entity [ "," fields ] "]"
/// fields = "{" relationship ":" value .. "}"              ; if every name is a key
///        / "[" "[" relationship "," value "]" .. "]"      ; otherwise
/// ```
///
/// `kind` is the relationship of the fact whose value is the entity itself.
pub(crate) fn write_facts(out: &mut String, facts: &[Fact]) {
    out.push('[');
    for (at, group) in facts.chunk_by(|a, b| a.entity == b.entity).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push('[');
        let kind = group.iter().position(|fact| fact.value == fact.entity);
        if let Some(kind) = kind {
            lexical::write_untyped(out, &group[kind].relationship);
            out.push(',');
        }
        out.push_str(&group[0].entity);
        let rest = group.iter().enumerate();
        let rest = rest.filter(|(index, _)| Some(*index) != kind);
        write_fields(out, &rest.map(|(_, fact)| fact).collect::<Vec<_>>());
        out.push(']');
    }
    out.push(']');
}

fn write_fields(out: &mut String, facts: &[&Fact]) {
    if facts.is_empty() {
        return;
    }
    // Only names that are keys can be written as a map. `_` is excluded: in a map, the key `_`
    // stands for a list of pairs.
    let is_plain = |fact: &&Fact| lexical::is_key(&fact.relationship) && &*fact.relationship != "_";
    let as_map = facts.iter().all(is_plain);
    out.push_str(if as_map { ",{" } else { ",[" });
    for (at, fact) in facts.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        if as_map {
            out.push_str(&fact.relationship);
            out.push(':');
            out.push_str(&fact.value);
        } else {
            out.push('[');
            lexical::write_untyped(out, &fact.relationship);
            out.push(',');
            out.push_str(&fact.value);
            out.push(']');
        }
    }
    out.push(if as_map { '}' } else { ']' });
}

/// Reads facts that [`write_facts`] wrote; `None` for anything else.
pub(crate) fn read_facts(value: &Value<'_>) -> Option<Vec<Fact>> {
    let Value::Array(groups) = value else {
        return None;
    };
    let mut facts = Vec::new();
    for group in groups {
        read_group(group, &mut facts)?;
    }
    Some(facts)
}

fn read_group(group: &Value<'_>, facts: &mut Vec<Fact>) -> Option<()> {
    let Value::Array(parts) = group else {
        return None;
    };
    let (kind, entity, fields) = match parts.as_slice() {
        [entity, fields @ (Value::Map(_) | Value::Array(_))] => (None, entity, Some(fields)),
        [kind, entity] => (Some(kind), entity, None),
        [kind, entity, fields] => (Some(kind), entity, Some(fields)),
        _ => return None,
    };
    if !is_scalar(entity) {
        return None;
    }
    // The map sorts the facts by relationship and keeps each relationship once, as checkpoints do.
    let mut named = BTreeMap::new();
    if let Some(kind) = kind {
        named.insert(kind.as_str()?, entity);
    }
    match fields {
        None => {}
        Some(Value::Map(map)) => named.extend(map.iter()),
        Some(Value::Array(pairs)) => {
            for pair in pairs {
                let Value::Array(pair) = pair else {
                    return None;
                };
                let [Value::String(name), value] = pair.as_slice() else {
                    return None;
                };
                named.insert(name, value);
            }
        }
        Some(_) => return None,
    }
    for (name, value) in named {
        let valid = match value {
            Value::Array(items) => items.iter().all(is_scalar),
            value => is_scalar(value),
        };
        if !valid {
            return None;
        }
        facts.push(Fact::new(entity, name, value));
    }
    Some(())
}

/// Returns whether a fact can hold the value, alone or in a list.
pub(crate) fn is_scalar(value: &Value<'_>) -> bool {
    !matches!(value, Value::Null | Value::Array(_) | Value::Map(_))
}
