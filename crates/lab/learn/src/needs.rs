//! Fields that later calls need: arguments of these calls repeat the values of the fields.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value as Json;

use crate::corpus::Corpus;
use crate::traces::{Event, Part};

/// The lengths, in characters, of values that are looked for in later calls. Shorter values are
/// too common, and longer ones are not looked for.
const LENGTHS: std::ops::RangeInclusive<usize> = 3..=60;

/// The fewest records of a shape that have a later call. With fewer such records, there is no evidence of what later
/// calls need from the shape.
const ENOUGH: usize = 10;

/// A field of a shape.
type FieldId = (usize, usize);

/// Counts of the shown and of the needed values of fields.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    fields: BTreeMap<FieldId, Need>,
    /// The number of records with a later call, by shape.
    followed: BTreeMap<usize, usize>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Need {
    shown: usize,
    used: usize,
}

impl Needs {
    /// Counts the uses of values in the conversations, in their order. A use of a value counts
    /// for the field that showed the value first in the conversation.
    pub(crate) fn of(corpus: &Corpus<'_>) -> Self {
        let mut needs = Self::default();
        for conversation in &corpus.index.traces.conversations {
            let mut known: HashMap<String, FieldId> = HashMap::new();
            let is_call = |event: &Event| event.root.part == Part::Arguments;
            let last = conversation
                .events
                .iter()
                .rposition(is_call)
                .unwrap_or_default();
            for (at, event) in conversation.events.iter().enumerate() {
                if is_call(event) {
                    each_scalar(&event.value, &mut |text| {
                        if let Some(field) = known.get(text) {
                            needs.fields.entry(*field).or_default().used += 1;
                        }
                    });
                }
                let place = corpus.index.places.at(&event.root);
                let mut sight = Sight {
                    corpus,
                    needs: &mut needs,
                    known: &mut known,
                    is_followed: at < last,
                };
                sight.value(&event.value, place, None);
            }
        }
        needs
    }

    /// Returns whether a later call used any value of a field.
    pub(crate) fn is_used(&self, field: FieldId) -> bool {
        self.fields.get(&field).is_some_and(|need| need.used > 0)
    }

    /// Returns the fields of each shape that are worth keeping, ascending, or `None` for a shape
    /// with too few records.
    pub(crate) fn kept(&self, corpus: &Corpus<'_>) -> Vec<Option<BTreeSet<usize>>> {
        let shapes = 0..corpus.index.shapes.list.len();
        let mut kept: Vec<Option<BTreeSet<usize>>> = shapes
            .map(|shape| {
                let followed = self.followed.get(&shape).copied().unwrap_or_default();
                (followed >= ENOUGH).then(BTreeSet::new)
            })
            .collect();
        for ((shape, field), need) in &self.fields {
            if let Some(kept) = kept[*shape].as_mut().filter(|_| need.is_worth_it()) {
                kept.insert(*field);
            }
        }
        // A field is also kept if it holds records of another shape with kept fields, or of a shape
        // with too few records for a choice (`None`).
        loop {
            let mut more = Vec::new();
            for (shape, fields) in corpus.fields.iter().enumerate() {
                let Some(here) = &kept[shape] else { continue };
                for (field, values) in fields.iter().enumerate() {
                    let matters = |inner: usize| {
                        inner != shape && kept[inner].as_ref().is_none_or(|kept| !kept.is_empty())
                    };
                    if !here.contains(&field) && values.shapes().into_iter().any(matters) {
                        more.push((shape, field));
                    }
                }
            }
            if more.is_empty() {
                break;
            }
            for (shape, field) in more {
                kept[shape].get_or_insert_default().insert(field);
            }
        }
        for (shape, kept) in kept.iter_mut().enumerate() {
            if let Some(kept) = kept.as_mut().filter(|kept| !kept.is_empty()) {
                kept.extend(corpus.identity(shape));
            }
        }
        kept
    }
}

impl Need {
    /// Returns whether enough of the shown values were used: one in a hundred after 5 uses or
    /// more, one in 50 after 2 to 4 uses, and one in 10 after a single use.
    fn is_worth_it(self) -> bool {
        let of = match self.used {
            0 => return false,
            1 => 10,
            2..5 => 50,
            _ => 100,
        };
        self.used * of >= self.shown
    }
}

/// Notes the texts that the values of an event show.
struct Sight<'s, 't> {
    corpus: &'s Corpus<'t>,
    needs: &'s mut Needs,
    known: &'s mut HashMap<String, FieldId>,
    is_followed: bool,
}

impl Sight<'_, '_> {
    fn value(&mut self, value: &Json, place: Option<usize>, field: Option<FieldId>) {
        match value {
            Json::Array(items) => {
                let below = place.and_then(|place| self.corpus.index.places.item(place));
                for item in items {
                    self.value(item, below, field);
                }
            }
            Json::Object(object) => {
                let shape = self.corpus.index.shape_of(object);
                if let Some(shape) = shape {
                    let followed = self.needs.followed.entry(shape).or_default();
                    *followed += usize::from(self.is_followed);
                }
                let below = |key| place.and_then(|place| self.corpus.index.places.key(place, key));
                let is_map = place.is_some_and(|place| self.corpus.index.places.is_map(place));
                for (key, value) in object {
                    if is_map {
                        self.text(key, field);
                    }
                    let own =
                        shape.and_then(|shape| Some((shape, self.corpus.index.field(shape, key)?)));
                    self.value(value, below(key), own.or(field));
                }
            }
            scalar => {
                if let Some(text) = text_of(scalar) {
                    self.text(&text, field);
                }
            }
        }
    }

    fn text(&mut self, text: &str, field: Option<FieldId>) {
        let Some(field) = field.filter(|_| LENGTHS.contains(&text.chars().count())) else {
            return;
        };
        if !self.known.contains_key(text) {
            self.known.insert(text.to_owned(), field);
            self.needs.fields.entry(field).or_default().shown += 1;
        }
    }
}

/// Returns the text of a scalar that a later call can need.
fn text_of(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn each_scalar(value: &Json, take: &mut impl FnMut(&str)) {
    match value {
        Json::Array(items) => items.iter().for_each(|item| each_scalar(item, take)),
        Json::Object(members) => members.values().for_each(|value| each_scalar(value, take)),
        scalar => {
            if let Some(text) = text_of(scalar) {
                take(&text);
            }
        }
    }
}
