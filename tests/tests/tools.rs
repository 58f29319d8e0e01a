//! Tool definitions that a registry gives for a model, and the calls that come back.

use accp_registry::export::{Export, Options, ToolForm};
use accp_registry::{Registry, Tool, Type};
use accp_runtime::{
    AccpFrame, AgentId, DynamicFrame, TokenCounter as _, ToolCallError, Typed, Value,
};
use accp_tokens::Bpe;
use proptest::prelude::*;
use serde_json::{Map as JsonMap, Value as Json, json};

use crate::codec::inline;
use accp_tests::messages::{Metadata, OWN, message};

const FORMS: [ToolForm; 3] = [ToolForm::OpenAi, ToolForm::Anthropic, ToolForm::Mcp];

fn own() -> Registry {
    Registry::from_json(OWN).unwrap()
}

fn definitions(registry: &Registry, form: ToolForm) -> Vec<Json> {
    let export = Export::of(registry, &Options::default()).unwrap();
    serde_json::from_str(&export.tools(form)).unwrap()
}

/// Returns the name of a tool and the schema of its arguments.
fn parts(definition: &Json) -> (&str, &Json) {
    let of = definition.get("function").unwrap_or(definition);
    let schemas = ["parameters", "input_schema", "inputSchema"];
    let schema = schemas.iter().find_map(|key| of.get(key)).unwrap();
    (of["name"].as_str().unwrap(), schema)
}

/// Fails unless a schema keeps to what strict modes accept.
fn is_strict(schema: &Json, depth: usize) {
    const KEYS: [&str; 9] = [
        "anyOf",
        "type",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "enum",
        "format",
        "description",
    ];
    let object = schema.as_object().unwrap();
    assert!(
        object.keys().all(|key| KEYS.contains(&key.as_str())),
        "{schema}"
    );
    assert!(depth < 10, "{schema}");
    for option in object
        .get("anyOf")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        is_strict(option, depth + 1);
    }
    if let Some(items) = object.get("items") {
        is_strict(items, depth + 1);
    }
    if let Some(properties) = object.get("properties").and_then(Json::as_object) {
        assert_eq!(object["additionalProperties"], json!(false));
        let required: Vec<&str> = object["required"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap())
            .collect();
        assert_eq!(required.len(), properties.len());
        for (name, property) in properties {
            assert!(required.contains(&name.as_str()), "{name}");
            is_strict(property, depth + 1);
        }
    }
}

#[test]
fn strict_modes_accept_every_tool() {
    for registry in [Registry::standard(), own()] {
        for form in FORMS {
            let definitions = definitions(&registry, form);
            let mut names: Vec<&str> = Vec::new();
            for definition in &definitions {
                let (name, schema) = parts(definition);
                assert_eq!(schema["type"], "object");
                is_strict(schema, 0);
                assert!(
                    name.len() <= 64
                        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                );
                names.push(name);
            }
            let tools = registry.tools();
            let own: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, own);
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), own.len());
        }
    }
}

/// Returns a registry with a chain of schemas. Each schema has `width` fields, which hold records of the next one.
fn chain(length: usize, width: usize) -> Registry {
    let schemas = (0..length).map(|at| {
        let fields: Vec<String> = (0..width).map(|field| format!("f{field}")).collect();
        let ty = match at + 1 {
            next if next < length => format!("K{next}"),
            _ => String::from("integer"),
        };
        let types: JsonMap<String, Json> = fields
            .iter()
            .map(|field| (field.clone(), json!(ty)))
            .collect();
        let mut schema = json!({ "code": format!("K{at}"), "fields": fields, "types": types });
        if at == 0 {
            schema["frames"] = json!([{ "intent": "req", "operation": "go" }]);
        }
        (format!("s{at}"), schema)
    });
    let schemas: JsonMap<String, Json> = schemas.collect();
    Registry::from_json(&json!({ "schemas": schemas }).to_string()).unwrap()
}

fn properties(schema: &Json) -> usize {
    match schema {
        Json::Object(object) => {
            let own = object.get("properties").and_then(Json::as_object);
            own.map_or(0, JsonMap::len) + object.values().map(properties).sum::<usize>()
        }
        Json::Array(items) => items.iter().map(properties).sum(),
        _ => 0,
    }
}

