//! JSON by shapes: records by position, each shape declared once.

use std::sync::Arc;

use accp_frame::{TokenCounter, Value};
use accp_registry::Registry;
use serde_json::{Value as Json, json};

use crate::policy::Message;
use crate::view::{Transcript, View};

/// A shape is declared when so many records had it.
const OFTEN: usize = 2;

/// The shapes of the records of a conversation.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// The keys of each shape that is declared; its code is `R` and its number, from 1.
    declared: Vec<Vec<String>>,
    /// The keys of records, and how many had them.
    counted: Vec<(Vec<String>, usize)>,
    view: Option<View>,
    transcript: Transcript,
}

impl Shapes {
    /// Returns a result that is a JSON object or list as a view, after the definitions of shapes
    /// that are new; `None` for any other text, and where the view is no shorter.
    pub(super) fn text(&mut self, message: &Message, counter: &dyn TokenCounter) -> Option<String> {
        let recorded = message.plain();
        let json: Json = serde_json::from_str(&recorded).ok()?;
        if !json.is_object() && !json.is_array() {
            return None;
        }
        self.count(&json);
        self.declare();
        let view = self
            .view
            .get_or_insert_with(|| View::new(Arc::new(Registry::standard())));
        let block = view.value(&Value::from_data(&json));
        let mut transcript = self.transcript.clone();
        let text = transcript.push(view, &block);
        if counter.count(&text) >= counter.count(&recorded) {
            return None;
        }
        self.transcript = transcript;
        Some(text)
    }

    fn count(&mut self, json: &Json) {
        match json {
            Json::Object(fields) => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                if keys.len() > 1 && !self.declared.contains(&keys) {
                    let mut counted = self.counted.iter_mut();
                    match counted.find(|(counted, _)| *counted == keys) {
                        Some((_, count)) => *count += 1,
                        None => self.counted.push((keys, 1)),
                    }
                }
                fields.values().for_each(|value| self.count(value));
            }
            Json::Array(items) => items.iter().for_each(|item| self.count(item)),
            _ => {}
        }
    }

    /// Declares the shapes that are there often. Some keys cannot be names of fields: records with
    /// such keys stay maps.
    fn declare(&mut self) {
        let often = |counted: &mut (Vec<String>, usize)| counted.1 >= OFTEN;
        let often: Vec<_> = self.counted.extract_if(.., often).collect();
        for (keys, _) in often {
            self.declared.push(keys);
            match registry(&self.declared) {
                Some(registry) => self.view = Some(View::new(Arc::new(registry))),
                None => drop(self.declared.pop()),
            }
        }
    }
}

fn registry(shapes: &[Vec<String>]) -> Option<Registry> {
    let schemas = shapes.iter().enumerate().map(|(at, keys)| {
        let number = at + 1;
        let schema = json!({ "code": format!("R{number}"), "fields": keys });
        (format!("record_{number}"), schema)
    });
    let schemas: serde_json::Map<String, Json> = schemas.collect();
    Registry::from_json(&json!({ "schemas": schemas }).to_string()).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Recorded;

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
        let result = json!({ "role": "tool", "content": json.to_string() });
        let message = Message::new(0, Recorded::of(&result)).unwrap();
        shapes.text(&message, &Bytes)
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
