//! Tests of `accp context`: the quick commands of the specification (CTX-57 to CTX-61), and bad input.

mod bad_input;

use serde_json::{Value as Json, json};

use crate::cli::{Folder, Run, Words, workspace};

const INTENT: &str = "Plan a garden shed and write the plan to shed/plan.md.";

/// Returns a conversation with a long result before its last turns.
fn messages() -> Json {
    let rows = (1..=400).map(|row| format!("row {row}: flight HAT{row}, gate {}", row % 30));
    let rows: Vec<_> = rows.collect();
    let function = json!({ "name": "get_flights", "arguments": "{}" });
    json!([
        { "role": "user", "content": INTENT },
        { "role": "assistant", "content": null,
          "tool_calls": [{ "id": "c1", "type": "function", "function": function }] },
        { "role": "tool", "tool_call_id": "c1", "content": rows.join("\n") },
        { "role": "user", "content": "Thank you." },
        { "role": "assistant", "content": "You are welcome." },
    ])
}

/// Runs a quick command.
fn quick(folder: &Folder, words: &str, more: impl Words) -> Run {
    folder.run(("context do", [words], more), "")
}

/// Returns a folder in which a session has compressed the conversation.
fn compressed() -> Folder {
    let folder = Folder::with(&[("messages.json", &messages().to_string())]);
    quick(&folder, "compress", "--window 64000 messages.json").code_is(0);
    folder
}

/// The commands of the README run one after the other, each as its own process, on the list that the README names.
#[test]
fn the_commands_of_the_readme_shorten_its_list_and_find_what_left() {
    let read = |name: &str| std::fs::read_to_string(workspace().join(name)).unwrap();
    let list = read("examples/readme/messages.json");
    let folder = Folder::with(&[("messages.json", &list)]);
    let readme = read("README.md");
    let commands = readme
        .lines()
        .filter_map(|line| line.strip_prefix("accp context "));
    let commands: Vec<_> = commands.collect();
    let [compress, check, recover] = commands[..] else {
        panic!("{commands:?}");
    };
    let (compress, file) = compress.split_once(" > ").unwrap();
    let run = folder.run(("context", compress), "");
    let (sent, before) = (
        run.code_is(0).json().remove(0),
        list.parse::<Json>().unwrap(),
    );
    std::fs::write(folder.path(file), run.stdout.as_str()).unwrap();
    folder.run(("context", check), "").code_is(0);
    assert!(run.stdout.len() * 2 < list.len(), "{}", run.stdout);
    let of_user = |list: &Json| -> Vec<Json> {
        let all = list.as_array().unwrap().iter();
        all.filter(|message| message["role"] == "user")
            .cloned()
            .collect()
    };
    assert_eq!(of_user(&sent), of_user(&before));
    // The compressed list no longer has this flight: only the first result had it.
    assert!(list.contains("BF385") && !run.stdout.contains("BF385"));
    folder
        .run(("context", recover), "")
        .code_is(0)
        .stdout_has("BF385");
}

#[test]
fn compress_as_a_quick_command_evaluates_at_once() {
    let folder = Folder::with(&[("messages.json", &messages().to_string())]);
    // The list is far below half of the window, so that the plain command changes nothing.
    let args = "context compress --window 64000 messages.json";
    let run = folder.run(args, "");
    assert_eq!(run.json(), [messages()]);
    let run = quick(&folder, "compress", "--window 64000 messages.json");
    let list = &run.json()[0];
    let result = list[2]["content"].as_str().unwrap();
    assert!(
        result.starts_with("## Offloaded Content Reference\n"),
        "{result}"
    );
    assert_eq!(list[0]["content"], INTENT);
}

