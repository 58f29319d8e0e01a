use std::collections::BTreeSet;

use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::*;
use crate::message::Role;
use crate::summarizer::SECTIONS;

mod properties;
mod requests;
mod sections;

/// Makes a conversation, message by message.
#[derive(Default)]
struct Talk(Vec<Parsed>);

impl Talk {
    fn say(mut self, role: Role, text: &str) -> Self {
        self.0.push(Parsed::said(self.0.len(), role, text));
        self
    }

    fn user(self, text: &str) -> Self {
        self.say(Role::User, text)
    }

    fn assistant(self, text: &str) -> Self {
        self.say(Role::Assistant, text)
    }

    /// Adds a call, and its result if there is one.
    fn call(mut self, tool: &str, arguments: Json, result: Option<&str>) -> Self {
        let index = self.0.len();
        let id = format!("c{index}");
        let call = Parsed::said(index, Role::Assistant, "").calling(&id, tool, arguments);
        self.0.push(call);
        if let Some(result) = result {
            let answer = Parsed::said(index + 1, Role::Tool, "").answering(&id, tool, result);
            self.0.push(answer);
        }
        self
    }

    fn mark(mut self) -> Self {
        if let Some(last) = self.0.last_mut() {
            last.marked = true;
        }
        self
    }

    /// Returns the content when everything has left.
    fn content(&self) -> Content {
        Content::of(&self.0, &BTreeSet::new(), &Writes::default())
    }
}

fn head() -> Head {
    Head {
        session: "s1".to_owned(),
        generated: "2026-01-29 14:25:30 +02:00".to_owned(),
        saved: 1_234_567,
        archive: "cache/conversations/s1_full.md".to_owned(),
        commands: " --session s1".to_owned(),
        offloaded: None,
        checkpoints: Some("cache/checkpoints/".to_owned()),
    }
}

fn write(content: &Content, window: usize) -> Result<String, NoRoom> {
    let room = Room {
        total: window / 5,
        usual: window / 10,
        intent: window / 8,
        words: window / 2,
        good: window / 2,
        most: window * 3 / 4,
    };
    content.write(&head(), room, &Bpe::o200k_base())
}

/// Returns a section of a summary, without its heading.
fn section<'s>(summary: &'s str, name: &str) -> &'s str {
    let (_, rest) = summary.split_once(&format!("### {name}\n")).unwrap();
    rest.split("\n### ").next().unwrap().trim()
}
