//! Lists with one fault in the form of OpenAI's chat.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::make::{Row, assistant, text, user};

pub(crate) fn chat() -> Vec<Row> {
    let call = |id: &str, call: Json| {
        let asked = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
        json!([user("a"), asked, { "role": "tool", "tool_call_id": id, "content": "4" }])
    };
    let function = |id: &str, name: &str, arguments: Json| {
        let inner = json!({ "name": name, "arguments": arguments });
        call(
            id,
            json!({ "id": id, "type": "function", "function": inner }),
        )
    };
    let untyped = json!({ "id": "c", "function": { "name": "stock", "arguments": "{}" } });
    let plain = || function("c", "stock", json!("{}"));
    let said = |part: Json| json!([user(json!([part]))]);
    let url = |url: Json| json!({ "type": "image_url", "image_url": url });
    let many: Vec<_> = (0..501).map(|_| url(json!({ "url": "b" }))).collect();
    let long = format!("call_{}|fc_1", "x".repeat(40));
    let short = format!("call_{}_e700e9cb", "x".repeat(26));
    let form = Form::OpenAi;
    let lost = |list: Json, code, at| -> Row { (form, list, code, Some(at), None) };
    let mends = |list: Json, code, at, to: Json| -> Row { (form, list, code, Some(at), Some(to)) };
    vec![
        (form, json!([]), "list-empty", None, None),
        mends(
            function(&long, "stock", json!("{}")),
            "id-form",
            1,
            function(&short, "stock", json!("{}")),
        ),
        mends(
            function("c", "a b", json!("{}")),
            "name-form",
            1,
            function("c", "a_b_c8687a08", json!("{}")),
        ),
        mends(
            function("c", "stock", json!({ "n": 1 })),
            "arguments",
            1,
            function("c", "stock", json!("{\"n\":1}")),
        ),
        mends(function("c", "stock", Json::Null), "arguments", 1, plain()),
        mends(call("c", untyped), "call-kind", 1, plain()),
        lost(
            call(
                "c",
                json!({ "id": "c", "type": "function", "name": "stock" }),
            ),
            "call-kind",
            1,
        ),
        mends(
            json!([user("a"), { "role": "assistant", "content": "b", "tool_calls": [] }]),
            "calls-empty",
            1,
            json!([user("a"), assistant("b")]),
        ),
        mends(
            json!([user(json!([]))]),
            "content-empty",
            0,
            json!([user("")]),
        ),
        mends(
            json!([user(json!({ "n": 1 }))]),
            "content-kind",
            0,
            json!([user("{\"n\":1}")]),
        ),
        mends(
            json!([user(json!({ "type": "text", "text": "a" }))]),
            "content-kind",
            0,
            said(text("a")),
        ),
        mends(
            said(json!({ "type": "input_text", "text": "a" })),
            "part-kind",
            0,
            said(text("a")),
        ),
        lost(
            json!([user("a"), assistant(json!([url(json!({ "url": "b" }))]))]),
            "part-kind",
            1,
        ),
        lost(said(json!({ "type": "text" })), "member-missing", 0),
        mends(
            said(url(json!("b"))),
            "image-form",
            0,
            said(url(json!({ "url": "b" }))),
        ),
        lost(json!([user(many)]), "images-over", 0),
        (
            form,
            json!({ "tools": [{ "type": "function", "function": { "name": "a b" } }], "messages": [user("a")] }),
            "name-form",
            None,
            None,
        ),
        (
            form,
            json!({ "tools": [{ "function": { "name": "a" } }, { "function": { "name": "a" } }], "messages": [user("a")] }),
            "name-repeated",
            None,
            None,
        ),
    ]
}
