//! Places of values: the tool, its arguments or its result, and the keys below. A place also
//! records whether the keys of its objects are names of fields or data.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value as Json};

use crate::declared::{Declared, Kind};
use crate::traces::{Part, Root, Traces};

/// The places of a set of traces, and the sets of keys that were seen there.
#[derive(Debug, Default)]
pub(crate) struct Places {
    nodes: Vec<Place>,
    roots: BTreeMap<Root, usize>,
    /// The sets of keys of the objects that are records.
    pub(crate) sets: Vec<KeySet>,
    ids: BTreeMap<Vec<String>, usize>,
    /// The set of keys of each record, by the address of the record.
    of: HashMap<usize, usize>,
}

/// A node in the tree of places.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) parent: Option<usize>,
    pub(crate) step: Step,
    pub(crate) declared: Option<Declared>,
    /// Whether the keys of the objects here are data.
    is_map: bool,
    keys: BTreeMap<String, usize>,
    item: Option<usize>,
    entry: Option<usize>,
}

/// The step to a place from its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Root(Root),
    Key(String),
    /// An element of a list.
    Item,
    /// A value of a map.
    Entry,
}

/// A set of keys that objects have.
#[derive(Debug)]
pub(crate) struct KeySet {
    /// The keys, in ascending order.
    pub(crate) keys: Vec<String>,
    /// The number of objects with exactly these keys.
    pub(crate) seen: usize,
    /// The conversations with such an object.
    pub(crate) conversations: BTreeSet<usize>,
    /// The number of such objects in each place.
    pub(crate) places: BTreeMap<usize, usize>,
    /// The sum of the relative positions of each key.
    pub(crate) positions: Vec<f64>,
    /// The places whose tool declares exactly these keys.
    pub(crate) declared: BTreeSet<usize>,
}

/// A value, with the number of its conversation.
type Sighting<'t> = (usize, &'t Json);

impl Places {
    /// Finds the places of all values of the traces, and of all declarations of the tools.
    pub(crate) fn of(traces: &Traces) -> Self {
        let mut places = Self::default();
        let mut values: BTreeMap<&Root, Vec<Sighting<'_>>> = BTreeMap::new();
        for (number, conversation) in traces.conversations.iter().enumerate() {
            for event in &conversation.events {
                values
                    .entry(&event.root)
                    .or_default()
                    .push((number, &event.value));
            }
        }
        for (name, tool) in traces.tools.iter() {
            for (part, declared) in [
                (Part::Arguments, &tool.arguments),
                (Part::Result, &tool.result),
            ] {
                if let Some(declared) = declared {
                    let tool = name.clone();
                    let root = places.root(&Root { tool, part });
                    places.declare(root, declared);
                }
            }
        }
        let mut open = Vec::new();
        for (root, values) in values {
            open.push((places.root(root), values));
        }
        while let Some((place, values)) = open.pop() {
            places.look(place, &values, &mut open);
        }
        places
    }

    pub(crate) fn get(&self, place: usize) -> &Place {
        &self.nodes[place]
    }

    /// Returns the root above a place.
    pub(crate) fn root_of(&self, mut place: usize) -> &Root {
        loop {
            match (&self.nodes[place].step, self.nodes[place].parent) {
                (Step::Root(root), _) => return root,
                (_, Some(parent)) => place = parent,
                // Only roots have no parent.
                (_, None) => unreachable!("a place without a root"),
            }
        }
    }

    /// Returns the place of the values of an event.
    pub(crate) fn at(&self, root: &Root) -> Option<usize> {
        self.roots.get(root).copied()
    }

    /// Returns the place of the value under a key of an object at `place`.
    pub(crate) fn key(&self, place: usize, key: &str) -> Option<usize> {
        let place = &self.nodes[place];
        if place.is_map {
            place.entry
        } else {
            place.keys.get(key).copied()
        }
    }

    /// Returns the place of the elements of a list at `place`.
    pub(crate) fn item(&self, place: usize) -> Option<usize> {
        self.nodes[place].item
    }

    /// Returns whether the keys of objects at `place` are data.
    pub(crate) fn is_map(&self, place: usize) -> bool {
        self.nodes[place].is_map
    }

    /// Returns the set of keys of a record of the traces, or `None` for another object.
    pub(crate) fn set_of(&self, object: &Map<String, Json>) -> Option<usize> {
        self.of.get(&address(object)).copied()
    }

    fn add(&mut self, parent: Option<usize>, step: Step) -> usize {
        self.nodes.push(Place {
            parent,
            step,
            declared: None,
            is_map: false,
            keys: BTreeMap::new(),
            item: None,
            entry: None,
        });
        self.nodes.len() - 1
    }

