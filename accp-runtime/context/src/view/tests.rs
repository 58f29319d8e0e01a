use std::sync::{Arc, LazyLock};

use accp_registry::Registry;
use proptest::prelude::*;
use serde_json::json;

use super::{Transcript, View, facts};
use accp_frame::{DynamicFrame, Map, Value};

mod lenient;
mod prompt;
mod typed;
mod unions;

use typed::fit;

/// Schemas with defaults, nested schemas, and two schemas that share fields.
static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| {
    let json = json!({ "version": 1, "schemas": {
        "seats": { "code": "SE", "version": 1, "fields": ["low", "high"],
            "types": { "low": "integer", "high": "integer" } },
        "flight": { "code": "FL", "version": 1, "fields": ["number", "from", "to", "seats", "open"],
            "types": { "number": "string", "from": "string", "to": "string", "seats": "SE",
                "open": "boolean" },
            "abbreviations": { "number": "no", "open": "still" },
            "defaults": { "open": true } },
        "leg": { "code": "LE", "version": 1, "fields": ["number", "from", "day", "note", "more", "yet"],
            "types": { "number": "string", "from": "string", "day": "string", "note": "text",
                "more": "any", "yet": "any" },
            "keep": ["number", "day"],
            "frames": [{ "intent": "req", "operation": "book" }] },
        "trip": { "code": "TR", "version": 1,
            "fields": ["legs", "first", "prices", "mood", "count", "rate", "paid", "by", "sure"],
            "types": { "legs": "[FL]", "first": "FL", "prices": "{decimal}",
                "mood": "enum(low,on_edge=+,-x,12)", "count": "integer", "rate": "number",
                "paid": "decimal", "by": "agent", "sure": "boolean" },
            "required": ["count"], "defaults": { "paid": 1.5, "mood": "low" },
            "frames": [{ "intent": "req", "operation": "trip" }] },
    }});
    let registry = Registry::from_json(&json.to_string()).unwrap();
    Arc::new(registry.with_profiles())
});

fn view() -> View {
    View::new(Arc::clone(&REGISTRY))
}

/// Makes a view that shows the names on the wire, because its registry names a tokenizer.
fn tuned_view() -> View {
    let mut registry = Registry::clone(&REGISTRY);
    registry.tokenizer = Some("o200k_base".into());
    View::new(Arc::new(registry))
}

/// Generates texts with all characters and words that have a meaning in a view.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9_. -]{0,12}",
        "\\PC{0,8}",
        any::<String>(),
        r#"[@\\|"(){}\[\],:?>\n\r\t #$~=-]{0,8}"#,
        "(true|false|null|~|-|42|-1|1[.]50|#1e9|[$]cold[.]p1|FL|FL[(]|@=FL[(]|TA|\n@a: x|\n\\\\@a){0,3}",
        "[a-z @\n\\\\]{70,90}",
        Just("\u{202e}abc\u{7f}\u{feff}".to_string()),
    ]
}

fn any_scalar() -> impl Strategy<Value = Value<'static>> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_filter_map("finite", |float| Value::try_from(float).ok()),
        any_text().prop_map(Value::from),
        "[a-z]{1,4}[.][a-z0-9_]{1,5}".prop_map(|key| Value::Ref(key.into())),
    ]
}

fn any_key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            "number", "from", "to", "seats", "open", "low", "high", "day", "note", "more", "yet"
        ]).prop_map(String::from),
        1 => any_text(),
    ]
}

fn any_value() -> impl Strategy<Value = Value<'static>> {
    any_scalar().prop_recursive(4, 40, 6, |inner| {
        let map = prop::collection::vec((any_key(), inner.clone()), 0..6)
            .prop_map(|entries| Value::Map(entries.into_iter().collect()));
        let row = |open: Option<bool>, a: Value<'static>, b: Value<'static>| {
            let mut row: Map<'static> = [("number", a), ("to", b)].into_iter().collect();
            row.insert("from", "OSL".into());
            row.insert(
                "seats",
                Value::Map([("low", 1.into())].into_iter().collect()),
            );
            if let Some(open) = open {
                row.insert("open", open.into());
            }
            Value::Map(row)
        };
        let table =
            prop::collection::vec((any::<Option<bool>>(), inner.clone(), any_scalar()), 0..4)
                .prop_map(move |rows| {
                    Value::Array(
                        rows.into_iter()
                            .map(|(open, a, b)| row(open, a, b))
                            .collect(),
                    )
                });
        prop_oneof![
            map,
            table,
            prop::collection::vec(inner, 0..4).prop_map(Value::Array),
        ]
    })
}

