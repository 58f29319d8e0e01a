//! Documents written for a provider follow the rules of the provider: signatures, turns, ids, names.

use accp_recordings::{Conversation, Format};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value as Json, json};

use super::{one, told};

fn written(json: Json, format: Format) -> Json {
    Conversation::new(json).unwrap().written(format).unwrap()
}

/// A line of a session file.
fn entry(more: Json) -> Json {
    let mut entry = json!({ "sessionId": "s", "isSidechain": false });
    for (key, value) in more.as_object().unwrap() {
        entry[key] = value.clone();
    }
    entry
}

fn block(id: &str, block: Json) -> Json {
    let message = json!({ "id": id, "role": "assistant", "content": [block] });
    entry(json!({ "type": "assistant", "uuid": "a", "message": message }))
}

fn call(id: &str) -> Json {
    json!({ "type": "tool_use", "id": id, "name": "Read", "input": { "path": id } })
}

fn result(id: &str) -> Json {
    json!({ "type": "tool_result", "tool_use_id": id, "content": format!("text of {id}") })
}

fn user(content: Json) -> Json {
    entry(json!({ "type": "user", "uuid": "u", "message": { "role": "user", "content": content } }))
}

#[test]
fn a_session_with_a_line_for_each_block_has_one_turn_for_each_answer() {
    let thought = json!({ "type": "thinking", "thinking": "Both.", "signature": "EqA=" });
    let aside = |entry: Json| {
        let mut entry = entry;
        entry["isSidechain"] = true.into();
        entry
    };
    let hook = json!({ "type": "hook_success", "hookName": "PostToolUse:Read", "hookEvent": "PostToolUse",
        "stdout": "formatted", "exitCode": 0 });
    let session = json!([
        user(json!("Compare.")),
        block("m1", thought.clone()),
        block("m1", json!({ "type": "text", "text": "I read." })),
        block("m1", call("a")),
        aside(user(json!("You are a sub-agent."))),
        aside(block(
            "m7",
            json!({ "type": "text", "text": "Sub-agent here." })
        )),
        user(json!([result("a")])),
        entry(json!({ "type": "attachment", "uuid": "h", "attachment": hook })),
        block("m1", call("b")),
        entry(
            json!({ "type": "attachment", "uuid": "f", "attachment": { "type": "file", "content": "notes" } })
        ),
        user(json!([result("b")])),
        block("m2", json!({ "type": "text", "text": "Equal." })),
    ]);
    let conversation = Conversation::new(session).unwrap();
    let document = conversation.written(Format::Anthropic).unwrap();
    let mut messages = document["messages"].clone();
    for message in messages.as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().shift_remove("_recorded");
        }
        message.as_object_mut().unwrap().shift_remove("_recorded");
    }
    let expected = json!([
        { "role": "user", "content": "Compare." },
        { "role": "assistant", "content": [thought, { "type": "text", "text": "I read." }, call("a"), call("b")] },
        { "role": "user", "content": [result("a"), result("b")] },
        { "role": "user", "content": [{ "type": "text", "text": "{\"type\":\"file\",\"content\":\"notes\"}" }] },
        { "role": "assistant", "content": [{ "type": "text", "text": "Equal." }] },
    ]);
    // A content with a single plain text may be written as a bare text.
    let plain = |messages: &Json| {
        let mut messages = messages.clone();
        for message in messages.as_array_mut().unwrap() {
            if let Json::String(text) = &message["content"] {
                message["content"] = json!([{ "type": "text", "text": text }]);
            }
        }
        messages
    };
    assert_eq!(plain(&messages), plain(&expected));
    // The words of the sub-agent and of the hook are kept outside the messages.
    let beside = document["_recorded"].to_string();
    for kept in [
        "Sub-agent here.",
        "You are a sub-agent.",
        "PostToolUse:Read",
    ] {
        assert!(beside.contains(kept), "{kept}: {beside}");
    }
}

#[test]
fn a_file_of_a_sub_agent_alone_is_its_conversation() {
    let aside = |mut entry: Json| {
        entry["isSidechain"] = true.into();
        entry["agentId"] = "7".into();
        entry
    };
    let session = json!([
        aside(user(json!("Look."))),
        aside(block("m", json!({ "type": "text", "text": "Done." })))
    ]);
    assert_eq!(Conversation::new(session).unwrap().messages().len(), 2);
}

#[test]
fn reasoning_without_a_signature_is_refused_for_anthropic() {
    let said = json!({ "messages": [{ "role": "user", "content": "a" },
        { "role": "assistant", "reasoning_content": "Hm.", "content": "b" }] });
    let refused = Conversation::new(said)
        .unwrap()
        .written(Format::Anthropic)
        .unwrap_err();
    insta::assert_snapshot!(refused, @"message 1 has reasoning without a signature (take it out of the recording, or write openai or responses), which anthropic cannot say");
}