/// Strict modes take 10 levels and 5,000 properties. The records beyond them are JSON in a string.
#[test]
fn deep_and_wide_records_end_in_json_in_a_string() {
    // The first chain is too deep, and the second has four times as many properties with each level.
    for registry in [chain(14, 2), chain(7, 4)] {
        for form in FORMS {
            let definitions = definitions(&registry, form);
            let (_, schema) = parts(&definitions[0]);
            is_strict(schema, 0);
            assert!(properties(schema) <= 5000, "{form:?}");
            let text = schema.to_string();
            // A model has to know what to write into the string.
            let names = if registry.schema("K13").is_some() {
                "f0, f1"
            } else {
                "f0, f1, f2, f3"
            };
            let about = format!("JSON in a string. Fields: {names}.");
            assert!(text.contains(&about), "{form:?}");
        }
    }
    let registry = chain(3, 2);
    let definitions = definitions(&registry, ToolForm::Mcp);
    let (_, schema) = parts(&definitions[0]);
    assert_eq!(properties(schema), 2 + 4 + 8);

    // A reader takes the string for the record.
    let agent = AgentId::new("a").unwrap();
    let call = |f0: Json| {
        let arguments = json!({ "f0": f0, "f1": null });
        let message = DynamicFrame::from_tool_call(&registry, &agent, "go", &arguments);
        message.unwrap().to_json()
    };
    let record = json!({ "f0": { "f1": 7 } });
    assert_eq!(call(json!(record.to_string())), call(record));
}

/// What stands in a string names the fields of its records and the variants of its unions, but not those of a record
/// that contains itself: they stand above it.
#[test]
fn json_in_a_string_names_its_fields() {
    let wide: Vec<String> = (0..30).map(|at| format!("w{at}")).collect();
    let mut schemas = json!({
        "go": { "code": "GO", "fields": ["it"], "types": { "it": "K0" },
            "frames": [{ "intent": "req", "operation": "go" }] },
        "shape": { "code": "SH", "fields": ["kind", "x", "in"], "types": { "in": "[SH]" }, "union": "kind",
            "variants": [{ "name": "dot", "fields": ["x"] }, { "name": "box", "fields": ["in"] }] },
        "wide": { "code": "WI", "fields": wide },
    });
    for at in 0..8 {
        let next = format!("K{}", at + 1);
        let mut schema =
            json!({ "code": format!("K{at}"), "fields": ["f"], "types": { "f": next } });
        if at == 7 {
            schema["fields"] = json!(["shapes", "all", "own"]);
            schema["types"] = json!({ "shapes": "[SH]", "all": "WI", "own": "K0" });
        }
        schemas[format!("k{at}")] = schema;
    }
    let registry = Registry::from_json(&json!({ "schemas": schemas }).to_string()).unwrap();
    for form in FORMS {
        let definitions = definitions(&registry, form);
        let text = definitions[0].to_string();
        for (field, about) in [
            (
                "shapes",
                "JSON in a string. Fields: kind (dot or box), x, in.",
            ),
            ("own", "JSON in a string."),
        ] {
            let schema = json!({ "type": ["string", "null"], "description": about });
            assert!(
                text.contains(&format!("\"{field}\":{schema}")),
                "{field} in {text}"
            );
        }
        assert!(text.contains(", w18, w19 and 10 more."), "{text}");
    }
}

/// A definition costs little more than one that a person writes.
#[test]
fn a_definition_costs_what_one_by_hand_does() {
    let by_hand = json!([{
        "type": "function",
        "function": {
            "name": "schedule",
            "description": "Assign a task to an agent.",
            "strict": true,
            "parameters": {
                "type": "object",
                "properties": {
                    "assignee": { "type": "string", "description": "The agent who does it." },
                    "task": { "type": "string", "description": "What to do." },
                    "priority": { "type": ["string", "null"], "description": "How urgent; default medium." },
                    "deadline": { "type": ["string", "null"], "description": "When it is due." },
                    "deps": { "type": ["array", "null"], "items": { "type": "string" }, "description": "Tasks that come first." }
                },
                "required": ["assignee", "task", "priority", "deadline", "deps"],
                "additionalProperties": false
            }
        }
    }])
    .to_string();
    let registry = Registry::standard();
    let options = Options {
        frames: vec!["req:schedule".into()],
        ..Options::default()
    };
    let ours = Export::of(&registry, &options)
        .unwrap()
        .tools(ToolForm::OpenAi);
    let bpe = Bpe::o200k_base();
    let (ours, by_hand) = (bpe.count(&ours), bpe.count(&by_hand));
    assert!(
        ours * 10 <= by_hand * 13,
        "{ours} tokens, by hand {by_hand}"
    );
}

