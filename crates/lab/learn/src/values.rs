//! The values of a field, and its type by these values and by the schemas of the tools.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use accp_registry::{EnumValue, Type};
use serde_json::Value as Json;

use crate::declared::{Declared, Kind};
use crate::index::Index;
use crate::names::words;

/// The most different values that are counted one by one.
const MOST_VALUES: usize = 64;

/// The deepest nesting of a type, below the limit of a registry.
const DEEPEST: usize = 8;

/// The values that were seen in one position.
#[derive(Debug, Default)]
pub(crate) struct Values {
    /// The number of values, nulls included.
    pub(crate) seen: usize,
    pub(crate) nulls: usize,
    booleans: usize,
    integers: usize,
    /// Numbers with a fraction of at most two digits.
    amounts: usize,
    floats: usize,
    strings: usize,
    /// Strings that are prose.
    prose: usize,
    /// The number of objects, by their shape.
    pub(crate) records: BTreeMap<usize, usize>,
    maps: usize,
    /// Objects without a shape, including those without keys.
    others: usize,
    lists: usize,
    items: Option<Box<Values>>,
    entries: Option<Box<Values>>,
    /// Counts of scalars by their JSON text; `None` when there are too many.
    tallies: Option<BTreeMap<String, Tally>>,
    is_many: bool,
    /// All scalars, as hashes.
    distinct: HashSet<u64>,
}

/// The number of times that a value was seen.
#[derive(Debug, Default)]
struct Tally {
    seen: usize,
    conversations: usize,
    last: Option<usize>,
}

impl Values {
    /// Notes a value at this place, from the conversation with this number.
    pub(crate) fn see(
        &mut self,
        value: &Json,
        index: &Index<'_>,
        place: Option<usize>,
        number: usize,
    ) {
        self.seen += 1;
        match value {
            Json::Null => self.nulls += 1,
            Json::Array(items) => {
                self.lists += 1;
                let below = place.and_then(|place| index.places.item(place));
                let into = self.items.get_or_insert_default();
                for item in items {
                    into.see(item, index, below, number);
                }
            }
            Json::Object(object) => match place {
                Some(place) if index.places.is_map(place) => {
                    self.maps += 1;
                    let into = self.entries.get_or_insert_default();
                    for (key, value) in object {
                        into.see(value, index, index.places.key(place, key), number);
                    }
                }
                _ => match index.shape_of(object) {
                    Some(shape) => *self.records.entry(shape).or_default() += 1,
                    None => self.others += 1,
                },
            },
            scalar => self.scalar(scalar, number),
        }
    }

    fn scalar(&mut self, value: &Json, number: usize) {
        match value {
            Json::Bool(_) => self.booleans += 1,
            Json::Number(n) if n.is_i64() => self.integers += 1,
            Json::Number(n) => {
                self.floats += 1;
                let text = n.to_string();
                let places = text.split_once('.').map(|(_, places)| places);
                let is_amount = places.is_some_and(|places| {
                    places.len() <= 2 && places.bytes().all(|b| b.is_ascii_digit())
                });
                self.amounts += usize::from(is_amount);
            }
            Json::String(text) => {
                self.strings += 1;
                let is_prose = text.split_whitespace().count() > 3 || text.contains('\n');
                self.prose += usize::from(is_prose);
            }
            _ => {}
        }
        let text = value.to_string();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.distinct.insert(hasher.finish());
        if self.is_many {
            return;
        }
        let tallies = self.tallies.get_or_insert_default();
        let tally = tallies.entry(text).or_default();
        tally.seen += 1;
        tally.conversations += usize::from(tally.last != Some(number));
        tally.last = Some(number);
        if tallies.len() > MOST_VALUES {
            (self.tallies, self.is_many) = (None, true);
        }
    }

    /// Returns the number of different scalars.
    pub(crate) fn different(&self) -> usize {
        self.distinct.len()
    }

