//! The `frames` entries of a schema.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::Named;
use crate::json::child;
use crate::model::FrameSpec;
use crate::problem::Problem;
use crate::protocol::{Protocol, Vocabulary};
use crate::reader::{Reader, suggest};
use crate::types::Type;

/// The keys of an entry of `frames`, besides the parts of the head. `envelope` and `to` are allowed only if
/// the protocol has an envelope.
const FRAME_KEYS: &[&str] = &["required", "fields", "envelope", "to", "doc"];
/// The intents of frames that ask for an answer, and so may be for one agent.
const REQUESTS: [&str; 2] = ["req", "qry"];

impl Reader<'_> {
    /// Reads the entries of a schema with these fields.
    pub(super) fn frames(
        &mut self,
        at: &str,
        json: Option<&Value>,
        fields: &[Named],
    ) -> Vec<FrameSpec> {
        let mut frames: Vec<FrameSpec> = Vec::new();
        for (index, json) in self.array(at, json).iter().enumerate() {
            let at = child(at, index);
            let Some(object) = self.object(&at, Some(json)) else {
                continue;
            };
            self.known_keys(&at, object, &frame_keys(self.protocol));
            let frame = self.frame(&at, object, fields);
            if frames.iter().any(|other| other.head == frame.head) {
                let (noun, title) = (self.protocol.noun, self.protocol.title(&frame.head));
                self.report(
                    Problem::new(&at, format!("the {noun} {title} stands twice"))
                        .cure("make one entry of the two"),
                );
            }
            frames.push(frame);
        }
        frames
    }

    fn frame(&mut self, at: &str, object: &Map<String, Value>, fields: &[Named]) -> FrameSpec {
        let mut frame = FrameSpec::new(&self.head(at, object));
        let name = |(_, index): (String, usize)| fields[index].field.name.clone();
        let required = self.field_names(&child(at, "required"), object.get("required"), fields);
        frame.required = required.into_iter().map(name).collect();
        if let Some(list) = object.get("fields") {
            let about = self.field_names(&child(at, "fields"), Some(list), fields);
            frame.fields = Some(about.into_iter().map(name).collect());
        }
        let envelope = object.get("envelope");
        // In a protocol without an envelope, `envelope` and `to` are unknown keys, and reported as such.
        let has_envelope = !self.protocol.envelope.is_empty();
        let envelope = envelope.filter(|_| has_envelope);
        for (at, name) in self.strings(&child(at, "envelope"), envelope) {
            if let Some(field) = self.protocol.envelope_field(name) {
                if frame.envelope.iter().any(|other| other == field.short) {
                    let problem = Problem::new(at, format!("`{}` stands twice", field.full));
                    self.report(problem.cure("remove one of the two"));
                } else {
                    frame.envelope.push(field.short.to_owned());
                }
            } else {
                let envelope = self.protocol.envelope;
                let known = || envelope.iter().flat_map(|field| [field.short, field.full]);
                let problem = Problem::new(at, format!("there is no envelope field `{name}`"));
                self.report(suggest(problem, name, "envelope fields", known));
            }
        }
        let to = object.get("to").filter(|_| has_envelope);
        frame.to = self.addressee(&child(at, "to"), to, &frame, fields);
        frame.doc = self.string(&child(at, "doc"), object.get("doc"));
        frame
    }

    /// Reads `to`: the name of the field that holds the addressee of a frame.
    fn addressee(
        &mut self,
        at: &str,
        json: Option<&Value>,
        frame: &FrameSpec,
        fields: &[Named],
    ) -> Option<String> {
        let name = self.string(at, json)?;
        let field = &fields[self.index(at, &name, fields)?].field;
        let problem = if field.ty != Type::Agent {
            Problem::new(at, format!("`{name}` is of type `{}`", field.ty))
                .cure("name a field of type `agent`")
        } else if !REQUESTS.contains(&frame.intent()) {
            Problem::new(
                at,
                format!("a frame with the intent `{}` is for all", frame.intent()),
            )
            .cure("remove `to`: only `req` and `qry` are for one agent")
        } else if !frame.carries(&name) {
            let title = self.protocol.title(&frame.head);
            let message = format!("{title} has no field `{name}`, so it cannot name an agent");
            Problem::new(at, message).cure(format!("add `{name}` to the `fields` of {title}"))
        } else {
            return Some(name);
        };
        self.report(problem);
        None
    }

    /// Reads the words of a head; empty where they are missing. A word of a closed vocabulary must
    /// be in it, and any other word must fit its rule.
    fn head(&mut self, at: &str, object: &Map<String, Value>) -> Vec<String> {
        let protocol = self.protocol;
        let missing = protocol.head.iter();
        for part in missing.filter(|part| !object.contains_key(part.name)) {
            let (noun, example) = (protocol.noun, protocol.example());
            self.report(
                Problem::new(at, format!("the {noun} has no `{}`", part.name))
                    .cure(format!("a {noun} is {example}")),
            );
        }
        let words = protocol.head.iter().map(|part| {
            let at = child(at, part.name);
            let word = self.string(&at, object.get(part.name))?;
            match part.vocabulary {
                Vocabulary::Closed { words, .. } if !words.contains(&word.as_str()) => {
                    let problem = Problem::new(at, format!("there is no {} `{word}`", part.name));
                    let known = || words.iter().copied();
                    self.report(suggest(problem, &word, part.plural, known));
                }
                Vocabulary::Closed { .. } => {}
                Vocabulary::Open(rule) => self.fits(&at, part.name, rule, &word),
            }
            Some(word)
        });
        words.map(Option::unwrap_or_default).collect()
    }
}

/// Returns the keys of an entry of `frames` in this protocol.
pub(super) fn frame_keys(protocol: &Protocol) -> Vec<&'static str> {
    let parts = protocol.head.iter().map(|part| part.name);
    let others = FRAME_KEYS.iter().copied();
    let of_envelopes = |key: &str| matches!(key, "envelope" | "to");
    let others = others.filter(|key| !of_envelopes(key) || !protocol.envelope.is_empty());
    parts.chain(others).collect()
}
