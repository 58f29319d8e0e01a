//! The tool that shows what left a list: its definition in a request, and the results of its calls.

use accp_frame::TokenCounter as _;
use accp_memory::{Form, Memory};
use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use crate::splice;

/// The name of the tool.
pub(crate) const NAME: &str = "memory_read";

/// The most turns of a model within one answer in which the gateway shows it lines.
pub(crate) const TURNS: usize = 3;

/// One turn of a model gets at most `MOST` tokens of lines, and at most the window divided by `SHARE`.
pub(crate) const MOST: u64 = 4_000;
pub(crate) const SHARE: u64 = 4;

/// Where a model finds what it can ask for.
const WHERE: &str = "the marks in the list say names and lines";

/// The text after the lines that the model gets in the last turn that [`TURNS`] allows.
const LAST: &str = "\n[these were the last lines of this turn; go on with what is there]";

/// A call of the tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) arguments: Json,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// Returns the text of a request with the definition of the tool after those of the client's tools.
pub(crate) fn with_definition(text: &str, form: Form) -> Option<String> {
    splice::with_items(text, "tools", &[Memory::tool(form).to_string()])
}

/// Returns why the gateway cannot answer calls of the tool in the answer to a request; `None` if it can.
pub(crate) fn obstacle(json: &Json, form: Form) -> Option<&'static str> {
    let tools = json["tools"].as_array().into_iter().flatten();
    let mut names = tools.flat_map(|tool| {
        let inside = ["function", "custom"].map(|kind| &tool[kind]["name"]);
        [&tool["name"], inside[0], inside[1]]
    });
    if names.any(|name| name == NAME) {
        return Some("the client has a tool of its own with the name memory_read");
    }
    if form == Form::OpenAi && json["n"].as_u64().is_some_and(|n| n > 1) {
        return Some("the request asks for several answers");
    }
    if form == Form::Responses {
        if ["previous_response_id", "conversation"]
            .iter()
            .any(|key| !json[*key].is_null())
        {
            return Some("the provider holds a part of the list");
        }
        if json["store"] != false {
            return Some("the provider stores the answer, and may be asked for it");
        }
    }
    None
}

/// Returns whether a client reads the whole text of an answer by a schema. Then words before a call must not be part
/// of this text.
pub(crate) fn is_structured(json: &Json) -> bool {
    let formats = [
        &json["response_format"],
        &json["text"]["format"],
        &json["output_format"],
        &json["output_config"]["format"],
    ];
    let mut kinds = formats.iter().filter_map(|format| format["type"].as_str());
    kinds.any(|kind| kind != "text")
}

/// Returns the result of a call, with as many of the lines as `most` tokens have room for. `read` returns lines by the
/// name of a tool's result, the first line and the last line.
pub(crate) fn answer(
    arguments: &Json,
    is_last: bool,
    most: u64,
    read: impl Fn(&str, usize, usize) -> Option<String>,
) -> Shown {
    let end = if is_last { LAST } else { "" };
    let found = asked(arguments).and_then(|asked| found(asked, most, read));
    let is_error = found.is_err();
    let (Ok(text) | Err(text)) = found;
    Shown {
        text: text + end,
        is_error,
    }
}

/// What a call asks for: the name of a result or of a message, the first line and the last one.
type Asked = (String, usize, usize);

