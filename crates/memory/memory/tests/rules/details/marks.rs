//! Lists with faults in the marks for Anthropic's cache.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::make::{Row, assistant, mark, marked, text, user};

/// Returns lists with faults in the marks for the cache, each as a row.
pub(crate) fn marks() -> Vec<Row> {
    let five: Vec<_> = (0..5)
        .map(|n| user(json!([marked(&n.to_string(), None)])))
        .collect();
    let mut four = five.clone();
    four[0] = user(json!([text("0")]));
    let tools = json!([{ "name": "stock", "input_schema": {}, "cache_control": mark(None) }]);
    let mut three = five.clone();
    three[0] = four[0].clone();
    three[1] = user(json!([text("1")]));
    let system: Vec<_> = (0..5).map(|n| marked(&n.to_string(), None)).collect();
    let mut shorter = system.clone();
    shorter[0] = text("0");
    let hour = |ttl: &str| {
        json!([
            user(json!([marked("a", None), marked("b", Some(ttl))])),
            assistant("c")
        ])
    };
    let thought = |thought: &Json| json!([user("a"), assistant(json!([thought, text("b")]))]);
    let bare = json!({ "type": "thinking", "thinking": "hm", "signature": "Eq" });
    let mut with = bare.clone();
    with["cache_control"] = mark(None);
    let wrong = |mark: Json| {
        json!([user(
            json!([{ "type": "text", "text": "a", "cache_control": mark }])
        )])
    };
    let on_message = json!([{ "role": "user", "content": "a", "cache_control": mark(None) }]);
    let form = Form::Anthropic;
    let mends = |list: Json, code, at, to: Json| -> Row { (form, list, code, Some(at), Some(to)) };
    vec![
        mends(json!(five), "cache-marks", 4, json!(four)),
        mends(
            json!({ "tools": tools, "messages": five[1..] }),
            "cache-marks",
            3,
            json!({ "tools": tools, "messages": three[1..] }),
        ),
        (
            form,
            json!({ "system": system, "messages": [user("a")] }),
            "cache-marks",
            None,
            Some(json!({ "system": shorter, "messages": [user("a")] })),
        ),
        (
            form,
            json!({ "cache_control": mark(None), "messages": five[1..] }),
            "cache-marks",
            None,
            Some(json!({ "cache_control": mark(None), "messages": [
                user(json!([text("1")])), five[2], five[3], five[4]] })),
        ),
        mends(hour("1h"), "cache-order", 0, hour("5m")),
        mends(
            json!({ "system": [marked("a", Some("5m"))], "messages": [user(json!([marked("b", Some("1h"))]))] }),
            "cache-order",
            0,
            json!({ "system": [marked("a", Some("5m"))], "messages": [user(json!([marked("b", Some("5m"))]))] }),
        ),
        mends(thought(&with), "cache-place", 1, thought(&bare)),
        mends(on_message, "cache-place", 0, json!([user("a")])),
        mends(
            wrong(json!({ "type": "x" })),
            "cache-form",
            0,
            wrong(mark(None)),
        ),
        mends(wrong(mark(Some("2h"))), "cache-form", 0, wrong(mark(None))),
    ]
}
