//! Logs and histories of frameworks and agents. The samples were made with the programs' packages. Where there is no
//! package, they follow the types in the program.

use accp_recordings::{Conversation, Documents, Format, NotConversation, ReadError};
use serde_json::{Value as Json, json};

use super::{MADE, samples, told};

/// Recordings of programs that have a format of their own.
pub(super) const FOREIGN: [(&str, Format, &str); 31] = samples![
    "pydantic_ai.json" PydanticAi,
    "ai_sdk_v4_ui.json" AiSdk,
    "ai_sdk_v4_model.json" AiSdk,
    "ai_sdk_v5_ui.json" AiSdk,
    "ai_sdk_v5_model.json" AiSdk,
    "ai_sdk_v6_model.json" AiSdk,
    "gemini_cli.json" GeminiCli,
    "gemini_cli.jsonl" GeminiCli,
    "gemini_cli_checkpoint.json" Gemini,
    "codex.jsonl" Codex,
    "openai_agents.json" OpenAiAgents,
    "langgraph_state.json" LangGraph,
    "langgraph_tuple.json" LangGraph,
    "langgraph_checkpoint.json" LangGraph,
    "langgraph_history.json" LangGraph,
    "langgraph_tuple_dumpd.json" LangGraph,
    "swe_agent.json" SweAgent,
    "swe_agent_text.json" SweAgent,
    "swe_agent_steps.json" SweAgent,
    "mini_swe_text.json" MiniSweAgent,
    "mini_swe_tool.json" MiniSweAgent,
    "mini_swe_resp.json" MiniSweAgent,
    "openhands.json" OpenHands,
    "openhands_sdk.json" OpenHands,
    "wrapped_langsmith_openai.json" LangSmith,
    "wrapped_langsmith_openai_batch.json" LangSmith,
    "wrapped_langsmith_anthropic.json" LangSmith,
    "wrapped_langsmith_anthropic_batch.json" LangSmith,
    "otel_schema.json" Otel,
    "otel_schema_text.json" Otel,
    "aider_one.md" Aider,
];

