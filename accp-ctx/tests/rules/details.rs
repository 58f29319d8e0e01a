//! The rules about single messages and requests: each is found where it is broken, and mended where nothing is lost.

use std::collections::BTreeSet;

use accp_ctx::{Code, Form, MessageList, Rule, check, repair};
use serde_json::{Value as Json, json};

/// A form, a list or a request with one fault, the place of the fault, and what the repair makes of it.
type Row = (Form, Json, &'static str, Option<usize>, Option<Json>);

const PNG: &str = "iVBORw0KGgo=";

fn mark(ttl: Option<&str>) -> Json {
    match ttl {
        Some(ttl) => json!({ "type": "ephemeral", "ttl": ttl }),
        None => json!({ "type": "ephemeral" }),
    }
}

fn text(said: &str) -> Json {
    json!({ "type": "text", "text": said })
}

fn marked(said: &str, ttl: Option<&str>) -> Json {
    json!({ "type": "text", "text": said, "cache_control": mark(ttl) })
}

fn user(content: impl Into<Json>) -> Json {
    json!({ "role": "user", "content": content.into() })
}

fn assistant(content: impl Into<Json>) -> Json {
    json!({ "role": "assistant", "content": content.into() })
}

fn uses(id: &str, name: &str, input: impl Into<Json>) -> Json {
    assistant(json!([{ "type": "tool_use", "id": id, "name": name, "input": input.into() }]))
}

fn given(id: &str, content: impl Into<Json>) -> Json {
    json!({ "type": "tool_result", "tool_use_id": id, "content": content.into() })
}

fn image(kind: &str, data: &str) -> Json {
    json!({ "type": "image", "source": { "type": "base64", "media_type": kind, "data": data } })
}

/// The marks for the cache.
fn marks() -> Vec<Row> {
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
    vec![
        (form, json!(five), "cache-marks", Some(4), Some(json!(four))),
        (
            form,
            json!({ "tools": tools, "messages": five[1..] }),
            "cache-marks",
            Some(3),
            Some(json!({ "tools": tools, "messages": three[1..] })),
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
        (form, hour("1h"), "cache-order", Some(0), Some(hour("5m"))),
        (
            form,
            json!({ "system": [marked("a", Some("5m"))], "messages": [user(json!([marked("b", Some("1h"))]))] }),
            "cache-order",
            Some(0),
            Some(
                json!({ "system": [marked("a", Some("5m"))], "messages": [user(json!([marked("b", Some("5m"))]))] }),
            ),
        ),
        (
            form,
            thought(&with),
            "cache-place",
            Some(1),
            Some(thought(&bare)),
        ),
        (
            form,
            on_message,
            "cache-place",
            Some(0),
            Some(json!([user("a")])),
        ),
        (
            form,
            wrong(json!({ "type": "x" })),
            "cache-form",
            Some(0),
            Some(wrong(mark(None))),
        ),
        (
            form,
            wrong(mark(Some("2h"))),
            "cache-form",
            Some(0),
            Some(wrong(mark(None))),
        ),
    ]
}

fn anthropic() -> Vec<Row> {
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
            json!({ "tools": [{ "name": "a b" }], "messages": [user("a")] }),
            "name-form",
            None,
            None,
        ),
        (
            form,
            json!({ "tools": [{ "name": "a" }, { "name": "a" }], "messages": [user("a")] }),
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

fn chat() -> Vec<Row> {
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

fn responses() -> Vec<Row> {
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

/// The codes about pairs and turns; other tests are about them.
const PAIRS: &str = "role first-not-user system-inside result-missing result-misplaced result-orphan result-repeated \
                     id-missing id-repeated reasoning-split text-blank";

fn rule(form: Form, code: Code) -> &'static Rule {
    let rule = form.rules().iter().find(|rule| rule.code == code);
    rule.unwrap_or_else(|| panic!("{form} has no rule {code}"))
}

#[test]
fn each_detail_is_found_and_mended_where_nothing_is_lost() {
    let rows = [marks(), anthropic(), chat(), responses()].concat();
    let mut seen: BTreeSet<(Form, Code)> = BTreeSet::new();
    let mut mended_codes = BTreeSet::new();
    for (form, broken, code, at, expected) in rows {
        let list = MessageList::read(&broken.to_string(), Some(form)).expect("a list");
        let found = check(&list);
        let told: Vec<_> = found
            .iter()
            .map(|fault| (fault.code.as_str(), fault.message))
            .collect();
        assert_eq!(told, [(code, at)], "{broken}");
        assert!(found[0].text.contains(';'), "{}", found[0]);
        let code = found[0].code;
        seen.insert((form, code));
        let (mended, repairs) = repair(&list).expect("a message can be changed");
        let text = mended.to_string();
        match expected {
            None => assert_eq!((text, repairs), (list.to_string(), vec![])),
            Some(expected) => {
                assert_eq!(check(&mended), [], "{text}");
                assert_eq!(repairs.len(), 1, "{repairs:?}");
                assert_eq!(repairs[0].code, Some(code));
                let read: Json = serde_json::from_str(&text).expect("JSON");
                assert!(expected.is_null() || read == expected, "{read}\n{expected}");
                mended_codes.insert((form, code));
            }
        }
    }
    for form in Form::ALL {
        for rule in form
            .rules()
            .iter()
            .filter(|rule| !PAIRS.contains(rule.code.as_str()))
        {
            assert!(seen.contains(&(form, rule.code)), "{form}: {}", rule.code);
            assert_eq!(
                rule.mended,
                mended_codes.contains(&(form, rule.code)),
                "{form}: {}",
                rule.code
            );
        }
    }
    for (form, code) in seen {
        rule(form, code);
    }
}

#[test]
fn the_documentation_has_all_rules() {
    let docs = include_str!("../../../docs/context.md");
    for form in Form::ALL {
        let rows = form.rules().iter().map(|rule| {
            let mended = if rule.mended { "yes" } else { "" };
            format!(
                "| `{}` | {} | {} | {mended} |\n",
                rule.code, rule.what, rule.source
            )
        });
        let table: String = rows.collect();
        assert!(
            docs.contains(&table),
            "docs/context.md has not these rows of {form}:\n{table}"
        );
    }
}

#[test]
fn an_id_gets_one_new_id_however_long_the_list_is() {
    let long = format!("call_{}", "y".repeat(60));
    let call = json!({ "id": long, "type": "function", "function": { "name": "stock", "arguments": "{}" } });
    let mut messages = vec![
        user("a"),
        json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
    ];
    let id = |messages: &[Json]| {
        let list =
            MessageList::read(&json!(messages).to_string(), Some(Form::OpenAi)).expect("a list");
        let (mended, _) = repair(&list).expect("a message can be changed");
        mended.messages()[1].json()["tool_calls"][0]["id"].clone()
    };
    let first = id(&messages);
    messages.push(json!({ "role": "tool", "tool_call_id": long, "content": "4" }));
    messages.push(user("b"));
    assert_eq!(id(&messages), first);
    assert_eq!(first.as_str().map(str::len), Some(40));
}

#[test]
fn what_a_provider_takes_is_no_fault() {
    let search = |role: &str| {
        json!({ "role": role, "content": [
        { "type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {} },
        { "type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [] }] })
    };
    let thinking = json!({ "type": "enabled", "budget_tokens": 1024 });
    for (form, body) in [
        // The provider paused, and goes on with its own turn.
        (
            Form::Anthropic,
            json!({ "thinking": thinking, "messages": [user("a"), search("assistant")] }),
        ),
        (
            Form::Anthropic,
            json!({ "model": "claude-sonnet-4-20250514", "messages": [user("a"), assistant("b")] }),
        ),
        (
            Form::Anthropic,
            json!({ "model": "claude-3-5-haiku-latest", "messages": [user("a"), assistant("b")] }),
        ),
        // A block that is newer than the table.
        (
            Form::Anthropic,
            json!([user(json!([{ "type": "new_thing", "data": 1 }]))]),
        ),
        (
            Form::Anthropic,
            json!([user(
                json!([{ "type": "text", "text": "a", "cache_control": null }])
            )]),
        ),
        // The provider has the call, with the id as it gave it.
        (
            Form::OpenAi,
            json!([user(
                json!([text("a"), { "type": "input_audio", "input_audio": {} }])
            )]),
        ),
        (
            Form::Responses,
            json!([{ "type": "new_thing", "id": "x" }, user("a")]),
        ),
    ] {
        let list = MessageList::read(&body.to_string(), Some(form)).expect("a list");
        assert_eq!(check(&list), [], "{body}");
    }
}

#[test]
fn the_form_is_told_by_structure() {
    let orphan = |kind: &str| {
        json!([
            user("a"),
            assistant(json!([{ "type": kind, "tool_use_id": "srv_1", "content": {} }, text("b")])),
            user("c")
        ])
    };
    let kinds = "advisor bash_code_execution code_execution mcp memory text_editor_code_execution tool_search web_fetch web_search new_thing";
    for kind in kinds.split(' ') {
        let list = MessageList::read(&orphan(&format!("{kind}_tool_result")).to_string(), None)
            .expect("a list");
        assert_eq!(list.form(), Form::Anthropic, "{kind}");
        let codes: Vec<_> = check(&list)
            .iter()
            .map(|fault| (fault.code, fault.message))
            .collect();
        assert_eq!(codes, [(Code::ResultOrphan, Some(1))], "{kind}");
    }
    let plain = json!([user("a"), assistant("b")]);
    let asked = json!([user(json!([marked("a", None)]))]);
    let system = json!([{ "role": "system", "content": [marked("a", None)] }, user("b")]);
    for (body, form) in [
        (plain.clone(), Form::OpenAi),
        (asked, Form::Anthropic),
        (system, Form::OpenAi),
        (
            json!([user(
                json!([{ "type": "new_tool_use", "id": "x", "input": {} }])
            )]),
            Form::Anthropic,
        ),
        (
            json!([user(
                json!([{ "type": "new", "source": { "type": "url", "url": "a" } }])
            )]),
            Form::Anthropic,
        ),
        (
            json!([assistant(
                json!([{ "type": "thinking", "thinking": [text("a")] }])
            )]),
            Form::OpenAi,
        ),
        (
            json!({ "tools": [{ "type": "web_search_20260318", "name": "web_search" }], "messages": plain }),
            Form::Anthropic,
        ),
        (
            json!({ "tools": [{ "type": "function", "function": { "name": "a" } }], "max_tokens": 9, "messages": plain }),
            Form::OpenAi,
        ),
        (
            json!({ "model": "claude-opus-4-5", "max_tokens": 9, "messages": plain }),
            Form::Anthropic,
        ),
        (
            json!({ "model": "claude-opus-4-5", "max_tokens": 9, "messages": [{ "role": "system", "content": "a" }] }),
            Form::OpenAi,
        ),
        (
            json!({ "stop_sequences": ["x"], "messages": plain }),
            Form::Anthropic,
        ),
        (
            json!({ "tool_choice": { "type": "any" }, "messages": plain }),
            Form::Anthropic,
        ),
    ] {
        let list = MessageList::read(&body.to_string(), None).expect("a list");
        assert_eq!(list.form(), form, "{body}");
    }
}
