//! One side of a run: its options, and facts about the side that its session does not hold.

use std::sync::{Arc, LazyLock};

use accp_registry::{Field, Schema, Type};
use accp_runtime::session::{Inbound, MemberId, Mid, Options, Time};
use accp_runtime::{AgentId, Registry};
use accp_testkit::{Quarters, Side};

use super::hearing::{Hearing, Sending};
use super::plan::RunPlan;
pub(crate) use super::schemas::REGISTRY;
use super::tape::Kept;
use super::text::is_a;
use super::waiting::{Wanted, Watch};

/// The name of the session.
pub(crate) const SESSION: &str = "s";
/// The agents of the host and of the members.
static AGENTS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let members = (1..=50).map(|n| format!("a{n}"));
    std::iter::once("hub".into()).chain(members).collect()
});

/// A result whose error is a text for people.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// Turns an error into its text.
pub(crate) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A side of a run, before and after it has joined.
#[allow(clippy::struct_excessive_bools)] // independent facts
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: MemberId,
    pub(crate) agent: &'static str,
    pub(crate) supervises: bool,
    /// Whether the side knows a schema of its own from the start.
    brings: bool,
    /// Whether the side speaks the draft alone.
    pub(crate) plain: bool,
    /// How many milliseconds the side's clock is ahead.
    pub(crate) skew: i64,
    /// The number that the agent puts into its next message.
    pub(crate) next: u64,
    /// Frames that the side can refer to, each with its chain.
    pub(crate) known: Vec<(Mid, Mid)>,
    /// True from the time when an older copy of the side's store was put back until the host has answered. A member
    /// that starts again in this time would not know which of its ids are in use (docs/design/next.md).
    pub(crate) is_unmet: bool,
    /// The time until which the side hears no entries of the log.
    pub(crate) deaf: Option<Time>,
    /// The end of the partition that the side's driver has noticed.
    pub(crate) cut_off: Option<Time>,
    /// The time at which the driver of the side wakes up, by the clock of the room. No step sets this clock.
    pub(crate) wakes: Option<Time>,
    /// How many times the side has started again.
    pub(super) starts: u64,
    /// Frames whose handlers have finished while the agent still works on them.
    pub(crate) working: Vec<Inbound>,
    /// The tasks that wait for the cancellation of a frame, by frame.
    pub(super) watches: Vec<Watch>,
    /// The values that the side has asked for since it started.
    pub(super) wanted: Wanted,
    /// The stream that the agent sends.
    pub(super) sending: Option<Sending>,
    pub(super) hearing: Hearing,
}

impl Node {
    /// Makes the host for index 0, and the members for the indexes after it.
    pub(crate) fn new(index: usize, plan: &RunPlan) -> Self {
        let skew = index.checked_sub(1).map_or(0, |member| plan.skew[member]);
        Self {
            id: MemberId::new(100 + index as u16).unwrap_or(MemberId::HOST),
            agent: &AGENTS[index],
            supervises: plan.supervised && index == 2,
            brings: plan.brings && index % 2 == 1 && !plan.is_plain(index),
            plain: plan.is_plain(index),
            skew,
            next: 1,
            known: Vec::new(),
            is_unmet: false,
            deaf: None,
            cut_off: None,
            wakes: None,
            starts: 0,
            working: Vec::new(),
            watches: Vec::new(),
            wanted: Wanted::default(),
            sending: None,
            hearing: Hearing::default(),
        }
    }

    /// Returns whether the side got an answer for every value that it has asked for.
    pub(super) fn has_values(&self) -> bool {
        self.wanted.is_told()
    }

    /// Forgets what the process of the side knew.
    pub(super) fn starts_again(&mut self) {
        self.working.clear();
        self.watches.clear();
        self.wanted = Wanted::default();
    }

    /// Returns whether a frame of the host answers a hello of the side.
    pub(crate) fn is_answer(&self, text: &str) -> bool {
        let is_for_it = if self.plain {
            !text.contains("|pos:")
        } else {
            text.contains("|next:")
        };
        is_for_it && is_a(text, ">sync:registry{")
    }

    pub(crate) fn options(&self, plan: &RunPlan) -> Result<Options> {
        let agent = AgentId::new(self.agent).map_err(said)?;
        let mut options = Options::new(SESSION, agent, self.registry()?);
        options.snapshot_entries = plan.snapshots;
        if plan.counted {
            options.counter = Some(Arc::new(Quarters));
        }
        (options.outbox, options.backlog) = plan.room();
        options.extensions = !self.plain;
        options.handles = !(plan.relays_only && self.id == MemberId::HOST);
        Ok(options)
    }

    fn registry(&self) -> Result<Arc<Registry>> {
        if !self.brings {
            return Ok(Arc::clone(&REGISTRY));
        }
        let (name, code) = (format!("of_{}", self.agent), format!("OF{}", self.id));
        let mut schema = Schema::new(&name, &code);
        schema.fields.push(Field::new("topic", Type::String));
        let mut registry = (**REGISTRY).clone();
        registry.register(schema).map_err(said)?;
        Ok(Arc::new(registry))
    }

    /// Opens the side of a member, which begins its session.
    pub(crate) fn open(&self, plan: &RunPlan, store: Kept, now: Time) -> Result<Side<Kept>> {
        let options = self.options(plan)?;
        let now = Time::from_millis(now.as_millis() + self.skew);
        let side = Side::open(self.id, store, Vec::new(), options, None, now);
        let mut side = side.map_err(said)?;
        if plan.awaited {
            side = side.awaiting(now).map_err(said)?;
        }
        (side.ahead, side.supervises) = (self.skew, self.supervises);
        Ok(side)
    }
}
