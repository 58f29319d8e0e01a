//! Recorded messages of every shape are restored from their frames.

use accp_frame::TokenCounter;
use proptest::prelude::*;
use serde_json::{Map as JsonMap, Value as Json, json};

use super::*;

/// Counts bytes.
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z_ ]{0,10}",
        "[ -~]{40,80}",
        any::<String>(),
        prop::sample::select(vec![
            "",
            "tool",
            "assistant",
            "user",
            "agent",
            "_",
            "web_search",
            "Geo Expert",
            "100001000001",
            "~",
            "$cold.k1",
            r#"{"b": 1, "a": [2, {"x": "é"}]}"#,
            r#"{"b":1,"a":{"d":[],"c":null}}"#,
            "[1, 2]",
            "{}",
            "[]",
            "42",
            "null",
            "{\n  \"a\": 1,\n  \"c\": {},\n  \"b\": 2\n}",
            r#"{"a":1,"a":2}"#,
            r#"{"$ref":"cold.k1"}"#,
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i32>().prop_map(Json::from),
        any::<f64>().prop_map(|float| json!(float)),
        text().prop_map(Json::from),
    ];
    leaf.prop_recursive(7, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(text(), inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

/// Makes JSON objects. A usual key mostly has its usual value, but it may be missing or have any value.
fn object(usual: Vec<(&'static str, BoxedStrategy<Json>)>) -> impl Strategy<Value = Json> {
    let entries: Vec<_> = usual
        .into_iter()
        .map(|(key, value)| {
            let value = prop_oneof![12 => value.prop_map(Some), 2 => Just(None), 1 => any_json().prop_map(Some)];
            value.prop_map(move |value| value.map(|value| (key.to_owned(), value)))
        })
        .collect();
    let odd_key = prop_oneof![
        text(),
        prop::sample::select(vec![
            "x", "lay", "raw", "no", "parts", "args", "d", "data", "schema", "target", "who",
            "turn"
        ])
        .prop_map(str::to_owned),
    ];
    let odd = prop::collection::btree_map(odd_key, any_json(), 0..2);
    (entries, odd).prop_map(|(entries, odd)| {
        let mut object: JsonMap<String, Json> = odd.into_iter().collect();
        object.extend(entries.into_iter().flatten());
        Json::Object(object)
    })
}

fn string() -> BoxedStrategy<Json> {
    text().prop_map(Json::from).boxed()
}

fn call() -> impl Strategy<Value = Json> {
    let id = || {
        prop_oneof![
            prop::sample::select(vec![
                json!("call_1"),
                json!("call_2"),
                json!("100001000001"),
            ]),
            text().prop_map(Json::from)
        ]
        .boxed()
    };
    let function = object(vec![("name", string()), ("arguments", string())]);
    prop_oneof![
        object(vec![
            ("id", id()),
            ("type", Just(json!("function")).boxed()),
            ("function", function.boxed())
        ]),
        object(vec![
            ("id", id()),
            ("name", string()),
            ("arguments", any_json().boxed())
        ]),
        object(vec![
            ("id", id()),
            ("name", string()),
            ("arguments", any_json().boxed()),
            ("arguments_raw", string())
        ]),
    ]
}

fn message() -> impl Strategy<Value = Json> {
    let role = |roles: &[&'static str]| {
        prop::sample::select(roles.to_vec())
            .prop_map(Json::from)
            .boxed()
    };
    let calls = prop::collection::vec(call(), 0..3)
        .prop_map(Json::from)
        .boxed();
    let some = |value: BoxedStrategy<Json>| value;
    prop_oneof![
        object(vec![
            (
                "role",
                role(&["user", "system", "assistant", "agent", "odd role"])
            ),
            ("content", string()),
            ("name", string()),
            ("to", string())
        ]),
        object(vec![
            ("role", role(&["user", "assistant"])),
            ("content", string())
        ]),
        object(vec![
            ("role", role(&["assistant", "agent"])),
            (
                "content",
                prop_oneof![Just(Json::Null), text().prop_map(Json::from)].boxed()
            ),
            ("tool_calls", some(calls))
        ]),
        object(vec![
            ("role", role(&["tool"])),
            ("content", string()),
            ("tool_call_id", role(&["call_1", "call_2", "call_9"])),
            ("name", string())
        ]),
        object(vec![("role", role(&["tool"])), ("content", string())]),
    ]
}

fn conversation() -> impl Strategy<Value = Json> {
    let messages = || prop::collection::vec(message(), 0..8).prop_map(Json::from);
    prop_oneof![
        1 => messages(),
        4 => (object(vec![("id", string()), ("meta", any_json().boxed())]), messages()).prop_map(|(mut object, messages)| {
            object["messages"] = messages;
            object
        }),
    ]
}

proptest! {
    #[test]
    fn every_conversation_comes_back(json in conversation(), inline: bool) {
        let options = ConvertOptions { inline, ..ConvertOptions::default() };
        let mut converter = Converter::new(options, Bytes);
        let text = json.to_string();
        let conversation = Conversation::new(json).map_err(|error| TestCaseError::reject(error.to_string()))?;
        prop_assert_eq!(converter.verify(&conversation), Ok(()), "{}", text);
        prop_assert_eq!(converter.summary.restored_equal, Some(1), "{}", text);
    }
}
