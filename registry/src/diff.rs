//! The differences between two registries, and whether they break peers that use one of the two.

mod breaking;
mod variants;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::model::{Field, FrameSpec, Registry, Schema};
use crate::protocol::Protocol;

pub use breaking::{Breaking, Broken};
use breaking::{
    LOST, OTHER_VALUE, REFUSED_ENVELOPE, REFUSED_FIELD, TWO_KEYS, UNDECLARED, UNKNOWN_CODE, breaks,
    by_keys, by_types,
};

/// A difference between two registries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The JSON pointer (RFC 6901) of the changed part, in the registry that holds it.
    pub pointer: String,
    /// The change, from the old state to the new one.
    pub description: String,
    /// How the change breaks a peer; `None` if it does not.
    pub breaking: Option<Breaking>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.description)?;
        match self.breaking {
            Some(breaking) => write!(f, "\n    {breaking}"),
            None => Ok(()),
        }
    }
}

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
/// | field removed | the old reader: the value is lost |
/// | field renamed, abbreviation changed | a reader that does not know the key of the other side, as a name, an abbreviation or an alias |
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
/// | frame added | none: nobody relies on an undeclared frame |
/// | frame removed | the new reader: the other side still sends the frame |
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

struct Changes {
    protocol: &'static Protocol,
    list: Vec<Change>,
}

impl Changes {
    /// Names a frame in a description: `frame req:plan`
    fn what(&self, frame: &FrameSpec) -> String {
        format!("{} {}", self.protocol.noun, self.title(frame))
    }

    fn title(&self, frame: &FrameSpec) -> String {
        self.protocol.title(&frame.head)
    }

    fn push(&mut self, pointer: String, description: String, breaking: Option<Breaking>) {
        self.list.push(Change {
            pointer,
            description,
            breaking,
        });
    }

    /// Adds a change from one text to another.
    fn compare<T: PartialEq + fmt::Display + ?Sized>(
        &mut self,
        pointer: &str,
        what: &str,
        old: &T,
        new: &T,
        breaking: Option<Breaking>,
    ) {
        if old != new {
            let description = format!("the {what} changed from `{old}` to `{new}`");
            self.push(pointer.to_string(), description, breaking);
        }
    }

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
        for (before, after) in &renamed {
            let description = format!(
                "the field `{}` was renamed to `{}`",
                before.name, after.name
            );
            let breaking = by_keys(before, after);
            self.push(format!("{at}/fields"), description, breaking);
        }
        let is_renamed = |name: &str| renamed.iter().any(|(before, _)| before.name == name);
        for field in old
            .fields
            .iter()
            .filter(|field| named(new, &field.name).is_none() && !is_renamed(&field.name))
        {
            self.push(
                format!("{at}/fields"),
                format!("the field `{}` was removed", field.name),
                breaks(Broken::Old, LOST),
            );
        }
        // Changes in the values of a tag are reported as changes of variants.
        let is_tag = |before: &Field, field: &Field| {
            old.union.as_ref() == Some(&before.name) && new.union.as_ref() == Some(&field.name)
        };
        for field in &new.fields {
            let renamed = renamed.iter().find(|(_, after)| after.name == field.name);
            if let Some((before, _)) = renamed {
                self.field(&at, before, field, is_tag(before, field));
            } else if let Some(before) = named(old, &field.name) {
                let key = format!("{at}/abbreviations/{}", field.name);
                let what = format!("abbreviation of `{}`", field.name);
                let breaking = by_keys(before, field);
                self.compare(&key, &what, &before.short, &field.short, breaking);
                self.field(&at, before, field, is_tag(before, field));
            } else {
                self.push(
                    format!("{at}/fields"),
                    format!("the field `{}` was added", field.name),
                    None,
                );
                if field.required {
                    self.required(&format!("{at}/required"), &field.name, "", true);
                }
            }
            let before = renamed
                .map(|(before, _)| *before)
                .or(named(old, &field.name));
            self.aliases(&format!("{at}/aliases/{}", field.name), old, before, field);
        }
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

    fn required(&mut self, at: &str, name: &str, frame: &str, now: bool) {
        let (now, reader) = if now {
            ("now", Broken::New)
        } else {
            ("no longer", Broken::Old)
        };
        let description = format!("`{name}` is {now} required{frame}");
        self.push(at.to_string(), description, breaks(reader, REFUSED_FIELD));
    }

