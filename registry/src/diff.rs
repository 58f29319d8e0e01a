//! The differences between two registries, and whether they break peers that use one of the two.

mod breaking;
mod changes;
mod frames;
mod keys;
mod variants;

use alloc::format;
use alloc::vec::Vec;

use crate::model::{Field, Registry, Schema};

pub use breaking::{Breaking, Broken};
pub use changes::Change;

use breaking::{LOST, OTHER_VALUE, REFUSED_FIELD, UNKNOWN_CODE, breaks, by_types};
use changes::Changes;
use keys::{before, by_keys, named, renamed, under_new_names};

/// Returns the changes from one registry to the next, in the order of the schemas' names.
///
/// The list is empty if, and only if, versions, tokenizers, hashes and aliases are equal.
///
/// Peers update at different times, so for a while both registries are on the wire. A change breaks a reader if the
/// other side may write a frame that this reader refuses, or reads with another meaning. The old reader reads frames
/// that are written with the new registry. The new reader reads frames that are written with the old registry:
///
/// | Change | Breaks |
/// |---|---|
/// | schema added | none: frames of the other schemas are as before |
/// | schema removed | the new reader: its frames are unknown (E1003) |
/// | schema renamed | none: only the code travels |
/// | code changed | both: frames with either code are unknown to one side (E1003) |
/// | field added | none: a reader ignores unknown keys, or fills in the default |
/// | field removed | the old reader: it no longer gets the value, or the field was required (E1004) |
/// | field renamed, abbreviation changed | a reader that does not know the key of the other side, as a name, an abbreviation or an alias: it drops the value, or the field is required there (E1004) |
/// | name, abbreviation or alias of one field taken for another field | both: each reads the value of one field as that of the other |
/// | alias added or removed | none, unless the older registry has the key for another field |
/// | required added | the new reader: the other side leaves the field out (E1004) |
/// | required removed | the old reader: as above |
/// | type widened: `integer` to `decimal` or `number`, `decimal` to `number` | the old reader: it refuses the new values (E1004) |
/// | type changed in another way | both: a value is refused, or read as another (E1004) |
/// | variant of a union added, or an old field added to a variant | the old reader: it refuses the record (E1004) |
/// | variant of a union removed, or a remaining field removed from a variant | the new reader: as above |
/// | enum value added | the old reader: it refuses the value (E1004) |
/// | enum value removed | the new reader: as above |
/// | symbol of an enum value changed | a reader that does not know the text of the other side |
/// | default added, removed or changed | both: a field left out means another value |
/// | frame added | the old reader, if it requires a field that the frame may leave out (E1004); else none: it takes no defaults in a frame that it does not list, and nobody relies on such a frame |
/// | frame removed | the new reader: the other side still sends the frame |
/// | first frame added, last frame removed | a reader that takes other defaults in the frames that only the other side lists: a schema without `frames` lists every frame |
/// | required fields of a frame or its envelope | as for `required` |
/// | fields that a frame fills with defaults | both: as for the default |
/// | `inline`, `optional`, orders, versions, tokenizer | none: both forms are understood |
///
/// A field counts as renamed if the new registry has the old name as an alias, or if the old registry has the new
/// name as an alias. Docs, `keep`, `rules` and `to` do not count as differences.
///
/// ```
/// use accp_registry::{Broken, Registry, diff};
///
/// let old = Registry::from_json(r#"{ "schemas": { "a": { "code": "A", "fields": ["x"] } } }"#)?;
/// let new = Registry::from_json(r#"{ "schemas": { "a": { "code": "A", "fields": ["z", "y"],
///     "aliases": { "z": ["x"] } } } }"#)?;
/// let changes = diff(&old, &new);
/// assert_eq!(changes[0].description, "the field `x` was renamed to `z`");
/// assert_eq!(changes[0].breaking.map(|breaking| breaking.reader), Some(Broken::Old));
/// assert_eq!(changes[1].description, "the field `y` was added");
/// assert!(changes[1].breaking.is_none());
/// # Ok::<(), accp_registry::Problems>(())
/// ```
pub fn diff(old: &Registry, new: &Registry) -> Vec<Change> {
    let mut changes = Changes {
        protocol: new.protocol(),
        list: Vec::new(),
    };
    changes.compare("/version", "version", &old.version, &new.version, None);
    let tokenizer = |registry: &Registry| registry.tokenizer.clone().unwrap_or("none".into());
    let (before, after) = (tokenizer(old), tokenizer(new));
    changes.compare("/tokenizer", "tokenizer", &before, &after, None);

    for schema in old
        .schemas()
        .filter(|schema| counterpart(schema, old, new).is_none())
    {
        changes.push(
            format!("/schemas/{}", schema.name),
            format!("the schema `{}` was removed", schema.code),
            breaks(Broken::New, UNKNOWN_CODE),
        );
    }
    for schema in new.schemas() {
        match counterpart(schema, new, old) {
            Some(before) => changes.schema(before, schema),
            None => changes.push(
                format!("/schemas/{}", schema.name),
                format!("the schema `{}` was added", schema.code),
                None,
            ),
        }
    }
    changes.list
}

