//! Rules that random lists seldom break, and the words of each finding.

mod details;

use accp_memory::{Form, MessageList, check, repair};
use serde_json::{Value as Json, json};

fn list(form: Form, messages: &Json) -> MessageList {
    MessageList::read(&messages.to_string(), Some(form)).expect("a list")
}

/// Returns code and message of each fault.
fn found(form: Form, messages: &Json) -> String {
    let found = check(&list(form, messages)).into_iter();
    let found = found.map(|finding| match finding.message {
        Some(message) => format!("{} {message}", finding.code),
        None => finding.code.to_string(),
    });
    found.collect::<Vec<_>>().join(", ")
}

fn mended(form: Form, messages: &Json) -> String {
    let (mended, _) = repair(&list(form, messages)).expect("a message can be changed");
    let faults = check(&mended);
    assert!(faults.is_empty(), "{mended}: {faults:?}");
    mended.to_string()
}

fn call(id: &str) -> Json {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": "stock", "arguments": "{}" } }] })
}

fn uses(blocks: &[(&str, &str)]) -> Json {
    let block = |(kind, id): &(&str, &str)| json!({ "type": kind, "id": id, "name": "code_execution", "input": {} });
    json!({ "role": "assistant", "content": blocks.iter().map(block).collect::<Vec<_>>() })
}

fn results(role: &str, blocks: &[(&str, &str)]) -> Json {
    let block =
        |(kind, id): &(&str, &str)| json!({ "type": kind, "tool_use_id": id, "content": "4" });
    json!({ "role": role, "content": blocks.iter().map(block).collect::<Vec<_>>() })
}

#[test]
fn a_tool_does_not_answer_a_function_call() {
    let user = json!({ "role": "user", "content": "Rye?" });
    let old = json!({ "role": "assistant", "content": null,
        "function_call": { "name": "stock", "arguments": "{}" } });
    let tool = json!({ "role": "tool", "tool_call_id": "stock", "content": "4" });
    let function = json!({ "role": "function", "name": "stock", "content": "4" });
    assert_eq!(found(Form::OpenAi, &json!([user, old, function, user])), "");
    let mixed = json!([user, old, tool, user]);
    assert_eq!(
        found(Form::OpenAi, &mixed),
        "result-missing 1, result-orphan 2"
    );
    let expected =
        r#"{"role":"function","name":"stock","content":"No result was recorded for this call."}"#;
    assert!(mended(Form::OpenAi, &mixed).contains(expected));
}

#[test]
fn only_the_assistant_calls() {
    let mut asked = call("c1");
    asked["role"] = "user".into();
    asked["content"] = "Rye?".into();
    let tool = json!({ "role": "tool", "tool_call_id": "c1", "content": "4" });
    assert_eq!(found(Form::OpenAi, &json!([asked, tool])), "role 0");
    let mut asked = uses(&[("tool_use", "c1")]);
    asked["role"] = "user".into();
    assert_eq!(found(Form::Anthropic, &json!([asked])), "role 0");
}

#[test]
fn a_system_message_does_not_part_call_and_result() {
    let messages = json!([
        { "role": "user", "content": "Rye?" },
        uses(&[("tool_use", "c1"), ("tool_use", "c2")]),
        { "role": "system", "content": "Be brief." },
        results("user", &[("tool_result", "c1")]),
        { "role": "system", "content": "Be brief." },
        results("user", &[("tool_result", "c2")]),
        { "role": "assistant", "content": "Four." }]);
    assert_eq!(
        found(Form::Anthropic, &messages),
        "system-inside 2, system-inside 4"
    );
}

#[test]
fn tools_of_the_provider_are_answered_in_their_turn() {
    let user = json!({ "role": "user", "content": "Rye?" });
    let asks = uses(&[("server_tool_use", "s1")]);
    let answers = results("assistant", &[("code_execution_tool_result", "s1")]);
    // The provider has paused and continues in the same turn, so the open call is not a flaw.
    assert_eq!(found(Form::Anthropic, &json!([user, asks])), "");
    assert_eq!(
        found(Form::Anthropic, &json!([user, asks, answers, user])),
        ""
    );
    let missing = json!([user, asks, user]);
    assert_eq!(found(Form::Anthropic, &missing), "result-missing 1");
    let expected = r#"{"type":"code_execution_tool_result","tool_use_id":"s1","content":{"type":"code_execution_tool_result_error","error_code":"unavailable"}}"#;
    assert!(mended(Form::Anthropic, &missing).contains(expected));
    let late = json!([user, asks, user, answers]);
    assert_eq!(
        found(Form::Anthropic, &late),
        "result-missing 1, result-orphan 3"
    );
    let twice = json!([user, asks, answers, answers]);
    assert_eq!(found(Form::Anthropic, &twice), "result-repeated 3");
    mended(Form::Anthropic, &twice);
}