    /// Reports the added and removed aliases of a field, except those that follow from a change of its name.
    fn aliases(&mut self, at: &str, old: &Schema, before: Option<&Field>, field: &Field) {
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

    fn frames(&mut self, at: &str, old: &Schema, new: &Schema) {
        let at = format!("{at}/frames");
        for frame in &old.frames {
            if new.frame(&frame.head).is_none() {
                let description = format!("the {} was removed", self.what(frame));
                self.push(at.clone(), description, breaks(Broken::New, UNDECLARED));
            }
        }
        for (index, frame) in new.frames.iter().enumerate() {
            match old.frame(&frame.head) {
                Some(before) => self.frame(&format!("{at}/{index}"), (old, before), (new, frame)),
                None => self.push(
                    format!("{at}/{index}"),
                    format!("the {} was added", self.what(frame)),
                    None,
                ),
            }
        }
    }

    fn frame(
        &mut self,
        at: &str,
        (old_schema, old): (&Schema, &FrameSpec),
        (new_schema, new): (&Schema, &FrameSpec),
    ) {
        let in_frame = format!(" in {}", self.title(new));
        let requires = |schema: &Schema, name: &str| {
            named(schema, name).is_some_and(|field| schema.requires(field, &new.head))
        };
        for name in only(&old.required, &new.required) {
            if !requires(new_schema, name) {
                self.required(&format!("{at}/required"), name, &in_frame, false);
            }
        }
        for name in only(&new.required, &old.required) {
            if !requires(old_schema, name) {
                self.required(&format!("{at}/required"), name, &in_frame, true);
            }
        }
        for (list, now, reader) in [
            (only(&old.envelope, &new.envelope), "no longer", Broken::Old),
            (only(&new.envelope, &old.envelope), "now", Broken::New),
        ] {
            for name in list {
                let description =
                    format!("the envelope field `{name}` is {now} required{in_frame}");
                self.push(
                    format!("{at}/envelope"),
                    description,
                    breaks(reader, REFUSED_ENVELOPE),
                );
            }
        }
        let about = |frame: &FrameSpec| {
            let mut fields = frame.fields.clone()?;
            fields.sort_unstable();
            Some(fields)
        };
        if about(old) == about(new) {
            return;
        }
        for field in &new_schema.fields {
            let Some(before) = named(old_schema, &field.name) else {
                continue;
            };
            let is_listed = |frame: &FrameSpec| frame.required.contains(&field.name);
            // All other changes of the field are reported elsewhere.
            let is_inherited =
                before.required && field.required && !is_listed(old) && !is_listed(new);
            let now = requires(new_schema, &field.name);
            if is_inherited && requires(old_schema, &field.name) != now {
                self.required(&format!("{at}/fields"), &field.name, &in_frame, now);
            }
        }
        let fills = |schema: &Schema, frame: &FrameSpec, name: &str| {
            let index = schema.fields.iter().position(|field| field.name == name);
            index.is_some_and(|index| schema.has_default(index, &frame.head))
        };
        let differs = |field: &&Field| {
            named(old_schema, &field.name).is_some()
                && fills(old_schema, old, &field.name) != fills(new_schema, new, &field.name)
        };
        let breaking = new_schema.fields.iter().any(|field| differs(&field));
        let description = format!("the fields with defaults in {} changed", self.title(new));
        self.push(
            format!("{at}/fields"),
            description,
            breaking.then_some(Breaking {
                reader: Broken::Both,
                rule: OTHER_VALUE,
            }),
        );
    }
}

fn named<'s>(schema: &'s Schema, name: &str) -> Option<&'s Field> {
    schema.fields.iter().find(|field| field.name == name)
}

/// Returns the pairs of an old field and the new field that it was renamed to: the new registry has the old name as
/// an alias, or the old registry has the new name as an alias.
fn renamed<'s>(old: &'s Schema, new: &'s Schema) -> Vec<(&'s Field, &'s Field)> {
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

/// Returns a schema with the renamed fields under their new names.
fn under_new_names(old: &Schema, renamed: &[(&Field, &Field)]) -> Schema {
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

/// Returns the names that only the first list holds.
fn only<'l>(list: &'l [String], other: &[String]) -> Vec<&'l String> {
    list.iter().filter(|name| !other.contains(name)).collect()
}