    /// Returns whether all values are scalars.
    pub(crate) fn are_scalars(&self) -> bool {
        self.seen > 0 && self.booleans + self.numbers() + self.strings + self.nulls == self.seen
    }

    fn numbers(&self) -> usize {
        self.integers + self.floats
    }

    /// Returns the shapes of all records in the values, at any depth.
    pub(crate) fn shapes(&self) -> BTreeSet<usize> {
        let mut shapes: BTreeSet<usize> = self.records.keys().copied().collect();
        for inner in [&self.items, &self.entries].into_iter().flatten() {
            shapes.extend(inner.shapes());
        }
        shapes
    }

    /// Returns the value that at least four in five records have. Each of the `records` records
    /// must have a value.
    pub(crate) fn dominant(&self, records: usize) -> Option<Json> {
        if self.seen < records.max(20) || self.nulls > 0 || !self.are_scalars() {
            return None;
        }
        let (text, tally) = self
            .tallies
            .as_ref()?
            .iter()
            .max_by_key(|(_, tally)| tally.seen)?;
        let dominates = tally.seen * 5 >= self.seen * 4 && tally.conversations >= 3;
        let value = dominates.then(|| serde_json::from_str(text).ok())??;
        matches!(value, Json::String(_) | Json::Bool(_) | Json::Number(_)).then_some(value)
    }

    /// Returns the type of all values. `code` returns the code of a shape that became a schema.
    pub(crate) fn ty(&self, code: &impl Fn(usize) -> Option<String>) -> Type {
        self.ty_at(code, 0)
    }

    fn ty_at(&self, code: &impl Fn(usize) -> Option<String>, depth: usize) -> Type {
        let records: usize = self.records.values().sum();
        let objects = records + self.maps + self.others;
        let kinds = [
            self.booleans,
            self.numbers(),
            self.strings,
            self.lists,
            objects,
        ];
        if kinds.iter().filter(|seen| **seen > 0).count() != 1 || depth > DEEPEST {
            return Type::Any;
        }
        let inner = |values: &Option<Box<Values>>| {
            let values = values.as_ref().filter(|values| values.nulls == 0);
            let ty = values.map(|values| values.ty_at(code, depth + 1));
            // Only the type `any` allows null as an item.
            Box::new(ty.unwrap_or(Type::Any))
        };
        if self.booleans > 0 {
            Type::Boolean
        } else if self.integers == self.seen - self.nulls {
            Type::Integer
        } else if self.amounts == self.seen - self.nulls && self.amounts >= 5 {
            Type::Decimal
        } else if self.numbers() > 0 {
            Type::Number
        } else if self.strings > 0 {
            self.string_type()
        } else if self.lists > 0 {
            Type::List(inner(&self.items))
        } else if self.maps == objects {
            Type::Map(inner(&self.entries))
        } else {
            let only = self
                .records
                .keys()
                .next()
                .filter(|_| self.records.len() == 1);
            let code = only
                .filter(|_| records == objects)
                .and_then(|shape| code(*shape));
            code.map_or_else(|| Type::Map(Box::new(Type::Any)), Type::Schema)
        }
    }

    fn string_type(&self) -> Type {
        if let Some(values) = self.closed_set() {
            return enumeration(&values).unwrap_or(Type::String);
        }
        if self.prose * 2 > self.strings {
            Type::Text
        } else {
            Type::String
        }
    }

    /// Returns the texts if they are words, few and seen so often that no other text is expected.
    fn closed_set(&self) -> Option<Vec<String>> {
        const MOST: usize = 8;
        let tallies = self.tallies.as_ref()?;
        let is_word = |text: &str| {
            text.len() <= 24
                && text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text
                    .bytes()
                    .all(|b| b.is_ascii_alphabetic() || b"_-".contains(&b))
        };
        let often = |tally: &Tally| tally.seen >= 3 && tally.conversations >= 3;
        let texts = tallies.iter().map(|(text, tally)| {
            let text: String = serde_json::from_str(text).ok()?;
            (is_word(&text) && often(tally)).then_some(text)
        });
        let texts: Vec<String> = texts.collect::<Option<_>>()?;
        let is_closed = (2..=MOST).contains(&texts.len()) && self.strings >= 10 * texts.len();
        (is_closed && self.strings >= 30).then_some(texts)
    }

