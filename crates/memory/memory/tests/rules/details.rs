//! The rules about single messages and requests: the check finds each broken rule, and a repair mends the fault if
//! nothing is lost by that.

#[path = "details/anthropic.rs"]
mod anthropic;
#[path = "details/beside.rs"]
mod beside;
#[path = "details/chat.rs"]
mod chat;
#[path = "details/make.rs"]
mod make;
#[path = "details/marks.rs"]
mod marks;
#[path = "details/responses.rs"]
mod responses;

use std::collections::BTreeSet;

use accp_memory::{Code, Form, MessageList, Rule, check, repair};
use serde_json::{Value as Json, json};

use make::{assistant, marked, text, user};

/// The codes about pairs and turns; other tests are about them.
const PAIRS: &str = "role first-not-user system-inside result-missing result-misplaced result-orphan result-repeated \
                     id-missing id-repeated reasoning-split text-blank";

fn rule(form: Form, code: Code) -> &'static Rule {
    let rule = form.rules().iter().find(|rule| rule.code == code);
    rule.unwrap_or_else(|| panic!("{form} has no rule {code}"))
}

#[test]
fn each_detail_is_found_and_mended_where_nothing_is_lost() {
    let rows = [
        marks::marks(),
        anthropic::anthropic(),
        beside::beside(),
        chat::chat(),
        responses::responses(),
    ]
    .concat();
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
    let docs = include_str!("../../../../../docs/context.md");
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
        // The provider has paused and continues its own turn, so a list that ends with the
        // assistant is not a flaw.
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
        // The check does not know this new kind of block, so it accepts the block.
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
    ]
    .into_iter()
    .chain(beside::taken())
    .chain(responses::taken())
    {
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