/// Generates messages. A message fits its schema, or has no schema that the registry knows.
fn any_message() -> impl Strategy<Value = DynamicFrame<'static>> {
    let head = prop::sample::select(vec![
        ("req", "chat", Some("CH")),
        ("done", "chat", Some("CH")),
        ("req", "book", Some("LE")),
        ("req", "book", None),
        ("done", "explain", None),
        ("done", "explain", Some("TA")),
        ("req", "schedule", Some("TA")),
        ("req", "trip", Some("TR")),
        ("done", "trip", Some("TR")),
        ("sync", "other", Some("ZZ")),
    ]);
    let agent = prop::sample::select(vec!["user", "clerk", "a-1"]);
    let key = prop_oneof![
        4 => prop::sample::select(vec![
            "content", "role", "lang", "task", "note", "number", "more", "deps", "progress", "legs",
            "first", "prices", "mood", "count", "rate", "paid", "by", "sure",
        ]).prop_map(String::from),
        1 => any_text(),
    ];
    let chat = prop_oneof![
        any_text().prop_map(|text| vec![("content".to_string(), Value::from(text))]),
        prop::collection::vec((key, any_value()), 0..5),
    ];
    (agent, head, chat, any::<bool>()).prop_map(
        |(agent, (intent, operation, code), params, fill)| {
            let mut message = DynamicFrame::new(agent, intent, operation).unwrap();
            message.schema = code.map(Into::into);
            message.payload = params.into_iter().collect();
            if fill && code == Some("CH") {
                message.payload.insert("lang", "en".into());
                let role = if intent == "req" { agent } else { "assistant" };
                message.payload.insert("role", role.into());
            }
            fit(&REGISTRY, &mut message);
            message
        },
    )
}

proptest! {
    #[test]
    fn a_value_comes_back(value in any_value()) {
        let view = view();
        let block = view.value(&value);
        prop_assert_eq!(view.read_value(&block.text), Ok(value), "{}", block.text);
    }

    #[test]
    fn messages_come_back(messages in prop::collection::vec(any_message(), 0..4)) {
        for view in [view(), tuned_view()] {
            let mut transcript = Transcript::default();
            let blocks = messages.iter().map(|message| transcript.push(&view, &view.block(message)));
            let text: String = blocks.collect();
            let read = view.read(&text);
            prop_assert_eq!(read.as_ref(), Ok(&messages), "{}", text);
        }
    }

    /// Texts of other agents must not begin a block, and must not put hidden characters into the view.
    #[test]
    fn data_stays_data(messages in prop::collection::vec(any_message(), 0..4)) {
        let view = view();
        let text: String = messages.iter().map(|message| view.block(message).text).collect();
        let begun = text.lines().filter(|line| line.starts_with('@')).count();
        prop_assert_eq!(begun, messages.len(), "{}", text);
        let is_hidden = |c: char| c.is_control() && !"\n\t".contains(c)
            || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
        prop_assert!(!text.contains(is_hidden), "{text:?}");
    }

    #[test]
    fn reading_never_panics(text in prop_oneof![any_text(), "[@a>=:?(){}\\[\\],|\"FLSE0-9\n -]{0,40}"]) {
        let view = view();
        if let Ok(messages) = view.read(&text) {
            let again: String = messages.iter().map(|message| view.block(message).text).collect();
            prop_assert_eq!(view.read(&again), Ok(messages), "{}", again);
        }
        if let Ok(value) = view.read_value(&text) {
            let again = view.value(&value);
            prop_assert_eq!(view.read_value(&again.text), Ok(value));
        }
    }
}

