//! What a session is told at its start.
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use accp_registry::DeltaPolicy;
use serde::{Deserialize, Serialize};

use crate::GroupLimits;
use accp_context::{ContextLimits, Headers, Summarizer};
use accp_frame::{AgentId, FrameTokenLimits, Limits, Registry, TokenCounter};

/// How frames are numbered (draft sections 3.5 and 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The draft's: `seq` counts the accepted frames of all senders, from 1, and a member
    /// has at most one frame under way.
    #[default]
    Shared,
    /// `seq` is contiguous for each sender, who may have a window of frames under way.
    Sender,
}

impl Scope {
    /// The name in `sync:registry`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Sender => "sender",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Shared, Self::Sender]
            .into_iter()
            .find(|scope| scope.as_str() == name)
    }
}

/// What both sides of a session are told.
#[derive(Clone)]
pub struct Options {
    /// The name of the session, `sid` in an envelope.
    pub session: String,
    /// Who speaks on this side.
    pub agent: AgentId<'static>,
    /// The schemas this side knows.
    pub registry: Arc<Registry>,
    /// Counts tokens. Without it nothing is counted: there are no budgets and no
    /// checkpoints, and the session claims level 1 of the draft (section 8).
    pub counter: Option<Arc<dyn TokenCounter + Send + Sync>>,
    /// Bounds on a frame.
    pub limits: Limits,
    /// Token limits of a frame (draft section 3.4).
    pub frame_tokens: FrameTokenLimits,
    /// How many frames may wait in the outbox; 1,024 by default.
    pub outbox: usize,
    /// How many frames may wait to be handled; 1,024 by default. Beyond it nothing is taken
    /// from the peer, who sends again later.
    pub backlog: usize,
    /// After this much silence a frame goes out again; doubled each time up to 32 times as
    /// much. One second by default.
    pub retry: Duration,
    /// Whether frames of others are handled on this side. A hub that only relays does not.
    pub handles: bool,
    /// What the context may hold.
    pub context: ContextLimits,
    /// What the peer's registry may change in this one.
    pub schemas: DeltaPolicy,
}

impl Options {
    /// The defaults, without a token counter.
    pub fn new(
        session: impl Into<String>,
        agent: AgentId<'static>,
        registry: Arc<Registry>,
    ) -> Self {
        Self {
            session: session.into(),
            agent,
            registry,
            counter: None,
            limits: Limits::DEFAULT,
            frame_tokens: FrameTokenLimits::DRAFT,
            outbox: 1024,
            backlog: 1024,
            retry: Duration::from_secs(1),
            handles: true,
            context: ContextLimits::DRAFT,
            schemas: DeltaPolicy::default(),
        }
    }

    /// Counts with `counter`.
    pub fn counting(mut self, counter: Arc<dyn TokenCounter + Send + Sync>) -> Self {
        self.counter = Some(counter);
        self
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("session", &self.session)
            .field("agent", &self.agent)
            .field(
                "counter",
                &self.counter.as_ref().map(|counter| counter.name()),
            )
            .finish_non_exhaustive()
    }
}

/// What only the host decides.
#[derive(Clone)]
pub struct Rules {
    /// How frames are numbered; a session keeps the scope that it was opened with.
    pub scope: Scope,
    /// How far clocks may be apart; 30 seconds by default.
    pub skew: Duration,
    /// Whether message ids may have other forms than 12 hexadecimal digits, as in the
    /// draft's examples.
    pub any_mid: bool,
    /// Whether the registries of members may bring schemas that the session lacks.
    pub learn_schemas: bool,
    /// Bounds on frames that come in parts.
    pub groups: GroupLimits,
    /// Sums up what leaves hot state.
    pub summarizer: Arc<dyn Summarizer + Send + Sync>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("scope", &self.scope)
            .field("skew", &self.skew)
            .field("any_mid", &self.any_mid)
            .field("learn_schemas", &self.learn_schemas)
            .finish_non_exhaustive()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            skew: Duration::from_secs(30),
            any_mid: false,
            learn_schemas: false,
            groups: GroupLimits::default(),
            summarizer: Arc::new(Headers),
        }
    }
}
