//! Anthropic's messages.

use accp_memory::Form;
use serde_json::{Value as Json, json};

use super::make::{PNG, Row, assistant, given, image, text, user, uses};

pub(crate) fn anthropic() -> Vec<Row> {
    let pair = |id: &str, name: &str, input: Json| {
        json!([
            user("a"),
            uses(id, name, input),
            user(json!([given(id, "4")])),
            assistant("b")
        ])
    };
    let error = |content: Json, more: &[Json]| {
        let mut result = given("c", content);
        result["is_error"] = true.into();
        let blocks: Vec<_> = std::iter::once(&result).chain(more).collect();
        json!([
            user("a"),
            uses("c", "stock", json!({})),
            user(json!(blocks))
        ])
    };
    let result = |content: Json| {
        json!([
            user("a"),
            uses("c", "stock", json!({})),
            user(json!([given("c", content)]))
        ])
    };
    let said = |block: Json| json!([user(json!([text("a"), block]))]);
    let thought = |block: Json| json!([user("a"), assistant(json!([block, text("b")]))]);
    let png = image("image/png", PNG);
    let many: Vec<_> = (0..101).map(|_| png.clone()).collect();
    let plain = pair("c", "stock", json!({}));
    let loose = json!({ "id": "c" });
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    let mut foreign = plain.clone();
    foreign[3]["tool_calls"] = Json::Null;
    let mut chat = plain.clone();
    chat[3]["reasoning_content"] = "hm".into();
    let long = "n".repeat(65);
    let form = Form::Anthropic;
    vec![
        (form, json!([]), "list-empty", None, None),
        (
            form,
            pair("a.b|c", "stock", json!({})),
            "id-form",
            Some(1),
            Some(pair("a_b_c_65a973ec", "stock", json!({}))),
        ),
        (
            form,
            pair("c", "scale.read", json!({})),
            "name-form",
            Some(1),
            Some(pair("c", "scale_read_1afaae77", json!({}))),
        ),
        (
            form,
            pair("c", &long, json!({})),
            "name-form",
            Some(1),
            Some(Json::Null),
        ),
        (
            form,
            pair("c", "stock", json!("{\"n\": 1}")),
            "arguments",
            Some(1),
            Some(pair("c", "stock", json!({ "n": 1 }))),
        ),
        (
            form,
            pair("c", "stock", Json::Null),
            "arguments",
            Some(1),
            Some(plain.clone()),
        ),
        (
            form,
            pair("c", "stock", json!(["n"])),
            "arguments",
            Some(1),
            None,
        ),
        (
            form,
            thought(json!({ "type": "thinking", "thinking": "hm" })),
            "signature",
            Some(1),
            None,
        ),
        (
            form,
            thought(json!({ "type": "redacted_thinking" })),
            "member-missing",
            Some(1),
            None,
        ),
        (form, thought(png.clone()), "block-role", Some(1), None),
        (
            form,
            said(json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
            "block-role",
            Some(0),
            None,
        ),
        (
            form,
            json!([
                user("a"),
                assistant(json!([{ "type": "thinking", "thinking": "hm", "signature": "s" }]))
            ]),
            "thinking-place",
            Some(1),
            None,
        ),
        (
            form,
            json!({ "thinking": thinking, "messages": [user("a"), uses("c", "stock", json!({}))] }),
            "thinking-place",
            Some(1),
            None,
        ),
        (
            form,
            json!({ "thinking": thinking, "messages": [user("a"), assistant("b")] }),
            "ends-with-assistant",
            Some(1),
            None,
        ),
        (
            form,
            json!({ "model": "us.anthropic.claude-opus-4-6-v1:0", "messages": [user("a"), assistant("b")] }),
            "ends-with-assistant",
            Some(1),
            None,
        ),
        (
            form,
            error(json!([text("no"), png]), &[]),
            "error-content",
            Some(2),
            Some(error(json!([text("no")]), std::slice::from_ref(&png))),
        ),
        (
            form,
            error(json!([png]), &[]),
            "error-content",
            Some(2),
            Some(error(json!(""), std::slice::from_ref(&png))),
        ),
        (
            form,
            json!([user(json!([]))]),
            "content-empty",
            Some(0),
            None,
        ),
        (
            form,
            result(json!([text(""), text("4")])),
            "content-empty",
            Some(2),
            Some(result(json!([text("4")]))),
        ),
        (
            form,
            result(json!([text("")])),
            "content-empty",
            Some(2),
            Some(result(json!(""))),
        ),
        (
            form,
            result(json!(4)),
            "content-kind",
            Some(2),
            Some(result(json!("4"))),
        ),
        (
            form,
            result(json!({ "type": "text", "text": "4" })),
            "content-kind",
            Some(2),
            Some(result(json!([text("4")]))),
        ),
        (form, result(json!([loose])), "part-kind", Some(2), None),
        (
            form,
            said(text(" ")),
            "text-blank",
            Some(0),
            Some(json!([user(json!([text("a")]))])),
        ),
        (
            form,
            thought(json!({ "type": "thinking", "thinking": "hm", "signature": "s" }))
                .to_string()
                .replace("\"b\"", "\" \"")
                .parse()
                .expect("JSON"),
            "text-blank",
            Some(1),
            None,
        ),
        (
            form,
            json!([user("a"), assistant("b \n")]),
            "text-blank",
            Some(1),
            Some(json!([user("a"), assistant("b")])),
        ),
        (
            form,
            said(json!({ "type": "input_text", "text": "b" })),
            "part-kind",
            Some(0),
            Some(said(text("b"))),
        ),
        (
            form,
            said(json!("b")),
            "part-kind",
            Some(0),
            Some(said(text("b"))),
        ),
        (
            form,
            said(json!({ "type": "image_url", "image_url": { "url": "b" } })),
            "part-kind",
            Some(0),
            None,
        ),
        (
            form,
            said(image("image/jpeg", PNG)),
            "image-form",
            Some(0),
            Some(said(png.clone())),
        ),
        (
            form,
            said(image("image/png", &format!("data:image/png;base64,{PNG}"))),
            "image-form",
            Some(0),
            Some(said(png.clone())),
        ),
        (
            form,
            said(image("image/bmp", "Qk0e")),
            "image-form",
            Some(0),
            None,
        ),
        (
            form,
            said(json!({ "type": "image", "source": { "type": "url" } })),
            "image-form",
            Some(0),
            None,
        ),
        (form, json!([user(many)]), "images-over", Some(0), None),
        (
            form,
            foreign,
            "member-foreign",
            Some(3),
            Some(plain.clone()),
        ),
        (form, chat, "member-foreign", Some(3), None),
        (
            form,
            json!({ "tools": [{ "name": "a b", "input_schema": {} }], "messages": [user("a")] }),
            "name-form",
            None,
            None,
        ),
        (
            form,
            json!({ "tools": [{ "name": "a", "input_schema": {} }, { "name": "a", "input_schema": {} }], "messages": [user("a")] }),
            "name-repeated",
            None,
            None,
        ),
        (
            form,
            json!([
                user("a"),
                uses("c", "stock", json!({})),
                user("b"),
                user(json!([text("d"), given("c", "4")]))
            ]),
            "results-not-first",
            Some(3),
            Some(json!([
                user("a"),
                uses("c", "stock", json!({})),
                user(json!([given("c", "4")])),
                user("b"),
                user(json!([text("d")]))
            ])),
        ),
    ]
}
