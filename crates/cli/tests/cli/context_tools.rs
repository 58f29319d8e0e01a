//! Tests of `accp context tools`, `call` and `mcp`: the tools that a program gives to its model.

use serde_json::{Value as Json, json};

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

/// The calls and results of tools that the provider runs stand in one message of the assistant.
#[test]
fn what_tools_of_the_provider_have_said_is_found() {
    let call = |kind: &str, id: &str, name: &str, input: Json| json!({ "type": kind, "id": id, "name": name, "input": input });
    let result = |kind: &str, id: &str, content: Json| json!({ "type": kind, "tool_use_id": id, "content": content });
    let page = json!({ "type": "document", "source": {
        "type": "text", "media_type": "text/plain", "data": "The harvest of Lund was late." } });
    let blocks = json!([
        call("server_tool_use", "srvtoolu_1", "bash_code_execution", json!({ "command": "ls yard-17" })),
        result("bash_code_execution_tool_result", "srvtoolu_1", json!({ "type": "bash_code_execution_result",
            "stdout": "oats-77\nspelt-78", "stderr": "", "return_code": 0, "content": [] })),
        call("server_tool_use", "srvtoolu_2", "web_search", json!({ "query": "rye in Lund" })),
        result("web_search_tool_result", "srvtoolu_2", json!([{ "type": "web_search_result", "title": "Rye and more",
            "url": "https://a.example/rye", "encrypted_content": "EqoBCgIYAhIM" }])),
        call("server_tool_use", "srvtoolu_3", "web_fetch", json!({ "url": "https://a.example/rye" })),
        result("web_fetch_tool_result", "srvtoolu_3", json!({ "type": "web_fetch_result",
            "url": "https://a.example/rye", "content": page })),
        call("mcp_tool_use", "mcptoolu_4", "stock", json!({ "shelf": "shelf-40" })),
        result("mcp_tool_result", "mcptoolu_4", json!([{ "type": "text", "text": "wheat-41" }])),
        { "type": "text", "text": "All is there." }
    ]);
    let mut messages = vec![
        json!({ "role": "user", "content": "What is in the yard?" }),
        json!({ "role": "assistant", "content": blocks }),
    ];
    for number in 0..6 {
        messages.push(json!({ "role": "user", "content": format!("And yard {number}?") }));
        let text = format!("{}the same.", "It has rye and oats. ".repeat(60));
        messages.push(json!({ "role": "assistant", "content": text }));
    }
    messages.push(json!({ "role": "user", "content": "Go on." }));
    let list = Json::from(messages).to_string();
    let folder = Folder::with(&[("messages.json", &list)]);
    let run = folder.run("context compress --window 2500 messages.json", "");
    run.code_is(0).stderr_has("TIER_3: ");
    let found = |topic: &str| {
        let arguments = json!({ "topic": topic, "exact": true }).to_string();
        let run = folder.run(["context", "call", "context_recover", &arguments], "");
        run.code_is(0);
        run.stdout
    };
    for topic in [
        "command: ls yard-17",
        "oats-77",
        "query: rye in Lund",
        "Rye and more",
        "The harvest of Lund was late.",
        "shelf: shelf-40",
        "wheat-41",
    ] {
        assert!(found(topic).contains(topic), "{topic}: {}", found(topic));
        assert!(!run.stdout.contains(topic), "{topic} has not left");
    }
    assert!(!found("EqoBCgIYAhIM").contains("EqoBCgIYAhIM"));
    let one = folder.run("context recover --tool web_search rye", "");
    one.stdout_has("https://a.example/rye");
}

