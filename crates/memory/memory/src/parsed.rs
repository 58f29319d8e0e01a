//! Messages as rules read them: words, calls and results, whatever the form of the list is.

use std::collections::BTreeMap;

use accp_context::Recorded;

use crate::policy;
use serde_json::{Value as Json, json};

use crate::form::Form;
use crate::media::Way;
use crate::message::{ListMessage, Role};
use crate::served::{Served, served};

/// A message as rules read it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parsed {
    /// The index in the conversation, from 0.
    pub(crate) index: usize,
    pub(crate) role: Role,
    /// The name of the speaker, where the message has one.
    pub(crate) name: Option<String>,
    /// The words of the speaker, without calls and results.
    pub(crate) text: String,
    pub(crate) calls: Vec<ParsedCall>,
    pub(crate) results: Vec<ParsedResult>,
    /// The calls and results of tools that the provider ran.
    pub(crate) served: Vec<Served>,
    /// Whether the caller has marked the message as critical.
    pub(crate) marked: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The arguments: an object, or a text that is not a JSON object.
    pub(crate) arguments: Json,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ParsedResult {
    pub(crate) id: String,
    /// The tool that gave the result; `None` if no earlier message has the call.
    pub(crate) tool: Option<String>,
    pub(crate) text: String,
    /// Whether the list says that the call failed.
    pub(crate) failed: bool,
}

impl Parsed {
    /// Returns the message as policies get it.
    pub(crate) fn for_policy(&self) -> Option<policy::Message> {
        let results = self.results.iter();
        let texts = results.map(|result| &*result.text).chain([&*self.text]);
        let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
        let role = match self.role {
            _ if !self.results.is_empty() => "tool",
            Role::System => "system",
            Role::User => "user",
            Role::Tool | Role::Assistant | Role::Other => "assistant",
        };
        let mut chat = json!({ "role": role, "content": texts.join("\n") });
        if let Some(tool) = self.results.iter().find_map(|result| result.tool.as_ref()) {
            chat["name"] = tool.as_str().into();
        } else if let Some(name) = self.name.as_ref().filter(|_| role == "user") {
            // Several persons may speak in the place of the user.
            chat["name"] = name.as_str().into();
        }
        let calls = self.calls.iter().map(|call| {
            let function = json!({ "name": call.tool, "arguments": call.arguments.to_string() });
            json!({ "id": call.id, "type": "function", "function": function })
        });
        let calls: Vec<_> = calls.collect();
        if !calls.is_empty() {
            chat["tool_calls"] = calls.into();
        }
        policy::Message::new(self.index, Recorded::of(&chat))
    }
}

/// Returns whether a person decides here that a tool must not run, or says why it may.
fn decides(message: &ListMessage) -> bool {
    let json = message.json();
    let reason = json["reason"].as_str().unwrap_or_default();
    let says_more = json["approve"] == false || !reason.trim().is_empty();
    message.is_kind("mcp_approval_response") && says_more
}

/// Reads the messages of a conversation, beginning with the first. `way` says how a reader gets their pictures, documents
/// and sounds.
pub(crate) fn parse<'m>(
    form: Form,
    way: Way<'_>,
    messages: impl IntoIterator<Item = &'m ListMessage>,
) -> Vec<Parsed> {
    let mut tools = BTreeMap::new();
    let messages = messages.into_iter().enumerate();
    messages
        .map(|(index, message)| {
            let calls: Vec<_> = message
                .calls
                .iter()
                .map(|call| ParsedCall {
                    id: call.id.clone(),
                    tool: call.tool.clone(),
                    arguments: message.arguments(call).unwrap_or_default(),
                })
                .collect();
            // If an id repeats, a result answers the latest call.
            tools.extend(
                calls
                    .iter()
                    .map(|call| (call.id.clone(), call.tool.clone())),
            );
            // The line that stands for a picture or another medium names the message that has the
            // medium.
            let numbered = |text: String| {
                let media = message.media.iter();
                media.fold(text, |text, found| {
                    text.replacen(&found.line(), &found.line_of(way, index), 1)
                })
            };
            let served = served(form, message, &mut tools, &numbered);
            let results = message.answers.iter().map(|answer| ParsedResult {
                id: answer.id.clone(),
                tool: tools.get(&answer.id).cloned(),
                text: numbered(message.text_of(answer)),
                failed: answer.failed,
            });
            Parsed {
                index,
                role: if decides(message) {
                    Role::User
                } else {
                    message.role
                },
                name: message.name().map(str::to_owned),
                text: numbered(message.words(form)),
                results: results.collect(),
                calls,
                served,
                marked: false,
            }
        })
        .collect()
}

/// Messages for tests.
#[cfg(test)]
impl Parsed {
    /// Returns a message with these words.
    pub(crate) fn said(index: usize, role: Role, text: impl Into<String>) -> Self {
        Self {
            index,
            role,
            name: None,
            text: text.into(),
            calls: Vec::new(),
            results: Vec::new(),
            served: Vec::new(),
            marked: false,
        }
    }

    /// Adds a call.
    pub(crate) fn calling(mut self, id: &str, tool: &str, arguments: Json) -> Self {
        self.calls.push(ParsedCall {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments,
        });
        self
    }

    /// Adds the result of a call.
    pub(crate) fn answering(mut self, id: &str, tool: &str, text: &str) -> Self {
        self.results.push(ParsedResult {
            id: id.to_owned(),
            tool: Some(tool.to_owned()),
            text: text.to_owned(),
            failed: false,
        });
        self
    }
}