#[test]
fn context_status_as_a_quick_command_reports_the_use() {
    let folder = compressed();
    let run = quick(&folder, "context status", "--format json");
    let status = &run.json()[0];
    assert_eq!(
        (&status["window"], &status["said"]),
        (&json!(64_000), &json!(5))
    );
    assert_eq!(
        (&status["state"], &status["events"]),
        (&json!("GREEN"), &json!(1))
    );
    assert!(status["tokens"].as_u64().unwrap() < 500);
    // The command refuses the name of a session that does not exist.
    let run = quick(&folder, "context status", "--session other");
    assert_ne!(run.code, Some(0));
    run.stderr_has("there is no session other");
}

/// The command finds nothing in another folder, where the error says what the caller has to name.
#[test]
fn the_search_that_a_summary_names_works_where_the_list_was_given() {
    let mut messages = Vec::new();
    for table in 0..60 {
        let words = format!("Table {table} has rye. {}", "Barley is short. ".repeat(12));
        messages.push(json!({ "role": "user", "content": format!("Read table {table}.") }));
        messages.push(json!({ "role": "assistant", "content": words }));
    }
    messages.push(json!({ "role": "user", "content": "Go on." }));
    let folder = Folder::with(&[]);
    let command = "context compress --session trip --root 'my root' --window 4096";
    let run = folder.run(command, Json::from(messages).to_string());
    let sent = run.code_is(0).json().remove(0);
    let summary = sent[0]["content"].as_str().unwrap();
    let mut lines = summary.lines();
    let search =
        lines.find_map(|line| line.strip_prefix("- **Search:** `accp ")?.strip_suffix('`'));
    let search = search.unwrap().replace("WORDS", "table 3 rye");
    folder
        .run(&search, "")
        .code_is(0)
        .stdout_has("Table 3 has rye.");
    let run = Folder::with(&[]).run(&search, "");
    run.code_is(2);
    run.stderr_has(
        "there is no session trip below my root; name the folder of its sessions (`--root`), or begin it: `accp \
         context compress --session trip`",
    );
}

/// A list whose marked messages have no room is refused, so a mark can be taken away.
#[test]
fn a_mark_can_be_removed() {
    let mut messages = vec![
        json!({ "role": "user", "content": "Order." }),
        json!({ "role": "assistant", "content": "Of what?" }),
        json!({ "role": "user", "content": "rye and oats ".repeat(200) }),
    ];
    let list = |messages: &[Json]| Json::from(messages.to_vec()).to_string();
    let folder = Folder::with(&[("messages.json", &list(&messages))]);
    let compress = "context compress --window 1600";
    let given = list(&messages);
    folder.run(compress, &given).code_is(0);
    folder.run("context mark 2", "").code_is(0);
    for number in 0..12 {
        messages.push(json!({ "role": "assistant", "content": "Shelf by shelf. ".repeat(30) }));
        messages.push(json!({ "role": "user", "content": format!("And shelf {number}?") }));
    }
    let given = list(&messages);
    let refused = folder.run(compress, &given);
    refused.code_is(1);
    refused.stderr_has("remove marks (`accp context mark --remove`)");
    folder.run("context status", "").stdout_has("\nmarked: 2\n");
    folder
        .run("context mark 2 --remove", "")
        .code_is(0)
        .stdout_has("message 2 has no mark");
    // A second time changes nothing, and a message that is not there is refused.
    folder.run("context mark 2 --remove", "").code_is(0);
    folder.run("context mark 99 --remove", "").code_is(1);
    folder
        .run(compress, &given)
        .code_is(0)
        .stderr_has("TIER_3: ");
}

#[test]
fn recover_as_a_quick_command_searches() {
    let folder = compressed();
    let run = quick(&folder, "recover flight HAT170", "--format json");
    let hit = &run.json()[0];
    assert_eq!(hit["rank"], 1);
    assert!(hit["text"].as_str().unwrap().contains("HAT170"));
    assert!(
        hit["file"]
            .as_str()
            .unwrap()
            .starts_with("cache/offloaded/")
    );
    // `recover` without a topic is refused, and an option does not count as a word of the topic.
    quick(&folder, "recover", "").code_is(2);
    let refused = quick(&folder, "recover --limit 1 HAT170", "");
    assert_eq!((refused.code, &*refused.stdout), (Some(2), ""));
    let cure = "give them to `accp context recover`";
    refused.stderr_has(cure);
}

