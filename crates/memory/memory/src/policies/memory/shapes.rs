//! Shows JSON as views by shapes: records have only their values, by position, and each shape is declared once.

use std::sync::Arc;

use accp_frame::{TokenCounter, Value};
use accp_registry::Registry;
use serde_json::{Value as Json, json};

use accp_context::view::{Transcript, View, schema_of};

/// A shape is declared when this many records have had it.
const OFTEN: usize = 2;
/// In an object with more scalars than this, the order may have a meaning.
const PAIRS: usize = 12;

/// The shapes of the records of a conversation.
#[derive(Debug)]
pub(super) struct Shapes {
    /// The schemas that a registry has in addition to the standard ones, as JSON.
    learnt: serde_json::Map<String, Json>,
    /// The shapes that are declared; the code of each is `R` and its number, from 1.
    declared: Vec<Shape>,
    /// Shapes that are not declared yet, and how many records had them.
    counted: Vec<(Shape, usize)>,
    view: View,
    transcript: Transcript,
}

/// The keys of a record. A field has the keys of its inner record, if that record always had the same keys.
#[derive(Debug, Clone)]
struct Shape {
    fields: Vec<(String, Option<Vec<String>>)>,
}

/// A value as a view.
#[derive(Debug)]
pub(super) struct Shown {
    /// The definitions of shapes that this value is the first to need, each with a line feed.
    pub(super) definitions: String,
    pub(super) text: String,
}

impl Shapes {
    /// Begins with the shapes that a registry has in addition to the standard ones.
    pub(super) fn new(registry: &Registry) -> Self {
        let standard = Registry::standard();
        let mut json = registry.to_json();
        let schemas = json.get_mut("schemas").and_then(Json::as_object_mut);
        let mut learnt = schemas.map(std::mem::take).unwrap_or_default();
        learnt.retain(|name, _| standard.schema_by_name(name).is_none());
        for schema in learnt.values_mut().filter_map(Json::as_object_mut) {
            // A view leaves out values that are defaults. The schemas get no defaults, so that a
            // view shows all values.
            schema.remove("defaults");
        }
        let mut shapes = Self {
            learnt,
            declared: Vec::new(),
            counted: Vec::new(),
            view: View::new(Arc::new(Registry::empty())),
            transcript: Transcript::default(),
        };
        if let Some(registry) = shapes.registry() {
            shapes.view = View::new(Arc::new(registry));
        }
        shapes
    }

    /// Returns whether a registry knows the shape of a record.
    pub(super) fn is_learnt(&self, json: &Json) -> bool {
        let value = Value::from_data(json);
        let schema = match &value {
            Value::Map(map) => schema_of(self.view.registry(), map),
            _ => None,
        };
        schema.is_some_and(|schema| self.learnt.contains_key(&schema.name))
    }

    /// Returns a JSON object or list as a view; `None` for any other value, and where the view is
    /// no shorter than the recorded text.
    pub(super) fn view(
        &mut self,
        json: &Json,
        recorded: &str,
        counter: &dyn TokenCounter,
    ) -> Option<Shown> {
        if !json.is_object() && !json.is_array() || is_in_order_of_its_own(json) {
            return None;
        }
        self.count(json);
        self.declare();
        let view = &self.view;
        let block = view.value(&Value::from_data(json));
        let mut transcript = self.transcript.clone();
        let text = transcript.push(view, &block);
        if counter.count(&text) >= counter.count(recorded) {
            return None;
        }
        self.transcript = transcript;
        Some(Shown {
            definitions: text[..text.len() - block.text.len()].to_owned(),
            text: block.text,
        })
    }

    fn count(&mut self, json: &Json) {
        match json {
            Json::Object(fields) => {
                if fields.len() > 1 {
                    self.count_record(fields);
                }
                fields.values().for_each(|value| self.count(value));
            }
            Json::Array(items) => items.iter().for_each(|item| self.count(item)),
            _ => {}
        }
    }

