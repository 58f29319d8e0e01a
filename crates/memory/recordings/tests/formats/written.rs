//! Conversations written in other formats, and read back.

use accp_recordings::{CannotWrite, Conversation, Format};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value as Json, json};

use super::{BAKERY, ODD, one, told};

fn written() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|format| format.is_written())
}

/// Writes a conversation in a format and reads it back, as a reader of the file would.
fn through(conversation: &Conversation, format: Format) -> Result<Conversation, CannotWrite> {
    let json = conversation.written(format)?;
    let text = json.to_string();
    let mut all = accp_recordings::conversations(text.as_bytes());
    // If a provider's format refuses the recorded ids, the writer gives new ones. So the recorded
    // ids are put back.
    Ok(all
        .next()
        .expect("a conversation")
        .unwrap()
        .with_recorded_ids())
}

/// Checks that every format can express a conversation of any shape, or refuses it.
pub(super) fn check(conversation: &Conversation) {
    for format in written().filter(|format| *format != conversation.format()) {
        if let Ok(other) = through(conversation, format) {
            assert_eq!(
                words(&other),
                words(conversation),
                "{format}: {}",
                other.as_json()
            );
        }
    }
}

/// Returns the content of each message, without empty texts and without ids that a writer gave.
fn words(conversation: &Conversation) -> Vec<String> {
    // A writer gives a call without arguments an empty object.
    let nothing = ["(null)", "(None)", "(Some(String(\"\")))"];
    let told = told(conversation).into_iter();
    let told = told.map(|said| {
        nothing
            .iter()
            .fold(said, |said, none| said.replace(none, "({})"))
    });
    let told: Vec<String> = told.collect();
    let word = |word: &str| match word.strip_prefix("call_") {
        Some(given) => given.split_once('=').map(|(_, call)| format!("-={call}")),
        None if ["answers", "\"\""].contains(&word) => None,
        None => Some(word.to_owned()),
    };
    let words = told
        .iter()
        .map(|said| said.split(' ').filter_map(word).collect::<Vec<_>>());
    words.map(|said| said.join(" ")).collect()
}

