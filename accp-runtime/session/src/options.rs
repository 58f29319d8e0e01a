//! Options of a session at its start.
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use accp_registry::{DeltaPolicy, Problems};
use serde::{Deserialize, Serialize};

use crate::log::mid::MemberId;
use crate::log::vouch::LogKey;
use accp_context::{ContextLimits, Headers, Summarizer};
use accp_frame::{AgentId, FrameTokenLimits, Limits, Registry, TokenCounter};

/// The numbering of frames (draft sections 3.5 and 3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The numbering of the draft: `seq` counts the accepted frames of all senders, from 1. A
    /// member has at most one frame under way.
    #[default]
    Shared,
    /// `seq` is contiguous for each sender. A sender may have a window of frames under way.
    Sender,
}

impl Scope {
    /// Returns the name in `sync:registry`.
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

/// Options of a side, be it the host or a member.
#[derive(Clone)]
pub struct Options {
    /// The name of the session, `sid` in an envelope.
    pub session: String,
    /// The agent that speaks on this side.
    pub agent: AgentId<'static>,
    /// The schemas that this side knows.
    pub registry: Arc<Registry>,
    /// The token counter. Without it no tokens are counted: there are no budgets and no
    /// checkpoints, and the session claims level 1 of the draft (section 8).
    pub counter: Option<Arc<dyn TokenCounter + Send + Sync>>,
    /// Bounds on a frame.
    pub limits: Limits,
    /// Token limits of a frame (draft section 3.4).
    pub frame_tokens: FrameTokenLimits,
    /// The greatest number of frames in the outbox; 1,024 by default.
    pub outbox: usize,
    /// The greatest number of frames that wait to be handled; 1,024 by default. Beyond it this side
    /// takes no frames from the peer, which sends them again later.
    pub backlog: usize,
    /// The time of silence after which a frame goes out again. This time doubles with each try, up to 32 times its
    /// first value. One second by default.
    pub retry: Duration,
    /// The greatest difference between the clock of this side and those of senders, when this side
    /// judges whether the `ttl` of a frame is over before its handler gets it; 30 seconds by
    /// default. A frame is also over once its `ttl` has passed on this side's own clock since this side took it. The
    /// host judges what it accepts by [`Rules::skew`].
    pub skew: Duration,
    /// True if this side handles frames of others. A hub that only relays does not.
    pub handles: bool,
    /// For a member, true by default. False makes the member speak the draft alone, because its host accepts
    /// nothing else: its `sync:registry` then has `v` and `hash` (draft section 6.4) and nothing of the log. A
    /// member also speaks the draft alone if its host turns out to know nothing else. Such a member gets each frame
    /// at least once from its host, and hands the frame to its handlers once; see
    /// [`Event::AtLeastOnce`](crate::Event::AtLeastOnce). A host ignores this option.
    pub extensions: bool,
    /// The limits of the context.
    pub context: ContextLimits,
    /// The changes that the peer's registry may make to the registry of this side.
    pub schemas: DeltaPolicy,
    /// The smallest number of entries between two snapshots of the state; 1,000 by default. With
    /// fewer, a side starts faster and a store can discard its log sooner. A snapshot is never longer
    /// than the log since the last one.
    pub snapshot_entries: u64,
}

impl Options {
    /// Returns the default options, without a token counter.
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
            skew: Duration::from_secs(30),
            handles: true,
            extensions: true,
            context: ContextLimits::DRAFT,
            schemas: DeltaPolicy::default(),
            snapshot_entries: 1000,
        }
    }

    /// Returns the default options for the registry of generated code, its `REGISTRY_JSON`.
    ///
    /// ```
    /// # const REGISTRY_JSON: &str = r#"{ "schemas": { "refund": { "code": "RF", "fields": ["order"],
    /// #     "frames": [{ "intent": "req", "operation": "refund" }] } } }"#;
    /// use accp_runtime::AgentId;
    /// use accp_runtime::session::Options;
    ///
    /// let options = Options::from_json("shop", AgentId::new("clerk")?, REGISTRY_JSON)?;
    /// assert!(options.registry.schema("RF").is_some());
    /// assert!(options.registry.schema("ER").is_some()); // a standard profile
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// The standard profiles that the text does not have are added, as the derive and the command
    /// do.
    ///
    /// # Errors
    /// Every mistake in the text, with line and column.
    pub fn from_json(
        session: impl Into<String>,
        agent: AgentId<'static>,
        registry: &str,
    ) -> Result<Self, Problems> {
        let registry = Registry::from_json(registry)?.with_profiles();
        Ok(Self::new(session, agent, Arc::new(registry)))
    }

    /// Returns the highest level of the draft (section 8) that a host with these options keeps to.
    ///
    /// It is 1 without a token counter: then there is no context, no checkpoint and no budget. It is
    /// also 1 if the context may take more tokens than the draft allows (sections 5.1 to 5.3). It is
    /// 2 if a frame may take more tokens than the draft allows (section 3.4).
    pub fn level(&self) -> u8 {
        let (context, draft) = (&self.context, &ContextLimits::DRAFT);
        let is_within = context.hot <= draft.hot
            && context.trigger <= draft.trigger
            && context.checkpoint <= draft.checkpoint
            && context.summary <= draft.summary;
        match (&self.counter, is_within) {
            (Some(_), true) if self.frame_tokens.is_within(&FrameTokenLimits::DRAFT) => 3,
            (Some(_), true) => 2,
            _ => 1,
        }
    }

    /// Sets the token counter.
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

