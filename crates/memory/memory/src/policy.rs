//! Policies, which turn a conversation into the prompts of its agents: the trait [`Policy`], its
//! input and its output.
//!
//! A policy gets each message in order, and returns the prompt of the agent who speaks next.
//! [`policies`](crate::policies) has the usual policies; this example shows the last message only:
//!
//! ```
//! use std::borrow::Cow;
//! use std::sync::Arc;
//!
//! use accp_context::Recorded;
//! use accp_memory::policy::{Agent, Message, Opening, NamedPolicy, Policy, Segment};
//! use accp_runtime::view::View;
//! use accp_runtime::{Registry, TokenCounter};
//! use serde_json::json;
//!
//! # #[derive(Debug)]
//! # struct Quarters;
//! # impl TokenCounter for Quarters {
//! #     fn name(&self) -> &str { "quarters" }
//! #     fn count(&self, text: &str) -> usize { text.len().div_ceil(4) }
//! # }
//! #[derive(Default)]
//! struct Newest(Option<Message>);
//!
//! impl Policy for Newest {
//!     fn push(&mut self, message: &Message) {
//!         self.0 = Some(message.clone());
//!     }
//!     fn prompt(&mut self, agent: &Agent) -> Vec<Segment> {
//!         let shown = self.0.iter().filter(|message| message.is_for(&agent.name));
//!         shown.map(Segment::of).collect()
//!     }
//!     fn recover(&self, index: usize) -> Option<Cow<'_, str>> {
//!         let kept = self.0.as_ref().filter(|message| message.index == index)?;
//!         Some(Cow::Borrowed(kept.original()))
//!     }
//! }
//!
//! let named = NamedPolicy::new("newest", "the last message", |_| Newest::default());
//! let mut policy = named.start(&Opening {
//!     tools: None,
//!     counter: Arc::new(Quarters),
//!     view: View::new(Arc::new(Registry::standard())),
//! });
//! let said = [
//!     json!({ "role": "user", "content": "Is there rye flour?" }),
//!     json!({ "role": "assistant", "content": "Four bags." }),
//! ];
//! for (index, json) in said.iter().enumerate() {
//!     policy.push(&Message::new(index, Recorded::of(json)).expect("it has a role"));
//! }
//! let prompt = policy.prompt(&Agent { name: "assistant".into(), cache: "".into() });
//! assert_eq!(&*prompt[0].text, "{\"role\":\"assistant\",\"content\":\"Four bags.\"}\n");
//! assert_eq!(policy.recover(0), None);
//! ```

mod frames;
mod message;
mod segment;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use accp_frame::TokenCounter;

use accp_context::view::View;
pub use frames::Frames;
pub use message::{Kind, Message};
pub use segment::Segment;

/// One conversation under a policy. The policy gets each message in order, and returns the prompt
/// of the agent whose message comes next. It never sees later messages.
///
/// The [module](self) has an example.
pub trait Policy {
    /// Takes the next message of the conversation. The first message has the index 0, and no
    /// message is left out.
    fn push(&mut self, message: &Message);

    /// Returns the prompt that `agent` gets now. Its parts are, in this order: tool schemas, system
    /// prompts that are [for the agent](Message::is_for), and the conversation so far.
    fn prompt(&mut self, agent: &Agent) -> Vec<Segment>;

    /// Returns the message with this index as it was recorded, as compact JSON. The policy may use
    /// prompts as they would be now, and any store that it keeps. `None` if the message is lost.
    /// Measurements compare the bytes with [`Message::original`].
    fn recover(&self, index: usize) -> Option<Cow<'_, str>>;

    /// Returns whether a prompt is a list as a provider takes it: each part but the tool schemas is the JSON of one
    /// message. A measurement then counts what the provider bills ([`Billed`](crate::Billed)). By default a prompt is
    /// one text.
    fn is_list(&self) -> bool {
        false
    }
}

/// The agent whose message comes next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The agent's name; its role if no name was recorded.
    pub name: Arc<str>,
    /// Prompts with this key share a provider's cache. A cache does not know agents; it knows
    /// beginnings of prompts. An agent with a system prompt of its own has its own cache, and all
    /// agents that read one transcript from its first message share a cache.
    pub cache: Arc<str>,
}

/// The input of a policy when a conversation begins.
#[derive(Clone)]
pub struct Opening {
    /// The tool schemas, a line of compact JSON.
    pub tools: Option<Arc<str>>,
    /// The counter of tokens.
    pub counter: Arc<dyn TokenCounter + Send + Sync>,
    /// The view, for policies that show messages by a registry.
    pub view: View,
}

/// A policy with a name, which starts afresh with each conversation.
///
/// ```
/// use accp_memory::policies::Last;
/// use accp_memory::policy::NamedPolicy;
///
/// let named = NamedPolicy::new("last:4", "the last four messages", |opening| Last::new(opening, 4));
/// assert_eq!(named.name, "last:4");
/// ```
pub struct NamedPolicy {
    /// The name for reports.
    pub name: String,
    /// A description, in one line.
    pub doc: String,
    start: Box<Start>,
}

type Start = dyn Fn(&Opening) -> Box<dyn Policy> + Send + Sync;

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Opening");
        out.field("counter", &self.counter.name());
        out.field("tools", &self.tools).finish_non_exhaustive()
    }
}

impl NamedPolicy {
    /// Names the policy that `start` begins.
    pub fn new<P: Policy + 'static>(
        name: impl Into<String>,
        doc: impl Into<String>,
        start: impl Fn(&Opening) -> P + Send + Sync + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            doc: doc.into(),
            start: Box::new(move |opening| Box::new(start(opening))),
        }
    }

    /// Begins a conversation.
    pub fn start(&self, opening: &Opening) -> Box<dyn Policy> {
        (self.start)(opening)
    }
}

impl fmt::Debug for NamedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NamedPolicy").field(&self.name).finish()
    }
}
