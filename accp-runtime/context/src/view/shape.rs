//! Chooses the schema under which a map is shown as a record.

use accp_registry::{Registry, Schema};

use accp_frame::{Map, Value};

/// Returns the schema under which a map is shown as a record, if that is shorter than its keys. The schema has all
/// keys of the map, and as few other fields as possible. Records of a union differ in their fields, so they are
/// always shown with their keys.
pub fn of<'r>(registry: &'r Registry, map: &Map<'_>) -> Option<&'r Schema> {
    let has_all = |schema: &&Schema| fits(schema, map);
    let fewest = |schema: &&Schema| schema.fields.len();
    let schema = registry.schemas().filter(has_all).min_by_key(fewest)?;
    (!map.is_empty() && is_full(schema, map.len())).then_some(schema)
}

/// Returns whether a map may be shown by position: the schema has all keys of the map, and is not a union.
pub(super) fn fits(schema: &Schema, map: &Map<'_>) -> bool {
    schema.union.is_none() && map.iter().all(|(key, _)| index(schema, key).is_some())
}

/// Returns whether a record with `values` values is shorter by position than with its keys. A key costs about as much
/// as two commas.
pub(super) fn is_full(schema: &Schema, values: usize) -> bool {
    schema.fields.len() <= 2 * values + 1
}

/// Returns the index of a field by its full name.
pub(super) fn index(schema: &Schema, name: &str) -> Option<usize> {
    schema.fields.iter().position(|field| field.name == name)
}

/// Returns the schema of all these values, if they are records of one schema.
pub(super) fn of_all<'r>(registry: &'r Registry, items: &[Value<'_>]) -> Option<&'r Schema> {
    let mut schemas = items.iter().map(|item| match item {
        Value::Map(map) => of(registry, map),
        _ => None,
    });
    let first = schemas.next()??;
    let same = |schema: Option<&Schema>| schema.is_some_and(|schema| schema.code == first.code);
    (items.len() > 1 && schemas.all(same)).then_some(first)
}

/// The intent and the operation of a frame: they decide which defaults apply. `None` for a record inside a value, where
/// all defaults apply.
pub(super) type Place<'p> = Option<(&'p str, &'p str)>;

/// Returns whether the field at this index has a default in this place.
pub(super) fn has_default(schema: &Schema, index: usize, place: Place<'_>) -> bool {
    place.is_none_or(|(intent, operation)| schema.has_default(index, &[intent, operation]))
}

/// Returns the value of a field whose cell is empty.
pub(super) fn default_of<'s>(
    schema: &'s Schema,
    index: usize,
    place: Place<'_>,
) -> Option<Value<'s>> {
    let default = schema.fields.get(index)?.default.as_ref()?;
    has_default(schema, index, place).then(|| Value::from_data(default))
}
