//! Checks the tools of a request: their names and forms, how many there are, and the tool that the model has to call.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::flaw::Flaws;
use super::names::{self, array};
use crate::edit::Edit;
use crate::finding::Code;
use crate::form::Form;
use crate::list::MessageList;
use crate::message::ListMessage;
use crate::raw::Pointer;

/// The schema of a tool that takes nothing.
const NOTHING: &str = r#"{"type":"object","properties":{}}"#;

pub(super) fn check(list: &MessageList, flaws: &mut Flaws) {
    flaws.at(None);
    named(list, flaws);
    let most = list.form().most().tools;
    let count = array(list.tools()).count();
    if count > most {
        let text = format!(
            "the request has {count} tools, and the provider takes {most}; leave out those that this conversation does not need"
        );
        flaws.add(Code::ToolsOver, text);
    }
    for (index, tool) in array(list.tools()) {
        shape(list, index, tool, flaws);
    }
    choice(list, flaws);
}

/// Checks the names of the tools.
fn named(list: &MessageList, flaws: &mut Flaws) {
    let mut seen = BTreeSet::new();
    for (index, tool) in array(list.tools()) {
        let inner = inner(tool).map(|(_, inner)| inner);
        let Some(name) = inner.unwrap_or(tool)["name"].as_str() else {
            continue;
        };
        if !names::fits_name(list.form(), name) {
            let text = format!("tool {index} has the name `{name}`; {}", names::NAME_CURE);
            flaws.add(Code::NameForm, text);
        }
        if !seen.insert(name) {
            let text = format!("two tools have the name `{name}`; give each a name of its own");
            flaws.add(Code::NameRepeated, text);
        }
    }
}

/// Returns the inner object of a tool in OpenAI's chat, which describes the tool, and the key of this object.
fn inner(tool: &Json) -> Option<(&'static str, &Json)> {
    let mut inner = ["function", "custom"]
        .into_iter()
        .filter_map(|key| Some((key, tool.get(key)?)));
    inner.next()
}

/// Returns whether the program runs the tool, and not the provider. The provider's tools have other types.
fn is_own(tool: &Json) -> bool {
    match &tool["type"] {
        Json::Null => tool.is_object(),
        kind => kind == "function" || kind == "custom",
    }
}

/// Returns whether a tool of the program has the form of another provider.
fn is_foreign(form: Form, tool: &Json) -> bool {
    let is_chat = inner(tool).is_some_and(|(_, inner)| inner.is_object());
    let has_schema = !tool["input_schema"].is_null();
    match form {
        Form::OpenAi => !is_chat && (tool["name"].is_string() || has_schema),
        Form::Responses => {
            let is_named = tool["name"].is_string();
            !is_named && is_chat || has_schema && tool["parameters"].is_null()
        }
        Form::Anthropic => tool["type"] == "function" || !tool["input_schema"].is_object(),
    }
}

fn shape(list: &MessageList, index: usize, tool: &Json, flaws: &mut Flaws) {
    let form = list.form();
    if !is_own(tool) || !is_foreign(form, tool) {
        return;
    }
    let shape = match form {
        Form::OpenAi => "`{\"type\": \"function\", \"function\": {\"name\", \"parameters\"}}`",
        Form::Responses => "`{\"type\": \"function\", \"name\", \"parameters\"}`",
        Form::Anthropic => "`{\"name\", \"input_schema\"}`",
    };
    let text = format!("tool {index} is not of this form; write it as {shape}");
    let at = Pointer::of(["tools".into(), index.into()]);
    let new = written(list, &at, tool).map(|new| Edit::Set(at, new));
    flaws.cured(Code::ToolForm, text, new);
}

