//! Traces with statistics about their values.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use accp_frame::TokenCounter;
use accp_registry::identity_rank;
use serde_json::Value as Json;

use crate::index::Index;
use crate::places::Places;
use crate::shapes::{Shape, Shapes};
use crate::traces::Traces;
use crate::values::Values;

/// The traces, with statistics about their values.
#[derive(Debug)]
pub(crate) struct Corpus<'t> {
    pub(crate) index: Index<'t>,
    /// The values of each field, by shape.
    pub(crate) fields: Vec<Vec<Values>>,
    /// The number of different records, by shape.
    different: Vec<usize>,
}

impl<'t> Corpus<'t> {
    pub(crate) fn of(traces: &'t Traces, counter: &impl TokenCounter) -> Self {
        let places = Places::of(traces);
        let shapes = Shapes::of(&places, counter);
        let index = Index {
            traces,
            places,
            shapes,
        };
        let shapes = &index.shapes.list;
        let empty = |shape: &Shape| shape.keys.iter().map(|_| Values::default()).collect();
        let mut fields: Vec<Vec<Values>> = shapes.iter().map(empty).collect();
        let mut records: Vec<HashSet<u64>> = vec![HashSet::new(); shapes.len()];
        for (number, conversation) in traces.conversations.iter().enumerate() {
            for event in &conversation.events {
                let place = index.places.at(&event.root);
                index.each_record(&event.value, place, &mut |shape, object, place| {
                    let mut hasher = DefaultHasher::new();
                    Json::Object(object.clone()).to_string().hash(&mut hasher);
                    records[shape].insert(hasher.finish());
                    for (key, value) in object {
                        if let Some(field) = index.field(shape, key) {
                            let below = place.and_then(|place| index.places.key(place, key));
                            fields[shape][field].see(value, &index, below, number);
                        }
                    }
                });
            }
        }
        Self {
            different: records.iter().map(HashSet::len).collect(),
            fields,
            index,
        }
    }

    /// Returns the field that tells the records of a shape apart: a field with the name of an id
    /// if there is one, else a field whose values nearly all differ.
    pub(crate) fn identity(&self, shape: usize) -> Option<usize> {
        let records = self.different[shape];
        let fields = self.fields[shape].iter().enumerate();
        let fields = fields.filter(|(_, values)| {
            values.are_scalars() && values.seen == self.index.shapes.list[shape].seen
        });
        let rank = |(field, values): &(usize, &Values)| {
            let name = identity_rank(&self.index.shapes.list[shape].keys[*field]);
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
