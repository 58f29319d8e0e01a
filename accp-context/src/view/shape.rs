//! Which schema a map is a record of.

use accp_registry::{Registry, Schema};

use accp_frame::{Map, Value};

/// The schema that a map is shown under as a record, if that is shorter than its keys: it has
/// all of them, and the fewest besides.
pub fn of<'r>(registry: &'r Registry, map: &Map<'_>) -> Option<&'r Schema> {
    let has_all = |schema: &&Schema| fits(schema, map);
    let fewest = |schema: &&Schema| schema.fields.len();
    let schema = registry.schemas().filter(has_all).min_by_key(fewest)?;
    (!map.is_empty() && is_full(schema, map.len())).then_some(schema)
}

/// Whether the schema has all keys of a map.
pub(super) fn fits(schema: &Schema, map: &Map<'_>) -> bool {
    map.iter().all(|(key, _)| index(schema, key).is_some())
}

/// Whether so many values by position are shorter than with their keys: a key costs about as
/// much as two commas.
pub(super) fn is_full(schema: &Schema, values: usize) -> bool {
    schema.fields.len() <= 2 * values + 1
}

/// The place of a field by its full name.
pub(super) fn index(schema: &Schema, name: &str) -> Option<usize> {
    schema.fields.iter().position(|field| field.name == name)
}

/// The one schema of all these values, when they are records.
pub(super) fn of_all<'r>(registry: &'r Registry, items: &[Value<'_>]) -> Option<&'r Schema> {
    let mut schemas = items.iter().map(|item| match item {
        Value::Map(map) => of(registry, map),
        _ => None,
    });
    let first = schemas.next()??;
    let same = |schema: Option<&Schema>| schema.is_some_and(|schema| schema.code == first.code);
    (items.len() > 1 && schemas.all(same)).then_some(first)
}

/// The schema that intent and operation give away: the only one with such a frame.
pub(super) fn implied<'r>(
    registry: &'r Registry,
    intent: &str,
    operation: &str,
) -> Option<&'r Schema> {
    let mut fitting = registry
        .schemas()
        .filter(|schema| schema.frame(&[intent, operation]).is_some());
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// The intent and the operation of a frame, of which it depends what has a default there; a
/// record in a value has them all.
pub(super) type Place<'p> = Option<(&'p str, &'p str)>;

/// Whether the field at this index has a default there.
pub(super) fn has_default(schema: &Schema, index: usize, place: Place<'_>) -> bool {
    place.is_none_or(|(intent, operation)| schema.has_default(index, &[intent, operation]))
}

/// What a field holds where its cell is empty.
pub(super) fn default_of<'s>(
    schema: &'s Schema,
    index: usize,
    place: Place<'_>,
) -> Option<Value<'s>> {
    let default = schema.fields.get(index)?.default.as_ref()?;
    has_default(schema, index, place).then(|| Value::from_data(default))
}