#[test]
fn show_session_intent_as_a_quick_command_gives_it_verbatim() {
    let folder = compressed();
    let run = quick(&folder, "show session intent", "");
    assert_eq!((run.code, run.stdout.trim_end()), (Some(0), INTENT));
}

#[test]
fn compression_log_as_a_quick_command_shows_the_last_events() {
    let folder = compressed();
    quick(&folder, "compression log", "")
        .stdout_starts("## Compression Event Log\n")
        .stdout_has("**Event Type:** TIER_1\n")
        .stdout_has("**Intent Preserved:** YES\n");
    let run = quick(&folder, "compression log", "--format json");
    assert_eq!(run.json().len(), 1);
    assert_eq!(run.json()[0]["type"], "TIER_1");
}

#[test]
fn other_words_are_not_a_quick_command() {
    let folder = compressed();
    for words in ["", "compress all", "status", "intent", "log"] {
        quick(&folder, words, "")
            .code_is(2)
            .stderr_has("is not a quick command; give one of: compress, context status, ");
    }
    for (word, whole) in [
        ("context", "context status"),
        ("recover", "recover TOPIC"),
        ("Compression", "compression log"),
    ] {
        let cure = format!("put the whole command into quotes: accp context do '{whole}'");
        quick(&folder, word, "").code_is(2).stderr_has(&cure);
    }
}

#[test]
fn compress_warns_of_what_check_refuses() {
    let folder = Folder::with(&[]);
    let id = "x".repeat(50);
    let call =
        json!({ "id": id, "type": "function", "function": { "name": "stock", "arguments": "{}" } });
    let list = json!([
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": id, "content": "4" }]);
    let list = list.to_string();
    let run = folder.run("context check --format json", &list);
    run.code_is(1);
    assert_eq!(run.json()[0]["errors"][0]["code"], "id-form");
    let args = "context compress --window 8192 --report report.json";
    let run = folder.run(args, &list);
    run.code_is(0);
    run.stderr_has("a provider may refuse the list: id-form: message 1: ");
    let report: Json = serde_json::from_str(&folder.read("report.json")).unwrap();
    assert_eq!(report["warnings"][0]["code"], "id-form");
    let mended = folder.run("context repair", &run.stdout);
    mended.code_is(0);
    mended.stderr_has("message 1: mended id-form");
    folder.run("context check", &mended.stdout).code_is(0);
}

#[test]
fn a_call_in_flight_is_told_and_kept() {
    let folder = Folder::with(&[]);
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "stock", "arguments": "{}" } });
    let chat = json!([
        { "role": "user", "content": "Rye? Spelt?" },
        { "role": "assistant", "content": null, "tool_calls": [call("c1"), call("c2")] },
        { "role": "tool", "tool_call_id": "c1", "content": "4" }]);
    let anthropic = json!({ "model": "claude-x", "max_tokens": 9, "messages": [
        { "role": "user", "content": "Spelt?" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "c2", "name": "stock", "input": {} }] }] });
    let responses = json!([
        { "role": "user", "content": "Spelt?" },
        { "type": "function_call", "call_id": "c2", "name": "stock", "arguments": "{}" }]);
    for list in [chat, anthropic, responses] {
        let list = list.to_string();
        let told = "message 1: the call `c2` of `stock` is in flight";
        let run = folder.run("context check", &list);
        run.code_is(0);
        run.stderr_has(told);
        let run = folder.run("context repair", &list);
        run.code_is(0);
        run.stderr_has(told);
        assert_eq!(run.stdout.trim_end(), list);
    }
    let whole = json!([{ "role": "user", "content": "Rye?" }]).to_string();
    let run = folder.run("context check", &whole);
    assert_eq!(run.stderr, "");
}
