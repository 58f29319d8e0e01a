//! Calls and results of tools that the provider ran itself. In Anthropic's form, both are blocks of the assistant's
//! messages.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::check::server;
use crate::form::Form;
use crate::message::ListMessage;

/// Members whose names begin so hold what only the provider can read.
const SEALED: &str = "encrypted_";

/// A call of a tool that the provider ran, or its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Served {
    pub(crate) id: String,
    /// The tool; `None` for a result whose call does not stand before it.
    pub(crate) tool: Option<String>,
    pub(crate) is_result: bool,
    /// The arguments of the call or the content of the result, without what only the provider can read.
    pub(crate) content: Json,
}

/// Returns the calls and results of a message, in their order. `tools` has the tools of earlier calls by their ids, and
/// gets those of this message. `numbered` changes each text.
pub(crate) fn served(
    form: Form,
    message: &ListMessage,
    tools: &mut BTreeMap<String, String>,
    numbered: &dyn Fn(String) -> String,
) -> Vec<Served> {
    let mut out = Vec::new();
    if form != Form::Anthropic {
        return out;
    }
    for block in message.shown()["content"].as_array().into_iter().flatten() {
        let (id, is_result) = match (server::call(block), server::result(block)) {
            (Some(id), _) => (id, false),
            (None, Some(id)) => (id, true),
            (None, None) => continue,
        };
        if !is_result && let Some(tool) = block["name"].as_str() {
            tools.insert(id.to_owned(), tool.to_owned());
        }
        let content = &block[if is_result { "content" } else { "input" }];
        out.push(Served {
            id: id.to_owned(),
            tool: tools.get(id).cloned(),
            is_result,
            content: readable(content, numbered),
        });
    }
    out
}

/// Returns a value without what only the provider can read.
fn readable(json: &Json, numbered: &dyn Fn(String) -> String) -> Json {
    match json {
        Json::String(text) => numbered(text.clone()).into(),
        Json::Array(items) => items.iter().map(|item| readable(item, numbered)).collect(),
        Json::Object(map) => {
            let members = map.iter().filter(|(key, _)| !key.starts_with(SEALED));
            members
                .map(|(key, value)| (key.clone(), readable(value, numbered)))
                .collect()
        }
        other => other.clone(),
    }
}
