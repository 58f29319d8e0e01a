//! Null means that something is not given. Fields may be null. An item of a list or of a map is
//! always given, so it may be null only where any value is allowed.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::collections::{BTreeMap, HashMap};

use accp_frame::{EncodeOptions, EncodeValue, Reader, Writer};
use accp_runtime::{
    AccpFrame, AgentId, DecodeOptions, DecodeValue, DynamicFrame, Map, Registry, Typed, Value, kind,
};
use serde_json::json;

/// Every place that may hold a null: fields, items of lists and maps, and the fields of records in
/// them.
const PLACES: &str = r#"{ "schemas": {
    "place": {
        "code": "PL", "fields": ["d", "e", "f", "l", "m", "any", "of"],
        "types": { "d": "[string]", "e": "string", "f": "{integer}", "l": "[LE]", "m": "{[LE]}",
            "any": "[any]", "of": "{any}" },
        "defaults": { "e": "usual" },
        "frames": [{ "intent": "req", "operation": "put" }]
    },
    "leaf": {
        "code": "LE", "fields": ["key", "size"], "types": { "size": "integer" },
        "defaults": { "size": 1 }, "required": ["key"]
    }
} }"#;

fn places() -> Registry {
    Registry::from_json(PLACES).unwrap()
}

fn frame(params: &str) -> String {
    format!("@a>req:put{{{params}|schema:PL}}")
}

/// Reads a message with these params and writes it again. Returns the written params, or the error of reading.
fn through(params: &str) -> Result<String, String> {
    let (registry, text) = (places(), frame(params));
    let message = DynamicFrame::decode(&text, &registry).map_err(|error| error.to_string())?;
    let text = message.encode(&registry).unwrap();
    let params = text.strip_prefix("@a>req:put{").unwrap();
    Ok(params.strip_suffix("|schema:PL}").unwrap().to_owned())
}

#[test]
fn a_field_with_a_default_may_be_null() {
    for kept in [
        "e:~",
        "d:~",
        "l:[{key:a,size:~}]",
        "m:{a:[{key:a,size:~}]}",
        "m:{_:[[a b,[{key:a,size:~}]]]}"
            .replace("a b", "\"a_b")
            .as_str(),
        "any:[~,[~],{a:~}]",
        "of:{a:~,b:[~]}",
        "of:{_:[[\"a_b,~]]}",
    ] {
        assert_eq!(through(kept).as_deref(), Ok(kept));
    }
}