/// A summary names messages by their numbers, and their texts do not have these.
#[test]
fn a_message_is_found_by_its_number() {
    let mut messages = Vec::new();
    for number in 0..12 {
        let wish = format!("Wish {number}: shelf {number} is for oats.");
        messages.push(json!({ "role": "user", "content": wish }));
        let text = format!("Shelf {number} is ready.{}", " It is dry.".repeat(60));
        messages.push(json!({ "role": "assistant", "content": text }));
    }
    messages.push(json!({ "role": "user", "content": "Go on." }));
    let folder = Folder::with(&[("messages.json", &Json::from(messages).to_string())]);
    let run = folder.run("context compress --window 1500 messages.json", "");
    run.code_is(0).stderr_has("TIER_3: ");
    let recover = |arguments: Json| {
        let arguments = arguments.to_string();
        let run = folder.run(["context", "call", "context_recover", &arguments], "");
        run.code_is(0);
        run.stdout
    };
    let wish = "(user)\nWish 2: shelf 2 is for oats.";
    for topic in ["message 4", "Message 4", "## 4", "## 4 \u{b7} user"] {
        let found = recover(json!({ "topic": topic }));
        assert!(
            found.starts_with("1. cache/conversations/default_full.md:"),
            "{found}"
        );
        assert!(
            found.contains(wish) && !found.contains("2. cache"),
            "{found}"
        );
    }
    // No message has this exact text, so it names one.
    let found = recover(json!({ "topic": "## 4", "exact": true }));
    assert!(found.contains(wish), "{found}");
    let found = recover(json!({ "topic": "message 4 of the shelf" }));
    assert!(found.contains("2. cache"), "{found}");
    folder.run("context recover message 4", "").stdout_has(wish);
    // A number that no message has is a word.
    let found = recover(json!({ "topic": "message 99" }));
    assert!(found.starts_with("Nothing was found."), "{found}");
    // A message that is longer than an answer is shown from its beginning.
    let long: Vec<_> = (1..=2_000).map(|number| format!("rule{number} ")).collect();
    let long = json!([
        { "role": "user", "content": "Begin." },
        { "role": "assistant", "content": "Yes." },
        { "role": "user", "content": long.concat() },
        { "role": "assistant", "content": "Yes." },
        { "role": "user", "content": "Go on." },
    ]);
    let run = folder.run(
        "context compress --session long --window 5000",
        long.to_string(),
    );
    run.code_is(0).stderr_has("TIER_3: ");
    let arguments = json!({ "topic": "message 2", "limit": 2 }).to_string();
    let run = folder.run(
        [
            "context",
            "call",
            "--session",
            "long",
            "context_recover",
            &arguments,
        ],
        "",
    );
    run.code_is(0);
    run.stdout_has("(user)\nrule1 rule2 ");
}

#[test]
fn a_call_that_does_not_fit_is_refused_with_its_place() {
    let folder = folder();
    for (tool, args, expected) in [
        ("recover", "{}", "there is no tool `recover`"),
        ("context_recover", "{}", "missing field `topic`"),
        ("context_recover", "[", "the arguments are not JSON"),
        (
            "context_recover",
            "[]",
            "the arguments are an array, and not an object",
        ),
        ("context_read", r#"{"path":"/etc/hosts"}"#, "below `cache/`"),
    ] {
        let run = folder.run(["context", "call", tool, args], "");
        assert_eq!((run.code, &*run.stdout), (Some(1), ""), "{tool} {args}");
        run.stderr_has(expected);
    }
    let files = std::fs::read_dir(folder.path("Memory/Shared/cache/offloaded")).unwrap();
    let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
    let path = format!("cache/offloaded/{}", names[0].to_str().unwrap());
    let args = json!({ "path": path, "first": 9_000 }).to_string();
    let run = folder.run(["context", "call", "context_read", args.as_str()], "");
    run.code_is(1);
    run.stderr_has(
        "has 400 lines, so lines from 9000 on cannot be read; name lines between 1 and 400",
    );
    // Both numbers are those of lines, but they stand in the wrong order.
    let args = json!({ "path": path, "first": 9, "last": 3 }).to_string();
    let run = folder.run(["context", "call", "context_read", args.as_str()], "");
    run.code_is(1);
    run.stderr_has("lines 9 to 3 have no line; name the smaller number first");
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

#[test]
fn a_client_that_only_looks_at_the_mcp_server_ends_it_well() {
    let folder = folder();
    folder.run("context mcp", "").code_is(0);
    let asks = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
    } } });
    let run = folder.run("context mcp", format!("{asks}\n"));
    run.code_is(0);
    run.stdout_has("supportedVersions");
    let early = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let run = folder.run("context mcp", format!("{early}\n"));
    run.code_is(1);
    assert_eq!(
        run.stderr.trim(),
        "error: MCP: expected `initialize` as the first message of the client, and got a notification"
    );
}

#[test]
fn a_long_line_is_read_in_parts() {
    let folder = Folder::with(&[]);
    let file = "cache/offloaded/a.md";
    let path = folder.path("Memory/Shared").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let line: String = ('a'..='z').cycle().take(20_000).collect();
    std::fs::write(path, format!("{line}\n")).unwrap();
    let read = |more: &str| folder.run(("context read", file, more), "");
    let run = read("");
    run.code_is(0)
        .stderr_has("12000 characters follow: `--offset 8000` prints the next");
    assert_eq!(run.stdout.trim_end(), &line[..8_000]);
    let run = read("--lines 1 --offset 16000");
    assert_eq!((run.stdout.trim_end(), &*run.stderr), (&line[16_000..], ""));
    let run = read("--whole");
    assert_eq!((run.stdout.trim_end(), &*run.stderr), (&*line, ""));
    let json = read("--format json --offset 8000").json().remove(0);
    assert_eq!((&json["next"], &json["of"]), (&json!(16_000), &json!(1)));
    let text = "these lines have 20000 characters, and --offset is 20001";
    read("--offset 20001").code_is(1).stderr_has(text);
    let text = "a.md: has 1 lines, so lines 2 to 9 cannot be read; name lines between 1 and 1";
    read("--lines 2-9").code_is(1).stderr_has(text);
}