/// Reads the arguments of a call. A call without numbers asks for all lines.
///
/// # Errors
/// Which argument is missing or wrong.
fn asked(arguments: &Json) -> Result<Asked, String> {
    let name = match &arguments["result"] {
        Json::String(name) if !name.trim().is_empty() => name.clone(),
        Json::Number(number) => number.to_string(),
        _ => {
            return Err(format!(
                "{NAME} needs the argument `result`: the name that a mark in the list says; `from` and `to` are the numbers of the first and the last line"
            ));
        }
    };
    let line = |key: &str, other: usize| -> Result<usize, String> {
        let value = &arguments[key];
        if value.is_null() {
            return Ok(other);
        }
        let text = value.as_str().and_then(|text| text.trim().parse().ok());
        let line: Option<u64> = value.as_u64().or(text);
        match line {
            Some(line) if line > 0 => Ok(usize::try_from(line).unwrap_or(usize::MAX)),
            _ => Err(format!(
                "`{key}` is the number of a line, counted from 1; found {value}"
            )),
        }
    };
    let (from, to) = (line("from", 1)?, line("to", usize::MAX)?);
    if from > to {
        return Err(format!(
            "`from` is the first line and `to` is the last one, but {from} comes after {to}"
        ));
    }
    Ok((name, from, to))
}

/// Returns the lines that a call asks for, up to `most` tokens, and how to get the next ones.
///
/// # Errors
/// Why there are no such lines.
fn found(
    (name, from, to): Asked,
    most: u64,
    read: impl Fn(&str, usize, usize) -> Option<String>,
) -> Result<String, String> {
    let Some(lines) = read(&name, from, to) else {
        let all = read(&name, 1, usize::MAX);
        return Err(match all {
            Some(all) => {
                let last = all.split('\n').count();
                format!("{name:?} has lines 1 to {last}, and none from {from} on")
            }
            None if to == usize::MAX => {
                format!("nothing named {name:?} is left out here; {WHERE}")
            }
            None => format!("no lines {from} to {to} of {name:?} are left out here; {WHERE}"),
        });
    };
    let all: Vec<&str> = lines.split('\n').collect();
    let counter = Bpe::o200k_base();
    let mut room = most;
    let fitting = all.iter().take_while(|line| {
        let tokens = counter.count(line) as u64 + 1;
        let fits = tokens <= room;
        room = room.saturating_sub(tokens);
        fits
    });
    // A line is never cut, so the first line is shown even if it has too many tokens.
    let shown = fitting.count().max(1);
    if shown == all.len() {
        return Ok(lines);
    }
    let last = from + all.len() - 1;
    let next = from + shown;
    let named = Json::from(&*name);
    Ok(format!(
        "{}\n[lines {from}-{} of {name}, at most {most} tokens at once; {NAME}({named}, {next}, {last}) shows the next ones]",
        all[..shown].join("\n"),
        next - 1,
    ))
}

/// Returns the messages that give a model the results of its calls.
pub(crate) fn results(form: Form, shown: &[(Call, Shown)]) -> Vec<String> {
    let blocks = shown.iter().map(|(call, shown)| block(form, call, shown));
    let blocks: Vec<Json> = blocks.collect();
    if form == Form::Anthropic {
        return vec![json!({ "role": "user", "content": blocks }).to_string()];
    }
    blocks.iter().map(Json::to_string).collect()
}

