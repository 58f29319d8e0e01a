//! OpenAI's chat.

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
    vec![
        (form, json!([]), "list-empty", None, None),
        (
            form,
            function(&long, "stock", json!("{}")),
            "id-form",
            Some(1),
            Some(function(&short, "stock", json!("{}"))),
        ),
        (
            form,
            function("c", "a b", json!("{}")),
            "name-form",
            Some(1),
            Some(function("c", "a_b_c8687a08", json!("{}"))),
        ),
        (
            form,
            function("c", "stock", json!({ "n": 1 })),
            "arguments",
            Some(1),
            Some(function("c", "stock", json!("{\"n\":1}"))),
        ),
        (
            form,
            function("c", "stock", Json::Null),
            "arguments",
            Some(1),
            Some(plain()),
        ),
        (
            form,
            call("c", untyped),
            "call-kind",
            Some(1),
            Some(plain()),
        ),
        (
            form,
            call(
                "c",
                json!({ "id": "c", "type": "function", "name": "stock" }),
            ),
            "call-kind",
            Some(1),
            None,
        ),
        (
            form,
            json!([user("a"), { "role": "assistant", "content": "b", "tool_calls": [] }]),
            "calls-empty",
            Some(1),
            Some(json!([user("a"), assistant("b")])),
        ),
        (
            form,
            json!([user(json!([]))]),
            "content-empty",
            Some(0),
            Some(json!([user("")])),
        ),
        (
            form,
            json!([user(json!({ "n": 1 }))]),
            "content-kind",
            Some(0),
            Some(json!([user("{\"n\":1}")])),
        ),
        (
            form,
            json!([user(json!({ "type": "text", "text": "a" }))]),
            "content-kind",
            Some(0),
            Some(said(text("a"))),
        ),
        (
            form,
            said(json!({ "type": "input_text", "text": "a" })),
            "part-kind",
            Some(0),
            Some(said(text("a"))),
        ),
        (
            form,
            json!([user("a"), assistant(json!([url(json!({ "url": "b" }))]))]),
            "part-kind",
            Some(1),
            None,
        ),
        (
            form,
            said(json!({ "type": "text" })),
            "member-missing",
            Some(0),
            None,
        ),
        (
            form,
            said(url(json!("b"))),
            "image-form",
            Some(0),
            Some(said(url(json!({ "url": "b" })))),
        ),
        (form, json!([user(many)]), "images-over", Some(0), None),
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