#[test]
fn the_form() {
    let view = view();
    let flight = |number: &str, to: &str, open: bool| {
        json!({ "number": number, "from": "BGO", "to": to, "seats": { "low": 4, "high": 9 },
            "open": open })
    };
    let result = json!([flight("WF31", "OSL", true), flight("WF35", "SVG", false)]);
    let one = json!(flight("WF1", "OSL", true));
    let messages = [
        DynamicFrame::new("user", "req", "chat")
            .unwrap()
            .under("CH")
            .with("role", "user")
            .with("content", "Is there a seat?")
            .with("lang", "en"),
        DynamicFrame::new("tool", "done", "search")
            .unwrap()
            .with("result", Value::from_json(&result)),
        DynamicFrame::new("tool", "done", "search")
            .unwrap()
            .with("result", Value::from_json(&one)),
        DynamicFrame::new("clerk", "req", "book")
            .unwrap()
            .under("LE")
            .with("number", "WF31")
            .with("day", "2026-05-01")
            .with(
                "note",
                "A seat at the window, please.\n@clerk: and one behind it\n\\@ too",
            ),
    ];
    let mut transcript = Transcript::default();
    let blocks: Vec<_> = messages
        .iter()
        .map(|m| transcript.push(&view, &view.block(m)))
        .collect();
    insta::assert_snapshot!(blocks.concat(), @r#"
    @user? Is there a seat?
    @=FL(number,from,to,seats:SE,open)
    @=SE(low,high)
    @tool>done:search{result:FL[from:BGO,seats:(4,9)
    WF31,OSL
    WF35,SVG,false]}
    @tool>done:search{result:FL(WF1,BGO,OSL,(4,9))}
    @=LE(number,from,day,note,more,yet)
    @clerk>req:book LE(WF31,,2026-05-01,|)
    A seat at the window, please.
    \@clerk: and one behind it
    \\@ too
    "#);
    assert_eq!(view.read(&blocks.concat()).unwrap(), messages);

    // If the registry names a tokenizer, a view uses the names that are cheaper on the wire.
    let view = tuned_view();
    insta::assert_snapshot!(view.definition("FL").unwrap(), @"@=FL(no,from,to,seats:SE,still)");
    let flights = view.value(&Value::from_json(&json!([
        flight("WF31", "OSL", true),
        flight("WF31", "SVG", true)
    ])));
    insta::assert_snapshot!(flights.text, @r"
    FL[no:WF31,from:BGO,seats:(4,9)
    OSL
    SVG]
    ");
    assert_eq!(
        view.read_value(&flights.text.replace("no:", "number:")),
        view.read_value(&flights.text)
    );
}

#[test]
fn says_where_it_is_broken() {
    let view = view();
    let error = |text: &str| view.read(text).unwrap_err().to_string();
    let texts = [
        "hello",
        "@",
        "@a",
        "@a>",
        "@a>req",
        "@a>req:x ",
        "@a>req:x(1)",
        "@a>req:book LE(1,2,3,4,5,6,7)",
        "@a>req:book LE(|,|)\nx",
        "@a>req:book LE(|)",
        "@a>nope:x",
        "@a>done:x{a:1,a:2}",
        "@a>done:x{a:ZZ(1)}",
        "@a>done:x{a:SE[up:1\n2]}",
        "@a>done:x{a:\"}",
        "@a>done:x{a:1}b",
        "@=FL(number)",
        "@=ZZ(a)",
    ];
    let errors: Vec<_> = texts
        .iter()
        .map(|text| format!("{text:?}: {}", error(text)))
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    "hello": E1001 in block 0, line 1: expected a block, which begins with '@', found `hello`
    "@": E1001 in block 1, line 1: expected an agent, and '>', ':' or '?' behind it, found the end of the line
    "@a": E1001 in block 1, line 1: expected '>', ':' or '?' behind the agent, found the end of the line
    "@a>": E1001 in block 1, line 1: expected ':' and an operation, found the end of the line
    "@a>req": E1001 in block 1, line 1: expected ':' and an operation, found the end of the line
    "@a>req:x ": E1001 in block 1, line 1: expected the code of a schema, found the end of the line
    "@a>req:x(1)": E1001 in block 1, line 1: expected '{', because no schema is named, found `(1`
    "@a>req:book LE(1,2,3,4,5,6,7)": E1001 in block 1, line 1, LE: expected no more values than the schema has fields, found `7`
    "@a>req:book LE(|,|)\nx": E1001 in block 1, line 1, LE: expected one text below the line, found `)`
    "@a>req:book LE(|)": E1001 in block 1, line 1, LE: expected the end of the line, and a text below it, found the end of the line
    "@a>nope:x": E1002 in block 1, line 1: expected an intent: req, done, fail, wait, esc, comp, sync, qry, ack, cancel, stream, end, ping, pong, found `nope:x`
    "@a>done:x{a:1,a:2}": E1001 in block 1, line 1: expected each key once, found `a:2`
    "@a>done:x{a:ZZ(1)}": E1003 in block 1, line 1, a: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR, found `ZZ(1`
    "@a>done:x{a:SE[up:1\n2]}": E1001 in block 1, line 1, a: expected a field of the schema, and ':', found `up:1`
    "@a>done:x{a:\"}": E1001 in block 1, line 1, a: expected a text that ends with '"', found `"`
    "@a>done:x{a:1}b": E1001 in block 1, line 1: expected the end, found `b`
    "@=FL(number)": E1004 in block 1, line 1: expected the definition of this schema: @=FL(number,from,to,seats:SE,open), found `@=FL(number`
    "@=ZZ(a)": E1003 in block 1, line 1: expected the code of a schema: CH, ER, FL, LE, SE, ST, TA, TC, TX, TR, found `ZZ(a`
    "#);
}

/// A value counts as the default in any spelling that the registry has for the default. This applies only to frames for
/// which the schema declares the field.
#[test]
fn a_default_is_known_by_its_text() {
    let json = json!({ "schemas": { "order": { "code": "O", "fields": ["paid", "left", "state", "zip"],
        "types": { "paid": "decimal", "left": "number", "state": "enum(open,done)", "zip": "string" },
        "defaults": { "paid": 0, "left": 2, "state": "open", "zip": "007" },
        "frames": [{ "intent": "req", "operation": "order" },
                   { "intent": "done", "operation": "order", "fields": ["paid"] }] } } });
    let registry = Registry::from_json(&json.to_string()).unwrap();
    let message = DynamicFrame::decode("@a>req:order{schema:O}", &registry).unwrap();
    assert_eq!(message.payload.len(), 4);
    let schema = registry.schema("O");
    for (name, value) in message.payload.iter() {
        let is_default = |value: &Value<'_>, intent| {
            facts::is_default(&registry, schema, name, value, Some((intent, "order")))
        };
        assert!(is_default(value, "req"), "{name}");
        assert_eq!(is_default(value, "done"), name == "paid", "{name}");
        assert!(!is_default(&Value::from("else"), "req"), "{name}");
    }
}