/// Returns a value as a model gives it, for a schema that strict modes accept.
fn argument(registry: &Registry, value: &Value<'_>, ty: &Type) -> Json {
    match (value, ty) {
        (Value::Array(items), Type::List(item)) => {
            let is_json = matches!(**item, Type::Any | Type::Map(_));
            let items: Json = items
                .iter()
                .map(|value| {
                    if is_json {
                        value.to_json()
                    } else {
                        argument(registry, value, item)
                    }
                })
                .collect();
            if is_json {
                Json::from(items.to_string())
            } else {
                items
            }
        }
        (Value::Map(map), Type::Schema(code)) => {
            let schema = registry.schema(code).unwrap();
            let entries = map.iter().map(|(name, value)| {
                let ty = &schema.field(name).unwrap().1.ty;
                (name.to_owned(), argument(registry, value, ty))
            });
            Json::Object(entries.collect())
        }
        (value, Type::Map(_) | Type::Any) => Json::from(value.to_json().to_string()),
        (value, _) => value.to_json(),
    }
}

/// Returns whether a model can give the value: no null inside, no reference, no number that JSON
/// cannot hold.
fn can_be_given(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Ref(_) | Value::Number(_) => false,
        Value::Decimal(_) => value.to_json().is_number(),
        Value::Array(items) => items.iter().all(can_be_given),
        Value::Map(map) => map.iter().all(|(_, item)| can_be_given(item)),
        _ => true,
    }
}

fn tool_of<'t>(tools: &'t [Tool<'t>], message: &DynamicFrame<'_>) -> &'t Tool<'t> {
    let head = [message.intent.as_str(), &*message.operation];
    let is_it = |tool: &&Tool<'_>| {
        tool.frame.head == head && Some(tool.schema.code.as_str()) == message.schema.as_deref()
    };
    tools.iter().find(is_it).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// The frame has exactly the values that a model gives in a call.
    #[test]
    fn a_call_gives_its_frame(
        (is_standard, message) in any::<bool>().prop_flat_map(|is_standard| {
            let registry = if is_standard { Registry::standard() } else { own() };
            (Just(is_standard), message(&registry, Metadata::Required))
        }),
    ) {
        let registry = if is_standard { Registry::standard() } else { own() };
        let tools = registry.tools();
        let tool = tool_of(&tools, &message);
        let mut wanted = message.clone();
        wanted.envelope = accp_runtime::Envelope::default();
        wanted.payload = accp_runtime::Map::new();
        let mut arguments = JsonMap::new();
        for (field, is_required) in tool.arguments() {
            let value = message.payload.get(&field.name).filter(|value| can_be_given(value));
            prop_assume!(value.is_some() || !is_required);
            arguments.insert(field.name.clone(), value.map_or(Json::Null, |value| argument(&registry, value, &field.ty)));
            if let Some(value) = value {
                wanted.payload.insert(field.name.clone(), value.clone());
            }
        }
        let arguments = Json::Object(arguments);
        let agent = AgentId::new(message.agent.as_str().to_owned()).unwrap();
        let got = DynamicFrame::from_tool_call(&registry, &agent, &tool.name, &arguments);
        let got = got.map_err(|error| TestCaseError::fail(format!("{arguments}\n{error}")))?;
        let text = |message: &DynamicFrame<'_>| {
            let mut message = message.clone();
            message.envelope = accp_runtime::Envelope::new("1", 1).answering("c").at(0);
            message.encode_with(&registry, inline()).map_err(|error| error.to_string())
        };
        prop_assert_eq!(text(&got), text(&wanted), "{}", arguments);
    }
}

