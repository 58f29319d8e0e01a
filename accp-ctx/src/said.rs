//! What messages say, as rules read it: words, calls and results, whatever the form of the list is.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::form::Form;
use crate::message::{Message, Role};

/// A message as rules read it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    /// The index in the conversation, from 0.
    pub(crate) index: usize,
    pub(crate) role: Role,
    /// The words of the speaker, without calls and results.
    pub(crate) text: String,
    pub(crate) calls: Vec<SaidCall>,
    pub(crate) results: Vec<SaidResult>,
    /// Whether the caller has marked the message as critical.
    pub(crate) marked: bool,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SaidCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// The arguments: an object, or a text that is not JSON.
    pub(crate) arguments: Json,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SaidResult {
    pub(crate) id: String,
    /// The tool that gave the result, if its call was said before.
    pub(crate) tool: Option<String>,
    pub(crate) text: String,
    /// Whether the list says that the call failed.
    pub(crate) failed: bool,
}

/// Reads the messages of a conversation, from its first on.
pub(crate) fn said<'m>(form: Form, messages: impl IntoIterator<Item = &'m Message>) -> Vec<Said> {
    let mut tools = BTreeMap::new();
    let messages = messages.into_iter().enumerate();
    messages
        .map(|(index, message)| {
            let calls: Vec<_> = message
                .calls
                .iter()
                .map(|call| SaidCall {
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
            let results = message.answers.iter().map(|answer| SaidResult {
                id: answer.id.clone(),
                tool: tools.get(&answer.id).cloned(),
                text: message.text_of(answer),
                failed: answer.failed,
            });
            Said {
                index,
                role: message.role,
                text: message.words(form),
                results: results.collect(),
                calls,
                marked: false,
            }
        })
        .collect()
}
