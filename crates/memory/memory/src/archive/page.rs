//! Makes the text that shows a message in the archive.

use serde_json::Value as Json;
use time::OffsetDateTime;

use super::Archived;
use crate::message::Role;
use crate::parsed::{Parsed, ParsedCall, ParsedResult};
use crate::served::Served;

/// A line of JSON that is longer than this is split into several lines.
const LINE: usize = 120;

/// Returns a message in the form that the archive stores.
pub(super) fn archived(message: &Parsed, time: Option<OffsetDateTime>) -> Archived {
    let mut tools = Vec::new();
    let called = message.calls.iter().map(|call| Some(&call.tool));
    let answered = message.results.iter().map(|result| result.tool.as_ref());
    let served = message.served.iter().map(|one| one.tool.as_ref());
    for tool in called.chain(answered).chain(served).flatten() {
        if !tools.contains(tool) {
            tools.push(tool.clone());
        }
    }
    Archived {
        number: message.index,
        role: role(message.role).to_owned(),
        tools,
        time,
        text: text(message),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        Role::Other => "other",
    }
}

fn text(message: &Parsed) -> String {
    // The heading already names the tool of a single result, so the result needs no title.
    if let (true, [], [result], []) = (
        message.text.is_empty(),
        &message.calls[..],
        &message.results[..],
        &message.served[..],
    ) && !result.failed
    {
        return in_lines(&result.text);
    }
    let mut parts = Vec::new();
    if !message.text.is_empty() {
        parts.push(message.text.clone());
    }
    parts.extend(message.served.iter().map(served));
    parts.extend(message.calls.iter().map(call));
    parts.extend(message.results.iter().map(result));
    parts.join("\n\n")
}

fn call(call: &ParsedCall) -> String {
    format!(
        "Call {} ({}){}",
        call.tool,
        call.id,
        members(&call.arguments)
    )
}

fn served(one: &Served) -> String {
    let what = if one.is_result { "Result of" } else { "Call" };
    let tool = one.tool.as_deref().unwrap_or("an unknown tool");
    let content = match &one.content {
        Json::Array(parts) => parts.iter().map(part).collect(),
        other => members(other),
    };
    format!("{what} {tool} ({}){content}", one.id)
}

/// Returns a part of a result: its text, or its members.
fn part(part: &Json) -> String {
    let text = part["text"].as_str();
    text.map_or_else(|| members(part), |text| format!("\n{text}"))
}

/// Returns the members of an object, each on a line of its own, or another value on a line.
fn members(json: &Json) -> String {
    let mut out = String::new();
    match json {
        Json::Object(map) => {
            for (key, value) in map {
                let text = match value {
                    Json::String(text) => text.clone(),
                    value => in_lines(&value.to_string()),
                };
                let between = if text.contains('\n') { ":\n" } else { ": " };
                for part in ["\n", key, between, &text] {
                    out.push_str(part);
                }
            }
        }
        Json::Null => {}
        Json::String(text) => out.extend(["\n", text]),
        other => out.extend(["\n", &in_lines(&other.to_string())]),
    }
    out
}

fn result(result: &ParsedResult) -> String {
    let tool = result.tool.as_deref().unwrap_or("an unknown tool");
    let failed = if result.failed { ", failed" } else { "" };
    let text = in_lines(&result.text);
    format!("Result of {tool} ({}){failed}\n{text}", result.id)
}

/// Splits a long line of JSON into several, so that people can read it and line numbers can name its parts. Only
/// white space between tokens is added. Other texts stay as they are.
fn in_lines(text: &str) -> String {
    let is_long = text.len() > LINE && !text.contains('\n');
    let is_json = || {
        text.starts_with(['{', '['])
            && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
    };
    if !is_long || !is_json() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let (mut depth, mut inside, mut escaped) = (0usize, false, false);
    let mut before = ' ';
    for c in text.chars() {
        if inside {
            inside = escaped || c != '"';
            escaped = !escaped && c == '\\';
            out.push(c);
        } else if !c.is_ascii_whitespace() {
            match c {
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    if !matches!(before, '{' | '[') {
                        line(&mut out, depth);
                    }
                }
                _ if matches!(before, '{' | '[' | ',') => line(&mut out, depth),
                _ => {}
            }
            out.push(c);
            match c {
                '{' | '[' => depth += 1,
                ':' => out.push(' '),
                '"' => inside = true,
                _ => {}
            }
            before = c;
        }
    }
    out
}

/// Begins a line. Levels deeper than eight are not indented further, so that no text grows without bound.
fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.push_str(&"  ".repeat(depth.min(8)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, MessageList};

    fn archive(form: Form, raws: &[&str]) -> Vec<Archived> {
        let list = MessageList::of(form, raws.iter().copied()).unwrap();
        Archived::of(&list, None)
    }

    #[test]
    fn calls_and_results_are_written_for_readers() {
        let rows = (1..9).map(|n| format!("{{\"n\":{n}.50,\"s\":\"a,\\\"{{\"}}"));
        let long = format!("[{}]", rows.collect::<Vec<_>>().join(","));
        let call = r#"{"role":"assistant","content":"I look.","tool_calls":[{"id":"c","type":"function","function":{"name":"look","arguments":"{\"path\":\"/a\",\"text\":\"x\\ny\",\"n\":[1]}"}}]}"#;
        let answer = serde_json::json!({"role":"tool","tool_call_id":"c","content":long});
        let all = archive(Form::OpenAi, &[call, &answer.to_string()]);
        assert_eq!(
            all[0].text,
            "I look.\n\nCall look (c)\npath: /a\ntext:\nx\ny\nn: [1]"
        );
        assert_eq!(
            (&all[1].tools[..], &*all[1].role),
            (&["look".to_owned()][..], "tool")
        );
        assert!(
            all[1]
                .text
                .starts_with("[\n  {\n    \"n\": 1.50,\n    \"s\": \"a,\\\"{\"\n  },\n")
        );
        let squeezed: String = all[1].text.split_whitespace().collect();
        assert_eq!(squeezed, long);
    }

    #[test]
    fn results_in_a_turn_have_titles() {
        let all = archive(
            Form::Anthropic,
            &[
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"look","input":{}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"u","content":"2"}]}"#,
            ],
        );
        assert_eq!(all[0].text, "Call look (t)");
        assert_eq!(
            all[1].text,
            "Result of look (t), failed\nno\n\nResult of an unknown tool (u)\n2"
        );
    }
}