#[test]
fn what_frameworks_and_agents_write_is_read() {
    insta::assert_snapshot!(super::shown(&FOREIGN), @r#"
    pydantic_ai.json
      system: "Be brief."
      system: "You keep the stock of a bakery."
      user: "Is there rye flour?" "[image https://example.org/rye.png]" "[image image/png, 8 characters of base64]"
      assistant: "Both flours." "I look at both." c1=stock({"flour":"rye"}) c2=stock({"flour":"spelt"})
      tool: answers c1 "{\"kilo\":4,\"flour\":\"rye\"}"
      tool: answers c2 "name the shelf"
      assistant: c3=stock({"flour":"spelt","shelf":"B/12"})
      tool: answers c3 "{\"kilo\":4,\"flour\":\"spelt\"}"
      assistant: "Four kilos of rye. No spelt."
      user: "Thanks"
      assistant: "Four kilos of rye. No spelt."
    ai_sdk_v4_ui.json
      user: "Is there rye?"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"})
      tool: answers c1 "{\"kilo\":4}"
      assistant: "Four kilos."
    ai_sdk_v4_model.json
      system: "You keep the stock."
      user: "Is there rye?"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"})
      tool: answers c1 "{\"kilo\":4}"
      assistant: "Four kilos."
    ai_sdk_v5_ui.json
      user: "Is there rye?" "[image https://example.org/rye.png]"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"}) c2=stock({"flour":"spelt"})
      tool: answers c1 "{\"kilo\":4}"
      tool: answers c2 "An error occurred."
      assistant: c3=oven({"degrees":220})
      tool: answers c3 "cold"
      assistant: "Four kilos. No spelt."
      user: "Thanks"
    ai_sdk_v5_model.json
      system: "You keep the stock."
      user: "Is there rye?" "[image image/png, 12 characters of base64]"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"}) c2=stock({"flour":"spelt"})
      tool: answers c2 "no such flour"
      tool: answers c1 "{\"kilo\":4}"
      assistant: "Four kilos. No spelt."
    ai_sdk_v6_model.json
      system: "You keep the stock."
      user: "Is there rye?" "[image image/png, 12 characters of base64]"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"}) c2=stock({"flour":"spelt"})
      tool: answers c1 "{\"kilo\":4}"
      tool: answers c2 "no such flour"
      assistant: "Four kilos. No spelt."
    gemini_cli.json
      user: "Is there rye flour?"
      assistant: "Two kinds of flour." "I look at both." stock-1=stock({"flour":"rye"}) stock-2=stock({"flour":"spelt"})
      tool: answers stock-1 "4 kilos"
      tool: answers stock-2 "no such flour"
      assistant: "Four kilos. No spelt."
    gemini_cli.jsonl
      as gemini_cli.json
    gemini_cli_checkpoint.json
      user: "Is there rye flour?"
      assistant: -=stock({"flour":"rye"})
      tool: "4 kilos"
      assistant: "Four kilos."
    codex.jsonl
      system: "You keep the stock of a bakery."
      developer: "Ask before you write."
      user: "<environment_context>\n  <cwd>/bakery</cwd>\n</environment_context>"
      user: "Is there rye flour?"
      assistant: "Both kinds." call_1=shell({"command":["cat","stock.txt"]})
      tool: answers call_1 "{\"output\":\"rye 4\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}"
      assistant: call_2=apply_patch(Some(String("*** Begin Patch\n*** End Patch")))
      tool: answers call_2 "Done."
      assistant: "Four kilos of rye."
    openai_agents.json
      user: "Is there rye flour?"
      assistant: "Both flours." "I look." c1=stock({"flour":"rye"})
      tool: answers c1 "{\"kilo\": 4}"
      assistant: "Four kilos."
      user: "Thanks"
      assistant: "Four kilos."
    langgraph_state.json
      system: "You keep the stock."
      user: "Is there rye?"
      assistant: "I look." c1=stock({"flour":"rye"})
      tool: answers c1 "4"
      assistant: "Four kilos."
      user: "Thanks"
      assistant: "Four kilos."
    langgraph_tuple.json
      as langgraph_state.json
    langgraph_checkpoint.json
      as langgraph_state.json
    langgraph_history.json
      as langgraph_state.json
    langgraph_tuple_dumpd.json
      as langgraph_state.json
    swe_agent.json
      system: "You keep the stock."
      user: "Is there rye flour?"
      assistant: "I look." call_1=bash({"command":"cat stock.txt"})
      tool: answers call_1 "OBSERVATION:\nrye 4"
      assistant: "Done." call_2=submit({})
    swe_agent_text.json
      system: "You keep the stock."
      system: "Here is a demonstration."
      user: "Is there rye flour?"
      assistant: "I look.\n```\ncat stock.txt\n```" -=bash({"command":"cat stock.txt\n"})
      tool: "rye 4\n(Open file: n/a)\nbash-$"
      assistant: "Four kilos."
    swe_agent_steps.json
      system: "You keep the stock."
      user: "Is there rye flour?"
      assistant: "I look.\n```\ncat stock.txt\n```" -=bash({"command":"cat stock.txt"})
      tool: "rye 4\n"
      assistant: "Done." -=bash({"command":"submit"})
      tool: ""
    mini_swe_text.json
      system: "You keep the stock."
      user: "Is there rye? Look."
      assistant: "I look. ```mswea_bash_command\necho four\n```" -=bash({"command":"echo four"})
      tool: "<returncode>0</returncode>\n<output>\nfour\n</output>"
      assistant: "Done." -=bash({"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo four"})
    mini_swe_tool.json
      system: "You keep the stock."
      user: "Is there rye? Look."
      assistant: "I look." c1=bash({"command":"echo four"})
      tool: answers c1 "<returncode>0</returncode>\n<output>\nfour\n</output>"
      assistant: "Done." c2=bash({"command":"echo x"})
    mini_swe_resp.json
      system: "You keep the stock."
      user: "Is there rye? Look."
      assistant: "I look." c1=bash({"command":"echo four"})
      tool: answers c1 "<returncode>0</returncode>\n<output>\nfour\n</output>"
      assistant: "Done." c2=bash({"command":"echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo four"})
    openhands.json
      system: "You keep the stock."
      user: "Is there rye flour?" "[image https://example.org/rye.png]"
      assistant: "I look." toolu_1=execute_bash({"command":"cat stock.txt"})
      tool: answers toolu_1 "rye 4"
      assistant: 6=run({"command":"ls"})
      tool: answers 6 "no shell"
      assistant: "Four kilos."
    openhands_sdk.json
      system: "You keep the stock."
      user: "Is there rye flour?"
      assistant: "Both kinds." "I look." toolu_1=terminal({"command":"cat stock.txt"})
      tool: answers toolu_1 "rye 4"
      tool: answers toolu_2 "no such tool"
      assistant: "Four kilos."
    wrapped_langsmith_openai.json
      system: "You keep the stock."
      user: "Is there rye?"
      assistant: "I look." c1=stock({"flour":"rye"})
      tool: answers c1 "4"
      assistant: "Four kilos."
    wrapped_langsmith_openai_batch.json
      as wrapped_langsmith_openai.json
    wrapped_langsmith_anthropic.json
      system: "You keep the stock."
      user: "Is there rye?"
      assistant: "I look." t1=stock({"flour":"rye"})
      tool: answers t1 "4"
      assistant: "Four kilos."
    wrapped_langsmith_anthropic_batch.json
      as wrapped_langsmith_anthropic.json
    otel_schema.json
      user: "Is there rye?"
      assistant: "Four kilos."
    otel_schema_text.json
      as otel_schema.json
    aider_one.md
      user: "Is there rye flour?\nAnd spelt?"
      assistant: "I look at `stock.txt`:\n\n```python\n# the stock\n> not of the program\nprint(4)\n```\n\nFour kilos of rye."
      user: "/add oven.txt"
      user: "Use the small oven, please."
      assistant: "Done."
    "#);
}

/// A chat history of aider holds a conversation for each chat.
#[test]
fn each_chat_of_aider_is_a_conversation() {
    let sample = include_str!("../samples/aider.md");
    let all: Vec<Conversation> = accp_recordings::conversations(sample.as_bytes())
        .collect::<Result<_, _>>()
        .unwrap();
    let all = all
        .iter()
        .map(|chat| format!("{:?}\n  {}", chat.id(), told(chat).join("\n  ")));
    insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n"), @r#"
    Some("2026-03-04 05:06:07")
      user: "Is there rye flour?\nAnd spelt?"
      assistant: "I look at `stock.txt`:\n\n```python\n# the stock\n> not of the program\nprint(4)\n```\n\nFour kilos of rye."
      user: "/add oven.txt"
      user: "Use the small oven, please."
      assistant: "Done."
    Some("2026-03-05 05:06:07")
      user: "Thanks"
      assistant: "You are welcome."
    "#);
    let lines = Documents::new(sample.as_bytes()).map(|document| document.unwrap().line);
    assert_eq!(lines.collect::<Vec<_>>(), [2, 30]);
    for other in ["# A title\n", "#### Is there rye?\n"] {
        let error = Documents::new(other.as_bytes()).next().expect("a document");
        let error = error.unwrap_err().to_string();
        assert!(error.contains("# aider chat started at"), "{error}");
    }
}

/// Keys that only say how something was recorded do not tell the formats apart. A document with the marks of two
/// formats is refused, and so is one that no format claims.
#[test]
fn what_several_formats_or_none_claim_is_refused() {
    let both = json!({
        "trajectory_format": "mini-swe-agent-1.1", "info": { "mini_version": "2.0.0" },
        "messages": [{ "id": "u1", "type": "user", "content": "Rye?" }],
        "sessionId": "s1",
    });
    let error = Conversation::new(both.clone()).unwrap_err();
    assert!(matches!(error, NotConversation::Several(_)));
    insta::assert_snapshot!(error, @"the document could be of several formats: gemini-cli (`sessionId`, and messages of the type `gemini`), mini-swe-agent (`trajectory_format`, `info` and `messages`); name the right one with `--format-in`");
    let named = Conversation::read(both, Format::GeminiCli).unwrap();
    assert_eq!(told(&named), ["user: \"Rye?\""]);
    for json in [
        json!([{ "speaker": "user", "utterance": "Rye?" }]),
        json!([{ "kind": "request", "parts": [{ "content": "Rye?" }] }]),
        json!([{ "type": "session_meta", "payload": {} }]),
        json!({ "session": "s1", "messages": [{ "who": "user", "said": "Rye?" }] }),
    ] {
        let read = Conversation::new(json.clone());
        assert!(
            matches!(read, Err(NotConversation::Messages(_))),
            "{json}: {read:?}"
        );
    }
}

/// Each reader refuses a document of another format, or reads all of it.
#[test]
fn each_other_reader_refuses_a_sample_or_reads_all_of_it() {
    let mut read = 0;
    for (name, own, sample) in super::all() {
        for format in Format::ALL.into_iter().filter(|format| *format != own) {
            for document in Documents::new(sample.as_bytes()) {
                match document.unwrap().conversation(Some(format)) {
                    Ok(conversation) => {
                        super::loss::check(conversation.as_json(), &conversation);
                        read += 1;
                    }
                    Err(ReadError::Conversation { why, .. }) => {
                        let lost = matches!(why, NotConversation::Lost { .. });
                        assert!(!lost, "{name} as {format}: {why}");
                    }
                    Err(error) => panic!("{name} as {format}: {error}"),
                }
            }
        }
    }
    assert!(read > 0, "no reader took a document of another format");
}

/// The formats of programs claim only their own samples, in whatever order the readers are tried.
#[test]
fn a_log_of_a_program_is_read_by_its_own_reader_alone() {
    for (name, own, sample) in FOREIGN.into_iter().chain(MADE) {
        for document in Documents::new(sample.as_bytes()) {
            let json = document.unwrap().json;
            for format in Format::ALL
                .into_iter()
                .skip(9)
                .filter(|format| *format != own)
            {
                let read = Conversation::read(json.clone(), format);
                assert!(read.is_err(), "{name} as {format}");
            }
        }
    }
}

/// The table of formats in the documents names every format, and says correctly whether it is written.
#[test]
fn the_table_of_formats_in_the_documents_is_right() {
    let text = include_str!("../../../../../docs/formats.md");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), *cells.get(4)? == "yes"))
    });
    let rows: Vec<(String, bool)> = rows.collect();
    let formats = Format::ALL.map(|format| (format.name().to_owned(), format.is_written()));
    assert_eq!(rows, formats);
}

