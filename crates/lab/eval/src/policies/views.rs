//! Views of messages, and facts of old messages.

use std::borrow::Cow;
use std::sync::Arc;

use accp_context::view::{PartKind, Prompt, PromptLimits};
use accp_memory::policy::{Agent, Frames, Kind, Message, Opening, Policy, Segment};

/// Shows messages as views, with the registry of the opening. Above the limits, older messages become facts
/// ([`Prompt`]). The prompt of each agent ends with these views and facts, after the agent's own system prompts.
#[derive(Debug)]
pub(crate) struct Views {
    tools: Option<Segment>,
    messages: Vec<Message>,
    prompt: Prompt,
    /// The segment for each part of the prompt, with the part's text, which is compared by address.
    shown: Vec<(Arc<str>, Segment)>,
    frames: Frames,
}

impl Views {
    /// Begins a conversation.
    pub(crate) fn new(opening: &Opening, limits: PromptLimits) -> Self {
        let counter = Arc::clone(&opening.counter);
        Self {
            tools: Segment::tools(opening),
            messages: Vec::new(),
            prompt: Prompt::new(opening.view.clone(), limits, counter),
            shown: Vec::new(),
            frames: Frames::default(),
        }
    }

    fn refresh(&mut self) {
        let mut shown = std::mem::take(&mut self.shown);
        let parts = self.prompt.parts().enumerate();
        let mut now = Vec::new();
        for (at, part) in parts {
            let before = shown
                .get(at)
                .filter(|(text, _)| Arc::ptr_eq(text, &part.text));
            if before.is_some() {
                let empty = (Arc::from(""), Segment::new(Kind::Facts, ""));
                now.push(std::mem::replace(&mut shown[at], empty));
                continue;
            }
            let message = self.messages.get(part.position as usize);
            let kind = match message {
                _ if part.kind == PartKind::Primer => Kind::Primer,
                _ if part.kind == PartKind::Facts => Kind::Facts,
                Some(message) => message.kind,
                None => Kind::Agent,
            };
            let mut segment = Segment::new(kind, Arc::clone(&part.text));
            segment.message = (part.kind == PartKind::Message).then_some(part.position as usize);
            now.push((Arc::clone(&part.text), segment));
        }
        self.shown = now;
    }
}

impl Policy for Views {
    fn push(&mut self, message: &Message) {
        self.messages.push(message.clone());
        if message.kind != Kind::System {
            for frame in self.frames.of(message, self.prompt.view().registry()) {
                self.prompt.push(message.index as u64, &frame);
            }
            self.refresh();
        }
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let system = self.messages.iter();
        let system = system
            .filter(|message| message.kind == Kind::System && message.is_for(&agent.name))
            .map(|message| Segment::new(Kind::System, Arc::clone(&message.text)));
        let before = self.tools.iter().cloned().chain(system);
        let shown = self.shown.iter().map(|(_, segment)| segment.clone());
        before.chain(shown).collect()
    }

    /// Recovers the message from the log, which keeps every message.
    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.messages.get(index)?.original()))
    }
}
