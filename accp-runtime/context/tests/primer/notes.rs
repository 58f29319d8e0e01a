//! A reader of the notes on a schema, which compares them with the schema.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::{Field, Schema, Type};
use accp_runtime::view::View;
use accp_runtime::{Intent, Value};

/// Splits a text, except within quotes and brackets.
fn split<'t>(text: &'t str, by: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => quoted = !quoted,
            '[' | '{' | '(' if !quoted => depth += 1,
            ']' | '}' | ')' if !quoted => depth -= 1,
            _ if !quoted && depth == 0 && text[at..].starts_with(by) => {
                parts.push(&text[start..at]);
                start = at + by.len();
            }
            _ => {}
        }
        escaped = c == '\\' && !escaped;
    }
    parts.push(&text[start..]);
    parts
}

/// The statements of the notes on a schema.
#[derive(Debug, Default)]
struct Said<'t> {
    frames: Vec<SaidOfFrames<'t>>,
    fields: BTreeMap<&'t str, SaidOfField<'t>>,
}

#[derive(Debug)]
struct SaidOfFrames<'t> {
    /// The frames by intent and operation; empty for a schema that is only nested.
    frames: Vec<(&'t str, &'t str)>,
    /// The fields that the frames need, if listed.
    needed: Option<BTreeSet<&'t str>>,
}

#[derive(Debug, Default, Clone, Copy)]
struct SaidOfField<'t> {
    is_marked: bool,
    ty: Option<&'t str>,
    default: Option<&'t str>,
}

/// Reads `req:plan,review,done:plan`.
fn heads(text: &str) -> Option<Vec<(&str, &str)>> {
    let mut last = None;
    let mut frames = Vec::new();
    for head in text.split(',') {
        let (intent, operation) = match head.split_once(':') {
            Some((intent, operation)) => (Intent::lookup(intent).map(|_| intent)?, operation),
            None => (last?, head),
        };
        last = Some(intent);
        frames.push((intent, operation));
    }
    Some(frames)
}

impl<'t> Said<'t> {
    /// Reads notes by their grammar.
    fn of(notes: &'t str) -> Self {
        let mut said = Self::default();
        for part in split(notes.trim_end_matches('\n'), "; ") {
            let words = split(part, " ");
            let frames = heads(words[0]).unwrap_or_default();
            let needed = match &words[usize::from(!frames.is_empty())..] {
                ["need", names] => Some(names.split(',').collect()),
                ["all", "optional"] => Some(BTreeSet::new()),
                fields => {
                    for field in fields {
                        said.field(field);
                    }
                    None
                }
            };
            if needed.is_some() || !frames.is_empty() {
                said.frames.push(SaidOfFrames { frames, needed });
            }
        }
        said
    }

    fn field(&mut self, text: &'t str) {
        let (before, default) = match split(text, "=").first() {
            Some(before) if before.len() < text.len() => (*before, Some(&text[before.len() + 1..])),
            _ => (text, None),
        };
        let (names, ty) = match before.split_once(':') {
            Some((names, ty)) => (names, Some(ty)),
            None => (before, None),
        };
        let is_marked = names.ends_with('?');
        let said = SaidOfField {
            is_marked,
            ty,
            default,
        };
        let names = names.trim_end_matches('?').split(',');
        for name in names.filter(|name| !name.is_empty()) {
            assert!(self.fields.insert(name, said).is_none(), "{name} twice");
        }
    }

    /// Returns those of the fields `names` that a frame needs, as the notes say.
    fn needed(&self, place: Option<(&str, &str)>, names: &[&'t str]) -> BTreeSet<&'t str> {
        let is_here =
            |said: &&SaidOfFrames<'_>| place.is_none_or(|place| said.frames.contains(&place));
        let said = self.frames.iter().find(is_here);
        assert!(said.is_some() || place.is_none(), "nothing of {place:?}");
        let may_miss = |name: &&str| {
            let field = self.fields.get(*name);
            field.is_some_and(|field| field.is_marked || field.default.is_some())
        };
        let listed = said.and_then(|said| said.needed.clone());
        let others = names.iter().copied().filter(|name| !may_miss(name));
        listed.unwrap_or_else(|| others.collect())
    }
}

/// Returns whether the text spells the type.
fn is_spelt(view: &View, text: &str, ty: &Type) -> bool {
    let inside = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    match ty {
        Type::Enum(values) => {
            let texts = split(text, "|");
            let texts = texts.into_iter().map(|text| view.read_value(text));
            texts.eq(values.iter().map(|value| Ok(Value::from(&*value.name))))
        }
        Type::List(item) => inside('[', ']').is_some_and(|text| is_spelt(view, text, item)),
        Type::Map(item) => inside('{', '}').is_some_and(|text| is_spelt(view, text, item)),
        ty => text.parse().as_ref() == Ok(ty),
    }
}

fn is_said(view: &View, said: SaidOfField<'_>, field: &Field) -> bool {
    let of_default = field.default.as_ref().map(Type::of_default);
    let is_typed = match said.ty {
        Some(text) => is_spelt(view, text, &field.ty),
        None if matches!(field.ty, Type::String | Type::Text | Type::Schema(_)) => true,
        None => of_default.as_ref() == Some(&field.ty),
    };
    let has_default = match (&field.default, said.default) {
        (None, None) | (Some(_), Some("..")) => true,
        (Some(default), Some(text)) => view.read_value(text) == Ok(Value::from_data(default)),
        _ => false,
    };
    is_typed && has_default
}

/// Returns the names of a definition, in the order of the fields.
pub(crate) fn names(definition: &str) -> Vec<&str> {
    let (_, names) = definition.trim_end_matches(")\n").split_once('(').unwrap();
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(|name| name.split(':').next().unwrap()).collect()
}

/// Checks the required fields, types and defaults in the notes against the registry.
pub(crate) fn check_notes(view: &View, schema: &Schema, names: &[&str], notes: &str) {
    let said = Said::of(notes);
    let frames = schema.frames.iter();
    let frames = frames.map(|frame| Some((frame.intent(), frame.operation())));
    let nested = schema.frames.is_empty().then_some(None);
    for place in frames.chain(nested) {
        let (intent, operation) = place.unwrap_or_default();
        let required: BTreeSet<&str> = schema.required(&[intent, operation]).collect();
        let fields = schema.fields.iter().zip(names);
        let required = fields.filter(|(field, _)| required.contains(&*field.name));
        let required: BTreeSet<&str> = required.map(|(_, name)| *name).collect();
        assert_eq!(said.needed(place, names), required, "{place:?} in {notes}");
    }
    for (field, name) in schema.fields.iter().zip(names) {
        let of_field = said.fields.get(name).copied().unwrap_or_default();
        assert!(is_said(view, of_field, field), "{field:?} in {notes}");
    }
}
