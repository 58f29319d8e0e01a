//! Shapes of the logs of programs that differ between versions, or that few of their files have.

use accp_recordings::{Conversation, Documents, Format};
use serde_json::{Value as Json, json};

use super::told;

fn read(json: Json) -> String {
    told(&Conversation::new(json).unwrap()).join("; ")
}

/// Aider ends its own lines, and those of the person, with two spaces. A title or a quote of the model does not end
/// with them. A message of the program over several lines has them only at its end.
#[test]
fn a_title_and_a_quote_of_the_model_are_its_own() {
    let sample = include_str!("../samples/aider_0_86.md");
    let read = |text: &str| {
        let all: Result<Vec<Conversation>, _> =
            accp_recordings::conversations(text.as_bytes()).collect();
        let all = all.unwrap();
        let all: Vec<_> = all.iter().map(|chat| told(chat).join("\n")).collect();
        all.join("\n--\n")
    };
    insta::assert_snapshot!(read(sample), @r##"
    user: "Gibt es Dinkel? Für das Brot ☕"
    assistant: "Ich schaue in `bestand.txt` und ändere den Dinkel ☕.\n\nbestand.txt\n```\n<<<<<<< SEARCH\nDinkel 0\n=======\nDinkel 7\n>>>>>>> REPLACE\n```\n\n> ein Zitat des Modells\n\nFertig."
    user: "Zwei Zeilen:\n#### die zweite"
    assistant: "# Titel\n\n#### Ein Titel im Text\n\nGern geschehen."
    user: "/run echo Roggen ☕"
    user: "/ask Danke?"
    user: "Danke?"
    assistant: "Sonst nichts."
    user: "/exit"
    --
    user: "Danke. Noch etwas?"
    assistant: "Nothing more."
    "##);
    let several = "# aider chat started at 2026-01-01 00:00:00\n\n#### Rye?  \n\nFour.\n\n> Tokens: 1 sent.  \n> Commit 1 Rye\n\n\
                   #### More of it\n\nThe end.  \n> Undone.  \n\n#### Thanks  \n";
    assert_eq!(
        read(several),
        "user: \"Rye?\"\nassistant: \"Four.\"\nuser: \"Thanks\""
    );
    // An editor has removed the spaces at the ends of lines.
    let cut = several.replace("  \n", "\n");
    assert!(read(&cut).contains("user: \"More of it\""));
}

/// The program runs the shell tool of the provider, so it is read as a call. A snapshot is not read as a message.
#[test]
fn items_of_older_rollouts_have_their_calls() {
    let line =
        |payload: Json| json!({ "timestamp": "t", "type": "response_item", "payload": payload });
    let lines = json!([
        { "timestamp": "t", "type": "session_meta", "payload": { "id": "s" } },
        line(json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Rye?" }] })),
        line(json!({ "type": "ghost_snapshot", "ghost_commit": { "id": "1" } })),
        line(json!({ "type": "local_shell_call", "call_id": "c1", "status": "completed",
            "action": { "type": "exec", "command": ["ls"] } })),
        line(json!({ "type": "function_call_output", "call_id": "c1", "output": "rye" })),
    ]);
    insta::assert_snapshot!(read(lines), @r#"
    user: "Rye?"; assistant: c1=local_shell({"type":"exec","command":["ls"]}); tool: answers c1 "rye"
    "#);
}

/// A call that the model had not finished is not read. A call that a person denied has the person's reason as its
/// result.
#[test]
fn calls_of_a_page_have_their_states() {
    let part = |state: &str, id: &str, more: Json| {
        let mut part = json!({ "type": "tool-stock", "state": state, "toolCallId": id });
        part.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        part
    };
    let parts = json!([
        part(
            "input-streaming",
            "c1",
            json!({ "input": { "flour": "r" } })
        ),
        part(
            "output-denied",
            "c2",
            json!({ "input": {}, "approval": { "id": "a", "reason": "not now" } })
        ),
        part(
            "output-error",
            "c3",
            json!({ "rawInput": "{rye", "errorText": "no JSON" })
        ),
    ]);
    let page = json!([{ "role": "user", "parts": [{ "type": "text", "text": "Rye?" }] },
        { "role": "assistant", "parts": parts }]);
    insta::assert_snapshot!(read(page), @r#"
    user: "Rye?"; assistant: c2=stock({}) c3=stock(Some(String("{rye"))); tool: answers c2 "not now"; tool: answers c3 "no JSON"
    "#);
}

/// Instrumentation writes the events of a span as a list in a JSON text. A demonstration of SWE-agent has no steps.
#[test]
fn spans_with_events_as_text_and_demonstrations_are_read() {
    let events = json!([{ "event.name": "gen_ai.user.message", "content": "Rye?" },
        { "event.name": "gen_ai.choice", "message": { "role": "assistant", "content": "Four." } }]);
    let span = json!([{ "name": "chat", "attributes": { "events": events.to_string() } }]);
    let said = |role: &str, content: &str, more: Json| {
        let mut message = json!({ "role": role, "content": content, "agent": "main" });
        message
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        message
    };
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "bash", "arguments": "{}" } });
    let demonstration = json!({ "history": [
        said("system", "Be brief.", json!({ "message_type": "system_prompt" })),
        said("user", "Rye?", json!({ "message_type": "observation" })),
        said("assistant", "Look.", json!({ "message_type": "action", "tool_calls": [call] })),
        said("tool", "4", json!({ "message_type": "observation", "tool_call_ids": ["c1"] })),
    ] });
    insta::assert_snapshot!([span, demonstration].map(read).join("\n"), @r#"
    user: "Rye?"; assistant: "Four."
    system: "Be brief."; user: "Rye?"; assistant: "Look." c1=bash({}); tool: answers c1 "4"
    "#);
}

/// Pydantic AI writes URL-safe base64, which no provider accepts.
#[test]
fn base64_of_addresses_is_written_as_base64() {
    let history = json!([{ "kind": "request", "parts": [{ "part_kind": "user-prompt", "content":
        ["Rye?", { "kind": "binary", "data": "-_8=", "media_type": "image/png" }] }] }]);
    let conversation = Conversation::new(history).unwrap();
    let written = conversation.written(Format::OpenAi).unwrap();
    let url = written.pointer("/messages/0/content/1/image_url/url");
    assert_eq!(url, Some(&json!("data:image/png;base64,+/8=")));
}

#[test]
fn a_packed_file_is_refused_with_the_cure() {
    let packed: &[u8] = &[0x1f, 0x8b, 8, 0, 0];
    let error = Documents::new(packed).next().expect("a document");
    insta::assert_snapshot!(error.unwrap_err(), @"1:1: the file is packed with gzip; unpack it first (`gunzip -c FILE | accp ..`)");
}
