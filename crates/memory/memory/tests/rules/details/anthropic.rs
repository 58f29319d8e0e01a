//! Lists with one fault in Anthropic's form.

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
    let lost = |list: Json, code, at| -> Row { (form, list, code, Some(at), None) };
    let mends = |list: Json, code, at, to: Json| -> Row { (form, list, code, Some(at), Some(to)) };
    vec![
        (form, json!([]), "list-empty", None, None),
        mends(
            pair("a.b|c", "stock", json!({})),
            "id-form",
            1,
            pair("a_b_c_65a973ec", "stock", json!({})),
        ),
        mends(
            pair("c", "scale.read", json!({})),
            "name-form",
            1,
            pair("c", "scale_read_1afaae77", json!({})),
        ),
        mends(pair("c", &long, json!({})), "name-form", 1, Json::Null),
        mends(
            pair("c", "stock", json!("{\"n\": 1}")),
            "arguments",
            1,
            pair("c", "stock", json!({ "n": 1 })),
        ),
        mends(
            pair("c", "stock", Json::Null),
            "arguments",
            1,
            plain.clone(),
        ),
        lost(pair("c", "stock", json!(["n"])), "arguments", 1),
        lost(
            thought(json!({ "type": "thinking", "thinking": "hm" })),
            "signature",
            1,
        ),
        lost(
            thought(json!({ "type": "redacted_thinking" })),
            "member-missing",
            1,
        ),
        lost(thought(png.clone()), "block-role", 1),
        lost(
            said(json!({ "type": "thinking", "thinking": "hm", "signature": "s" })),
            "block-role",
            0,
        ),
        lost(
            json!([
                user("a"),
                assistant(json!([{ "type": "thinking", "thinking": "hm", "signature": "s" }]))
            ]),
            "thinking-place",
            1,
        ),
        lost(
            json!({ "thinking": thinking, "messages": [user("a"), uses("c", "stock", json!({}))] }),
            "thinking-place",
            1,
        ),
        lost(
            json!({ "thinking": thinking, "messages": [user("a"), assistant("b")] }),
            "ends-with-assistant",
            1,
        ),
        lost(
            json!({ "model": "us.anthropic.claude-opus-4-6-v1:0", "messages": [user("a"), assistant("b")] }),
            "ends-with-assistant",
            1,
        ),
        mends(
            error(json!([text("no"), png]), &[]),
            "error-content",
            2,
            error(json!([text("no")]), std::slice::from_ref(&png)),
        ),
        mends(
            error(json!([png]), &[]),
            "error-content",
            2,
            error(json!(""), std::slice::from_ref(&png)),
        ),
        lost(json!([user(json!([]))]), "content-empty", 0),
        mends(
            result(json!([text(""), text("4")])),
            "content-empty",
            2,
            result(json!([text("4")])),
        ),
        mends(
            result(json!([text("")])),
            "content-empty",
            2,
            result(json!("")),
        ),
        mends(result(json!(4)), "content-kind", 2, result(json!("4"))),
        mends(
            result(json!({ "type": "text", "text": "4" })),
            "content-kind",
            2,
            result(json!([text("4")])),
        ),
        lost(result(json!([loose])), "part-kind", 2),
        mends(
            said(text(" ")),
            "text-blank",
            0,
            json!([user(json!([text("a")]))]),
        ),
        lost(
            thought(json!({ "type": "thinking", "thinking": "hm", "signature": "s" }))
                .to_string()
                .replace("\"b\"", "\" \"")
                .parse()
                .expect("JSON"),
            "text-blank",
            1,
        ),
        mends(
            json!([user("a"), assistant("b \n")]),
            "text-blank",
            1,
            json!([user("a"), assistant("b")]),
        ),
        mends(
            said(json!({ "type": "input_text", "text": "b" })),
            "part-kind",
            0,
            said(text("b")),
        ),
        mends(said(json!("b")), "part-kind", 0, said(text("b"))),
        lost(
            said(json!({ "type": "image_url", "image_url": { "url": "b" } })),
            "part-kind",
            0,
        ),
        mends(
            said(image("image/jpeg", PNG)),
            "image-form",
            0,
            said(png.clone()),
        ),
        mends(
            said(image("image/png", &format!("data:image/png;base64,{PNG}"))),
            "image-form",
            0,
            said(png.clone()),
        ),
        lost(said(image("image/bmp", "Qk0e")), "image-form", 0),
        lost(
            said(json!({ "type": "image", "source": { "type": "url" } })),
            "image-form",
            0,
        ),
        lost(json!([user(many)]), "images-over", 0),
        mends(foreign, "member-foreign", 3, plain.clone()),
        lost(chat, "member-foreign", 3),
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
        mends(
            json!([
                user("a"),
                uses("c", "stock", json!({})),
                user("b"),
                user(json!([text("d"), given("c", "4")]))
            ]),
            "results-not-first",
            3,
            json!([
                user("a"),
                uses("c", "stock", json!({})),
                user(json!([given("c", "4")])),
                user("b"),
                user(json!([text("d")]))
            ]),
        ),
    ]
}
