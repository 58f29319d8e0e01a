//! Conversations, message by message, in the form of OpenAI's chat.

use std::fmt::Write as _;

use accp_memory::{Form, MessageList, Window};
use serde_json::{Value as Json, json};

use crate::requirements::session::Quarters;

/// What the user wants in most conversations.
pub(crate) const INTENT: &str =
    "Plan a garden shed and write the plan to shed/plan.md for our club.";

/// A conversation, or a list and the messages after it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk(Vec<String>);

impl Talk {
    /// Begins a conversation with its intent.
    pub(crate) fn begun() -> Self {
        Self::default().user(INTENT)
    }

    /// Continues from a list.
    pub(crate) fn after(list: &MessageList) -> Self {
        Self(crate::requirements::session::raws(list))
    }

    pub(crate) fn add(mut self, message: &Json) -> Self {
        self.0.push(message.to_string());
        self
    }

    pub(crate) fn system(self, text: &str) -> Self {
        self.add(&json!({ "role": "system", "content": text }))
    }

    pub(crate) fn user(self, text: &str) -> Self {
        self.add(&json!({ "role": "user", "content": text }))
    }

    /// Adds two messages of another agent. The role of the first one tells that the name is an agent's.
    pub(crate) fn agent(self, text: &str) -> Self {
        self.add(&json!({ "role": "assistant", "name": "manager", "content": "I lead." }))
            .add(&json!({ "role": "user", "name": "manager", "content": text }))
    }

    pub(crate) fn assistant(self, text: &str) -> Self {
        self.add(&json!({ "role": "assistant", "content": text }))
    }

    /// Adds a message of the assistant with calls: id, tool and arguments.
    pub(crate) fn calls(self, calls: &[(&str, &str, Json)]) -> Self {
        let call = |(id, tool, arguments): &(&str, &str, Json)| {
            let function = json!({ "name": tool, "arguments": arguments.to_string() });
            json!({ "id": id, "type": "function", "function": function })
        };
        let calls: Vec<_> = calls.iter().map(call).collect();
        self.add(&json!({ "role": "assistant", "content": null, "tool_calls": calls }))
    }

    pub(crate) fn result(self, id: &str, text: &str) -> Self {
        self.add(&json!({ "role": "tool", "tool_call_id": id, "content": text }))
    }

    /// Adds a call and its result.
    pub(crate) fn used(self, tool: &str, arguments: Json, result: &str) -> Self {
        let id = format!("c{}", self.0.len());
        self.calls(&[(&id, tool, arguments)]).result(&id, result)
    }

    /// Adds a call that writes a file, and its result.
    pub(crate) fn wrote(self, path: &str, content: &str, result: &str) -> Self {
        let arguments = json!({ "path": path, "content": content });
        self.used("create_file", arguments, result)
    }

    /// Adds messages without meaning until the list has exactly this many tokens.
    pub(crate) fn up_to(mut self, tokens: u64, window: &Window) -> Self {
        let most = window.size() / 25;
        loop {
            let left = tokens.checked_sub(self.tokens(window)).unwrap();
            if left == 0 {
                return self;
            }
            let empty = self.clone().assistant("").tokens(window) - self.tokens(window);
            // A message that is not the last one has to leave enough tokens for the next one.
            let wanted = if left > 2 * most { most } else { left };
            let mut words = String::new();
            while (words.len() as u64) < 4 * (wanted - empty) {
                words.push_str("rye ");
            }
            self = self.assistant(&words);
            assert!(self.tokens(window) <= tokens);
        }
    }

    pub(crate) fn tokens(&self, window: &Window) -> u64 {
        window.count(&self.list(), &Quarters)
    }

    pub(crate) fn list(&self) -> MessageList {
        MessageList::of(Form::OpenAi, self.0.iter().map(String::as_str)).unwrap()
    }
}

/// Returns numbered lines with this many tokens, or a few more.
pub(crate) fn rows(tokens: usize) -> String {
    let mut out = String::new();
    for row in 1.. {
        if out.len() >= 4 * tokens {
            break;
        }
        writeln!(out, "row {row}: {row} bags of rye").unwrap();
    }
    out
}
