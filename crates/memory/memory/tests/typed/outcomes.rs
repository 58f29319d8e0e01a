//! A summary says that a call failed only if the result shows it by its structure.

use accp_memory::Form;
use serde_json::json;

use crate::common::forms::{assistant, call, result, user};
use crate::typed::harness::intent;

/// Returns the requests of a summary, the second of which was answered by a call with this result.
fn requests(form: Form, tool: &str, text: &str) -> String {
    let messages = vec![
        user(form, "Look after my orders."),
        assistant(form, "With pleasure."),
        user(form, "Now the second one."),
        call(form, "r", tool, &json!({ "path": "a" })),
        result(form, "r", text),
        assistant(form, "So it is."),
        user(form, "Thanks, go on."),
    ];
    intent(form, messages)
}

#[test]
fn words_that_a_call_has_read_show_no_failure() {
    let cases = [
        ("read_file", "page 3 of 10"),
        ("read_file", "fn on_error(e: Error) { log(\"failed\") }"),
        ("read_file", "make: stopped\nexit code: 1"),
        ("read_file", r#"{"error":"the example of an answer"}"#),
        ("list_seats", "0 of 5 seats are taken"),
        ("tail", "INFO started\nWARN retry failed\nINFO connected"),
        ("get_order", r#"{"order_id":"B2","status":"cancelled"}"#),
        ("run", "exit code 1 means that it has failed"),
    ];
    for form in Form::ALL {
        for (tool, text) in cases {
            let intent = requests(form, tool, text);
            let done = ["done: call 3, ok", "made: call 3, outcome unclear"];
            let says = |done: &str| intent.contains(&format!("2 ({done})"));
            assert!(done.into_iter().any(says), "{text}: {intent}");
            assert!(!intent.contains("failed"), "{text}: {intent}");
        }
    }
}

#[test]
fn the_structure_of_a_result_shows_a_failure() {
    let failures = [
        "no such host\nexit code: 1",
        "Exit code 2\nno such host",
        "[Command finished with exit code 3]\nusage",
        "<returncode>1</returncode>\nusage",
        r#"{"error":"no such order"}"#,
        r#"{"ok":false,"reason":"closed"}"#,
    ];
    for form in Form::ALL {
        for text in failures {
            let intent = requests(form, "run", text);
            assert!(
                intent.contains("2 (done: call 3, failed)"),
                "{text}: {intent}"
            );
        }
        let intent = requests(form, "run", "made\nexit code: 0");
        assert!(intent.contains("2 (done: call 3, ok)"), "{intent}");
    }
}

#[test]
fn what_a_tool_of_the_provider_found_is_an_answer() {
    let form = Form::Anthropic;
    let search = json!({ "role": "assistant", "content": [
        { "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": { "query": "rye" } },
        { "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [] },
    ] });
    let messages = vec![
        user(form, "Look after my orders."),
        assistant(form, "With pleasure."),
        user(form, "What does rye cost?"),
        search,
        user(form, "Thanks, go on."),
    ];
    let intent = intent(form, messages);
    assert!(intent.contains("\n2: What does rye cost?\n"), "{intent}");
}