/// Returns the schema of `there` that matches `schema` of `here`: the schema with the same name, or else the schema
/// with the same code, unless `here` has a schema with the name of that schema.
fn counterpart<'r>(schema: &Schema, here: &Registry, there: &'r Registry) -> Option<&'r Schema> {
    there.schema_by_name(&schema.name).or_else(|| {
        let other = there.schema(&schema.code)?;
        here.schema_by_name(&other.name).is_none().then_some(other)
    })
}

impl Changes {
    fn schema(&mut self, old: &Schema, new: &Schema) {
        let at = format!("/schemas/{}", new.name);
        self.compare(&at, "name", &old.name, &new.name, None);
        self.compare(
            &format!("{at}/code"),
            "code",
            &old.code,
            &new.code,
            breaks(Broken::Both, UNKNOWN_CODE),
        );
        self.compare(
            &format!("{at}/version"),
            "version",
            &old.version,
            &new.version,
            None,
        );

        let renamed = renamed(old, new);
        self.gone(&at, old, new, &renamed);
        for field in &new.fields {
            self.kept_or_added(&at, (old, new), field, &renamed);
        }
        self.reused(&at, old, new, &renamed);
        let old = &under_new_names(old, &renamed);
        let common = |schema: &Schema, other: &Schema| {
            let names = schema.fields.iter().map(|field| field.name.clone());
            names
                .filter(|name| named(other, name).is_some())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (before, after) = (common(old, new), common(new, old));
        self.compare(
            &format!("{at}/fields"),
            "order of the fields",
            &before,
            &after,
            None,
        );
        self.frames(&at, old, new);
        for (pointer, description, breaking) in variants::variants(&at, old, new) {
            self.push(pointer, description, breaking);
        }
    }

    /// Reports the fields of the old schema that were renamed or removed.
    fn gone(&mut self, at: &str, old: &Schema, new: &Schema, renamed: &[(&Field, &Field)]) {
        let at = format!("{at}/fields");
        for (before, after) in renamed {
            let (from, to) = (&before.name, &after.name);
            let description = format!("the field `{from}` was renamed to `{to}`");
            self.push_each(&at, &description, by_keys((old, before), (new, after)));
        }
        let is_renamed = |name: &str| renamed.iter().any(|(before, _)| before.name == name);
        for field in old
            .fields
            .iter()
            .filter(|field| named(new, &field.name).is_none() && !is_renamed(&field.name))
        {
            let description = format!("the field `{}` was removed", field.name);
            let rule = if field.required { REFUSED_FIELD } else { LOST };
            self.push(at.clone(), description, breaks(Broken::Old, rule));
        }
    }

    /// Reports the changes of a field of the new schema.
    fn kept_or_added<'s>(
        &mut self,
        at: &str,
        (old, new): (&'s Schema, &Schema),
        field: &Field,
        renamed: &[(&'s Field, &Field)],
    ) {
        let before = before(old, field, renamed);
        if let Some(before) = before {
            // The new key of a renamed field is reported with its new name.
            if before.name == field.name {
                let key = format!("{at}/abbreviations/{}", field.name);
                let what = format!("abbreviation of `{}`", field.name);
                let breaking = by_keys((old, before), (new, field));
                self.compare(&key, &what, &before.short, &field.short, breaking);
            }
            // Changes in the values of a tag are reported as changes of variants.
            let is_tag =
                old.union.as_ref() == Some(&before.name) && new.union.as_ref() == Some(&field.name);
            self.field(at, before, field, is_tag);
        } else {
            let description = format!("the field `{}` was added", field.name);
            self.push(format!("{at}/fields"), description, None);
            if field.required {
                self.required(&format!("{at}/required"), &field.name, "", true);
            }
        }
        self.aliases(&format!("{at}/aliases/{}", field.name), old, before, field);
    }

    fn field(&mut self, at: &str, old: &Field, new: &Field, is_tag: bool) {
        let name = &new.name;
        let key = |list: &str| format!("{at}/{list}/{name}");
        if old.ty != new.ty && !is_tag {
            let breaking = by_types(&old.ty, &new.ty);
            let description = format!("the type of `{name}` changed from {} to {}", old.ty, new.ty);
            self.push(key("types"), description, breaking);
        }
        let default = |field: &Field| {
            field
                .default_wire
                .as_ref()
                .map_or("none".into(), |wire| format!("`{wire}`"))
        };
        if old.default_wire != new.default_wire {
            let description = format!(
                "the default of `{name}` changed from {} to {}",
                default(old),
                default(new),
            );
            self.push(
                key("defaults"),
                description,
                breaks(Broken::Both, OTHER_VALUE),
            );
        }
        if old.required != new.required {
            self.required(&format!("{at}/required"), name, "", new.required);
        }
        for (list, before, after) in [
            ("optional", old.optional, new.optional),
            ("inline", old.inline, new.inline),
        ] {
            if before != after {
                let now = if after { "now" } else { "no longer" };
                self.push(
                    format!("{at}/{list}"),
                    format!("`{name}` is {now} {list}"),
                    None,
                );
            }
        }
    }
}