/// Returns the result of a call as a block of a message, or as a message in a form without blocks.
pub(crate) fn block(form: Form, call: &Call, shown: &Shown) -> Json {
    let (id, text) = (&call.id, &shown.text);
    match form {
        Form::Anthropic => {
            let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            if shown.is_error {
                block["is_error"] = json!(true);
            }
            block
        }
        Form::OpenAi => json!({ "role": "tool", "tool_call_id": id, "content": text }),
        Form::Responses => {
            json!({ "type": "function_call_output", "call_id": id, "output": text })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_lenience() {
        let read = |name: &str, from: usize, to: usize| {
            (name == "7" && from <= 2).then(|| format!("{from}-{}", to.min(9)))
        };
        let text = |arguments: Json| answer(&arguments, false, MOST, read).text;
        assert_eq!(text(json!({"result": "7", "from": 1, "to": 4})), "1-4");
        assert_eq!(text(json!({"result": 7, "from": "2", "to": " 3"})), "2-3");
        assert_eq!(text(json!({"result": "7"})), "1-9");
        let none = answer(
            &json!({"result": "8", "from": 1, "to": 2}),
            true,
            MOST,
            read,
        );
        assert!(none.is_error && none.text.starts_with("no lines 1 to 2 of \"8\""));
        assert!(none.text.ends_with(LAST));
        assert!(answer(&Json::Null, false, MOST, read).is_error);
    }

    #[test]
    fn wrong_arguments_are_named() {
        let read = |name: &str, from: usize, to: usize| {
            let lines: Vec<String> = (1..=60).map(|n| format!("line {n}")).collect();
            let lines = lines.get(from.checked_sub(1)?..to.min(60))?;
            (name == "7" && !lines.is_empty()).then(|| lines.join("\n"))
        };
        for (arguments, told) in [
            (json!({}), "needs the argument `result`"),
            (json!("x"), "needs the argument `result`"),
            (json!({"result": ""}), "needs the argument `result`"),
            (
                json!({"result": "7", "from": 50, "to": 5}),
                "but 50 comes after 5",
            ),
            (json!({"result": "7", "from": 0}), "`from` is the number"),
            (json!({"result": "7", "to": "x"}), "found \"x\""),
            (
                json!({"result": "7", "from": 61}),
                "\"7\" has lines 1 to 60, and none from 61 on",
            ),
            (json!({"result": "8"}), "nothing named \"8\""),
        ] {
            let shown = answer(&arguments, false, MOST, read);
            assert!(
                shown.is_error && shown.text.contains(told),
                "{arguments}: {}",
                shown.text
            );
        }
    }

    #[test]
    fn an_answer_that_is_cut_names_the_next_lines() {
        let lines: Vec<String> = (1..=60).map(|n| format!("line {n}")).collect();
        let read = |_: &str, from: usize, to: usize| {
            let lines = lines.get(from.checked_sub(1)?..to.min(60))?;
            (!lines.is_empty()).then(|| lines.join("\n"))
        };
        let (mut from, mut seen) = (3_u64, Vec::new());
        loop {
            let call = json!({"result": "message 7", "from": from, "to": 50});
            let text = answer(&call, false, 100, read).text;
            let Some((shown, mark)) = text.split_once("\n[lines ") else {
                seen.extend(text.lines().map(str::to_owned));
                break;
            };
            seen.extend(shown.lines().map(str::to_owned));
            let (_, next) = mark.split_once("memory_read(\"message 7\", ").unwrap();
            let (next, end) = next.split_once(", ").unwrap();
            assert_eq!(end, "50) shows the next ones]");
            from = next.parse().unwrap();
        }
        assert_eq!(seen, lines[2..50]);
        // A line that is longer than an answer is shown whole.
        let long = |_: &str, _: usize, _: usize| Some("word ".repeat(900));
        let text = answer(&json!({"result": "7"}), false, 100, long).text;
        assert_eq!(text, "word ".repeat(900));
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let chat = |json: Json| obstacle(&json, Form::OpenAi).is_some();
        assert!(!chat(
            json!({"tools": [{"function": {"name": "slots"}}], "n": 1})
        ));
        assert!(chat(json!({"tools": [{"function": {"name": NAME}}]})));
        assert!(chat(
            json!({"tools": [{"type": "custom", "custom": {"name": NAME}}]})
        ));
        assert!(chat(json!({"n": 2})));
        let responses = |json: Json| obstacle(&json, Form::Responses).is_some();
        assert!(!responses(json!({"store": false})));
        assert!(responses(json!({})));
        assert!(responses(
            json!({"store": false, "previous_response_id": "r"})
        ));
        assert!(is_structured(
            &json!({"response_format": {"type": "json_schema"}})
        ));
        assert!(is_structured(
            &json!({"output_config": {"format": {"type": "json_schema"}}})
        ));
        assert!(!is_structured(
            &json!({"text": {"format": {"type": "text"}}})
        ));
    }
}