    fn count_record(&mut self, record: &serde_json::Map<String, Json>) {
        let has = |shape: &Shape| shape.keys().eq(record.keys());
        if self.declared.iter().any(has) || self.is_learnt(&Json::Object(record.clone())) {
            return;
        }
        match self.counted.iter_mut().find(|(shape, _)| has(shape)) {
            Some((shape, count)) => {
                shape.narrow(record);
                *count += 1;
            }
            None => self.counted.push((Shape::of(record), 1)),
        }
    }

    /// Declares the shapes that have occurred often enough. Some keys cannot be names of fields: records with such
    /// keys stay maps.
    fn declare(&mut self) {
        let often = |counted: &mut (Shape, usize)| counted.1 >= OFTEN;
        let often: Vec<_> = self.counted.extract_if(.., often).collect();
        // An outer record is counted before its inner records. The inner records are declared
        // first, because the schema of the outer record names theirs.
        for (shape, _) in often.into_iter().rev() {
            self.declared.push(shape);
            match self.registry() {
                Some(registry) => self.view = View::new(Arc::new(registry)),
                None => drop(self.declared.pop()),
            }
        }
    }

    /// Returns the registry of all shapes.
    fn registry(&self) -> Option<Registry> {
        let code = |keys: &[String]| {
            let at = self
                .declared
                .iter()
                .position(|shape| shape.keys().eq(keys))?;
            Some(format!("R{}", at + 1))
        };
        let mut schemas = self.learnt.clone();
        for (at, shape) in self.declared.iter().enumerate() {
            let own = format!("R{}", at + 1);
            // A schema must not contain itself, so a field with a record of the same shape gets no
            // type.
            let below = shape.fields.iter().filter_map(|(key, below)| {
                let code = code(below.as_ref()?)?;
                (code != own).then(|| (key.clone(), Json::from(code)))
            });
            let types: serde_json::Map<String, Json> = below.collect();
            let fields: Vec<&String> = shape.keys().collect();
            let schema = json!({ "code": own, "fields": fields, "types": types });
            schemas.insert(format!("record_{}", at + 1), schema);
        }
        // The registry names no tokenizer, so definitions have the full names of fields. A prompt
        // does not explain short names.
        Registry::from_json(&json!({ "schemas": schemas }).to_string()).ok()
    }
}

impl Shape {
    fn of(record: &serde_json::Map<String, Json>) -> Self {
        let fields = record.iter().map(|(key, value)| (key.clone(), keys(value)));
        Self {
            fields: fields.collect(),
        }
    }

    fn keys(&self) -> impl Iterator<Item = &String> {
        self.fields.iter().map(|(key, _)| key)
    }

    /// Forgets the inner keys of each field whose value in this record has other keys.
    fn narrow(&mut self, record: &serde_json::Map<String, Json>) {
        for ((_, below), value) in self.fields.iter_mut().zip(record.values()) {
            if *below != keys(value) {
                *below = None;
            }
        }
    }
}

/// Returns whether an object is a long list of pairs in an order that a view would lose: a view sorts keys.
fn is_in_order_of_its_own(json: &Json) -> bool {
    json.as_object().is_some_and(|pairs| {
        let is_pair = |value: &Json| !value.is_object() && !value.is_array();
        pairs.len() > PAIRS && pairs.values().all(is_pair) && !pairs.keys().is_sorted()
    })
}

