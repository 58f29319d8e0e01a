//! The differences between the unions of two versions of a schema.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::breaking::{Breaking, Broken, REFUSED_FIELD, REFUSED_FOREIGN, REFUSED_RECORD, breaks};
use crate::model::{FrameSpec, Schema};

/// A change of a union: the part, the description, and the readers that it breaks.
type Found = (String, String, Option<Breaking>);

/// Returns the changes of the tag and the variants. In `old`, renamed fields already have their new names. A field
/// that only one of the two schemas has is reported with the fields of the schema, not here.
pub(super) fn variants(at: &str, old: &Schema, new: &Schema) -> Vec<Found> {
    let union = format!("{at}/union");
    match (&old.union, &new.union) {
        (None, None) => return Vec::new(),
        (None, Some(tag)) => {
            let description = format!("the schema became a union by `{tag}`");
            return Vec::from([(union, description, breaks(Broken::New, REFUSED_RECORD))]);
        }
        (Some(tag), None) => {
            let description = format!("the schema is no longer a union by `{tag}`");
            return Vec::from([(union, description, breaks(Broken::Old, REFUSED_RECORD))]);
        }
        (Some(before), Some(tag)) if before != tag => {
            let description = format!("the tag changed from `{before}` to `{tag}`");
            return Vec::from([(union, description, breaks(Broken::Both, REFUSED_RECORD))]);
        }
        (Some(_), Some(_)) => {}
    }
    let mut found = Vec::new();
    let name = |variant: &FrameSpec| variant.head.concat();
    let gone = old
        .variants
        .iter()
        .filter(|variant| new.frame(&variant.head).is_none());
    found.extend(gone.map(|variant| {
        let description = format!("the variant `{}` was removed", name(variant));
        (
            format!("{at}/variants"),
            description,
            breaks(Broken::New, REFUSED_RECORD),
        )
    }));
    for (index, variant) in new.variants.iter().enumerate() {
        let at = format!("{at}/variants/{index}");
        if let Some(before) = old.frame(&variant.head) {
            fields(&at, (old, before), (new, variant), &mut found);
        } else {
            let description = format!("the variant `{}` was added", name(variant));
            found.push((at, description, breaks(Broken::Old, REFUSED_RECORD)));
        }
    }
    found
}

/// Adds the changes of the fields of one variant.
fn fields(
    at: &str,
    (old_schema, old): (&Schema, &FrameSpec),
    (new_schema, new): (&Schema, &FrameSpec),
    found: &mut Vec<Found>,
) {
    let variant = new.head.concat();
    // A reader treats a field as an unknown key if no variant in its registry has the field. So only the fields that
    // both schemas have are compared.
    let common = new_schema.fields.iter().map(|field| &field.name);
    let common = common.filter(|name| old_schema.fields.iter().any(|field| field.name == **name));
    for name in common {
        let (word, reader) = match (old.is_about(name), new.is_about(name)) {
            (false, true) => ("now", Broken::Old),
            (true, false) => ("no longer", Broken::New),
            _ => continue,
        };
        let description = format!("the variant `{variant}` {word} has `{name}`");
        found.push((
            format!("{at}/fields"),
            description,
            breaks(reader, REFUSED_FOREIGN),
        ));
    }
    for (list, other, word, reader) in [
        (&old.required, &new.required, "no longer", Broken::Old),
        (&new.required, &old.required, "now", Broken::New),
    ] {
        for name in list.iter().filter(|name| !other.contains(name)) {
            let description = format!("`{name}` is {word} required in the variant `{variant}`");
            found.push((
                format!("{at}/required"),
                description,
                breaks(reader, REFUSED_FIELD),
            ));
        }
    }
}
