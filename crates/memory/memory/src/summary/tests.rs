use std::collections::BTreeSet;

use accp_tokens::Bpe;
use serde_json::{Value as Json, json};

use super::*;
use crate::message::Role;
use crate::parsed::{ParsedCall, ParsedResult};
use crate::summarizer::SECTIONS;

mod properties;
mod requests;
mod sections;

/// Makes a conversation, message by message.
#[derive(Default)]
struct Talk(Vec<Parsed>);

impl Talk {
    fn say(mut self, role: Role, text: &str) -> Self {
        self.0.push(Parsed {
            index: self.0.len(),
            role,
            name: None,
            text: text.to_owned(),
            calls: Vec::new(),
            results: Vec::new(),
            served: Vec::new(),
            marked: false,
        });
        self
    }

    fn user(self, text: &str) -> Self {
        self.say(Role::User, text)
    }

    fn assistant(self, text: &str) -> Self {
        self.say(Role::Assistant, text)
    }

    /// Adds a call, and its result if there is one.
    fn call(self, tool: &str, arguments: Json, result: Option<&str>) -> Self {
        let id = format!("c{}", self.0.len());
        let mut talk = self.assistant("");
        if let Some(last) = talk.0.last_mut() {
            last.calls.push(ParsedCall {
                id: id.clone(),
                tool: tool.to_owned(),
                arguments,
            });
        }
        let Some(result) = result else { return talk };
        let mut talk = talk.say(Role::Tool, "");
        if let Some(last) = talk.0.last_mut() {
            last.results.push(ParsedResult {
                id,
                tool: Some(tool.to_owned()),
                text: result.to_owned(),
                failed: false,
            });
        }
        talk
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