/// Returns a function in the form of the list, with its values as they were written. `None` if it has members that
/// the form of the list may not have.
fn written(list: &MessageList, at: &Pointer, tool: &Json) -> Option<String> {
    let (at, function) = match inner(tool) {
        Some(("function", function)) => {
            only(tool, &["type", "function"])?;
            (at.inside("function"), function)
        }
        Some(_) => return None,
        None => (at.clone(), tool),
    };
    let schema = ["parameters", "input_schema"];
    let schema = schema.into_iter().find(|key| !function[*key].is_null());
    let known = ["type", "name", "description", "strict"];
    only(function, &[&known[..], schema.as_slice()].concat())?;
    // A custom tool of OpenAI takes a text and has no schema. Neither such a tool nor a strict
    // function is rewritten without a schema.
    if schema.is_none() && (function["strict"] == true || tool["type"] == "custom") {
        return None;
    }
    // If nothing shows that the tool has another form, its schema may just be missing. Then the
    // tool is not rewritten.
    if schema.is_none() && tool["type"].is_null() && inner(tool).is_none() {
        return None;
    }
    let raw = |key: &'static str| {
        let place = at.inside(key);
        list.raw_beside(&place)
    };
    let mut members = vec![format!("\"name\":{}", raw("name")?)];
    if !function["description"].is_null() {
        members.push(format!("\"description\":{}", raw("description")?));
    }
    let key = match list.form() {
        Form::Anthropic => "input_schema",
        Form::OpenAi | Form::Responses => "parameters",
    };
    let schema = match schema {
        Some(key) => raw(key)?,
        None => NOTHING,
    };
    members.push(format!("\"{key}\":{schema}"));
    match (&function["strict"], list.form()) {
        // Only Responses makes a function strict if `strict` is left out.
        (Json::Null, Form::Responses) => members.push("\"strict\":false".to_owned()),
        (Json::Null, _) => {}
        (strict, _) => members.push(format!("\"strict\":{strict}")),
    }
    let members = members.join(",");
    Some(match list.form() {
        Form::OpenAi => format!(r#"{{"type":"function","function":{{{members}}}}}"#),
        Form::Responses => format!(r#"{{"type":"function",{members}}}"#),
        Form::Anthropic => format!("{{{members}}}"),
    })
}

/// Returns `None` if an object has members that are not `known`.
fn only(object: &Json, known: &[&str]) -> Option<()> {
    let mut keys = object.as_object()?.keys();
    keys.all(|key| known.contains(&&**key)).then_some(())
}

/// Checks the tool that the model has to call.
fn choice(list: &MessageList, flaws: &mut Flaws) {
    let request = list.request();
    let choice = &request["tool_choice"];
    let kind = choice["type"].as_str().unwrap_or_default();
    let name = match (list.form(), kind) {
        (Form::OpenAi, "function" | "custom") => choice[kind]["name"].as_str(),
        (Form::Responses, "function" | "custom") | (Form::Anthropic, "tool") => {
            choice["name"].as_str()
        }
        _ => None,
    };
    if let Some(name) = name
        && let Some(names) = all_names(list)
        && !names.contains(name)
    {
        let text = format!(
            "`tool_choice` names the tool `{name}`, which `tools` does not have; define the tool, or name another one"
        );
        flaws.add(Code::ToolChoice, text);
    }
    let is_forced = list.form() == Form::Anthropic && matches!(kind, "any" | "tool");
    if is_forced && request["thinking"]["type"] == "enabled" {
        let text = format!(
            "`tool_choice` is `{kind}` while thinking is on, and there the provider takes `auto` and `none`; write one of \
             these, or turn thinking off"
        );
        flaws.add(Code::ToolChoice, text);
    }
}

/// Returns the names of all tools. `None` if the model may know other tools than those in the request: of a server,
/// of the provider, or from an earlier answer.
fn all_names(list: &MessageList) -> Option<BTreeSet<&str>> {
    let request = list.request();
    let elsewhere = ["mcp_servers", "prompt"]
        .iter()
        .any(|key| !request[*key].is_null());
    if elsewhere || list.goes_on() || list.messages().iter().any(brings_tools) {
        return None;
    }
    let tools = match list.tools() {
        Json::Null => &[][..],
        tools => tools.as_array()?,
    };
    let name = |tool| {
        let name = match list.form() {
            Form::OpenAi => &inner(tool)?.1["name"],
            Form::Anthropic | Form::Responses => &tool["name"],
        };
        let name = name.as_str()?;
        (is_own(tool) && !is_foreign(list.form(), tool)).then_some(name)
    };
    tools.iter().map(name).collect()
}

/// Returns whether a message makes tools known, as items of `additional_tools` do.
fn brings_tools(message: &ListMessage) -> bool {
    let brings = |json: &Json| ["tool", "tools"].iter().any(|key| json.get(key).is_some());
    brings(message.json()) || message.blocks().iter().any(brings)
}
