//! Prompts as lists of messages inside the window of a model.

use accp_memory::policy::{Kind, Message, Segment};

use crate::net::collapse;
use crate::share::Recall;
use crate::transcript::Transcript;

/// Returns whether a provider refuses the prompt of an agent as a list of messages; `None` if the prompt is not a list
/// of messages. The prompt comes without the schemas of tools.
pub type Refuses = fn(agent: &str, prompt: &[&Segment]) -> Option<bool>;

/// The window that prompts should stay inside.
#[derive(Debug, Clone, Copy)]
pub struct Inside {
    /// The tokens that a prompt may have.
    pub window: u64,
    /// The rules of a provider.
    pub refuses: Refuses,
}

/// The prompts of a policy as lists inside a window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lists {
    /// Prompts; `found` counts those with more tokens than the window.
    pub over: Recall,
    /// Prompts that are lists of messages; `found` counts those that a provider refuses.
    pub refused: Recall,
    /// Prompts after the first message of a user; `found` counts those that hold the text of that message. White
    /// space may differ, and the text may be a quotation, with `> ` before each line.
    pub intent: Recall,
}

/// The first message of a user in a conversation.
#[derive(Debug, Default)]
pub(crate) struct Intent {
    index: usize,
    /// The two forms of each text of the message: as it is, and as a quotation, both collapsed.
    texts: Vec<[String; 2]>,
}

impl Lists {
    pub(crate) fn add(&mut self, other: &Self) {
        self.over.add(other.over);
        self.refused.add(other.refused);
        self.intent.add(other.intent);
    }

    /// Counts the prompt of a turn.
    pub(crate) fn count(
        &mut self,
        inside: Inside,
        (agent, prompt, tokens): (&str, &[Segment], u64),
        stands: Option<bool>,
    ) {
        self.over.count(tokens > inside.window);
        let list = prompt.iter().filter(|segment| segment.kind != Kind::Tools);
        if let Some(refused) = (inside.refuses)(agent, &list.collect::<Vec<_>>()) {
            self.refused.count(refused);
        }
        if let Some(stands) = stands {
            self.intent.count(stands);
        }
    }
}

impl Intent {
    pub(crate) fn of(transcript: &Transcript) -> Self {
        let is_user = |message: &&Message| message.kind == Kind::User;
        let Some(first) = transcript.messages.iter().find(is_user) else {
            return Self::default();
        };
        let texts = first.recorded().texts();
        let texts = texts.iter().filter(|text| !text.trim().is_empty());
        Self {
            index: first.index,
            texts: texts.map(|text| [collapse(text), quoted(text)]).collect(),
        }
    }

    /// Returns whether the prompt of a turn holds the first message of a user. `has` checks for one text. `None` if
    /// the message comes later or has no text.
    pub(crate) fn stands(&self, turn: usize, mut has: impl FnMut(&str) -> bool) -> Option<bool> {
        let is_said = turn > self.index && !self.texts.is_empty();
        is_said.then(|| {
            let mut texts = self.texts.iter();
            texts.all(|forms| forms.iter().any(|text| has(text)))
        })
    }
}

/// Returns a text as a quotation of Markdown, collapsed.
fn quoted(text: &str) -> String {
    let lines = text.trim().lines().map(|line| format!("> {line}"));
    collapse(&lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests;
