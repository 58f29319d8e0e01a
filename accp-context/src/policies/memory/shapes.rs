//! JSON by shapes: records by position, each shape declared once.

use std::sync::Arc;

use accp_frame::{TokenCounter, Value};
use accp_registry::Registry;
use serde_json::{Value as Json, json};

use crate::view::{Transcript, View};

/// A shape is declared when so many records had it.
const OFTEN: usize = 2;

/// The shapes of the records of a conversation.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// The shapes that are declared; the code of each is `R` and its number, from 1.
    declared: Vec<Shape>,
    /// Shapes that are not declared yet, and how many records had them.
    counted: Vec<(Shape, usize)>,
    view: Option<View>,
    transcript: Transcript,
}

/// The keys of a record, each with the keys of the record under it, if there always was one.
#[derive(Debug, Clone)]
struct Shape {
    fields: Vec<(String, Option<Vec<String>>)>,
}

/// A value as a view.
#[derive(Debug)]
pub(super) struct Shown {
    /// The definitions of shapes that no earlier value needed, each with a line feed.
    pub(super) definitions: String,
    pub(super) text: String,
}

impl Shapes {
    /// Returns a JSON object or list as a view; `None` for any other value, and where the view is
    /// no shorter than the recorded text.
    pub(super) fn view(
        &mut self,
        json: &Json,
        recorded: &str,
        counter: &dyn TokenCounter,
    ) -> Option<Shown> {
        if !json.is_object() && !json.is_array() {
            return None;
        }
        self.count(json);
        self.declare();
        let view = self
            .view
            .get_or_insert_with(|| View::new(Arc::new(Registry::standard())));
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
        if self.declared.iter().any(has) {
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

    /// Declares the shapes that are there often. Some keys cannot be names of fields: records with
    /// such keys stay maps.
    fn declare(&mut self) {
        let often = |counted: &mut (Shape, usize)| counted.1 >= OFTEN;
        let often: Vec<_> = self.counted.extract_if(.., often).collect();
        // A record is counted before those in it, and they are declared first.
        for (shape, _) in often.into_iter().rev() {
            self.declared.push(shape);
            match registry(&self.declared) {
                Some(registry) => self.view = Some(View::new(Arc::new(registry))),
                None => drop(self.declared.pop()),
            }
        }
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

    /// Forgets the keys below fields that have other values in this record.
    fn narrow(&mut self, record: &serde_json::Map<String, Json>) {
        for ((_, below), value) in self.fields.iter_mut().zip(record.values()) {
            if *below != keys(value) {
                *below = None;
            }
        }
    }
}

/// Returns the keys of a record.
fn keys(value: &Json) -> Option<Vec<String>> {
    let record = value.as_object()?;
    (record.len() > 1).then(|| record.keys().cloned().collect())
}

fn registry(shapes: &[Shape]) -> Option<Registry> {
    let code = |keys: &[String]| {
        let at = shapes.iter().position(|shape| shape.keys().eq(keys))?;
        Some(format!("R{}", at + 1))
    };
    let schemas = shapes.iter().enumerate().map(|(at, shape)| {
        // A schema that holds itself would have no end.
        let below = shape.fields.iter().filter_map(|(key, below)| {
            let code = code(below.as_ref()?)?;
            (code != format!("R{}", at + 1)).then(|| (key.clone(), Json::from(code)))
        });
        let types: serde_json::Map<String, Json> = below.collect();
        let fields: Vec<&String> = shape.keys().collect();
        let schema = json!({ "code": format!("R{}", at + 1), "fields": fields, "types": types });
        (format!("record_{}", at + 1), schema)
    });
    let schemas: serde_json::Map<String, Json> = schemas.collect();
    Registry::from_json(&json!({ "schemas": schemas }).to_string()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Bytes;

    impl TokenCounter for Bytes {
        fn name(&self) -> &'static str {
            "bytes"
        }
        fn count(&self, text: &str) -> usize {
            text.len()
        }
    }

    fn shown(shapes: &mut Shapes, json: &Json) -> Option<String> {
        let Shown { definitions, text } = shapes.view(json, &json.to_string(), &Bytes)?;
        Some(format!("{definitions}{text}"))
    }

    #[test]
    fn a_shape_is_declared_once() {
        let mut shapes = Shapes::default();
        let flight = |number: &str, seats: u32| json!({ "flight": number, "seats_left": seats });
        let flights = json!([flight("WF31", 4), flight("WF35", 2)]);
        let first = shown(&mut shapes, &flights).unwrap();
        assert_eq!(first, "@=R1(flight,seats_left)\nR1[\nWF31,4\nWF35,2]");
        let second = shown(&mut shapes, &json!([flight("WF7", 1), flight("WF9", 0)])).unwrap();
        assert_eq!(second, "R1[\nWF7,1\nWF9,0]");
        assert_eq!(shown(&mut shapes, &json!("no record")), None);
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
            let mut shapes = Shapes::default();
            for json in &results {
                if let Some(text) = shown(&mut shapes, json) {
                    let lines = text.split('\n');
                    let value: Vec<&str> = lines.skip_while(|line| line.starts_with("@=")).collect();
                    let view = shapes.view.as_ref().unwrap();
                    let read = view.read_value(&value.join("\n")).unwrap();
                    prop_assert_eq!(read, Value::from_data(json).into_owned(), "{}", text);
                }
            }
        }
    }
}