#[test]
fn an_item_is_never_null_unless_it_may_be_any_value() {
    let errors = [
        "d:[~]",
        "d:[a,~]",
        "f:{a:~}",
        "f:{_:[[\"a_b,~]]}",
        "l:[~]",
        "l:[{key:~}]",
        "m:{a:~}",
        "m:{a:[~]}",
    ]
    .map(|params| through(params).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"), @"
    E1004 at byte 14 in d[0]: expected a value of type string; null is none
    E1004 at byte 16 in d[1]: expected a value of type string; null is none
    E1004 at byte 16 in f.a: expected a value of type integer; null is none
    E1004 at byte 23 in f.a b: expected a value of type integer; null is none
    E1004 at byte 14 in l[0]: expected a value of type LE; null is none
    E1004 at byte 19 in l[0].key: expected a value, which schema LE requires; null is none
    E1004 at byte 16 in m.a: expected a value of type [LE]; null is none
    E1004 at byte 17 in m.a[0]: expected a value of type LE; null is none
    ");
}

#[test]
fn no_null_item_is_written() {
    let registry = places();
    let put = || DynamicFrame::new("a", "req", "put").unwrap().under("PL");
    let null = || Value::Array(vec![Value::from("a"), Value::Null]);
    let under = |key: &'static str| Value::Map([(key, Value::Null)].into_iter().collect());
    let leaf: Map<'_> = [("a b", Value::Null), ("key", Value::Null)]
        .into_iter()
        .collect();
    let errors = [
        put().with("d", null()),
        put().with("f", under("a")),
        put().with("f", under("a b")),
        put().with("l", null()),
        put().with("m", under("a")),
        // The map is written as pairs, because its other key does not fit the grammar.
        put().with("l", vec![Value::Map(leaf)]),
    ]
    .map(|message| message.encode(&registry).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @"
    d[1]: the registry declares string, this is null
    f.a: the registry declares integer, this is null
    f._[0].a b: the registry declares integer, this is null
    l[0]: the registry declares LE, this is a string
    m.a: the registry declares [LE], this is null
    l[0]._[1].key: a value has to stand here, and null is none
    ");
    let any = put().with("any", null()).with("of", under("a b"));
    assert_eq!(
        any.encode(&registry).unwrap(),
        frame("any:[a,~]|of:{_:[[\"a_b,~]]}")
    );
}

type Anys = kind::List<kind::Any>;
type Maybe = Option<String>;

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[expect(clippy::struct_field_names, reason = "the schema has the name")]
struct Task {
    assignee: AgentId<'static>,
    task: String,
    /// A field with a default, but without `Option`.
    priority: String,
    /// The items are of type `Option`, which the macro cannot see behind the alias.
    deps: Vec<Maybe>,
}

#[test]
fn a_type_gives_the_same_verdict() {
    let registry = Registry::shared();
    let read = |params: &str| {
        let text = format!("@a>req:schedule{{asgn:dev|task:t{params}|schema:TA}}");
        let message = DynamicFrame::decode(&text, registry).map_err(|error| error.code());
        let typed = Typed::<Task>::decode(&text);
        let code = typed.as_ref().map_err(accp_runtime::DecodeError::code);
        assert_eq!(code.map(drop), message.map(drop), "{text}");
        typed
            .map(Typed::into_owned)
            .map_err(|error| error.to_string())
    };
    for params in ["", "|pri:~", "|deps:~", "|pri:~|deps:~"] {
        let typed = read(params).unwrap();
        assert_eq!(
            (&*typed.frame.priority, &typed.frame.deps),
            ("medium", &Vec::new())
        );
        // A value that equals the default is left out.
        assert_eq!(
            typed.encode().unwrap(),
            "@a>req:schedule{asgn:dev|task:t|schema:TA}"
        );
    }
    let errors = [
        "|deps:[a,~]",
        "|pri:~|pri:high",
        "|pri:high|pri:~",
        "|task:~",
    ];
    let errors = errors.map(|params| read(params).unwrap_err());
    insta::assert_snapshot!(errors.join("\n"), @"
    E1004 at byte 40 in Task.deps[1]: expected a value; null is none
    E1001 at byte 42 in Task.priority: expected every key once, under its full or its short name
    E1001 at byte 45 in Task.priority: expected every key once, under its full or its short name
    E1004 at byte 37 in Task.task: expected a value, which schema TA requires; null is none
    ");

    let mut typed = read("").unwrap();
    typed.frame.deps = vec![Some("a".into()), None];
    insta::assert_snapshot!(typed.encode().unwrap_err(), @"Task.deps[1]: a value has to stand here, and null is none");
}

#[expect(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    reason = "a module of `with` takes the value and returns a result"
)]
mod tag {
    use std::convert::Infallible;

    pub(crate) fn encode(tag: &[String]) -> Result<String, Infallible> {
        Ok(tag.join("-"))
    }

    pub(crate) fn decode(tag: String) -> Result<Vec<String>, Infallible> {
        Ok(tag.split('-').map(str::to_owned).collect())
    }
}

/// A struct with a field that a module converts (`lang`), and with a map of texts for all other fields (`rest`).
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "CH", intent = "req", operation = "chat")]
struct Chat {
    content: String,
    turn: Option<i64>,
    #[accp(with = tag)]
    lang: Vec<String>,
    #[accp(flatten)]
    rest: BTreeMap<String, String>,
}