/// Returns the keys of a record.
fn keys(value: &Json) -> Option<Vec<String>> {
    let record = value.as_object()?;
    (record.len() > 1).then(|| record.keys().cloned().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::counters::BYTES;

    fn shown(shapes: &mut Shapes, json: &Json) -> Option<String> {
        let Shown { definitions, text } = shapes.view(json, &json.to_string(), &BYTES)?;
        Some(format!("{definitions}{text}"))
    }

    #[test]
    fn a_shape_is_declared_once() {
        let mut shapes = Shapes::new(&Registry::standard());
        let flight = |number: &str, seats: u32| json!({ "flight": number, "seats_left": seats });
        let flights = json!([flight("WF31", 4), flight("WF35", 2)]);
        let first = shown(&mut shapes, &flights).unwrap();
        assert_eq!(first, "@=R1(flight,seats_left)\nR1[\nWF31,4\nWF35,2]");
        let second = shown(&mut shapes, &json!([flight("WF7", 1), flight("WF9", 0)])).unwrap();
        assert_eq!(second, "R1[\nWF7,1\nWF9,0]");
        assert_eq!(shown(&mut shapes, &json!("no record")), None);
    }

    #[test]
    fn records_below_a_field_need_no_code() {
        let mut shapes = Shapes::new(&Registry::standard());
        let seats = |all: u32| json!({ "coach": all, "first": 2 });
        let flight = |number: &str| json!({ "flight": number, "seats": seats(40), "note": null });
        let text = shown(&mut shapes, &json!([flight("WF31"), flight("WF35")])).unwrap();
        let expected = "@=R2(flight,seats:R1,note)\n@=R1(coach,first)\n\
            R2[seats:(40,2),note:~\nWF31\nWF35]";
        assert_eq!(text, expected);
        // A record whose field `seats` has a text in place of a record can still be read back.
        let other = json!([{ "flight": "WF7", "seats": "sold out", "note": "a" }]);
        let text = shown(&mut shapes, &other).unwrap();
        assert_eq!(text, "[R2(WF7,sold out,a)]");
        let read = shapes.view.read_value(&text).unwrap();
        assert_eq!(read, Value::from_data(&other).into_owned());
    }

    #[test]
    fn shapes_of_a_registry_are_known_and_their_defaults_stand_in_the_prompt() {
        let registry = r#"{ "schemas": { "stock": {
            "code": "ST1", "fields": ["item", "bags"], "defaults": { "bags": 4 } } } }"#;
        let registry = Registry::from_json(registry).unwrap();
        let mut shapes = Shapes::new(&registry);
        let stock = json!({ "item": "rye flour, fine", "bags": 4 });
        assert!(shapes.is_learnt(&stock) && !shapes.is_learnt(&json!({ "item": 1, "of": 2 })));
        let text = shown(&mut shapes, &json!([stock, stock, stock])).unwrap();
        assert_eq!(
            text,
            "@=ST1(item,bags)\nST1[item:\"rye flour, fine\",bags:4\n\n\n]"
        );
    }

    #[test]
    fn definitions_have_the_keys_and_no_short_names() {
        let registry = r#"{ "tokenizer": "o200k_base", "schemas": { "stock": {
            "code": "ST1", "fields": ["item", "bags_on_hand"],
            "abbreviations": { "bags_on_hand": "bags" } } } }"#;
        let mut shapes = Shapes::new(&Registry::from_json(registry).unwrap());
        let stock = json!({ "item": "rye flour", "bags_on_hand": 4 });
        let text = shown(&mut shapes, &json!([stock, stock])).unwrap();
        assert!(text.starts_with("@=ST1(item,bags_on_hand)\n"), "{text}");
    }

    #[test]
    fn long_lists_of_pairs_keep_their_order() {
        let mut shapes = Shapes::new(&Registry::standard());
        let pairs = (0..20).rev().map(|n| (format!("n{n:02}"), json!(n)));
        let pairs: serde_json::Map<String, Json> = pairs.collect();
        assert_eq!(shown(&mut shapes, &Json::Object(pairs)), None);
    }

    fn any_json() -> impl Strategy<Value = Json> {
        let key = "(id|name|of seats|a|)";
        let leaf = prop_oneof![
            any::<Option<i64>>().prop_map(Json::from),
            any::<bool>().prop_map(Json::from),
            "[a-c0-9,\\[\\]\"@\\n ]{0,8}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 24, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
                prop::collection::btree_map(key, inner, 0..4)
                    .prop_map(|map| Json::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(results in prop::collection::vec(any_json(), 1..5)) {
            let mut shapes = Shapes::new(&Registry::standard());
            for json in &results {
                if let Some(text) = shown(&mut shapes, json) {
                    let lines = text.split('\n');
                    let value: Vec<&str> = lines.skip_while(|line| line.starts_with("@=")).collect();
                    let read = shapes.view.read_value(&value.join("\n")).unwrap();
                    prop_assert_eq!(read, Value::from_data(json).into_owned(), "{}", text);
                }
            }
        }
    }
}
