//! Lists with one fault in the form of OpenAI's Responses.

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
    let lost = |list: Json, code, at| -> Row { (form, list, code, Some(at), None) };
    let mends = |list: Json, code, at, to: Json| -> Row { (form, list, code, Some(at), Some(to)) };
    vec![
        mends(call(&long, json!({})), "id-form", 1, Json::Null),
        mends(
            call("c", json!({ "name": "a.b" })),
            "name-form",
            1,
            Json::Null,
        ),
        mends(
            call("c", json!({ "id": "call_1" })),
            "item-id",
            1,
            call("c", json!({})),
        ),
        lost(
            reasoning(json!({ "type": "reasoning", "id": "x", "summary": [] })),
            "item-id",
            1,
        ),
        mends(
            reasoning(json!({ "type": "reasoning", "id": "rs" })),
            "member-missing",
            1,
            reasoning(json!({ "type": "reasoning", "id": "rs", "summary": [] })),
        ),
        mends(
            call("c", json!({ "arguments": { "n": 1 } })),
            "arguments",
            1,
            call("c", json!({ "arguments": "{\"n\":1}" })),
        ),
        mends(
            said("assistant", part("input_text")),
            "part-kind",
            0,
            said("assistant", part("output_text")),
        ),
        mends(
            said("user", part("text")),
            "part-kind",
            0,
            said("user", part("input_text")),
        ),
        mends(
            said(
                "user",
                json!({ "type": "image_url", "image_url": { "url": "b" } }),
            ),
            "part-kind",
            0,
            said("user", picture(json!("b"))),
        ),
        mends(
            said("user", picture(json!({ "url": "b" }))),
            "image-form",
            0,
            said("user", picture(json!("b"))),
        ),
        lost(
            json!([{ "role": "user", "content": [] }]),
            "content-empty",
            0,
        ),
        mends(
            output(json!({ "n": 1 })),
            "content-kind",
            2,
            output(json!("{\"n\":1}")),
        ),
        lost(silent, "member-missing", 2),
        lost(json!([user(many)]), "images-over", 0),
        (
            form,
            json!({ "tools": [{ "type": "function", "name": "a" }, { "type": "function", "name": "a" }], "input": [user("a")] }),
            "name-repeated",
            None,
            None,
        ),
        mends(
            twice(&said_as("msg_1"), &said_as("msg_1")),
            "item-id",
            2,
            twice(&said_as("msg_1"), &said_as("")),
        ),
        lost(twice(&thought("rs_1"), &thought("rs_1")), "item-id", 2),
        mends(
            answered("function_call", "custom_tool_call_output"),
            "output-kind",
            2,
            answered("function_call", "function_call_output"),
        ),
        mends(
            answered("custom_tool_call", "function_call_output"),
            "output-kind",
            2,
            answered("custom_tool_call", "custom_tool_call_output"),
        ),
        lost(
            answered("function_call", "shell_call_output"),
            "output-kind",
            2,
        ),
        lost(json!([user("a"), approval("mcpr_1")]), "approval-orphan", 1),
    ]
}

/// Returns a list with two items of the model, followed by words of the model.
fn twice(first: &Json, second: &Json) -> Json {
    json!([user("a"), first, second, assistant("b")])
}

fn said_as(id: &str) -> Json {
    let mut said = json!({ "type": "message", "role": "assistant", "content": "b" });
    if !id.is_empty() {
        said["id"] = id.into();
    }
    said
}

fn thought(id: &str) -> Json {
    json!({ "type": "reasoning", "id": id, "summary": [] })
}

fn approval(id: &str) -> Json {
    json!({ "type": "mcp_approval_response", "approval_request_id": id, "approve": true })
}

/// A call of this type, with an output of this type.
fn answered(call: &str, output: &str) -> Json {
    json!([
        user("a"),
        { "type": call, "call_id": "c", "name": "stock", "arguments": "{}", "input": "" },
        { "type": output, "call_id": "c", "output": "4" },
    ])
}

/// Lists that the provider takes, or may take.
pub(crate) fn taken() -> Vec<(Form, Json)> {
    let request = json!({ "type": "mcp_approval_request", "id": "mcpr_1", "name": "stock", "arguments": "{}",
        "server_label": "s" });
    let shell = json!([user("a"),
        { "type": "local_shell_call", "id": "lsh_1", "call_id": "c", "status": "completed", "action": {} },
        { "type": "local_shell_call_output", "id": "lsh_1", "call_id": "c", "output": "4" }]);
    let lists = [
        json!([user("a"), request, approval("mcpr_1")]),
        json!([user("a"), { "type": "item_reference", "id": "mcpr_1" }, approval("mcpr_1")]),
        json!({ "previous_response_id": "r", "input": [approval("mcpr_1")] }),
        shell,
        answered("shell_call", "function_call_output"),
        answered("local_shell_call", "function_call_output"),
        answered("new_call", "new_call_output"),
        json!([user("a"), { "type": "new_item", "id": "n" }, { "type": "new_item", "id": "n" }]),
    ];
    lists
        .into_iter()
        .map(|list| (Form::Responses, list))
        .collect()
}