/// A model gets all its mistakes at once, with their places and cures.
#[test]
fn a_call_with_mistakes() {
    let registry = own();
    let said = |name: &str, arguments: Json| {
        let agent = AgentId::new("a").unwrap();
        DynamicFrame::from_tool_call(&registry, &agent, name, &arguments)
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(said("ordr", json!({})), @"there is no tool ordr; did you mean order?");
    insta::assert_snapshot!(said("order", json!([1])), @"expected an object with the arguments");
    insta::assert_snapshot!(said("order", json!({
        "id": 7, "sides": ["ab", "nope"], "side": "buyy", "root": { "label": "x", "children": [{}] },
        "counts": "{\"a\":1,\"b\":2.5}", "names": "[1", "price": 0.123_456_7, "paid": "yes",
        "by": "two words", "lines": "[{\"a\":true}]", "nots": "x", "rate": 7, "note": null
    })), @"
    id: expected a string
    sides[1]: expected one of ab, c, d, e, f, g/h
    side: expected one of buy, sell, hold, holding; did you mean buy?
    root.children[0].label: required
    counts.b: expected an integer of 64 bits
    names: expected JSON in the string: EOF while parsing a list at line 1 column 2
    price: expected a number of at most 6 places
    paid: expected true or false
    by: expected an agent id: letters, digits, '-' and '_' only
    lines[0].a: expected an integer of 64 bits
    nots: there is no such argument; did you mean note?
    ");
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Schedule {
    assignee: String,
    task: String,
    priority: String,
    deadline: Option<String>,
    deps: Vec<String>,
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TC", intent = "done", operation = "tool", ignore = "status")]
struct Found {
    tool_name: String,
    result: String,
}

#[derive(AccpFrame, Debug, PartialEq)]
enum Call {
    Schedule(Schedule),
    Found(Found),
}

proptest! {
    /// The typed function reads the same arguments into the same values.
    #[test]
    fn a_typed_call_gives_its_struct(
        (assignee, task) in ("[a-z0-9_-]{1,8}", any::<String>()),
        (priority, deadline) in any::<(Option<String>, Option<String>)>(),
        deps in any::<Option<Vec<String>>>(),
    ) {
        let registry = Registry::standard();
        let agent = AgentId::new("planner").unwrap();
        let arguments = json!({
            "assignee": assignee, "task": task, "priority": priority, "deadline": deadline,
            "deps": deps,
        });
        let wanted = Schedule {
            assignee,
            task,
            priority: priority.unwrap_or_else(|| "medium".to_owned()),
            deadline,
            deps: deps.unwrap_or_default(),
        };
        let got = Typed::<Schedule>::from_tool_args(&registry, &agent, &arguments).unwrap();
        prop_assert_eq!(&got.frame, &wanted);
        prop_assert_eq!(&got.agent, &agent);
        let got = Typed::<Call>::from_tool_call(&registry, &agent, "schedule", &arguments);
        prop_assert_eq!(got.unwrap().frame, Call::Schedule(wanted));
    }
}

/// The frame of a result needs metadata, which the sender adds later.
#[test]
fn a_typed_call_needs_no_metadata() {
    let registry = Registry::standard();
    let agent = AgentId::new("hands").unwrap();
    let arguments = json!({ "tool_name": "search", "result": "a b" });
    let got = Typed::<Call>::from_tool_call(&registry, &agent, "tool_done", &arguments).unwrap();
    let Call::Found(found) = got.frame else {
        panic!("another frame");
    };
    assert_eq!((&*found.tool_name, &*found.result), ("search", "a b"));
}

#[test]
fn a_typed_call_with_mistakes() {
    let (registry, agent) = (Registry::standard(), AgentId::new("a").unwrap());
    let said =
        |error: Option<ToolCallError>| error.map(|error| error.to_string()).unwrap_or_default();
    let arguments = json!({ "asignee": "dev", "priority": 7, "deps": ["a", 7] });
    let wrong = Typed::<Schedule>::from_tool_args(&registry, &agent, &arguments).err();
    let same = DynamicFrame::from_tool_call(&registry, &agent, "schedule", &arguments).err();
    assert_eq!(wrong, same);
    insta::assert_snapshot!(said(wrong), @"
    asignee: there is no such argument; did you mean assignee?
    priority: expected a string
    deps[1]: expected a string
    assignee: required
    task: required
    ");
    let several = Typed::<Call>::from_tool_args(&registry, &agent, &arguments).err();
    insta::assert_snapshot!(said(several), @"this type is for several tools, schedule and tool_done; name the tool");
    let none = Typed::<Schedule>::from_tool_args(&Registry::empty(), &agent, &arguments).err();
    insta::assert_snapshot!(said(none), @"the registry has no tool for this type");
    let other = Typed::<Call>::from_tool_call(&registry, &agent, "chat", &arguments).err();
    insta::assert_snapshot!(said(other), @"there is no tool chat; the tools are schedule, tool_done");
}