#[test]
fn every_sample_is_written_in_every_format_and_back() {
    let mut refused = Vec::new();
    for (name, _, sample) in BAKERY.into_iter().chain(ODD) {
        let conversation = one(sample);
        for format in written().filter(|format| *format != conversation.format()) {
            match through(&conversation, format) {
                Ok(other) => {
                    assert_eq!(words(&other), words(&conversation), "{name} as {format}");
                    assert_eq!(other.id(), conversation.id(), "{name} as {format}");
                    if conversation.format().is_written() {
                        match through(&other, conversation.format()) {
                            Ok(back) => assert_eq!(words(&back), words(&conversation)),
                            Err(why) => refused.push(format!("{name} from {format}: {why}")),
                        }
                    }
                }
                Err(why) => refused.push(format!("{name}: {why}")),
            }
        }
    }
    insta::assert_snapshot!(refused.join("\n"), @r#"
    openai.json: message 2 says something and calls a tool, which sharegpt cannot say
    anthropic.json: message 2 says something and calls a tool, which sharegpt cannot say
    responses.json: message 2 says something and calls a tool, which sharegpt cannot say
    gemini.json: message 2 says something and calls a tool, which sharegpt cannot say
    langchain.json: message 2 says something and calls a tool, which sharegpt cannot say
    langsmith.json: message 2 says something and calls a tool, which sharegpt cannot say
    otel.json: message 2 says something and calls a tool, which sharegpt cannot say
    sharegpt.json: message 3 has no words, and follows another of the assistant, which responses cannot say
    claude_code.jsonl: message 1 has more than one part, which sharegpt cannot say
    odd_openai.json: message 1 has [audio audio/wav, 8 characters of base64], which responses cannot say
    odd_openai.json: message 0 has the role `developer`, which anthropic cannot say
    odd_openai.json: message 0 has the role `developer`, which gemini cannot say
    odd_openai.json: message 4 is a result that names no call, which langchain cannot say
    odd_openai.json: message 2 has a refusal, which otel cannot say
    odd_openai.json: message 1 has more than one part, which sharegpt cannot say
    odd_openai_log.json: message 1 has redacted thinking, which responses cannot say
    odd_openai_log.json: message 1 has reasoning without a signature (take it out of the recording, or write openai or responses), which anthropic cannot say
    odd_openai_log.json: message 1 has redacted thinking, which gemini cannot say
    odd_openai_log.json: message 1 has redacted thinking, which otel cannot say
    odd_openai_log.json: message 1 has more than one part, which sharegpt cannot say
    odd_anthropic.json: message 1 has redacted thinking, which responses cannot say
    odd_anthropic.json: message 1 has redacted thinking, which gemini cannot say
    odd_anthropic.json: message 1 has redacted thinking, which otel cannot say
    odd_anthropic.json: message 0 has more than one part, which sharegpt cannot say
    odd_responses.json: message 0 has a call of `shell` whose arguments are not a JSON object, which anthropic cannot say
    odd_responses.json: message 0 has a call of `shell` whose arguments are not a JSON object, which gemini cannot say
    odd_responses.json: message 1 has more than one part, which otel cannot say
    odd_responses.json: message 0 has more than one part, which sharegpt cannot say
    odd_gemini.json: message 0 has [file https://example.org/a.pdf], which openai cannot say
    odd_gemini.json: message 1 has reasoning without a signature (take it out of the recording, or write openai or responses), which anthropic cannot say
    odd_gemini.json: message 0 has more than one part, which sharegpt cannot say
    odd_langchain.json: message 1 has [file https://example.org/a.pdf], which openai cannot say
    odd_langchain.json: message 5 has the role `critic`, which responses cannot say
    odd_langchain.json: message 0 has the role `developer`, which anthropic cannot say
    odd_langchain.json: message 0 has the role `developer`, which gemini cannot say
    odd_langchain.json: message 4 has a refusal, which otel cannot say
    odd_langchain.json: message 1 has more than one part, which sharegpt cannot say
    odd_langsmith.json: message 0 is a result that names no call, which openai cannot say
    odd_langsmith.json: message 0 is a result that names no call, which responses cannot say
    odd_langsmith.json: message 0 is a result that names no call, which anthropic cannot say
    odd_langsmith.json: message 0 is a result that names no call, which langchain cannot say
    odd_sharegpt.json from openai: message 2 says something and calls a tool, which sharegpt cannot say
    odd_sharegpt.json: message 6 has the role `critic`, which responses cannot say
    odd_sharegpt.json: message 6 has the role `critic`, which anthropic cannot say
    odd_sharegpt.json: message 6 has the role `critic`, which gemini cannot say
    odd_sharegpt.json from langchain: message 2 says something and calls a tool, which sharegpt cannot say
    odd_sharegpt.json from otel: message 2 says something and calls a tool, which sharegpt cannot say
    otel_events.jsonl: message 2 says something and calls a tool, which sharegpt cannot say
    otel_messages.json: message 5 has reasoning without a signature (take it out of the recording, or write openai or responses), which anthropic cannot say
    otel_messages.json: message 5 has [image https://example.org/a.png], which gemini cannot say
    otel_messages.json: message 2 says something and calls a tool, which sharegpt cannot say
    "#);
}

/// A text of a message: words, JSON, or JSON that a format may mistake for a part of its own form.
fn text() -> impl Strategy<Value = String> {
    let odd = [
        "{\"kilo\":4}",
        "{\"kilo\": 4}",
        "{\"output\":\"4\"}",
        "{\"error\":\"x\"}",
        "[1, 2]",
        "[{\"name\":\"stock\",\"arguments\":{}}]",
        "{\"name\":\"stock\"}",
        "[{\"role\":\"user\",\"parts\":[]}]",
        "data:image/png;base64,AA==",
        "null",
        " ",
    ];
    prop_oneof![
        3 => "[a-z ]{1,20}",
        1 => any::<String>().prop_filter("not empty", |text| !text.is_empty()),
        1 => prop::sample::select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

fn arguments() -> impl Strategy<Value = String> {
    let odd = [
        "{\"flour\": \"rye\"}",
        "{\"a\":1,\"a\":2}",
        "{\"e\": \"\\u00dc\"}",
        "{\"n\":1.50}",
        "{}",
    ];
    let object = prop::collection::btree_map("[a-z]{1,5}", text(), 0..3);
    prop_oneof![
        object.prop_map(|map| json!(map).to_string()),
        prop::sample::select(odd.to_vec()).prop_map(str::to_owned),
    ]
}

/// Turns that every format except `ShareGPT` can express: the words of the user, an answer, its calls and their
/// results.
fn plain() -> impl Strategy<Value = Vec<Json>> {
    let turn = (
        text(),
        text(),
        prop::collection::vec((arguments(), text()), 0..3),
    );
    let turns = prop::collection::vec(turn, 1..4);
    (prop::option::of(text()), turns).prop_map(|(system, turns)| {
        let system = system.map(|text| json!({ "role": "system", "content": text }));
        let mut messages: Vec<Json> = system.into_iter().collect();
        for (turn, (asked, said, calls)) in turns.into_iter().enumerate() {
            messages.push(json!({ "role": "user", "content": asked }));
            let mut answer = json!({ "role": "assistant", "content": said });
            let id = |call: usize| format!("c{turn}.{call}");
            if !calls.is_empty() {
                let calls = calls.iter().enumerate().map(|(call, (arguments, _))| {
                    let function = json!({ "name": "stock", "arguments": arguments });
                    json!({ "id": id(call), "type": "function", "function": function })
                });
                answer["tool_calls"] = calls.collect();
            }
            messages.push(answer);
            let results = calls.into_iter().enumerate().map(|(call, (_, result))| {
                json!({ "role": "tool", "tool_call_id": id(call), "content": result })
            });
            messages.extend(results);
        }
        messages
    })
}

/// A key and a value of a message that some formats cannot express, or express in another way.
fn rare() -> impl Strategy<Value = (&'static str, Json)> {
    let picture =
        json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AA==" } });
    let rare = [
        ("role", json!("developer")),
        ("role", json!("assistant")),
        ("name", json!("Ann")),
        ("content", json!(null)),
        ("content", json!("")),
        (
            "content",
            json!([{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }]),
        ),
        ("content", json!([{ "type": "text", "text": "a" }, picture])),
        ("content", json!([{ "type": "refusal", "refusal": "No." }])),
        ("content", json!([{ "type": "hologram", "depth": 3 }])),
        ("reasoning_content", json!("Hm.")),
        ("tool_call_id", json!(null)),
        (
            "tool_calls",
            json!([{ "type": "function", "function": { "name": "a", "arguments": "{}" } }]),
        ),
        (
            "tool_calls",
            json!([{ "id": "x", "type": "function", "function": { "name": "a", "arguments": "{" } }]),
        ),
        ("is_error", json!(true)),
        ("weird", json!({ "said": "beside the content" })),
        ("usage", json!({ "total_tokens": 42 })),
        ("to", json!("Bob")),
    ];
    prop::sample::select(rare.to_vec())
}

fn same(conversation: &Conversation, format: Format) -> Result<(), CannotWrite> {
    let other = through(conversation, format)?;
    assert_eq!(
        words(&other),
        words(conversation),
        "{format}: {}",
        other.as_json()
    );
    let back = through(&other, Format::OpenAi)?;
    assert_eq!(
        words(&back),
        words(conversation),
        "{format}: {}",
        back.as_json()
    );
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// A plain conversation comes back from each format, and as `OpenAI`'s chat again.
    #[test]
    fn a_plain_conversation_comes_back_from_every_format(messages in plain()) {
        let conversation = Conversation::read(json!({ "messages": messages }), Format::OpenAi).unwrap();
        let formats = written().filter(|format| ![Format::OpenAi, Format::ShareGpt].contains(format));
        for format in formats {
            prop_assert_eq!(same(&conversation, format), Ok(()));
        }
    }

    /// A message with rare values comes back from each format, or the format refuses the message.
    #[test]
    fn the_rare_comes_back_or_is_refused(
        mut messages in plain(),
        rare in prop::collection::vec((any::<prop::sample::Index>(), rare()), 1..4),
    ) {
        for (place, (key, value)) in rare {
            let at = place.index(messages.len());
            messages[at][key] = value;
        }
        let conversation = Conversation::read(json!({ "messages": messages }), Format::OpenAi).unwrap();
        for format in written().filter(|format| *format != Format::OpenAi) {
            if let Err(error) = same(&conversation, format) {
                let is_placed = matches!(error, CannotWrite::Message { .. } | CannotWrite::Mistaken { .. });
                prop_assert!(is_placed, "{}", error);
            }
        }
    }
}
