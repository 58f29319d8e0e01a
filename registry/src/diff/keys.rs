//! The differences between the keys of two schemas: names, abbreviations and aliases.

use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::breaking::{
    Breaking, Broken, OTHER_FIELD, TWO_KEYS, UNKNOWN_KEY, UNKNOWN_REQUIRED, breaks, requires,
};
use super::changes::Changes;
use crate::model::{Field, Schema};

impl Changes {
    /// Reports each key that means one field in the old schema, and is the name or abbreviation of another field in
    /// the new schema.
    pub(super) fn reused(
        &mut self,
        at: &str,
        old: &Schema,
        new: &Schema,
        renamed: &[(&Field, &Field)],
    ) {
        for field in &new.fields {
            let before = before(old, field, renamed);
            let short = (field.short != field.name).then_some(&field.short);
            for key in [&field.name].into_iter().chain(short) {
                let Some((_, other)) = old.field(key).filter(|(_, other)| Some(*other) != before)
                else {
                    continue;
                };
                let description = format!(
                    "the key `{key}` stood for `{}`, and now stands for `{}`",
                    other.name, field.name
                );
                self.push(
                    format!("{at}/fields"),
                    description,
                    breaks(Broken::Both, OTHER_FIELD),
                );
            }
        }
    }

    /// Reports the added and removed aliases of a field, except those that follow from a change of its name.
    pub(super) fn aliases(
        &mut self,
        at: &str,
        old: &Schema,
        before: Option<&Field>,
        field: &Field,
    ) {
        let knows = |field: &Field, key: &str| field.keys().any(|known| known == key);
        for alias in &field.aliases {
            if before.is_some_and(|before| knows(before, alias)) {
                continue;
            }
            let other = old.field(alias).map(|(_, other)| other);
            let is_another = other.is_some_and(|other| named(old, &field.name) != Some(other));
            let breaking = is_another.then_some(Breaking {
                reader: Broken::New,
                rule: TWO_KEYS,
            });
            let description = format!("`{alias}` is now read as `{}`", field.name);
            self.push(at.to_string(), description, breaking);
        }
        let gone = before.into_iter().flat_map(|before| &before.aliases);
        for alias in gone.filter(|alias| !knows(field, alias)) {
            let description = format!("`{alias}` is no longer read as `{}`", field.name);
            self.push(at.to_string(), description, None);
        }
    }
}

/// Returns how a change of the written key of a field breaks each reader.
pub(super) fn by_keys(
    (old_schema, old): (&Schema, &Field),
    (new_schema, new): (&Schema, &Field),
) -> Vec<Breaking> {
    let rules = (
        unread((old_schema, old), &new.short),
        unread((new_schema, new), &old.short),
    );
    let breaking = match rules {
        (Some(old), Some(new)) if old == new => [breaks(Broken::Both, old), None],
        (old, new) => [
            old.and_then(|rule| breaks(Broken::Old, rule)),
            new.and_then(|rule| breaks(Broken::New, rule)),
        ],
    };
    breaking.into_iter().flatten().collect()
}

/// Returns what a reader with this schema does wrong with the value of the field, if a writer wrote it under `key`;
/// `None` if the reader reads the value as it should.
fn unread((schema, field): (&Schema, &Field), key: &str) -> Option<&'static str> {
    match schema.field(key) {
        Some((_, known)) if known == field => None,
        Some(_) => Some(OTHER_FIELD),
        None if requires(schema, field) => Some(UNKNOWN_REQUIRED),
        None => Some(UNKNOWN_KEY),
    }
}

pub(super) fn named<'s>(schema: &'s Schema, name: &str) -> Option<&'s Field> {
    schema.fields.iter().find(|field| field.name == name)
}

/// Returns the pairs of an old field and the new field that it was renamed to: the new registry has the old name as
/// an alias, or the old registry has the new name as an alias.
pub(super) fn renamed<'s>(old: &'s Schema, new: &'s Schema) -> Vec<(&'s Field, &'s Field)> {
    let mut renamed: Vec<(&Field, &Field)> = Vec::new();
    for before in old
        .fields
        .iter()
        .filter(|field| named(new, &field.name).is_none())
    {
        let is_it = |after: &&Field| {
            named(old, &after.name).is_none()
                && !renamed.iter().any(|(_, taken)| taken.name == after.name)
                && (after.aliases.contains(&before.name) || before.aliases.contains(&after.name))
        };
        if let Some(after) = new.fields.iter().find(is_it) {
            renamed.push((before, after));
        }
    }
    renamed
}

/// Returns the field of the old schema from which a field of the new schema comes: the renamed field, or the field
/// with the same name.
pub(super) fn before<'s>(
    old: &'s Schema,
    field: &Field,
    renamed: &[(&'s Field, &Field)],
) -> Option<&'s Field> {
    let renamed = renamed.iter().find(|(_, after)| after.name == field.name);
    renamed
        .map(|(before, _)| *before)
        .or_else(|| named(old, &field.name))
}

/// Returns a schema with the renamed fields under their new names.
pub(super) fn under_new_names(old: &Schema, renamed: &[(&Field, &Field)]) -> Schema {
    let mut out = old.clone();
    let frames = out.frames.iter_mut().chain(&mut out.variants);
    let listed = frames.flat_map(|frame| {
        frame
            .required
            .iter_mut()
            .chain(frame.fields.iter_mut().flatten())
    });
    let names = out.fields.iter_mut().map(|field| &mut field.name);
    for name in names.chain(listed).chain(&mut out.union) {
        if let Some((_, after)) = renamed.iter().find(|(before, _)| before.name == *name) {
            name.clone_from(&after.name);
        }
    }
    out
}