#[test]
fn code_of_the_provider_waits_for_tools_of_the_program() {
    let mut asks = uses(&[("server_tool_use", "s1"), ("tool_use", "c1")]);
    asks["content"][1]["caller"] = json!({ "type": "code_execution_20250825", "tool_id": "s1" });
    let user = json!({ "role": "user", "content": "Rye?" });
    let given = results("user", &[("tool_result", "c1")]);
    let answers = results("assistant", &[("code_execution_tool_result", "s1")]);
    assert_eq!(
        found(Form::Anthropic, &json!([user, asks, given, answers, user])),
        ""
    );
    asks["content"][1]["caller"] = json!({ "type": "direct" });
    assert_eq!(
        found(Form::Anthropic, &json!([user, asks, given, answers, user])),
        "result-missing 1, result-orphan 3"
    );
}

#[test]
fn the_provider_may_have_the_call() {
    let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "4" });
    let body = json!({ "previous_response_id": "r1", "input": [output] });
    assert_eq!(found(Form::Responses, &body), "");
    let body = json!({ "previous_response_id": null, "input": [output] });
    assert_eq!(found(Form::Responses, &body), "result-orphan 0");
}

#[test]
fn a_call_is_in_flight_until_the_model_goes_on() {
    let user = json!({ "role": "user", "content": "Rye?" });
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "stock", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "4" });
    let waits = [user.clone(), call("c1"), call("c2"), output("c2")];
    assert_eq!(found(Form::Responses, &json!(waits)), "");
    let mut over = waits.to_vec();
    over.push(json!({ "role": "assistant", "content": "Four." }));
    assert_eq!(found(Form::Responses, &json!(over)), "result-missing 1");
    let text = mended(Form::Responses, &json!(over));
    let place = text.find(r#""call_id":"c1","output":"No result"#);
    assert!(place > text.find(r#""call_id":"c2","output":"4"#));
    // The repair puts the missing result before the model's words, because the provider refuses a
    // later result.
    over.push(user.clone());
    let found_late = check(&list(Form::Responses, &json!(over)));
    assert!(found_late[0].text.contains("no result before message 4"));
    let text = mended(Form::Responses, &json!(over));
    assert!(text.find("No result") < text.find("Four."));
    // An output of the provider's own search does not show that the model has continued.
    let search = json!({ "type": "tool_search_output", "call_id": "t1", "tools": [] });
    assert_eq!(
        found(
            Form::Responses,
            &json!([user, call("c1"), search, call("c2")])
        ),
        ""
    );
}

#[test]
fn each_kind_of_call_is_answered_in_its_shape() {
    let user = json!({ "role": "user", "content": "Rye?" });
    for (kind, shape) in [
        (
            "custom_tool_call",
            r#""call_id":"c1","output":"No result was recorded for this call."}"#,
        ),
        (
            "local_shell_call",
            r#""id":"c1","output":"No result was recorded for this call."}"#,
        ),
        (
            "shell_call",
            r#""output":[{"stdout":"","stderr":"No result was recorded for this call.","outcome":{"type":"exit","exit_code":1}}]}"#,
        ),
        (
            "apply_patch_call",
            r#""status":"failed","output":"No result was recorded for this call."}"#,
        ),
        (
            "computer_call",
            r#""output":{"type":"computer_screenshot","image_url":"data:image/png;base64,"#,
        ),
    ] {
        let call = json!({ "type": kind, "call_id": "c1" });
        let text = mended(Form::Responses, &json!([user, call, user]));
        assert!(text.contains(shape), "{text}");
    }
}

#[test]
fn a_repair_leaves_the_first_turn_to_the_user() {
    let messages = json!([
        results("user", &[("tool_result", "c9")]),
        { "role": "assistant", "content": "Four." },
        results("user", &[("tool_result", "c9")])]);
    assert_eq!(
        mended(Form::Anthropic, &messages),
        r#"[{"role":"user","content":[{"type":"text","text":"A result stood here, where no call asks for it."}]},{"role":"assistant","content":"Four."}]"#
    );
}

#[test]
fn a_repair_changes_only_the_blocks_that_it_has_to() {
    let text = r#"[ {"role":"user","content":"Rye?"},
        {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"a","input":{"n":1.50}},
            {"type":"tool_use","id":"c2","name":"b","input":{}}]},
        {"role" : "user", "x":1e2, "content":[ {"type":"tool_result", "tool_use_id":"c2"},
            {"type":"tool_result","tool_use_id":"c7"}, {"type": "text", "text":"W\u0065ll?"} ]},
        {"role":"assistant","content":[{"type":"tool_use","id":"c3","name":"a","input":{}}]},
        {"role":"user","content":"And?"} ]"#;
    let broken = MessageList::read(text, None).expect("a list");
    let (mended, repairs) = repair(&broken).expect("a message can be changed");
    assert_eq!(check(&mended), []);
    let raws: Vec<_> = mended
        .messages()
        .iter()
        .map(accp_memory::ListMessage::raw)
        .collect();
    let before: Vec<_> = broken
        .messages()
        .iter()
        .map(accp_memory::ListMessage::raw)
        .collect();
    assert_eq!(
        (raws[0], raws[1], raws[3], raws[5]),
        (before[0], before[1], before[3], before[4])
    );
    let answer = |id: &str| {
        format!(
            r#"{{"type":"tool_result","tool_use_id":"{id}","content":"No result was recorded for this call.","is_error":true}}"#
        )
    };
    assert_eq!(
        raws[2],
        format!(
            r#"{{"role" : "user", "x":1e2, "content":[{{"type":"tool_result", "tool_use_id":"c2"}},{},{{"type": "text", "text":"W\u0065ll?"}}]}}"#,
            answer("c1")
        )
    );
    assert_eq!(
        raws[4],
        format!(r#"{{"role":"user","content":[{}]}}"#, answer("c3"))
    );
    let told = serde_json::to_string(&repairs).expect("JSON");
    assert_eq!(
        told,
        r#"[{"kind":"answered","message":1,"id":"c1"},{"kind":"dropped","message":2,"id":"c7"},{"kind":"answered","message":3,"id":"c3"}]"#
    );
}