    fn root(&mut self, root: &Root) -> usize {
        if let Some(place) = self.roots.get(root) {
            return *place;
        }
        let place = self.add(None, Step::Root(root.clone()));
        self.roots.insert(root.clone(), place);
        place
    }

    /// Returns the place one step below, and makes it if it does not exist.
    fn below(&mut self, place: usize, step: Step) -> usize {
        let known = match &step {
            Step::Key(key) => self.nodes[place].keys.get(key).copied(),
            Step::Item => self.nodes[place].item,
            Step::Entry => self.nodes[place].entry,
            Step::Root(_) => None,
        };
        if let Some(known) = known {
            return known;
        }
        let below = self.add(Some(place), step.clone());
        let node = &mut self.nodes[place];
        match step {
            Step::Key(key) => {
                node.keys.insert(key, below);
            }
            Step::Item => node.item = Some(below),
            Step::Entry => node.entry = Some(below),
            Step::Root(_) => {}
        }
        below
    }

    fn set(&mut self, keys: Vec<String>) -> usize {
        let next = self.sets.len();
        let id = *self.ids.entry(keys.clone()).or_insert(next);
        if id == next {
            self.sets.push(KeySet {
                positions: vec![0.0; keys.len()],
                keys,
                seen: 0,
                conversations: BTreeSet::new(),
                places: BTreeMap::new(),
                declared: BTreeSet::new(),
            });
        }
        id
    }

    /// Notes the declaration of a tool for a place and for the places below.
    fn declare(&mut self, place: usize, declared: &Declared) {
        self.nodes[place].declared = Some(declared.clone());
        match &declared.kind {
            Kind::List(item) => {
                let below = self.below(place, Step::Item);
                self.declare(below, item);
            }
            Kind::Map(entry) => {
                self.nodes[place].is_map = true;
                let below = self.below(place, Step::Entry);
                self.declare(below, entry);
            }
            Kind::Object { fields, .. } => {
                let mut keys: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
                keys.sort();
                keys.dedup();
                let set = self.set(keys);
                self.sets[set].declared.insert(place);
                for (name, field) in fields {
                    let below = self.below(place, Step::Key(name.clone()));
                    self.declare(below, field);
                }
            }
            _ => {}
        }
    }

