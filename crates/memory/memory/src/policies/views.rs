//! A summarizer that adds views to the summary by rules: the newest messages that left, as the policy `memory` shows
//! them.

use std::fmt;
use std::sync::Arc;

use crate::policies::{Layout, Memory, Part};
use crate::policy::{Agent, Opening, Policy as _};
use accp_context::view::View;
use accp_frame::TokenCounter;
use accp_registry::Registry;

use crate::summarizer::{Sent, Summarizer, SummaryRequest};

/// Stands before the views. All seven sections come before it.
const HEADING: &str = "### Messages That Left\n\
    The newest ones, with the middles of long results left out; `[... p7:12-30]` are lines of message 7, which the \
    archive has whole.\n";
/// The agent that reads the list.
const AGENT: &str = "assistant";

/// Writes the summary by rules, and after it the newest messages that left the list, as many as fit. Long results lose
/// their middles.
///
/// Rules keep what was asked, decided and made. Views also show how the conversation went, as far as there is room.
pub struct Views(Opening);

impl Views {
    /// Makes a summarizer that counts with `counter`.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use accp_memory::Views;
    /// use accp_tokens::Bpe;
    ///
    /// let views = Views::new(Arc::new(Bpe::o200k_base()));
    /// # let _: &dyn accp_memory::Summarizer = &views;
    /// ```
    pub fn new(counter: Arc<dyn TokenCounter + Send + Sync>) -> Self {
        Self(Opening {
            tools: None,
            counter,
            view: View::new(Arc::new(Registry::standard())),
        })
    }
}

impl fmt::Debug for Views {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Views").field(&self.0).finish()
    }
}

impl Summarizer for Views {
    fn summarize(&self, request: &SummaryRequest<'_>) -> Option<String> {
        // These parts make a message refer to other messages. The summary may lack those messages,
        // so the parts are off.
        let referring = [Part::Shapes, Part::Wrappers, Part::Repeats];
        let mut memory = Memory::new(&self.0, Layout::Own);
        for part in referring {
            memory = memory.without(part);
        }
        let mut leaves = Vec::new();
        for (message, left) in (request.conversation)() {
            memory.push(&message);
            leaves.push(left);
        }
        let agent = Agent {
            name: AGENT.into(),
            cache: "".into(),
        };
        // Long results are cut only in the second prompt, so the first prompt is dropped.
        drop(memory.prompt(&agent));
        let shown = memory.prompt(&agent);
        let counter = Sent(&*self.0.counter);
        let mut room = request.room;
        let mut fits = |text: &str| {
            let left = room.checked_sub(counter.count(text) as u64);
            room = left.unwrap_or(room);
            left.is_some()
        };
        // The summary by rules gets half of the room, or more if its required parts need it.
        let half = (request.within)(request.room / 2);
        let rules = half.as_deref().unwrap_or(request.rules);
        let begin = format!("{}\n\n{HEADING}", rules.trim_end());
        if !fits(&begin) {
            return None;
        }
        let left = shown.iter().rev();
        let left = left.filter(|part| part.message.is_some_and(|at| leaves.get(at) == Some(&true)));
        let mut kept: Vec<_> = left
            .map(|part| part.text.trim_end())
            .take_while(|text| fits(text))
            .collect();
        kept.reverse();
        (!kept.is_empty()).then(|| begin + &kept.join("\n"))
    }
}
