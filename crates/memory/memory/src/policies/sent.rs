//! The lists that [`crate::Memory`] sends, as a policy.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use time::OffsetDateTime;

use super::chat::as_chat;
use crate::engine::{Memory, Prices, Promise};
use crate::form::Form;
use crate::list::MessageList;
use crate::message::ListMessage;
use crate::policy::{Agent, Kind, Message, Opening, Policy, Segment};
use crate::window::Window;

/// The lists that a [`Memory`] sends, one for each agent of a conversation.
///
/// The time of a request is the time of the newest message in the recording. If the recording has no times, no cache
/// expires.
///
/// ```
/// # use std::sync::Arc;
/// use accp_context::Recorded;
/// use accp_memory::policies::Sent;
/// use accp_memory::policy::{Agent, Message, Opening, Policy};
/// use accp_memory::{Prices, Promise, Window};
/// # use accp_runtime::view::View;
/// # use accp_runtime::{Registry, TokenCounter};
/// use serde_json::json;
///
/// # #[derive(Debug)]
/// # struct Quarters;
/// # impl TokenCounter for Quarters {
/// #     fn name(&self) -> &str { "quarters" }
/// #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
/// # }
/// # let opening = Opening {
/// #     tools: None,
/// #     counter: Arc::new(Quarters),
/// #     view: View::new(Arc::new(Registry::standard())),
/// # };
/// let prices = Prices::default().with_minimum(0).with_step(1);
/// let mut sent = Sent::new(&opening, Window::of(8_000)?, prices, Promise::Append);
/// let log = "\u{1b}[32mok\u{1b}[0m of a step\n".repeat(30);
/// let log = json!({ "role": "tool", "name": "bash", "content": log });
/// sent.push(&Message::new(0, Recorded::of(&log)).expect("it has a role"));
/// let list = sent.prompt(&Agent { name: "assistant".into(), cache: "".into() });
/// assert!(sent.is_list() && list[0].text.contains("ok of a step") && !list[0].text.contains("[32m"));
/// # Ok::<(), accp_memory::WindowError>(())
/// ```
pub struct Sent {
    opening: Opening,
    window: Window,
    prices: Prices,
    promise: Promise,
    messages: Vec<Message>,
    agents: BTreeMap<Arc<str>, AgentList>,
    /// Speakers whose messages are results although they name no call.
    named: BTreeSet<String>,
}

/// The list of one agent.
struct AgentList {
    memory: Memory,
    /// How many messages of the conversation the agent has read.
    read: usize,
    /// The messages of the conversation that are in the agent's list, and the list.
    indices: Vec<usize>,
    list: Vec<ListMessage>,
    /// The calls of other agents.
    foreign: BTreeSet<String>,
}

impl Sent {
    /// Begins a conversation.
    pub fn new(opening: &Opening, window: Window, prices: Prices, promise: Promise) -> Self {
        Self {
            opening: opening.clone(),
            window,
            prices,
            promise,
            messages: Vec::new(),
            agents: BTreeMap::new(),
            named: BTreeSet::new(),
        }
    }
}

impl Policy for Sent {
    fn push(&mut self, message: &Message) {
        let recorded = message.recorded();
        if message.kind == Kind::Result && recorded.call_id().is_none() {
            self.named.extend(recorded.name().map(str::to_owned));
        }
        self.messages.push(message.clone());
    }

    fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
        let held = self
            .agents
            .entry(Arc::clone(&agent.name))
            .or_insert_with(|| AgentList {
                memory: Memory::new(self.window.clone(), self.prices, self.promise)
                    .with_counter(Arc::clone(&self.opening.counter)),
                read: 0,
                indices: Vec::new(),
                list: Vec::new(),
                foreign: BTreeSet::new(),
            });
        for message in &self.messages[held.read..] {
            if message.is_for(&agent.name) {
                held.indices.push(message.index);
                let chat = as_chat(message, &agent.name, &mut held.foreign);
                held.list.push(ListMessage::of_object(Form::OpenAi, chat));
            }
        }
        held.read = self.messages.len();
        held.memory.take_results_of(&self.named);
        let list = MessageList::of_messages(Form::OpenAi, held.list.clone());
        let list = match &self.opening.tools {
            Some(tools) => list.with_beside(tools.to_string()),
            None => list,
        };
        let times = self.messages.iter().rev();
        let now = times.into_iter().find_map(|message| message.time);
        let now = OffsetDateTime::from_unix_timestamp(now.unwrap_or_default() as i64);
        let now = now.unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let (sent, report) = held.memory.to_send(&list, now);
        let tools = Segment::tools(&self.opening);
        let own = report.needs_tool.then(|| {
            let definition = format!("{}\n", Memory::tool(Form::Anthropic));
            Segment::new(Kind::Tools, definition)
        });
        // A summary takes the place of the messages that are no longer in the list.
        let system = |at: &usize| self.messages[held.indices[*at]].kind == Kind::System;
        let mut places: Vec<Option<usize>> = Vec::new();
        let mut is_told = false;
        for at in 0..held.indices.len() {
            if at >= report.left || system(&at) {
                places.push(Some(held.indices[at]));
            } else if !is_told {
                is_told = true;
                places.push(None);
            }
        }
        let shown = sent.messages().iter().zip(places);
        let shown = shown.map(|(message, index)| Segment {
            message: index,
            ..Segment::new(
                index.map_or(Kind::Facts, |index| self.messages[index].kind),
                message.line(),
            )
        });
        tools.into_iter().chain(own).chain(shown).collect()
    }

    fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.messages.get(index)?.original()))
    }

    fn is_list(&self) -> bool {
        true
    }
}
