//! Messages that no correct program writes: shuffled messages of valid lists, and messages whose members are random,
//! missing or of the wrong kind.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value as Json, json};

/// A member: its key, and its value if it is there.
type Member = (&'static str, Option<Json>);

/// Returns lists of up to eight messages of no form.
pub(crate) fn messages() -> impl Strategy<Value = Vec<Json>> {
    prop::collection::vec(message(), 0..8)
}

fn message() -> impl Strategy<Value = Json> {
    let head = (
        member(
            "role",
            &[
                json!("user"),
                json!("assistant"),
                json!("assistant"),
                json!("tool"),
                json!("function"),
                json!("system"),
                json!("agent"),
                json!(7),
            ],
        ),
        member(
            "type",
            &[
                json!("message"),
                json!("reasoning"),
                json!("function_call"),
                json!("function_call_output"),
                json!("custom_tool_call"),
                json!("custom_tool_call_output"),
                json!("item_reference"),
                json!("web_search_call"),
                json!("tool_search_output"),
                json!(7),
            ],
        ),
        content(),
    );
    let ids = (id("tool_call_id"), id("call_id"), id("id"), id("name"));
    let calls = prop_oneof![
        2 => Just(None),
        1 => Just(Some(json!({}))),
        1 => Just(Some(Json::Null)),
        4 => prop::collection::vec(object(vec![id("id").boxed()]), 0..3).prop_map(|calls| Some(calls.into())),
    ];
    let calls = calls.prop_map(|calls| ("tool_calls", calls));
    let old = object(vec![id("name").boxed()]);
    let old = prop::option::weighted(0.1, old).prop_map(|call| ("function_call", call));
    (head, ids, calls, old).prop_map(
        |((role, kind, content), (tool, call, id, name), calls, old)| {
            of(vec![role, kind, content, tool, call, id, name, calls, old])
        },
    )
}

fn content() -> impl Strategy<Value = Member> {
    let kind = member(
        "type",
        &[
            json!("text"),
            json!("tool_use"),
            json!("tool_result"),
            json!("tool_use"),
            json!("tool_result"),
            json!("server_tool_use"),
            json!("web_search_tool_result"),
            json!([]),
        ],
    );
    let text = member("text", &[json!("a"), json!(" "), json!("a "), json!(7)]);
    let block = object(vec![
        kind.boxed(),
        id("id").boxed(),
        id("tool_use_id").boxed(),
        text.boxed(),
    ]);
    let block = prop_oneof![9 => block, 1 => Just(json!(7))];
    let content = prop_oneof![
        1 => Just(None),
        1 => prop::sample::select(vec![Json::Null, json!(""), json!(" "), json!({}), json!(7)]).prop_map(Some),
        1 => Just(Some(json!("a"))),
        4 => prop::collection::vec(block, 0..4).prop_map(|blocks| Some(blocks.into())),
    ];
    content.prop_map(|content| ("content", content))
}

fn id(key: &'static str) -> impl Strategy<Value = Member> {
    member(
        key,
        &[
            json!("a"),
            json!("b"),
            json!("a"),
            json!("b"),
            json!(""),
            json!(7),
        ],
    )
}

fn member(key: &'static str, values: &[Json]) -> impl Strategy<Value = Member> + use<> {
    let values = prop::sample::select(values.to_vec());
    prop::option::weighted(0.85, values).prop_map(move |value| (key, value))
}

fn object(members: Vec<BoxedStrategy<Member>>) -> impl Strategy<Value = Json> {
    members.prop_map(of)
}

fn of(members: Vec<Member>) -> Json {
    let members = members
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Json::Object(members.collect::<Map<_, _>>())
}

/// Drops, doubles and swaps messages.
pub(crate) fn edited(mut messages: Vec<Json>, edits: &[(u8, Index, Index)]) -> Vec<Json> {
    for (kind, a, b) in edits {
        if messages.is_empty() {
            break;
        }
        let (a, b) = (a.index(messages.len()), b.index(messages.len()));
        match kind {
            0 => drop(messages.remove(a)),
            1 => messages.insert(b, messages[a].clone()),
            _ => messages.swap(a, b),
        }
    }
    messages
}
