//! One conversation, recorded in each format, and recordings with rare shapes.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "helpers of tests"
)]

mod awkward;
mod foreign;
mod ids;
mod kept;
mod loss;
mod made;
mod provided;
mod variants;
mod written;

use accp_context::Recorded;
use accp_memory::policy::{Frames, Message};
use accp_recordings::{Conversation, ConvertOptions, Converter, Documents, Format, conversations};
use accp_runtime::{Registry, TokenCounter, Value};
use awkward::AWKWARD;
use foreign::FOREIGN;
use made::MADE;
use serde_json::{Value as Json, json};

macro_rules! samples {
    ($($name:literal $format:ident,)*) => {
        [$((
            $name,
            Format::$format,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/", $name)),
        ),)*]
    };
}

use samples;

/// The same conversation in each format.
const BAKERY: [(&str, Format, &str); 9] = samples![
    "openai.json" OpenAi,
    "anthropic.json" Anthropic,
    "responses.json" Responses,
    "gemini.json" Gemini,
    "langchain.json" LangChain,
    "langsmith.json" LangSmith,
    "otel.json" Otel,
    "sharegpt.json" ShareGpt,
    "claude_code.jsonl" ClaudeCode,
];

/// Recordings with rare shapes.
const ODD: [(&str, Format, &str); 10] = samples![
    "odd_openai.json" OpenAi,
    "odd_openai_log.json" OpenAi,
    "odd_anthropic.json" Anthropic,
    "odd_responses.json" Responses,
    "odd_gemini.json" Gemini,
    "odd_langchain.json" LangChain,
    "odd_langsmith.json" LangSmith,
    "odd_sharegpt.json" ShareGpt,
    "otel_events.jsonl" Otel,
    "otel_messages.json" Otel,
];

/// Returns all samples.
fn all() -> impl Iterator<Item = (&'static str, Format, &'static str)> {
    BAKERY
        .into_iter()
        .chain(ODD)
        .chain(AWKWARD)
        .chain(FOREIGN)
        .chain(MADE)
}

/// Counts bytes.
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn count(&self, text: &str) -> usize {
        text.len()
    }
}

fn one(sample: &str) -> Conversation {
    let mut all = conversations(sample.as_bytes());
    let first = all.next().expect("a conversation").unwrap();
    assert!(all.next().is_none(), "one conversation");
    first
}

/// Returns the content of a message, without the values that only say how it was recorded.
fn said(message: Recorded<'_>) -> String {
    let mut out = vec![format!("{}:", message.role().unwrap_or_default())];
    out.extend(message.call_id().map(|id| format!("answers {id}")));
    out.extend(message.texts().iter().map(|text| format!("{text:?}")));
    out.extend(message.calls().map(|call| {
        let recorded = || format!("{:?}", call.recorded_arguments());
        let arguments = call
            .arguments()
            .map_or_else(recorded, |json| json.to_string());
        let (id, tool) = (call.id().unwrap_or("-"), call.tool().unwrap_or("-"));
        format!("{id}={tool}({arguments})")
    }));
    out.join(" ")
}

fn told(conversation: &Conversation) -> Vec<String> {
    conversation.messages().map(said).collect()
}

/// Returns the messages of each sample. A sample with the messages of an earlier one names that one.
fn shown(samples: &[(&str, Format, &str)]) -> String {
    let all = samples
        .iter()
        .map(|(_, _, sample)| told(&one(sample)).join("\n  "));
    let all: Vec<String> = all.collect();
    let blocks = samples.iter().enumerate().map(|(index, (name, ..))| {
        match all[..index].iter().position(|other| *other == all[index]) {
            Some(first) => format!("{name}\n  as {}\n", samples[first].0),
            None => format!("{name}\n  {}\n", all[index]),
        }
    });
    blocks.collect()
}

/// Returns the texts, calls and results of a conversation, without their order and ids.
fn things(conversation: &Conversation) -> Vec<String> {
    let messages = conversation.messages();
    let things = messages.flat_map(|message| {
        let role = message.role().unwrap_or_default();
        let texts = message.texts().into_iter();
        let texts = texts.map(move |text| format!("{role}: {text}"));
        let calls = message.calls().map(|call| {
            let arguments = call.arguments().expect("arguments");
            format!("{:?}{arguments}", call.tool())
        });
        texts.chain(calls).collect::<Vec<_>>()
    });
    let mut things: Vec<String> = things.collect();
    things.sort();
    things
}

