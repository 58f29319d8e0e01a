//! Tests of learning from made-up traces.

use accp_registry::Registry;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use accp_recordings::Conversation;

/// Makes recorded conversations from calls and their results.
fn recorded(conversations: &[Vec<(Json, Json)>], tools: &Json) -> Vec<Json> {
    let one = |(number, calls): (usize, &Vec<(Json, Json)>)| {
        let messages = calls.iter().flat_map(|(arguments, result)| {
            let call = json!({ "id": "c", "name": "look_up", "arguments": arguments });
            [
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                json!({ "role": "tool", "tool_call_id": "c", "content": result.to_string() }),
            ]
        });
        let messages: Vec<Json> = messages.collect();
        json!({ "id": format!("made/{number}"), "tools": tools, "messages": messages })
    };
    conversations.iter().enumerate().map(one).collect()
}

fn traces_of(conversations: Vec<Json>) -> Traces {
    let mut traces = Traces::default();
    for json in conversations {
        traces.add(&Conversation::new(json).expect("a conversation"));
    }
    traces
}

fn traces(conversations: &[Vec<(Json, Json)>], tools: &Json) -> Traces {
    traces_of(recorded(conversations, tools))
}

fn learnt(traces: &Traces, min_saving: u32) -> Learnt {
    let options = LearnOptions {
        min_saving,
        ..LearnOptions::default()
    };
    learn(traces, options).expect("a registry")
}

/// Returns the fields of a schema with their types.
fn fields(registry: &Registry, name: &str) -> String {
    let schema = registry.schema_by_name(name);
    let fields = schema.into_iter().flat_map(|schema| &schema.fields);
    let fields = fields.map(|field| format!("{}:{}", field.name, field.ty));
    fields.collect::<Vec<_>>().join(" ")
}

