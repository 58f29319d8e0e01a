//! The records of traces, with their shapes.

use serde_json::{Map, Value as Json};

use crate::places::Places;
use crate::shapes::Shapes;
use crate::traces::Traces;

/// The traces, with their places and the shapes of their records.
#[derive(Debug)]
pub(crate) struct Index<'t> {
    pub(crate) traces: &'t Traces,
    pub(crate) places: Places,
    pub(crate) shapes: Shapes,
}

impl Index<'_> {
    /// Passes every record in a value to `take`, outer records first.
    pub(crate) fn each_record(
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

    /// Returns the shape of a record of the traces.
    pub(crate) fn shape_of(&self, object: &Map<String, Json>) -> Option<usize> {
        self.shapes.of_set(self.places.set_of(object)?)
    }

    /// Returns the field of a shape with this key.
    pub(crate) fn field(&self, shape: usize, key: &str) -> Option<usize> {
        let keys = &self.shapes.list[shape].keys;
        keys.iter().position(|name| name == key)
    }
}
