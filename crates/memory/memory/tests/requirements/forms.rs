//! Tests of the requirements for lists of each form: CTX-66 to CTX-70.

use accp_memory::disk::ContextError;
use accp_memory::{Code, Form, PlanError, Tier, check, repair};
use serde_json::{Value as Json, json};

use crate::requirements::messages::{
    chat_call, chat_result, item, list, output, reasoning, steps, turn, turn_result, user,
};
use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::{Talk, rows};

/// Returns the faults of a list: code and message.
fn faults(form: Form, messages: &[Json]) -> Vec<(Code, Option<usize>)> {
    let found = check(&list(form, messages)).into_iter();
    found
        .map(|finding| (finding.code, finding.message))
        .collect()
}

/// Compresses lists of a form that are over the window; `compress` checks the lists that it returns.
fn leaves_valid(form: Form) {
    for size in [3_000, 4_000, 6_000, 8_000] {
        let session = TestSession::of(size);
        let all = steps(form);
        let done = session.compress(&list(form, &all));
        assert!(
            tiers(&done).contains(&Tier::Three) || size > 6_000,
            "{size}"
        );
        assert!(done.before > size && !done.events.is_empty());
        assert_eq!(done.list.form(), form);
    }
}

/// Checks that a list is refused for this reason, and that nothing is written.
fn refuses(form: Form, messages: &[Json], code: Code, message: usize) {
    assert!(
        faults(form, messages).contains(&(code, Some(message))),
        "{code}: {messages:?}"
    );
    let session = TestSession::of(10_000);
    let refused = session.attempt(&list(form, messages));
    let Err(ContextError::Plan(PlanError::Invalid(found))) = refused else {
        panic!("{code}: {refused:?}")
    };
    assert!(found.iter().any(|fault| fault.code == code));
    assert_eq!(session.files().len(), 0);
}

#[test]
fn ctx_66_accepts_lists_of_chat_that_leave_as_such() {
    leaves_valid(Form::OpenAi);
    let parallel = [
        user("Rye?"),
        chat_call(&["a", "b"]),
        chat_result("b", "4"),
        chat_result("a", "5"),
    ];
    assert_eq!(faults(Form::OpenAi, &parallel), []);
}

#[test]
fn ctx_66_refuses_calls_and_results_of_chat_that_do_not_pair() {
    let form = Form::OpenAi;
    let (ask, call, result) = (user("Rye?"), chat_call(&["a"]), chat_result("a", "4"));
    let refuses = |messages: &[&Json], code, message| {
        let messages: Vec<_> = messages.iter().map(|message| (*message).clone()).collect();
        refuses(form, &messages, code, message);
    };
    refuses(&[&ask, &call, &ask], Code::ResultMissing, 1);
    refuses(&[&ask, &call, &ask, &result], Code::ResultMissing, 1);
    refuses(&[&ask, &result], Code::ResultOrphan, 1);
    refuses(&[&ask, &call, &result, &result], Code::ResultRepeated, 3);
    refuses(&[&ask, &chat_call(&[])], Code::CallsEmpty, 1);
    refuses(
        &[&ask, &chat_call(&["a", "a"]), &result],
        Code::IdRepeated,
        1,
    );
}

#[test]
fn a_message_of_chat_without_a_content_is_only_warned_of() {
    let form = Form::OpenAi;
    let call = crate::common::forms::call(form, "a", "stock", &json!({}));
    let empty = json!({ "role": "tool", "tool_call_id": "a", "content": null });
    let silent = json!({ "role": "user", "content": null });
    let messages = [user("Rye?"), call, empty, silent];
    assert_eq!(
        faults(form, &messages),
        [(Code::TextBlank, Some(2)), (Code::TextBlank, Some(3))]
    );
    let done = TestSession::of(10_000).attempt(&list(form, &messages));
    assert_eq!(done.unwrap().list.messages().len(), messages.len());
}

#[test]
fn ctx_67_accepts_lists_of_anthropic_that_leave_as_such() {
    leaves_valid(Form::Anthropic);
}

