//! Tests of `accp context tools`, `call` and `mcp`: the tools that a program gives to its model.

use serde_json::json;

use crate::cli::Folder;

/// Returns a list in which the result of a tool takes more than a quarter of a window of 4,096 tokens.
pub(super) fn list() -> String {
    let rows = (1..=400).map(|row| format!("row {row}: flight HAT{row}, gate {}", row % 30));
    let function = json!({ "name": "get_flights", "arguments": "{}" });
    let list = json!([
        { "role": "user", "content": "Which gate has flight HAT170?" },
        { "role": "assistant", "content": null,
          "tool_calls": [{ "id": "c1", "type": "function", "function": function }] },
        { "role": "tool", "tool_call_id": "c1", "content": rows.collect::<Vec<_>>().join("\n") },
    ]);
    list.to_string()
}

fn folder() -> Folder {
    let folder = Folder::with(&[("messages.json", &list())]);
    folder
        .run("context compress --window 4096 messages.json", "")
        .code_is(0);
    folder
}

#[test]
fn a_program_gives_the_tools_to_its_model_and_does_what_the_model_calls() {
    let folder = folder();
    let tools = folder.run("context tools --messages anthropic", "");
    let tools = &tools.json()[0];
    assert_eq!(tools.as_array().unwrap().len(), 3);
    assert_eq!(tools[1]["input_schema"]["required"], json!(["topic"]));
    let name = tools[1]["name"].as_str().unwrap();
    let run = folder.run(
        [
            "context",
            "call",
            name,
            r#"{"topic":"gate of HAT170","limit":1}"#,
        ],
        "",
    );
    run.code_is(0);
    run.stdout_has("row 170: flight HAT170, gate 20");
    let status = folder.run("context call context_status --format json", "");
    assert_eq!(status.json()[0]["window"], 4096);
}

#[test]
fn a_call_that_does_not_fit_is_refused_with_its_place() {
    let folder = folder();
    for (tool, args, expected) in [
        ("recover", "{}", "there is no tool `recover`"),
        ("context_recover", "{}", "missing field `topic`"),
        ("context_recover", "[", "the arguments are not JSON"),
        ("context_read", r#"{"path":"/etc/hosts"}"#, "below `cache/`"),
    ] {
        let run = folder.run(["context", "call", tool, args], "");
        assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{tool} {args}");
        run.stderr_has(expected);
    }
}

#[test]
fn an_mcp_client_calls_the_tools_over_the_standard_streams() {
    let folder = folder();
    let said = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "context_recover", "arguments": { "topic": "HAT170", "exact": true } } }),
    ];
    let said: String = said.map(|line| format!("{line}\n")).concat();
    let run = folder.run("context mcp", &said);
    run.code_is(0);
    let answers = run.json();
    let answer = answers.iter().find(|answer| answer["id"] == 2).unwrap();
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("flight HAT170, gate 20"), "{text}");
}