#[test]
fn the_format_is_found_out() {
    for (name, format, sample) in all() {
        assert_eq!(one(sample).format(), format, "{name}");
    }
}

#[test]
fn one_conversation_is_the_same_in_each_format() {
    let expected = told(&one(BAKERY[0].2));
    insta::assert_snapshot!(expected.join("\n"), @r#"
    system: "You keep the stock of a bakery."
    user: "Is there rye flour? Für das Brot ☕\nand \"spelt\"?"
    assistant: "I look at both." c1=stock({"flour":"rye","depth":2}) c2=stock({"flour":"spelt","note":"Ümläut"})
    tool: answers c1 "{\"kilo\": 4, \"shelf\": \"B/12\"}"
    tool: answers c2 "no such flour: spelt"
    assistant: "Four kilos of rye on shelf B/12. No spelt."
    user: "Thanks"
    "#);
    for (name, format, sample) in BAKERY {
        let conversation = one(sample);
        let mut found = told(&conversation);
        let mut expected = expected.clone();
        match format {
            // This format has no ids. A turn has words, or calls one tool. So the test compares
            // only contents.
            Format::ShareGpt => {
                expected = things(&one(BAKERY[0].2));
                found = things(&conversation);
            }
            // A file of Claude Code has the thinking, but not the system prompt.
            Format::ClaudeCode => {
                expected.remove(0);
                found[1] = found[1].replace("\"Two kinds of flour.\" ", "");
            }
            _ => {}
        }
        assert_eq!(found, expected, "{name}");
        assert_eq!(conversation.id().as_deref(), Some("bakery/1"), "{name}");
    }
}

#[test]
fn a_system_prompt_beside_the_messages_is_a_message() {
    let call = serde_json::json!({ "id": "c1", "type": "function",
        "function": { "name": "stock", "arguments": "{}" } });
    let json = serde_json::json!({ "system": "Be brief.", "messages": [
        { "role": "user", "content": "Rye?" },
        { "role": "assistant", "content": null, "tool_calls": [call] }] });
    let conversation = Conversation::new(json).unwrap();
    assert_eq!(conversation.format(), Format::OpenAi);
    insta::assert_snapshot!(told(&conversation).join("\n"), @r#"
    system: "Be brief."
    user: "Rye?"
    assistant: c1=stock({})
    "#);
    let mut converter = Converter::new(ConvertOptions::default(), Bytes);
    assert_eq!(converter.verify(&conversation), Ok(()));
}

#[test]
fn the_rare_is_shown() {
    insta::assert_snapshot!(shown(&ODD), @r#"
    odd_openai.json
      developer: "Be brief."
      user: "What is this?" "[image image/png, 12 characters of base64]" "[image https://example.org/rye.png]" "[audio audio/wav, 8 characters of base64]" "{\"type\":\"hologram\",\"payload\":{\"depth\":3,\"words\":\"a hidden word\"}}"
      assistant: "I do not name people."
      assistant: -=stock({"flour":"rye"})
      tool: "4"
      assistant: "Four is enough." "" "{\"weird\":{\"said\":\"beside the content\"}}" x1=shell(Some(String("ls -l"))) x2=stock(Some(String("{broken")))
      tool: answers x1 "total 0" ""
      tool: answers x2 ""
      user: "\u{200b}zero\0width\r\n"
    odd_openai_log.json
      user: "Is there rye?"
      assistant: "Rye, then." "Look." "[redacted thinking, 12 characters of base64]" c1=stock({"flour":"rye"})
    odd_anthropic.json
      user: "[image image/png, 12 characters of base64]" "[document \"List\"]\nrye 4" "of the store" "Look."
      assistant: "Hm." "[redacted thinking, 12 characters of base64]" s1=web_search({"query":"rye"})
      tool: answers s1 "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":[{\"type\":\"web_search_result\",\"url\":\"https://example.org\",\"title\":\"Rye\",\"encrypted_content\":\"ZQ==\",\"page_age\":null}]}"
      assistant: "As it says." "{\"citations\":[{\"type\":\"char_location\",\"cited_text\":\"rye 4\",\"document_index\":0}]}" "{\"type\":\"telepathy\",\"thought\":\"a hidden word\"}"
      user: "before"
      tool: answers t9 "a" "[image https://example.org/a.png]"
      tool: answers t8
      user: "after"
      assistant:
      assistant: "x" "{\"mood\":\"a hidden mood\"}"
    odd_responses.json
      assistant: "Thinking." "{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\",\"action\":{\"type\":\"search\",\"query\":\"rye\"}}" k1=shell(Some(String("ls")))
      tool: answers k1 "total 0" "[image image/png, 12 characters of base64]"
      assistant: k2=computer({"type":"click","x":3,"y":4})
      tool: answers k2 "{\"type\":\"computer_screenshot\",\"image_url\":\"https://example.org/s.png\"}"
      assistant: "No." "See [1]." "{\"type\":\"mcp_list_tools\",\"id\":\"m1\",\"server_label\":\"store\",\"tools\":[{\"name\":\"stock\"}]}" "{\"type\":\"item_reference\",\"id\":\"msg_9\"}"
    odd_gemini.json
      user: "[image image/png, 12 characters of base64]" "[file https://example.org/a.pdf]" "Look."
      assistant: "Hm." "{\"executableCode\":{\"language\":\"PYTHON\",\"code\":\"print(4)\"}}" "{\"codeExecutionResult\":{\"outcome\":\"OUTCOME_OK\",\"output\":\"4\\n\"}}" -=stock({})
      tool: "{\"kilo\":4,\"ok\":true}"
      user: "{\"name\":7}"
    odd_langchain.json
      developer: "Be brief."
      user: "What is this?" "[image image/png, 12 characters of base64]" "[file https://example.org/a.pdf]" "{\"type\":\"non_standard\",\"value\":{\"words\":\"a hidden word\"}}"
      assistant: "Hm." "A loaf." "A loaf of rye." "{\"error\":\"not JSON\"}" t1=stock({"flour":"rye"}) t2=stock(Some(String("{broken")))
      tool: answers t1 "4"
      assistant: "" "I do not name people."
      critic: "Too long."
    odd_langsmith.json
      tool: "{\"inputs\":{\"query\":\"rye\"},\"outputs\":{\"documents\":[{\"page_content\":\"Rye is on shelf B/12.\",\"metadata\":{\"page\":3}}]}}"
      user: "Where is the rye?"
      assistant: "On shelf B/12."
      tool: "{\"error\":\"The scale is broken.\"}"
    odd_sharegpt.json
      system: "You keep the stock of a bakery."
      user: "Rye or spelt?"
      assistant: "{\"mood\":\"a hidden mood\"}" -=stock({"flour":"rye"}) -=stock({"flour":"spelt"})
      tool: "4"
      tool: "none"
      assistant: "Rye."
      critic: "Too brief."
      assistant: "not a call"
    otel_events.jsonl
      system: "You keep the stock of a bakery."
      user: "Is there rye flour? Für das Brot ☕\nand \"spelt\"?"
      assistant: "I look at both." c1=stock({"flour":"rye","depth":2})
      tool: answers c1 "{\"kilo\": 4, \"shelf\": \"B/12\"}"
    otel_messages.json
      system: "You keep the stock of a bakery."
      user: "Is there rye flour? Für das Brot ☕\nand \"spelt\"?"
      assistant: "I look at both." c1=stock({"flour":"rye","depth":2}) c2=stock({"flour":"spelt","note":"Ümläut"})
      tool: answers c1 "{\"kilo\": 4, \"shelf\": \"B/12\"}"
      tool: answers c2 "no such flour: spelt"
      assistant: "Four is enough." "[image image/png, 12 characters of base64]" "[image https://example.org/a.png]" "{\"type\":\"telepathy\",\"thought\":\"a hidden word\"}" "Four kilos of rye on shelf B/12. No spelt."
    "#);
}

#[test]
fn the_rare_is_in_the_frames_of_a_prompt() {
    let registry = Registry::shared();
    for (name, _, sample) in ODD.into_iter().chain(AWKWARD).chain(FOREIGN).chain(MADE) {
        let conversation = one(sample);
        let mut frames = Frames::default();
        let mut shown = String::new();
        for (index, recorded) in conversation.messages().enumerate() {
            let message = Message::new(index, recorded).expect("a role");
            for frame in frames.of(&message, registry) {
                shown.push_str(&Value::Map(frame.payload.clone()).to_json().to_string());
            }
        }
        for recorded in conversation.messages() {
            // Arguments that are not JSON are shown, too.
            for call in recorded.calls().filter(|call| call.arguments().is_none()) {
                let text = call.recorded_arguments().and_then(Json::as_str).unwrap();
                let json = Json::from(text).to_string();
                assert!(shown.contains(json.trim_matches('"')), "{name}: {text}");
            }
            for text in recorded.texts() {
                // A result that is JSON is sent as values, so its text does not stand in a frame.
                let parsed = serde_json::from_str::<Json>(text).is_ok();
                let json = Json::from(text).to_string();
                let inner = json.trim_matches('"');
                assert!(
                    parsed || shown.contains(inner),
                    "{name}: {inner} in {shown}"
                );
            }
        }
    }
}

#[test]
fn every_sample_comes_back_from_its_frames() {
    for (name, _, sample) in all() {
        let conversation = one(sample);
        let mut converter = Converter::new(ConvertOptions::default(), Bytes);
        assert_eq!(converter.verify(&conversation), Ok(()), "{name}");
    }
}

#[test]
fn a_sample_that_is_read_in_another_format_is_shown_whole_too() {
    for (name, _, sample) in all() {
        for format in Format::ALL {
            for document in Documents::new(sample.as_bytes()) {
                let read = document.unwrap().conversation(Some(format));
                if let Ok(conversation) = read {
                    let content = conversation.content();
                    let count = conversation.messages().len();
                    let shown: u64 = (0..count).map(|index| content.of_message(index)).sum();
                    assert_eq!(shown, content.bytes(), "{name} as {format}");
                } else {
                    let said = read.unwrap_err().to_string();
                    assert!(
                        !said.contains("would be lost"),
                        "{name} as {format}: {said}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_format_can_be_forced_and_tells_what_it_misses() {
    let json = |sample: &str| serde_json::from_str::<Json>(sample).unwrap();
    let chat = json(BAKERY[0].2);
    let wrong = Conversation::read(serde_json::json!({ "contents": [7] }), Format::Gemini);
    insta::assert_snapshot!(wrong.unwrap_err(), @"expected a content, an object at `/contents/0` (read as gemini)");
    let wrong = Conversation::read(chat, Format::Gemini);
    insta::assert_snapshot!(wrong.unwrap_err(), @"expected an object with `contents` at the top (read as gemini)");
    let wrong = Conversation::new(serde_json::json!({ "notes": [] }));
    insta::assert_snapshot!(wrong.unwrap_err(), @"expected a conversation: an object whose `messages` is an array of objects with `role` and `content`, or that array, or another of the formats openai, responses, anthropic, gemini, langchain, langsmith, otel, sharegpt, claude-code, pydantic-ai, ai-sdk, gemini-cli, codex, openai-agents, langgraph, swe-agent, mini-swe-agent, openhands, aider (`--format-in` forces one); found an object with `notes`");
}

/// An item of the assistant without words is still a message of its own: it has its role and id.
#[test]
fn an_item_of_responses_that_says_nothing_stays_apart() {
    let json = json!({ "output": [
        { "type": "message", "role": "assistant", "id": "m1" },
        { "type": "message", "role": "assistant", "id": "m2", "content": [{ "type": "refusal", "refusal": "No." }] },
        { "type": "message", "role": "assistant", "id": "m3", "content": "Bake it." },
    ] });
    let conversation = Conversation::read(json, Format::Responses).unwrap();
    assert_eq!(
        told(&conversation),
        [
            "assistant:",
            "assistant: \"No.\"",
            "assistant: \"Bake it.\""
        ]
    );
}

/// A value under `choices` that is not a list is kept outside the messages.
#[test]
fn choices_that_are_no_list_are_kept() {
    for choices in [json!("first"), json!({ "n": 2 })] {
        let json = json!({
            "messages": [{ "role": "user", "conuent": "Is there rye?" }],
            "choices": choices,
        });
        let conversation = Conversation::new(json).unwrap();
        assert_eq!(conversation.get("choices"), Some(&choices));
    }
}

#[test]
fn messages_beside_the_messages_are_kept() {
    let json = json!({
        "conversations": [{ "from": "human", "value": "Rye or spelt?" }],
        "messages": [{ "note": "Both are out." }],
    });
    let conversation = Conversation::read(json, Format::ShareGpt).unwrap();
    assert_eq!(told(&conversation), ["user: \"Rye or spelt?\""]);
    let content = conversation.content();
    assert_eq!((content.bytes(), content.of_message(0)), (13, 13));
    let chat = conversation.written(Format::OpenAi).unwrap();
    let kept = chat.to_string().contains("Both are out.");
    assert!(kept, "{chat}");
}
