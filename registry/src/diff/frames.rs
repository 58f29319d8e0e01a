//! The differences between the frames of two schemas.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::breaking::{
    Breaking, Broken, OTHER_VALUE, REFUSED_ENVELOPE, REFUSED_FIELD, UNDECLARED, breaks,
};
use super::changes::Changes;
use super::keys::named;
use crate::model::{Field, FrameSpec, Schema};

impl Changes {
    /// Compares the frames of two schemas. In `old`, renamed fields already have their new names.
    ///
    /// A schema without `frames` lists every frame. So when a first entry is added, the schema no longer lists the
    /// other frames. When the last entry is removed, the schema lists every frame again.
    pub(super) fn frames(&mut self, at: &str, old: &Schema, new: &Schema) {
        let at = format!("{at}/frames");
        for frame in old
            .frames
            .iter()
            .filter(|frame| new.frame(&frame.head).is_none())
        {
            let description = format!("the {} was removed", self.what(frame));
            if new.frames.is_empty() {
                self.push(at.clone(), description, None);
                self.frame(&at, (old, frame), (new, &FrameSpec::new(&frame.head)));
            } else {
                self.push(at.clone(), description, breaks(Broken::New, UNDECLARED));
            }
        }
        for (index, frame) in new.frames.iter().enumerate() {
            let at = format!("{at}/{index}");
            if let Some(before) = old.frame(&frame.head) {
                self.frame(&at, (old, before), (new, frame));
                continue;
            }
            let description = format!("the {} was added", self.what(frame));
            if old.frames.is_empty() {
                self.push(at.clone(), description, None);
                self.frame(&at, (old, &FrameSpec::new(&frame.head)), (new, frame));
                continue;
            }
            // The old reader fills in no defaults here, because its schema does not list this frame. No peer relies
            // on such defaults.
            let is_refused = refuses(old, new, &frame.head);
            let breaking = is_refused.then_some(Breaking {
                reader: Broken::Old,
                rule: REFUSED_FIELD,
            });
            self.push(at, description, breaking);
        }
        self.every_frame(&at, old, new);
    }

    /// Reports that a schema no longer lists every frame, or now lists every frame. Reports this only if it changes
    /// how a reader reads the frames that one of the two schemas does not list.
    fn every_frame(&mut self, at: &str, old: &Schema, new: &Schema) {
        let noun = self.protocol.noun;
        let (reader, description) = match (old.frames.is_empty(), new.frames.is_empty()) {
            (true, false) => {
                let description = format!("a {noun} without an entry takes no defaults any more");
                (Broken::New, description)
            }
            (false, true) => (Broken::Old, format!("every {noun} takes the defaults now")),
            _ => return,
        };
        // No entry of `frames` has an empty head. So this head stands for each frame that is not listed.
        if fills_differ(old, new, &["", ""]) {
            self.push(at.to_string(), description, breaks(reader, OTHER_VALUE));
        }
    }

    /// Compares a frame that both schemas list.
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

/// A field that both schemas have, as each schema declares it, with its index there.
type Pair<'s> = [(usize, &'s Field); 2];

/// Returns the fields that both schemas have.
fn common<'s>(one: &'s Schema, other: &'s Schema) -> impl Iterator<Item = Pair<'s>> {
    one.fields.iter().enumerate().filter_map(|(index, field)| {
        let is_it = |field_there: &Field| field_there.name == field.name;
        let at = other.fields.iter().position(is_it)?;
        Some([(index, field), (at, &other.fields[at])])
    })
}

/// Returns whether a reader refuses a frame with this head, because the reader requires a field that the writer may
/// leave out. A field that only one of the two schemas requires in all frames is reported elsewhere.
fn refuses<S: AsRef<str>>(reader: &Schema, writer: &Schema, head: &[S]) -> bool {
    common(reader, writer).any(|[(_, field), (_, written)]| {
        field.required == written.required
            && reader.requires(field, head)
            && !writer.requires(written, head)
    })
}

/// Returns whether one of two schemas fills in a default in a frame with this head, and the other one does not. A
/// default that only one of them has is reported elsewhere.
fn fills_differ<S: AsRef<str>>(one: &Schema, other: &Schema, head: &[S]) -> bool {
    common(one, other).any(|[(index, field), (at, field_there)]| {
        field.default_wire == field_there.default_wire
            && one.has_default(index, head) != other.has_default(at, head)
    })
}

/// Returns the names that only the first list holds.
fn only<'l>(list: &'l [String], other: &[String]) -> Vec<&'l String> {
    list.iter().filter(|name| !other.contains(name)).collect()
}
