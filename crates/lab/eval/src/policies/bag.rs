//! A bag of identifiers. It is not a memory of a conversation, and every measure of memory has to show that.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use accp_memory::policy::{Agent, Kind, Message, Opening, Policy, Segment};

/// The number of newest messages that stay whole.
const KEEP: usize = 2;

/// System prompts, all identifiers of the messages so far as a sorted list, and the newest two
/// messages.
#[derive(Debug)]
pub(crate) struct Bag {
    tools: Option<Segment>,
    system: Vec<Message>,
    others: Vec<Message>,
    names: BTreeSet<String>,
}

impl Bag {
    pub(crate) fn new(opening: &Opening) -> Self {
        Self {
            tools: Segment::tools(opening),
            system: Vec::new(),
            others: Vec::new(),
            names: BTreeSet::new(),
        }
    }

    fn newest(&self) -> &[Message] {
        &self.others[self.others.len().saturating_sub(KEEP)..]
    }
}

impl Policy for Bag {
    fn push(&mut self, message: &Message) {
        if message.kind == Kind::System {
            self.system.push(message.clone());
            return;
        }
        let body = message.plain();
        self.names.extend(identifiers(&body).map(str::to_owned));
        self.others.push(message.clone());
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let system = self.system.iter();
        let system = system.filter(|message| message.is_for(&agent.name));
        let mut prompt: Vec<Segment> = self.tools.iter().cloned().collect();
        prompt.extend(system.map(Segment::of));
        if !self.names.is_empty() {
            let bag: Vec<&str> = self.names.iter().map(String::as_str).collect();
            let bag = Arc::<str>::from(bag.join(" ") + "\n");
            prompt.push(Segment::new(Kind::Facts, bag));
        }
        prompt.extend(self.newest().iter().map(Segment::of));
        prompt
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        let kept = self.system.iter().chain(self.newest());
        let mut kept = kept.filter(|message| message.index == index);
        Some(Cow::Borrowed(kept.next()?.original()))
    }
}

/// Returns the tokens of a text that are names: they have a digit, a path separator, or a capital
/// after a small letter.
fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    let inside = |character: char| character.is_alphanumeric() || "_-./\\@#$~+".contains(character);
    let tokens = text.split(move |character| !inside(character));
    let tokens = tokens.map(|token| {
        let token = token.trim_end_matches(['.', '-', '/', '\\', '+', '~', '@', '#', '$']);
        token.trim_start_matches(['-', '+', '#', '@'])
    });
    tokens.filter(|token| {
        let mut before = ' ';
        token.chars().any(|character| {
            let inner = character.is_uppercase() && before.is_lowercase();
            before = character;
            inner || character.is_numeric() || matches!(character, '/' | '\\')
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_words() {
        let text = "Look at src/io.py:12, then THOUGHT (v1.2.) in `QuerySet`; self-made \\tmp\\a and/or -x3.";
        let found: Vec<_> = identifiers(text).collect();
        assert_eq!(
            found,
            [
                "src/io.py",
                "12",
                "v1.2",
                "QuerySet",
                "\\tmp\\a",
                "and/or",
                "x3"
            ]
        );
    }
}
