//! What recorded conversations teach: the shapes of tool arguments and results as a registry.
//!
//! [`Traces`] are the calls and results; [`places`] tells where their values stand and which
//! keys are data; [`shapes`] puts key sets together that are nearly the same; [`values`]
//! gives their fields types, [`titles`] gives them names; [`needs`] finds what later calls
//! need; [`cost`] counts what each shape saves; [`schemas`] writes down those that pay.

mod cost;
mod declared;
mod names;
mod needs;
mod places;
mod schemas;
mod shapes;
#[cfg(test)]
mod tests;
mod titles;
mod traces;
mod values;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use accp_registry::{Registry, identity_rank};
use accp_tokens::Bpe;
use serde_json::{Map, Value as Json};

use needs::Needs;
use places::Places;
use shapes::Shapes;
use values::Values;

pub use cost::{Earned, Totals};
pub use declared::{Tools, ToolsError};
pub use names::{Taken, abbreviations, words};
pub use traces::Traces;

/// What was learnt is no registry, which is a fault of this library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LearnError(String);

/// A registry, and what it earns on the traces that it was learnt from.
#[derive(Debug)]
pub struct Learnt {
    pub registry: Registry,
    /// By schema, what earns most first.
    pub earned: Vec<Earned>,
    pub totals: Totals,
}

/// Learns a registry; a schema that saves fewer than `min_saving` tokens, its definitions
/// counted, is left out.
///
/// # Errors
/// When what was learnt is no registry, which is a fault of this program.
pub fn learn(traces: &Traces, min_saving: u32, counter: Bpe) -> Result<Learnt, LearnError> {
    let corpus = Corpus::of(traces, counter);
    let needs = Needs::of(&corpus);
    schemas::chosen(&corpus, &needs, i64::from(min_saving), counter)
}

/// The traces, and what is known of the values in them.
#[derive(Debug)]
pub(crate) struct Corpus<'t> {
    traces: &'t Traces,
    places: Places,
    shapes: Shapes,
    /// By shape, the values of each of its fields.
    fields: Vec<Vec<Values>>,
    /// By shape, how many different records there are.
    different: Vec<usize>,
}

impl<'t> Corpus<'t> {
    fn of(traces: &'t Traces, counter: Bpe) -> Self {
        let places = Places::of(traces);
        let shapes = Shapes::of(&places, &counter);
        let mut corpus = Self {
            traces,
            places,
            shapes,
            fields: Vec::new(),
            different: Vec::new(),
        };
        let shapes = &corpus.shapes.list;
        let empty = |shape: &shapes::Shape| shape.keys.iter().map(|_| Values::default()).collect();
        let mut fields: Vec<Vec<Values>> = shapes.iter().map(empty).collect();
        let mut records: Vec<HashSet<u64>> = vec![HashSet::new(); shapes.len()];
        for (number, conversation) in traces.conversations.iter().enumerate() {
            for event in &conversation.events {
                let place = corpus.places.at(&event.root);
                corpus.each_record(&event.value, place, &mut |shape, object, place| {
                    let mut hasher = DefaultHasher::new();
                    Json::Object(object.clone()).to_string().hash(&mut hasher);
                    records[shape].insert(hasher.finish());
                    for (key, value) in object {
                        if let Some(field) = corpus.field(shape, key) {
                            let below = place.and_then(|place| corpus.places.key(place, key));
                            fields[shape][field].see(value, &corpus, below, number);
                        }
                    }
                });
            }
        }
        corpus.fields = fields;
        corpus.different = records.iter().map(HashSet::len).collect();
        corpus
    }

    /// Every record in a value, the outer ones first.
    fn each_record(
        &self,
        value: &Json,
        place: Option<usize>,
        take: &mut impl FnMut(usize, &Map<String, Json>, Option<usize>),
    ) {
        match value {
            Json::Array(items) => {
                let below = place.and_then(|place| self.places.item(place));
                for item in items {
                    self.each_record(item, below, take);
                }
            }
            Json::Object(object) => {
                if let Some(shape) = self.shape_of(object) {
                    take(shape, object, place);
                }
                for (key, value) in object {
                    let below = place.and_then(|place| self.places.key(place, key));
                    self.each_record(value, below, take);
                }
            }
            _ => {}
        }
    }

    /// The shape of a record of the traces.
    fn shape_of(&self, object: &Map<String, Json>) -> Option<usize> {
        self.shapes.of_set(self.places.set_of(object)?)
    }

    /// The field of a shape with this key.
    fn field(&self, shape: usize, key: &str) -> Option<usize> {
        let keys = &self.shapes.list[shape].keys;
        keys.iter().position(|name| name == key)
    }

    /// The field that tells the records of a shape apart: one with the name of an id where
    /// there is one, else one whose values are all different.
    fn identity(&self, shape: usize) -> Option<usize> {
        let records = self.different[shape];
        let fields = self.fields[shape].iter().enumerate();
        let fields = fields.filter(|(_, values)| {
            values.are_scalars() && values.seen == self.shapes.list[shape].seen
        });
        let rank = |(field, values): &(usize, &Values)| {
            let name = identity_rank(&self.shapes.list[shape].keys[*field]);
            let is_named = name.is_some();
            let is_unique = values.different() * 10 >= records * 9;
            let is_telling = values.different() * 3 >= records;
            match (is_named, is_unique, is_telling) {
                (true, true, _) => Some((0, name)),
                (true, false, true) => Some((1, name)),
                (false, true, _) if records > 1 => Some((2, None)),
                _ => None,
            }
        };
        let ranked = fields.filter_map(|field| Some((rank(&field)?, field.0)));
        ranked.min().map(|(_, field)| field)
    }
}