    /// Looks at all values of one place, and leaves the values inside them in `open`.
    fn look<'t>(
        &mut self,
        place: usize,
        values: &[Sighting<'t>],
        open: &mut Vec<(usize, Vec<Sighting<'t>>)>,
    ) {
        let has_parts = |value: &&Json| value.is_object() || value.is_array();
        let items: Vec<Sighting<'t>> = values
            .iter()
            .filter_map(|(number, value)| Some((*number, value.as_array()?)))
            .flat_map(|(number, items)| items.iter().map(move |item| (number, item)))
            .filter(|(_, item)| has_parts(item))
            .collect();
        if !items.is_empty() {
            open.push((self.below(place, Step::Item), items));
        }
        let objects: Vec<(usize, &'t Map<String, Json>)> = values
            .iter()
            .filter_map(|(number, value)| Some((*number, value.as_object()?)))
            .filter(|(_, object)| !object.is_empty())
            .collect();
        if objects.is_empty() {
            return;
        }
        if self.nodes[place]
            .declared
            .as_ref()
            .is_none_or(|declared| declared.kind == Kind::Any)
            && !matches!(&self.nodes[place].step, Step::Root(root) if root.part == Part::Arguments)
        {
            let bare: Vec<&Map<String, Json>> = objects.iter().map(|(_, object)| *object).collect();
            self.nodes[place].is_map = keys_are_data(&bare, 0);
        }
        if self.nodes[place].is_map {
            let entries = objects.iter().flat_map(|(number, object)| {
                let values = object.values().filter(has_parts);
                values.map(|value| (*number, value))
            });
            let entries: Vec<Sighting<'t>> = entries.collect();
            if !entries.is_empty() {
                open.push((self.below(place, Step::Entry), entries));
            }
            return;
        }
        let mut fields: BTreeMap<&'t str, Vec<Sighting<'t>>> = BTreeMap::new();
        for (number, object) in objects {
            self.record(place, number, object);
            for (key, value) in object.iter().filter(|(_, value)| has_parts(value)) {
                fields.entry(key).or_default().push((number, value));
            }
        }
        for (key, values) in fields {
            open.push((self.below(place, Step::Key(key.to_owned())), values));
        }
    }

    fn record(&mut self, place: usize, number: usize, object: &Map<String, Json>) {
        let mut keys: Vec<String> = object.keys().cloned().collect();
        keys.sort();
        let id = self.set(keys);
        self.of.insert(address(object), id);
        let set = &mut self.sets[id];
        set.seen += 1;
        set.conversations.insert(number);
        *set.places.entry(place).or_default() += 1;
        for (index, key) in object.keys().enumerate() {
            if let Ok(at) = set.keys.binary_search(key) {
                set.positions[at] += (index as f64 + 0.5) / object.len() as f64;
            }
        }
    }
}

fn address(object: &Map<String, Json>) -> usize {
    std::ptr::from_ref(object).addr()
}

/// Returns whether the keys of the objects in one place are data: the values are alike, and the
/// keys differ from object to object or look like ids.
fn keys_are_data(objects: &[&Map<String, Json>], depth: usize) -> bool {
    let sets: BTreeSet<Vec<&str>> = objects
        .iter()
        .map(|object| object.keys().map(String::as_str).collect::<BTreeSet<_>>())
        .map(|keys| keys.into_iter().collect())
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for key in sets.iter().flatten() {
        *counts.entry(key).or_default() += 1;
    }
    let values = || objects.iter().flat_map(|object| object.values());
    if counts.is_empty() || !are_alike(values(), depth) {
        return false;
    }
    let names_its_value = |(key, value): (&String, &Json)| {
        let mut members = value.as_object().into_iter().flatten();
        members.any(|(_, member)| member.as_str() == Some(key))
    };
    if objects
        .iter()
        .all(|object| object.iter().all(names_its_value))
    {
        return true;
    }
    if counts.keys().filter(|key| looks_like_data(key)).count() * 2 > counts.len() {
        return true;
    }
    let total: usize = counts.values().sum();
    let once = counts.values().filter(|count| **count == 1).count();
    let most = counts.values().max().copied().unwrap_or_default();
    // Names of fields repeat: few of them are seen only once, and some are in almost every record.
    // Other keys are data.
    sets.len() >= 3
        && most * 10 < sets.len() * 9
        && total * 2 < counts.len() * sets.len()
        && (once * 5 >= total || counts.len() > 20)
}

/// Returns whether a key is more likely a value than a name.
fn looks_like_data(key: &str) -> bool {
    let digits = key.bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 || key.contains('/') || key.find('@').is_some_and(|at| at > 0)
}

/// Returns whether values have one kind, and objects similar keys.
fn are_alike<'t>(values: impl Iterator<Item = &'t Json>, depth: usize) -> bool {
    /// The deepest maps inside maps that are told apart from records.
    const DEEPEST: usize = 3;
    let mut objects: Vec<&Map<String, Json>> = Vec::new();
    let mut kinds = BTreeSet::new();
    for value in values {
        let kind = match value {
            Json::Null => continue,
            Json::Bool(_) => 0,
            Json::Number(_) => 1,
            Json::String(_) => 2,
            Json::Array(_) => 3,
            Json::Object(object) => {
                objects.push(object);
                4
            }
        };
        kinds.insert(kind);
    }
    if kinds.len() != 1 || objects.is_empty() {
        return kinds.len() == 1;
    }
    let union: BTreeSet<&String> = objects.iter().flat_map(|object| object.keys()).collect();
    let total: usize = objects.iter().map(|object| object.len()).sum();
    total * 2 >= union.len() * objects.len()
        || (depth < DEEPEST && keys_are_data(&objects, depth + 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn data(objects: &[Json]) -> bool {
        let objects: Vec<&Map<String, Json>> = objects.iter().filter_map(Json::as_object).collect();
        keys_are_data(&objects, 0)
    }

    #[test]
    fn keys_that_vary_over_values_of_one_shape_are_data() {
        let card = |id: &str| json!({ "brand": "visa", "id": id });
        assert!(data(&[json!({ "a": card("a"), "b": card("b") })]), "ids");
        assert!(
            data(&[json!({ "2024-05-01": 1, "2024-05-02": 2 })]),
            "dates"
        );
        let towns = [
            "rome", "oslo", "bern", "lima", "cairo", "paris", "delhi", "tokyo",
        ];
        let counts: Vec<Json> = towns
            .chunks(2)
            .map(|two| json!({ two[0]: 1, two[1]: 2 }))
            .collect();
        assert!(data(&counts));
    }

    #[test]
    fn names_of_fields_are_not() {
        assert!(!data(&[json!({ "economy": 1, "business": 2 })]));
        assert!(!data(&[
            json!({ "name": "a", "age": 2 }),
            json!({ "name": "b" })
        ]));
        // Each of these parameters is given in some calls.
        let names = ["color", "size", "brand", "shop", "city"];
        let some = |bits: usize| {
            let given = names
                .iter()
                .enumerate()
                .filter(|(at, _)| bits >> at & 1 == 1);
            given
                .map(|(_, name)| ((*name).to_owned(), json!("x")))
                .collect::<Map<_, _>>()
        };
        let calls: Vec<Json> = (1..32).map(|bits| Json::Object(some(bits))).collect();
        assert!(!data(&calls));
    }
}