/// Bounds on incomplete frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// Frames that a sender may have under way in parts: 8 by default.
    pub groups: usize,
    /// Bytes that the parts of a frame may have together: 256 KiB by default.
    pub bytes: usize,
    /// The time after which the host may give up a frame without a new part, to make room for another frame: 5
    /// minutes by default.
    pub age: Duration,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            groups: 8,
            bytes: 256 * 1024,
            age: Duration::from_secs(300),
        }
    }
}

/// Bounds on the values that a member puts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueLimits {
    /// Bytes of a value, and of all values that a member is sending at a time: 8 MiB by default. A
    /// larger value is refused (E2003).
    pub bytes: u64,
    /// Values that a member has announced and not sent yet: 256 by default. Beyond it the host takes
    /// no announcements of the member, which sends them again later.
    pub missing: usize,
}

impl Default for ValueLimits {
    fn default() -> Self {
        Self {
            bytes: 8 << 20,
            missing: 256,
        }
    }
}

/// What a host does for a member that knows the draft alone. The `sync:registry` of such a member has the version and
/// the hash of its registry, and no position of the log (draft section 6.4).
///
/// ```
/// use accp_runtime::session::{DraftPeers, Rules};
///
/// assert_eq!(Rules::default().draft_peers, DraftPeers::AtLeastOnce);
/// let rules = Rules { draft_peers: DraftPeers::Refused, ..Rules::default() };
/// # assert_ne!(rules.draft_peers, DraftPeers::AtLeastOnce);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DraftPeers {
    /// The host serves the member at least once (draft section 3.7), if all senders share one numbering. If each
    /// sender has its own numbers, the host refuses the member (E5001). A frame may reach the member twice, under
    /// the same `mid`. If the member sends a frame again under a new `mid`, others get the frame twice. Between the
    /// other members, delivery stays exactly once.
    #[default]
    AtLeastOnce,
    /// The host refuses the member (E5001), and takes no schemas from it.
    Refused,
}

/// What a host does for a member that knows the log and whose registry clashes with the registry of the session:
/// one side would refuse frames of the other, or read them with another meaning. With either variant,
/// [`Event::SchemasDiffer`](crate::Event::SchemasDiffer) says what clashes.
///
/// ```
/// use accp_runtime::session::{Rules, SchemaClashes};
///
/// assert_eq!(Rules::default().clashes, SchemaClashes::Served);
/// let rules = Rules { clashes: SchemaClashes::Refused, ..Rules::default() };
/// # assert_ne!(rules.clashes, SchemaClashes::Served);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaClashes {
    /// The host serves the member.
    #[default]
    Served,
    /// The host compares the registries before it answers the hello of the member, and refuses the member (E5001).
    /// Then the member is out of the session, until it joins again.
    Refused,
}

/// Rules that only the host decides.
#[derive(Clone)]
pub struct Rules {
    /// The numbering of frames; a session keeps the scope that it was opened with.
    pub scope: Scope,
    /// The greatest difference between clocks; 30 seconds by default.
    pub skew: Duration,
    /// The greatest number of members besides the host, including members that have left. The default is 1,799,
    /// which is also the greatest possible number.
    pub members: usize,
    /// True if message ids may have other forms than 12 hexadecimal digits, as in the draft's
    /// examples.
    pub any_mid: bool,
    /// True if the registries of members may bring schemas that the session lacks.
    pub learn_schemas: bool,
    /// What the host does for members whose schemas clash with its own.
    pub clashes: SchemaClashes,
    /// Bounds on frames that come in parts.
    pub groups: GroupLimits,
    /// Bounds on the values that members put.
    pub values: ValueLimits,
    /// What the host does for members that know the draft alone.
    pub draft_peers: DraftPeers,
    /// Sums up the frames that leave hot state. It has to answer at once.
    pub summarizer: Arc<dyn Summarizer + Send + Sync>,
    /// True if each checkpoint asks for a better summary, which may come later
    /// ([`Event::SummaryWanted`](crate::Event::SummaryWanted)): for summaries by a model. The host then keeps the
    /// frames that left hot state until the next checkpoint, also in its snapshots. False by default.
    pub late_summaries: bool,
    /// The secret of a new log, with which the host vouches for the log. A driver draws a random secret. Without a
    /// secret, nobody can recognise that the store of the host is an old copy. A session keeps the secret that it was
    /// opened with.
    pub key: Option<LogKey>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules")
            .field("scope", &self.scope)
            .field("skew", &self.skew)
            .field("any_mid", &self.any_mid)
            .field("learn_schemas", &self.learn_schemas)
            .field("clashes", &self.clashes)
            .finish_non_exhaustive()
    }
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            skew: Duration::from_secs(30),
            members: usize::from(MemberId::OTHERS),
            any_mid: false,
            learn_schemas: false,
            clashes: SchemaClashes::default(),
            groups: GroupLimits::default(),
            values: ValueLimits::default(),
            draft_peers: DraftPeers::default(),
            summarizer: Arc::new(Headers),
            late_summaries: false,
            key: None,
        }
    }
}