#[test]
fn each_fault_says_what_to_do() {
    let user = json!({ "role": "user", "content": "Rye?" });
    let tool = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "4" });
    let chat = json!([
        call("c1"), user, tool("c1"), tool("c9"), call("c2"), tool("c2"), tool("c2"), tool(""),
        { "role": "agent", "content": "" },
        { "role": "assistant", "content": "", "tool_calls": [] },
        { "role": "assistant", "content": null }]);
    let anthropic = json!([
        { "role": "assistant", "content": [{ "type": "text", "text": "a" }] },
        { "role": "system", "content": "Be brief." },
        { "role": "user", "content": " " },
        uses(&[("tool_use", "c1"), ("tool_use", "c1")]),
        { "role": "user", "content": "So" },
        results("user", &[("tool_result", "c1"), ("tool_result", "c1")]),
        { "role": "assistant", "content": "a " }]);
    let responses = json!([{ "type": "reasoning", "summary": [] }, user]);
    let lists = [
        (Form::OpenAi, chat),
        (Form::Anthropic, anthropic),
        (Form::Responses, responses),
    ];
    let said: Vec<_> = lists
        .iter()
        .flat_map(|(form, messages)| check(&list(*form, messages)))
        .map(|finding| finding.to_string())
        .collect();
    assert_eq!(
        said,
        [
            "result-missing: message 0: the call `c1` of `stock` has no result before message 1; put its result there, or run `accp context repair`",
            "result-misplaced: message 2: the result of `c1` has to stand right behind the message with its call; move it there, or run `accp context repair`",
            "result-orphan: message 3: the result answers `c9`, which no call before it has as its id; drop the result, or run `accp context repair`",
            "result-repeated: message 6: `c2` has a result already; drop this one, or run `accp context repair`",
            "id-missing: message 7: the result has no id; give the id that joins call and result",
            "role: message 8: expected one of the roles system, developer, user, assistant and tool, found `agent`; give the message one of them",
            "calls-empty: message 9: `tool_calls` is empty; leave it out where there is no call",
            "text-blank: message 10: the content is null, and there are no calls; give a text, `\"\"` if there is none",
            "first-not-user: message 0: the list begins with the assistant; begin with a turn of the user",
            "system-inside: message 1: a system message stands in the list; give its text as `system`, beside `messages`",
            "text-blank: message 2: a text is blank; leave the block out, or give a text that is not white space",
            "id-repeated: message 3: `c1` is the id of another call in message 3; give each call an id of its own",
            "results-not-first: message 5: something stands before a result; put all results first in this turn",
            "text-blank: message 6: the last text of the assistant ends in white space; cut the white space",
            "reasoning-split: message 0: the item that this reasoning belongs to does not follow it; keep both, or drop both",
        ]
    );
}