#[test]
fn a_null_is_not_given_to_a_module_or_to_a_map() {
    let read = |params: &str| {
        let text = format!("@a>req:chat{{content:Hi{params}|schema:CH}}");
        let typed = Typed::<Chat>::decode(&text).map(Typed::into_owned);
        typed.map_err(|error| error.to_string())
    };
    let usual = read("").unwrap();
    assert_eq!(
        (&usual.frame.lang[..], usual.frame.rest.len()),
        (&["en".to_owned()][..], 0)
    );
    for params in ["|lang:~", "|role:~", "|role:~|lang:~|turn:~"] {
        assert_eq!(read(params), Ok(usual.clone()), "{params}");
    }
    let other = read("|role:user|lang:de-CH").unwrap();
    assert_eq!(other.frame.rest["role"], "user");
    assert_eq!(
        other.encode().unwrap(),
        "@a>req:chat{role:user|content:Hi|lang:de-CH|schema:CH}"
    );
    assert!(read("|lang:[~]").is_err() && read("|role:[~]").is_err());
}

fn written<K, T: EncodeValue<K> + ?Sized>(value: &T) -> Result<String, String> {
    let mut text = String::new();
    let written = value.encode_value(&mut Writer::new(&mut text, EncodeOptions::default()));
    written.map(|()| text).map_err(|error| error.to_string())
}

fn read<K, T: for<'a> DecodeValue<'a, K>>(text: &str) -> Result<T, String> {
    let mut r = Reader::new(text, DecodeOptions::default()).unwrap();
    T::decode_value(&mut r).map_err(|error| error.to_string())
}

/// The registry type of a list or a map decides whether an item may be null. The Rust type of the items does not
/// matter.
#[test]
fn the_kind_of_a_container_decides() {
    type Texts = kind::List<kind::String>;
    type Numbers = kind::Map<kind::Integer>;
    for refused in [
        read::<Texts, Vec<Option<String>>>("[a,~]").map(drop),
        read::<Texts, Vec<Box<Option<String>>>>("[~]").map(drop),
        read::<kind::Map<Texts>, BTreeMap<String, Vec<Option<String>>>>("{k:[~]}").map(drop),
        read::<Numbers, BTreeMap<String, Option<i64>>>("{k:~}").map(drop),
        read::<Numbers, HashMap<String, Option<i64>>>("{_:[[\"a_b,~]]}").map(drop),
        written::<Texts, _>(&vec![Some("a"), None]).map(drop),
        written::<Texts, _>(&vec![Value::Null]).map(drop),
        written::<Numbers, _>(&BTreeMap::from([("k", None::<i64>)])).map(drop),
        written::<Numbers, _>(&HashMap::from([("a b", None::<i64>)])).map(drop),
    ] {
        let error = refused.unwrap_err();
        assert!(error.contains("null is none"), "{error}");
    }
    let values = |text: &str| {
        let mut r = Reader::new(text, DecodeOptions::default()).unwrap();
        let values = <Vec<Value<'_>> as DecodeValue<'_, Texts>>::decode_value(&mut r);
        values.map(drop).map_err(|error| error.to_string())
    };
    assert!(values("[a,$cold.k1]").is_ok());
    assert!(values("[a,~]").is_err());

    assert_eq!(
        read::<Anys, Vec<Option<i64>>>("[1,~]"),
        Ok(vec![Some(1), None])
    );
    assert_eq!(read::<kind::Any, Vec<Option<i64>>>("[~]"), Ok(vec![None]));
    assert_eq!(
        written::<Anys, _>(&vec![Some(1), None]).as_deref(),
        Ok("[1,~]")
    );
}

#[test]
fn a_tool_call_has_no_null_items() {
    let (registry, agent) = (Registry::standard(), AgentId::new("a").unwrap());
    let call = |args| DynamicFrame::from_tool_call(&registry, &agent, "schedule", &args);
    let args = json!({ "assignee": "dev", "task": "t", "deps": ["a", null], "priority": null });
    let error = call(args).unwrap_err().to_string();
    assert_eq!(error, "deps[1]: expected a string");
    let args = json!({ "assignee": "dev", "task": "t", "deps": null, "priority": null });
    let text = call(args).unwrap().encode(&registry).unwrap();
    assert_eq!(text, "@a>req:schedule{asgn:dev|task:t|schema:TA}");
}