/// Shapes of older versions, and rare shapes of the same formats.
#[test]
fn older_shapes_have_their_roles_too() {
    let told = |json: Json| told(&Conversation::new(json).unwrap()).join("; ");
    let invocation = json!({ "state": "result", "toolCallId": "c1", "toolName": "stock", "args": {}, "result": "4" });
    let page = json!([{ "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": "Four.", "toolInvocations": [invocation] }]);
    let trajectory = json!({ "trajectory_format": "mini-swe-agent-1", "info": {}, "messages": [
        { "role": "system", "content": "Be brief." }, { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": "Look.\n```bash\ncat stock.txt\n```" },
        { "role": "user", "content": "<output>4</output>" }] });
    let state = json!({ "values": { "messages": [{ "type": "human", "content": "Rye?" }] }, "next": [],
        "checkpoint": { "thread_id": "t1" } });
    let history = json!({ "all_messages": [
        { "kind": "request", "parts": [
            { "part_kind": "user-prompt", "content": "Rye?" },
            { "part_kind": "retry-prompt", "content": "Say a number.", "tool_name": null }] }] });
    insta::assert_snapshot!([page, trajectory, state, history].map(told).join("\n"), @r#"
    user: "Rye?"; assistant: c1=stock({}); tool: answers c1 "4"; assistant: "Four."
    system: "Be brief."; user: "Rye?"; assistant: "Look.\n```bash\ncat stock.txt\n```" -=bash({"command":"cat stock.txt"}); tool: "<output>4</output>"
    user: "Rye?"
    user: "Rye?"; system: "Say a number."
    "#);
    let log = json!([{ "sessionId": "s1", "messageId": 0, "type": "user", "message": "Rye?" }]);
    assert!(
        Conversation::new(log).is_err(),
        "only the words of a person"
    );
}

/// Rows of another session, and items that are no JSON, are refused with their place.
#[test]
fn what_a_log_must_not_mix_is_refused_with_its_place() {
    let row = |session: &str, item: &str| json!({ "session_id": session, "message_data": item });
    let item = "{\"role\":\"user\",\"content\":\"Rye?\"}";
    let state = |thread: &str| {
        json!({ "values": { "messages": [{ "type": "human", "content": "Rye?" }] }, "next": [],
            "config": { "configurable": { "thread_id": thread } } })
    };
    let cases: [(Json, &str); 3] = [
        (json!([row("a", item), row("b", item)]), "/1/session_id"),
        (json!([row("a", item), row("a", "{")]), "/1/message_data"),
        (json!([state("a"), state("b")]), "/1"),
    ];
    for (json, at) in cases {
        let error = Conversation::new(json).unwrap_err();
        let NotConversation::Part { pointer, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(pointer, at);
    }
}
