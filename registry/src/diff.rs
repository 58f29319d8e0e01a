//! The differences between two registries, and whether they break a peer on the older one.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::model::{Field, FrameSpec, Registry, Schema};
use crate::protocol::Protocol;
use crate::types::{EnumValue, Type};

/// A difference between two registries.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// The JSON pointer (RFC 6901) of the changed part, in the registry that holds it.
    pub pointer: String,
    /// The change, from the old state to the new one.
    pub description: String,
    /// The rule by which the change breaks a peer on the older registry; `None` if it does not.
    pub breaking: Option<&'static str>,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.description)?;
        match self.breaking {
            Some(rule) => write!(f, "\n    breaks: {rule}"),
            None => Ok(()),
        }
    }
}

/// Returns the changes from one registry to the next, in the order of the schemas' names.
///
/// The list is empty if, and only if, versions, tokenizers and hashes are equal.
///
/// Peers update at different times, so for a while both registries are on the wire. A change breaks
/// when one side may write a frame that the other side refuses or reads with another meaning, in
/// either direction:
///
/// | Change | Breaks a peer on the older registry |
/// |---|---|
/// | schema added | no: frames of the other schemas are as before |
/// | schema removed | yes: its frames are unknown to one side (E1003) |
/// | schema renamed | no: only the code travels |
/// | code changed | yes: frames with either code are unknown to one side (E1003) |
/// | field added | no: a reader ignores unknown keys, or fills in the default |
/// | field removed | yes: its value is lost to the side that relies on it |
/// | required added or removed | yes: one side leaves out a field that the other requires (E1004) |
/// | abbreviation changed | yes: one side does not know the key |
/// | type changed | yes, even if widened: the wider side writes values that the narrower one refuses (E1004) |
/// | enum value added, removed, or its symbol changed | yes: one side does not know the value (E1004) |
/// | default added, removed or changed | yes: a field left out means another value |
/// | frame added | no: nobody relies on an undeclared frame |
/// | frame removed | yes: one side sends a frame that the other no longer declares |
/// | required fields of a frame or its envelope | yes: as for `required` |
/// | fields that a frame fills with defaults | yes: as for the default |
/// | `inline`, `optional`, orders, versions, tokenizer | no: both forms are understood |
///
/// Docs, `keep` and `rules` do not count as differences.
///
/// ```
/// use accp_registry::{Registry, diff};
///
/// let old = Registry::from_json(r#"{ "schemas": { "a": { "code": "A", "fields": ["x"] } } }"#)?;
/// let new = Registry::from_json(r#"{ "schemas": { "a": { "code": "B", "fields": ["x", "y"] } } }"#)?;
/// let changes = diff(&old, &new);
/// assert_eq!(changes[0].description, "the code changed from `A` to `B`");
/// assert!(changes[0].breaking.is_some());
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
            Some("frames with its code are refused with E1003"),
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

/// Returns the schema of `there` that matches `schema` of `here`. This is the one with the same
/// name, or else the one with the same code, unless `here` has a schema with that other name.
fn counterpart<'r>(schema: &Schema, here: &Registry, there: &'r Registry) -> Option<&'r Schema> {
    there.schema_by_name(&schema.name).or_else(|| {
        let other = there.schema(&schema.code)?;
        here.schema_by_name(&other.name).is_none().then_some(other)
    })
}

const REFUSED_FIELD: &str = "one side leaves out a field that the other requires (E1004)";
const REFUSED_ENVELOPE: &str =
    "one side leaves out an envelope field that the other requires (E1001, E1004)";
const OTHER_VALUE: &str = "a field left out means another value";

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

    fn push(&mut self, pointer: String, description: String, breaking: Option<&'static str>) {
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
        breaking: Option<&'static str>,
    ) {
        if old != new {
            let description = format!("the {what} changed from `{old}` to `{new}`");
            self.push(pointer.to_string(), description, breaking);
        }
    }

    fn schema(&mut self, old: &Schema, new: &Schema) {
        let at = format!("/schemas/{}", new.name);
        self.compare(&at, "name", &old.name, &new.name, None);
        let rule = "frames with either code are refused with E1003 by one side";
        self.compare(
            &format!("{at}/code"),
            "code",
            &old.code,
            &new.code,
            Some(rule),
        );
        self.compare(
            &format!("{at}/version"),
            "version",
            &old.version,
            &new.version,
            None,
        );

        for field in old
            .fields
            .iter()
            .filter(|field| named(new, &field.name).is_none())
        {
            self.push(
                format!("{at}/fields"),
                format!("the field `{}` was removed", field.name),
                Some("its value is lost to the side that relies on it"),
            );
        }
        for field in &new.fields {
            if let Some(before) = named(old, &field.name) {
                self.field(&at, before, field);
                continue;
            }
            self.push(
                format!("{at}/fields"),
                format!("the field `{}` was added", field.name),
                None,
            );
            if field.required {
                self.required(&format!("{at}/required"), &field.name, "", true);
            }
        }
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
    }

    fn field(&mut self, at: &str, old: &Field, new: &Field) {
        let name = &new.name;
        let key = |list: &str| format!("{at}/{list}/{name}");
        let what = |what: &str| format!("{what} of `{name}`");
        let rule = "one side does not know the key of the other";
        self.compare(
            &key("abbreviations"),
            &what("abbreviation"),
            &old.short,
            &new.short,
            Some(rule),
        );
        if old.ty != new.ty {
            let breaking = match (&old.ty, &new.ty) {
                (Type::Enum(old), Type::Enum(new)) if same_values(old, new) => None,
                (Type::Enum(_), Type::Enum(_)) => {
                    Some("one side refuses the values that only the other knows (E1004)")
                }
                _ => Some("one side refuses a value of the other, or reads another value (E1004)"),
            };
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
            self.push(key("defaults"), description, Some(OTHER_VALUE));
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
        let now = if now { "now" } else { "no longer" };
        let description = format!("`{name}` is {now} required{frame}");
        self.push(at.to_string(), description, Some(REFUSED_FIELD));
    }

    fn frames(&mut self, at: &str, old: &Schema, new: &Schema) {
        let at = format!("{at}/frames");
        for frame in &old.frames {
            if new.frame(&frame.head).is_none() {
                let description = format!("the {} was removed", self.what(frame));
                self.push(
                    at.clone(),
                    description,
                    Some("one side sends a frame that the other no longer declares"),
                );
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
        for (list, now) in [
            (only(&old.envelope, &new.envelope), "no longer"),
            (only(&new.envelope, &old.envelope), "now"),
        ] {
            for name in list {
                let description =
                    format!("the envelope field `{name}` is {now} required{in_frame}");
                self.push(
                    format!("{at}/envelope"),
                    description,
                    Some(REFUSED_ENVELOPE),
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
            // Other changes have been told.
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
            breaking.then_some(OTHER_VALUE),
        );
    }
}

fn named<'s>(schema: &'s Schema, name: &str) -> Option<&'s Field> {
    schema.fields.iter().find(|field| field.name == name)
}

/// Returns the names that only the first list holds.
fn only<'l>(list: &'l [String], other: &[String]) -> Vec<&'l String> {
    list.iter().filter(|name| !other.contains(name)).collect()
}

fn same_values(old: &[EnumValue], new: &[EnumValue]) -> bool {
    old.len() == new.len() && old.iter().all(|value| new.contains(value))
}