#[test]
fn ctx_67_refuses_turns_of_anthropic_that_do_not_pair() {
    let form = Form::Anthropic;
    let (ask, call, result) = (user("Rye?"), turn("a"), turn_result("a", "4"));
    let late = json!({ "role": "user", "content": [
        { "type": "text", "text": "Here:" },
        { "type": "tool_result", "tool_use_id": "a", "content": "4" }] });
    let blank = json!({ "role": "user", "content": [{ "type": "text", "text": " " }] });
    let system = json!({ "role": "system", "content": "Be brief." });
    let refuses = |messages: &[&Json], code, message| {
        let messages: Vec<_> = messages.iter().map(|message| (*message).clone()).collect();
        refuses(form, &messages, code, message);
    };
    refuses(&[&ask, &call, &ask], Code::ResultMissing, 1);
    refuses(&[&ask, &call, &late], Code::ResultsNotFirst, 2);
    refuses(&[&ask, &call, &result, &call, &result], Code::IdRepeated, 3);
    refuses(&[&call, &result], Code::FirstNotUser, 0);
    refuses(&[&blank], Code::TextBlank, 0);
    refuses(&[&ask, &system], Code::SystemInside, 1);
}

#[test]
fn ctx_68_accepts_lists_of_responses_that_leave_as_such() {
    leaves_valid(Form::Responses);
}

#[test]
fn ctx_68_refuses_items_of_responses_that_do_not_pair() {
    let form = Form::Responses;
    let (ask, call, result) = (user("Rye?"), item("a"), output("a", "4"));
    let refuses = |messages: &[&Json], code, message| {
        let messages: Vec<_> = messages.iter().map(|message| (*message).clone()).collect();
        refuses(form, &messages, code, message);
    };
    refuses(&[&ask, &result], Code::ResultOrphan, 1);
    refuses(&[&ask, &call, &result, &result], Code::ResultRepeated, 3);
    refuses(&[&ask, &call, &ask], Code::ResultMissing, 1);
    refuses(&[&ask, &reasoning("a")], Code::ReasoningSplit, 1);
}

#[test]
fn ctx_69_accepts_a_call_in_flight_at_the_end() {
    for form in Form::ALL {
        let session = TestSession::of(6_000);
        let mut all = steps(form);
        all.push(match form {
            Form::OpenAi => chat_call(&["x"]),
            Form::Anthropic => turn("x"),
            Form::Responses => item("x"),
        });
        let given = list(form, &all);
        let done = session.compress(&given);
        assert!(tiers(&done).contains(&Tier::Three));
        assert_eq!(raws(&done.list).last(), raws(&given).last());
        let (mended, repairs) = repair(&given).unwrap();
        assert_eq!((raws(&mended), repairs), (raws(&given), vec![]));
    }
}

#[test]
fn ctx_69_refuses_to_cut_or_answer_what_is_in_flight() {
    let session = TestSession::of(10_000);
    let arguments = json!({ "path": "a.md", "content": rows(3_000) });
    session.put("a.md", &rows(3_000));
    let talk = Talk::begun().up_to(5_000, &session.window);
    let given = talk.calls(&[("x", "create_file", arguments)]).list();
    let done = session.compress(&given);
    assert_eq!(raws(&done.list).last(), raws(&given).last());
    assert_eq!(done.list.to_string().matches("\"tool\"").count(), 0);
    // A later result answers the call in flight.
    let more = Talk::after(&done.list).result("x", "File written").list();
    assert_eq!(session.compress(&more).drift, []);
}

#[test]
fn ctx_70_accepts_thinking_unchanged_in_turns_that_stay() {
    let session = TestSession::of(6_000);
    let all = steps(Form::Anthropic);
    let done = session.compress(&list(Form::Anthropic, &all));
    let given: Vec<_> = all.iter().map(Json::to_string).collect();
    let kept: Vec<_> = raws(&done.list)
        .into_iter()
        .filter(|raw| raw.contains("thinking"))
        .collect();
    assert!(!kept.is_empty() && kept.len() < 12);
    assert!(kept.iter().all(|raw| given.contains(raw)));
}

#[test]
fn ctx_70_refuses_reasoning_without_what_follows_it() {
    let form = Form::Responses;
    for size in [2_500, 3_000, 4_000, 5_000, 6_000] {
        let session = TestSession::of(size);
        let done = session.compress(&list(form, &steps(form)));
        let items = done.list.messages();
        for (at, item) in items.iter().enumerate() {
            let Some(id) = item.json()["id"]
                .as_str()
                .and_then(|id| id.strip_prefix("rs_"))
            else {
                continue;
            };
            assert_eq!(items[at + 1].json()["call_id"], id);
        }
        let calls = items
            .iter()
            .filter(|item| item.json()["type"] == "function_call")
            .count();
        let thoughts = items
            .iter()
            .filter(|item| item.json()["type"] == "reasoning")
            .count();
        assert_eq!(calls, thoughts);
    }
    assert_eq!(
        faults(form, &[user("a"), reasoning("a")]),
        [(Code::ReasoningSplit, Some(1))]
    );
}