/// Makes JSON with few different keys, so that shapes repeat.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i16>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[ -~é\n]{0,6}".prop_map(Json::from),
    ];
    let key = "id|name|items|user_id|userId|schema|a b|d|data|_|2|x[0-9]{3}|[a-c]{1,2}";
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Json::from),
            btree_map(key, inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

fn any_object() -> impl Strategy<Value = Json> {
    any_json().prop_filter("an object", Json::is_object)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any traces give a sound registry and Rust types. The order of the conversations does not
    /// change the registry.
    #[test]
    fn any_traces_give_a_sound_registry(
        calls in vec(vec((any_object(), any_json()), 0..4), 1..6),
        repeats in 1..4_usize,
        min_saving in prop_oneof![Just(0), Just(20)],
        tools in any_json(),
        parameters in any_json(),
    ) {
        let calls: Vec<_> = calls
            .into_iter()
            .map(|calls| std::iter::repeat_n(calls, repeats).flatten().collect())
            .collect();
        let tools = json!([tools, { "name": "look_up", "parameters": parameters }]);
        let learnt_once = learnt(&traces(&calls, &tools), min_saving);
        let text = learnt_once.registry.to_json().to_string();
        prop_assert_eq!(&Registry::from_json(&text).expect("sound"), &learnt_once.registry);
        let options = accp_build::Options { registry: Some("r.json".into()), ..Default::default() };
        prop_assert!(accp_build::generate(&learnt_once.registry, &options).is_ok());
        prop_assert_eq!(learnt_once.registry.schemas().len(), learnt_once.earned.len());
        prop_assert!(learnt_once.earned.iter().all(|earned| earned.net() >= i64::from(min_saving)));

        let mut again = recorded(&calls, &tools);
        again.reverse();
        let again = traces_of(again);
        prop_assert_eq!(learnt(&again, min_saving).registry.to_json().to_string(), text);
    }

    /// A frequent shape is found, with the types of its fields.
    #[test]
    fn a_shape_that_comes_back_is_found(
        rows in vec((any::<u32>(), "[A-Z]{2}[0-9]{4}", any::<bool>(), 0.0..100.0_f64), 20..40),
        noise in any_json(),
    ) {
        let rows = rows.into_iter().enumerate().map(|(at, (count, part, open, ratio))| json!({
            "part_number": format!("{part}{at}"), "quantity": count, "open": open,
            "ratio": ratio + 0.001_234_5, "tags": ["a b", part], "note": "it has to be cut to size first",
        }));
        let rows: Vec<Json> = rows.collect();
        let calls: Vec<_> = rows
            .chunks(5)
            .map(|rows| vec![(json!({ "order": 1 }), json!({ "parts": rows, "noise": noise }))])
            .collect();
        let learnt = learnt(&traces(&calls, &json!([])), 20);
        prop_assert_eq!(
            fields(&learnt.registry, "part"),
            "part_number:string quantity:integer open:boolean ratio:number tags:[string] note:text"
        );
    }

    /// Keys that are data do not become fields.
    #[test]
    fn keys_that_are_data_are_no_fields(
        maps in vec(btree_map("[a-z]{6,9}", 0..1_000_u32, 3..6), 12),
    ) {
        let result = |map| (json!({}), json!({ "stock": map, "shop": "north", "day": 3 }));
        let calls: Vec<(Json, Json)> = maps.iter().map(result).collect();
        let learnt = learnt(&traces(&[calls], &json!([])), 0);
        let keys: Vec<&String> = maps.iter().flat_map(std::collections::BTreeMap::keys).collect();
        for schema in learnt.registry.schemas() {
            prop_assert!(schema.fields.iter().all(|field| !keys.contains(&&field.name)));
        }
        let stock = learnt.registry.schemas().find_map(|schema| schema.field("stock"));
        prop_assert_eq!(stock.map(|(_, field)| field.ty.to_string()), Some("{integer}".to_owned()));
    }
}

/// Makes conversations that look up an order by an id from a list.
fn orders() -> Vec<Vec<(Json, Json)>> {
    let one = |number: usize| {
        let orders: Vec<Json> = (0..4)
            .map(|at| {
                let status = ["open", "shipped", "closed"][(number + at) % 3];
                json!({
                    "order_id": format!("O-{number}{at}77"), "status": status, "currency": "EUR",
                    "customer": { "email": format!("c{number}{at}@example.org"), "city": format!("Town {at}{number}") },
                    "weight_in_grams": 1_000 + number * 31 + at,
                })
            })
            .collect();
        let first = json!({ "order_id": orders[0]["order_id"] });
        vec![
            (json!({ "page": number }), Json::Array(orders.clone())),
            (first, orders[1].clone()),
        ]
    };
    (0..15).map(one).collect()
}

#[test]
fn what_later_calls_need_is_kept() {
    let learnt = learnt(&traces(&orders(), &json!([])), 20);
    let order = learnt
        .registry
        .schemas()
        .find(|schema| schema.field("order_id").is_some() && schema.fields.len() > 1);
    let order = order.expect("the orders came back");
    assert_eq!(order.keep.as_deref(), Some(&["order_id".to_owned()][..]));
    let shown = order.fields.iter().map(|field| {
        let default = field.default.as_ref().map(|default| format!("={default}"));
        let required = if field.required { "!" } else { "" };
        format!(
            "{}:{}{}{required}",
            field.name,
            field.ty,
            default.unwrap_or_default()
        )
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
    order_id:string!
    status:enum(closed,open,shipped)!
    currency:string="EUR"
    customer:C!
    weight_in_grams:integer!
    "#);
}

#[test]
fn tools_say_what_their_arguments_are() {
    let tools = json!([{
        "name": "look_up", "description": "Looks orders up.",
        "parameters": { "type": "object", "required": ["page"], "properties": {
            "page": { "type": "number", "description": "From 0." },
            "sort_order": { "enum": ["up", "down"] },
            "order_id": { "type": "string" },
        } },
    }]);
    let calls: Vec<(Json, Json)> = orders().into_iter().flatten().collect();
    let learnt = learnt(&traces(&[calls], &tools), 0);
    let schema = learnt
        .registry
        .schemas()
        .find(|schema| schema.frame(&["req", "look_up"]).is_some());
    let schema = schema.expect("the tool declares its arguments");
    assert_eq!(
        fields(&learnt.registry, &schema.name),
        "page:number order_id:string sort_order:enum(up,down)"
    );
    let frame = schema
        .frame(&["req", "look_up"])
        .expect("it was found by it");
    assert_eq!(
        (&frame.required[..], frame.doc.as_deref()),
        (&["page".to_owned()][..], Some("Looks orders up."))
    );
    assert_eq!(schema.fields[0].doc.as_deref(), Some("From 0."));
}

/// A null gives an item of a list or of a map the type `any`. A field of any type may be null.
#[test]
fn a_null_makes_items_of_any_type() {
    let call = |number: u32| {
        let row = |at: u32| json!({ "part": format!("P{number}{at}"), "tags": ["a", null], "left": null, "sizes": [at] });
        (json!({}), json!({ "rows": [row(1), row(2), row(3)] }))
    };
    let calls: Vec<_> = (0..20).map(|number| vec![call(number)]).collect();
    let registry = learnt(&traces(&calls, &json!([])), 0).registry;
    let types = |name: &str| {
        let schemas = registry.schemas().filter_map(|schema| schema.field(name));
        let types: Vec<String> = schemas.map(|(_, field)| field.ty.to_string()).collect();
        types
    };
    assert_eq!(types("tags"), ["[any]"]);
    assert_eq!(types("sizes"), ["[integer]"]);
}

#[test]
fn a_schema_that_earns_too_little_is_left_out() {
    let of = |min_saving| {
        learnt(&traces(&orders(), &json!([])), min_saving)
            .earned
            .len()
    };
    assert!(of(0) >= of(20) && of(20) > 0);
    assert_eq!(of(1_000_000), 0);
}