    fn are_all(&self, texts: &[String]) -> bool {
        let text = |json: &String| serde_json::from_str::<String>(json).ok();
        let known = |json| text(json).is_some_and(|text| texts.contains(&text));
        !self.is_many && self.tallies.iter().flatten().all(|(json, _)| known(json))
    }
}

/// Returns the type of an enumeration of these texts, if they can be names of values, also in Rust.
fn enumeration(texts: &[String]) -> Option<Type> {
    let names: BTreeSet<String> = texts.iter().map(|text| words(text).concat()).collect();
    let is_plain = |text: &String| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_-.+/".contains(&b))
    };
    if texts.is_empty() || names.len() < texts.len() || names.contains("") {
        return None;
    }
    let value = |text: &String| EnumValue {
        name: text.clone(),
        symbol: None,
    };
    let values = texts.iter().map(value).collect();
    texts.iter().all(is_plain).then_some(Type::Enum(values))
}

/// Joins the types of values with the declarations of the tools.
pub(crate) struct Declares<'d, F> {
    pub(crate) index: &'d Index<'d>,
    /// Returns the code of the schema that is declared for a place.
    pub(crate) code_at: F,
}

impl<F: Fn(usize) -> Option<String>> Declares<'_, F> {
    /// Returns the type that fits the values and, where possible, the declaration of a tool.
    pub(crate) fn join(
        &self,
        observed: Type,
        values: &Values,
        declared: &Declared,
        place: Option<usize>,
    ) -> Type {
        let nothing = values.seen == values.nulls;
        let empty = Values::default();
        let inner = |observed: Type, values: Option<&Values>, declared: &Declared, place| {
            let values = values.unwrap_or(&empty);
            Box::new(match values.nulls {
                0 => self.join(observed, values, declared, place),
                _ => Type::Any,
            })
        };
        let item = || place.and_then(|place| self.index.places.item(place));
        let entry = || place.and_then(|place| self.index.places.key(place, ""));
        match (&declared.kind, observed) {
            (Kind::Object { .. }, _) if nothing => {
                let code = place.and_then(|place| (self.code_at)(place));
                code.map_or_else(|| Type::Map(Box::new(Type::Any)), Type::Schema)
            }
            (Kind::List(of), Type::List(observed)) => {
                Type::List(inner(*observed, values.items.as_deref(), of, item()))
            }
            (Kind::List(of), Type::Any) if nothing => {
                Type::List(inner(Type::Any, None, of, item()))
            }
            (Kind::Map(of), Type::Map(observed)) => {
                Type::Map(inner(*observed, values.entries.as_deref(), of, entry()))
            }
            (Kind::Map(of), Type::Any) if nothing => Type::Map(inner(Type::Any, None, of, entry())),
            (Kind::Enum(texts), Type::Enum(_) | Type::String | Type::Text)
                if values.are_all(texts) =>
            {
                enumeration(texts).unwrap_or(Type::String)
            }
            (Kind::Enum(texts), Type::Any) if nothing => enumeration(texts).unwrap_or(Type::String),
            (Kind::String | Kind::Enum(_), Type::Enum(_)) => Type::String,
            (Kind::String, Type::Any) if nothing => Type::String,
            (Kind::Integer, Type::Any) if nothing => Type::Integer,
            (Kind::Boolean, Type::Any) if nothing => Type::Boolean,
            (Kind::Number, Type::Any) if nothing => Type::Number,
            (Kind::Number, Type::Integer | Type::Decimal) => Type::Number,
            (_, observed) => observed,
        }
    }
}
