//! The tool that shows what left a list: its definition in a request, and the results of its calls.

use accp_memory::{Form, Memory};
use serde_json::{Value as Json, json};

use crate::splice;

/// The name of the tool.
pub(crate) const NAME: &str = "memory_read";

/// The most turns of a model within one answer in which the gateway shows it lines.
pub(crate) const TURNS: usize = 3;

/// Follows the lines that the model gets in the last of these turns.
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
    let mut names = tools.flat_map(|tool| [&tool["name"], &tool["function"]["name"]]);
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

/// Returns the result of a call. `read` returns lines by the name of a tool's result, the first line and the last
/// line.
pub(crate) fn answer(
    arguments: &Json,
    is_last: bool,
    read: impl Fn(&str, usize, usize) -> Option<String>,
) -> Shown {
    let name = match &arguments["result"] {
        Json::String(name) => name.clone(),
        Json::Number(number) => number.to_string(),
        _ => String::new(),
    };
    let line = |key: &str| {
        let value = &arguments[key];
        let text = value.as_str().and_then(|text| text.trim().parse().ok());
        value.as_u64().or(text)
    };
    let from = line("from").unwrap_or(1);
    let to = line("to").unwrap_or(u64::MAX);
    let [from, to] = [from, to].map(|line| usize::try_from(line).unwrap_or(usize::MAX));
    let end = if is_last { LAST } else { "" };
    match read(&name, from, to) {
        Some(lines) => Shown {
            text: lines + end,
            is_error: false,
        },
        None => Shown {
            text: format!(
                "no lines {from} to {to} of {name:?} are left out here; the marks in the list say names and lines{end}"
            ),
            is_error: true,
        },
    }
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
        let text = |arguments: Json| answer(&arguments, false, read).text;
        assert_eq!(text(json!({"result": "7", "from": 1, "to": 4})), "1-4");
        assert_eq!(text(json!({"result": 7, "from": "2", "to": " 3"})), "2-3");
        assert_eq!(text(json!({"result": "7"})), "1-9");
        let none = answer(&json!({"result": "8", "from": 1, "to": 2}), true, read);
        assert!(none.is_error && none.text.starts_with("no lines 1 to 2 of \"8\""));
        assert!(none.text.ends_with(LAST));
        assert!(answer(&Json::Null, false, read).is_error);
    }

    #[test]
    fn what_stands_in_the_way_is_named() {
        let chat = |json: Json| obstacle(&json, Form::OpenAi).is_some();
        assert!(!chat(
            json!({"tools": [{"function": {"name": "slots"}}], "n": 1})
        ));
        assert!(chat(json!({"tools": [{"function": {"name": NAME}}]})));
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
