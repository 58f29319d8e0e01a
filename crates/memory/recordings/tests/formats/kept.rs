//! Recordings with things that a JSON value cannot hold: halves of surrogate pairs, repeated members, line numbers.

use accp_recordings::{Conversation, ConvertOptions, Converter, Format, conversations};
use serde_json::{Value as Json, json};

use super::{BAKERY, Bytes, ODD};

fn first(text: &str) -> Result<Conversation, String> {
    let read = conversations(text.as_bytes())
        .next()
        .expect("a conversation");
    read.map_err(|error| error.to_string())
}

/// Puts a different number, and the mark for half of a surrogate pair, at the end of the texts of a sample.
fn cut(json: &mut Json, number: &mut usize) {
    match json {
        Json::String(text) if text.contains(' ') && !text.starts_with(['{', '[', ' ']) => {
            *text = format!("{text}{number}%HALF%");
            *number += 1;
        }
        Json::Array(items) => items.iter_mut().for_each(|item| cut(item, number)),
        Json::Object(map) => map.values_mut().for_each(|value| cut(value, number)),
        _ => {}
    }
}

/// The texts of a sample may be cut in the middle of a surrogate pair. The conversation is written with the halves,
/// and is restored from its frames.
#[test]
fn a_text_that_was_cut_in_a_pair_comes_back_as_it_was() {
    let mut halves = 0;
    for (name, format, sample) in BAKERY.into_iter().chain(ODD) {
        let mut lines = Vec::new();
        let mut number = 0;
        for value in serde_json::Deserializer::from_str(sample).into_iter::<Json>() {
            let mut value = value.unwrap();
            cut(&mut value, &mut number);
            lines.push(value.to_string().replace("%HALF%", "\\ud83d"));
        }
        let text = lines.join("\n");
        let conversation = conversations(text.as_bytes()).next().unwrap();
        let conversation = conversation.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(conversation.format(), format, "{name}");
        let written = conversation.to_string();
        assert_eq!(written.matches("\\ud83d").count(), number, "{name}");
        let whole = match lines.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(",")),
        };
        assert_eq!(written, whole, "{name}");
        let mut converter = Converter::new(ConvertOptions::default(), Bytes);
        converter
            .verify(&conversation)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        halves += number;
    }
    assert!(halves >= 50, "{halves}");
}

#[test]
fn a_half_is_shown_as_one_character() {
    let read =
        first(r#"{"messages":[{"role":"user","content":"\ud83d\udce6 and \ud83d"}]}"#).unwrap();
    let texts: Vec<_> = read
        .messages()
        .flat_map(accp_context::Recorded::texts)
        .collect();
    assert_eq!(texts, ["\u{1F4E6} and \u{FFFD}"]);
    let other = read.written(Format::Anthropic).unwrap();
    assert_eq!(other["messages"][0]["content"], "\u{1F4E6} and \u{FFFD}");
}

#[test]
fn a_member_that_stands_twice_is_refused_with_its_place() {
    let text = "{\"messages\":[{\"role\":\"user\",\n \"content\":\"a\",\n \"content\":\"b\"}]}";
    insta::assert_snapshot!(first(text).unwrap_err(), @"3:10: the member `content` stands twice at `/messages/0`; keep one of the two");
    let lines = "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\",\"content\":\"a\",\"role\":\"user\"}\n";
    insta::assert_snapshot!(first(lines).unwrap_err(), @"2:35: the member `role` stands twice at the top; keep one of the two");
    // A text may be JSON in which a member occurs twice.
    let arguments = r#"{"messages":[{"role":"user","content":"{\"a\":1,\"a\":2}"}]}"#;
    assert!(first(arguments).is_ok());
}

#[test]
fn the_line_of_a_fault_is_the_line_of_its_item() {
    let entry = |text: &str| {
        json!({ "type": "user", "sessionId": "s", "uuid": text, "message": { "role": "user", "content": text } })
            .to_string()
    };
    let mut lines: Vec<String> = (0..12).map(|n| entry(&n.to_string())).collect();
    lines.insert(0, String::new());
    lines.push("7".to_owned());
    lines.push(entry("end"));
    insta::assert_snapshot!(first(&lines.join("\n")).unwrap_err(), @"14: expected an entry, an object at `/12` (read as claude-code)");
    let said =
        "[{\"role\":\"user\",\"content\":\"a\"},\n{\"role\":\"user\",\"content\":\"b\"},\n\n8]";
    insta::assert_snapshot!(first(said).unwrap_err(), @"4: expected `messages[2]` to be an object with `role` and `content`, found a number (read as openai; `--format-in` forces another format)");
}
