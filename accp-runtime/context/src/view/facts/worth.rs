//! Which values are worth keeping as facts.

use accp_frame::Value;
use accp_registry::{Registry, Schema};

use crate::view::shape;

/// Scalars with more bytes are not facts.
pub(super) const LONGEST: usize = 60;
/// Returns whether a field holds its default in the frame. The default's text is compared, so its
/// spelling in the registry does not matter.
pub(crate) fn is_default(
    registry: &Registry,
    schema: Option<&Schema>,
    name: &str,
    value: &Value<'_>,
    place: shape::Place<'_>,
) -> bool {
    let field = schema.and_then(|schema| Some((schema, schema.field(name)?)));
    field.is_some_and(|(schema, (at, field))| {
        let mut wire = String::new();
        field.default_wire.is_some()
            && shape::has_default(schema, at, place)
            && field
                .ty
                .write_json(registry, &value.to_json(), &mut wire)
                .is_ok()
            && field.default_wire.as_ref() == Some(&wire)
    })
}

/// Returns whether a value is worth keeping: it is not null, and a text is not empty and has at
/// most this many bytes.
pub(crate) fn says(value: &Value<'_>, longest: usize) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty() && text.len() <= longest,
        _ => true,
    }
}
