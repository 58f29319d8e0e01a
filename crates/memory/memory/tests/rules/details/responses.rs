//! OpenAI's Responses.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::make::{Row, assistant, user};

pub(crate) fn responses() -> Vec<Row> {
    let call = |id: &str, more: Json| {
        let mut call =
            json!({ "type": "function_call", "call_id": id, "name": "stock", "arguments": "{}" });
        for (key, value) in more.as_object().expect("members") {
            call[key] = value.clone();
        }
        json!([user("a"), call, { "type": "function_call_output", "call_id": id, "output": "4" }])
    };
    let said = |role: &str, part: Json| json!([{ "role": role, "content": [part] }]);
    let part = |kind: &str| json!({ "type": kind, "text": "a" });
    let output = |output: Json| {
        let mut list = call("c", json!({}));
        list[2]["output"] = output;
        list
    };
    let mut silent = call("c", json!({}));
    silent[2].as_object_mut().expect("an item").remove("output");
    let reasoning = |more: Json| json!([user("a"), more, assistant("b")]);
    let picture = |url: Json| json!({ "type": "input_image", "image_url": url });
    let many: Vec<_> = (0..501).map(|_| picture(json!("b"))).collect();
    let long = "c".repeat(65);
    let form = Form::Responses;
    vec![
        (
            form,
            call(&long, json!({})),
            "id-form",
            Some(1),
            Some(Json::Null),
        ),
        (
            form,
            call("c", json!({ "name": "a.b" })),
            "name-form",
            Some(1),
            Some(Json::Null),
        ),
        (
            form,
            call("c", json!({ "id": "call_1" })),
            "item-id",
            Some(1),
            Some(call("c", json!({}))),
        ),
        (
            form,
            reasoning(json!({ "type": "reasoning", "id": "x", "summary": [] })),
            "item-id",
            Some(1),
            None,
        ),
        (
            form,
            reasoning(json!({ "type": "reasoning", "id": "rs" })),
            "member-missing",
            Some(1),
            Some(reasoning(
                json!({ "type": "reasoning", "id": "rs", "summary": [] }),
            )),
        ),
        (
            form,
            call("c", json!({ "arguments": { "n": 1 } })),
            "arguments",
            Some(1),
            Some(call("c", json!({ "arguments": "{\"n\":1}" }))),
        ),
        (
            form,
            said("assistant", part("input_text")),
            "part-kind",
            Some(0),
            Some(said("assistant", part("output_text"))),
        ),
        (
            form,
            said("user", part("text")),
            "part-kind",
            Some(0),
            Some(said("user", part("input_text"))),
        ),
        (
            form,
            said(
                "user",
                json!({ "type": "image_url", "image_url": { "url": "b" } }),
            ),
            "part-kind",
            Some(0),
            Some(said("user", picture(json!("b")))),
        ),
        (
            form,
            said("user", picture(json!({ "url": "b" }))),
            "image-form",
            Some(0),
            Some(said("user", picture(json!("b")))),
        ),
        (
            form,
            json!([{ "role": "user", "content": [] }]),
            "content-empty",
            Some(0),
            None,
        ),
        (
            form,
            output(json!({ "n": 1 })),
            "content-kind",
            Some(2),
            Some(output(json!("{\"n\":1}"))),
        ),
        (form, silent, "member-missing", Some(2), None),
        (form, json!([user(many)]), "images-over", Some(0), None),
        (
            form,
            json!({ "tools": [{ "type": "function", "name": "a" }, { "type": "function", "name": "a" }], "input": [user("a")] }),
            "name-repeated",
            None,
            None,
        ),
    ]
}