#[test]
fn a_signature_of_gemini_has_its_place_on_both_ways() {
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let ask = json!({ "id": "c1", "type": "function", "extra_content": extra.clone(),
        "function": { "name": "stock", "arguments": "{}" } });
    let chat = json!({ "messages": [
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null, "tool_calls": [ask] },
        { "role": "tool", "tool_call_id": "c1", "content": "4" },
        { "role": "assistant", "content": "Four.", "extra_content": { "google": { "thought_signature": "bGFzdA" } } }] });
    let gemini = written(chat, Format::Gemini);
    let parts = json!([{ "functionCall": { "name": "stock", "args": {}, "id": "c1" }, "thoughtSignature": "c2ln" }]);
    assert_eq!(gemini["contents"][1]["parts"], parts);
    let last = json!([{ "text": "Four.", "thoughtSignature": "bGFzdA" }]);
    assert_eq!(gemini["contents"][3]["parts"], last);
    let back = written(gemini, Format::OpenAi);
    assert_eq!(back["messages"][1]["tool_calls"][0]["extra_content"], extra);
}

#[test]
fn sealed_reasoning_of_a_log_stays_in_its_item() {
    let sealed =
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA" });
    let call =
        json!({ "type": "function_call", "call_id": "c1", "name": "stock", "arguments": "{}" });
    let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "" });
    let input = json!([{ "role": "user", "content": "Rye?" }, sealed, call, output]);
    let log = json!({ "request": { "input": input }, "response": { "output": [
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "None." }] }] } });
    let conversation = Conversation::new(log).unwrap();
    let items = conversation.written(Format::Responses).unwrap();
    assert_eq!(items["input"][1]["encrypted_content"], "gAAA");
    assert_eq!(
        (&items["input"][1]["id"], &items["input"][2]["call_id"]),
        (&json!("rs_1"), &json!("c1"))
    );
    // An empty result has no content for Anthropic, because Anthropic refuses an empty list of blocks.
    let turns = conversation.written(Format::Anthropic).unwrap();
    assert_eq!(
        turns["messages"][2]["content"],
        json!([{ "type": "tool_result", "tool_use_id": "c1" }])
    );
}

#[test]
fn what_a_program_keeps_beside_its_messages_is_no_sign_of_the_written_document() {
    let said = json!({ "id": "x", "model": "m", "contents": [], "trajectory": [1], "runs": [{ "a": 1 }],
        "messages": [{ "role": "user", "content": "a" }] });
    let recorded = Conversation::read(said, Format::OpenAi).unwrap();
    let document = recorded.written(Format::Anthropic).unwrap();
    let keys: Vec<_> = document.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "_recorded", "messages"]);
    assert_eq!(document["_recorded"]["trajectory"], json!([1]));
}

#[test]
fn a_part_that_no_reader_knows_is_written_as_its_text() {
    let said = json!({ "messages": [{ "role": "user", "content": [{ "type": "hologram", "depth": 3 }] }] });
    let document = written(said, Format::Anthropic);
    assert_eq!(
        document["messages"][0]["content"],
        r#"{"type":"hologram","depth":3}"#
    );
}

/// Ids and names as servers and gateways write them.
fn odd() -> impl Strategy<Value = String> {
    let rare = [
        "functions.read:1",
        "call_1|fc_2",
        "a b",
        "",
        "_",
        "é",
        "9.to",
        "scale.read",
        "scale_read",
    ];
    prop_oneof![
        prop::sample::select(rare.to_vec()).prop_map(str::to_owned),
        "[a-c.:|é]{1,3}",
        "[ab.]{38,70}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Ids and names fit the provider, stay different from each other, are equal on a call and its result, and are
    /// restored.
    #[test]
    fn ids_and_names_fit_their_provider(calls in prop::collection::vec((odd(), odd()), 1..6)) {
        let mut messages = vec![json!({ "role": "user", "content": "Go." })];
        for (id, name) in &calls {
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": id, "type": "function", "function": { "name": name, "arguments": "{}" } }] }));
            messages.push(json!({ "role": "tool", "tool_call_id": id, "name": name, "content": "ok" }));
        }
        let names: std::collections::BTreeSet<_> = calls.iter().map(|(_, name)| name).collect();
        let tools: Vec<_> = names.iter().map(|name| json!({ "type": "function", "function": { "name": name } })).collect();
        let json = json!({ "id": 1, "tools": tools, "messages": messages });
        let conversation = Conversation::read(json, Format::OpenAi).unwrap();
        let plain = |text: &str, most: usize| {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            !text.is_empty() && text.len() <= most && text.chars().all(fits)
        };
        let document = conversation.written(Format::Anthropic).unwrap();
        let blocks = document["messages"].as_array().unwrap().iter();
        let blocks: Vec<_> = blocks.filter_map(|message| message["content"].as_array()).flatten().collect();
        for pair in blocks.chunks(2) {
            let (id, name) = (pair[0]["id"].as_str().unwrap(), pair[0]["name"].as_str().unwrap());
            prop_assert!(plain(id, 64) && plain(name, 64), "{id} {name}");
            prop_assert_eq!(&pair[0]["id"], &pair[1]["tool_use_id"]);
            let tools = document["tools"].as_array().unwrap();
            prop_assert!(tools.iter().any(|tool| tool["name"] == name));
        }
        let ids: std::collections::BTreeSet<_> = blocks.iter().filter_map(|block| block["id"].as_str()).collect();
        prop_assert_eq!(ids.len(), calls.len());
        for format in [Format::Anthropic, Format::Responses, Format::Gemini] {
            let document = conversation.written(format).unwrap();
            let back = one(&document.to_string()).with_recorded_ids();
            let back = back.written(Format::LangChain).unwrap();
            let there = conversation.written(Format::LangChain).unwrap();
            prop_assert_eq!(told(&one(&back.to_string())), told(&one(&there.to_string())), "{}", format);
        }
    }
}
