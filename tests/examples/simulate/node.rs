//! One side of a run: what it is opened with, and what is known of it beside its session.

use std::sync::{Arc, LazyLock, Mutex};

use accp_runtime::session::{MemberId, Mid, Options, Time};
use accp_runtime::{AgentId, Registry, TokenCounter};
use accp_testkit::Side;

use super::plan::Plan;
use super::tape::{Kept, Tape};

pub(crate) static REGISTRY: LazyLock<Arc<Registry>> =
    LazyLock::new(|| Arc::new(Registry::standard()));
const SESSION: &str = "s";
const AGENTS: [&str; 6] = ["hub", "a1", "a2", "a3", "a4", "a5"];

/// What went wrong, for the one who reads it.
pub(crate) type Result<T = ()> = std::result::Result<T, String>;

/// An error in its own words.
pub(crate) fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// A side, be it there already or not.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) id: MemberId,
    pub(crate) agent: &'static str,
    /// Milliseconds that its clock is ahead.
    skew: i64,
    /// The number in its next frame.
    pub(crate) next: u64,
    /// Frames that it knows of, each with its chain, to be referred to.
    pub(crate) known: Vec<(Mid, Mid)>,
    /// Until when it is cut off, if whoever drives it has noticed.
    pub(crate) cut_off: Option<Time>,
}

impl Node {
    /// The host at 0, the members after it.
    pub(crate) fn new(index: usize, plan: &Plan) -> Self {
        let skew = index.checked_sub(1).map_or(0, |member| plan.skew[member]);
        Self {
            id: MemberId::new(100 + index as u16).unwrap_or(MemberId::HOST),
            agent: AGENTS[index],
            skew,
            next: 1,
            known: Vec::new(),
            cut_off: None,
        }
    }

    pub(crate) fn options(&self, plan: &Plan) -> Result<Options> {
        let agent = AgentId::new(self.agent).map_err(said)?;
        let mut options = Options::new(SESSION, agent, Arc::clone(&REGISTRY));
        if plan.counted {
            options.counter = Some(Arc::new(Quarters));
        }
        (options.outbox, options.backlog) = if plan.narrow { (12, 6) } else { (40, 200) };
        options.handles = !(plan.relays_only && self.id == MemberId::HOST);
        Ok(options)
    }

    /// Opens the side of a member, which begins with that.
    pub(crate) fn open(
        &self,
        plan: &Plan,
        tape: &Arc<Mutex<Tape>>,
        now: Time,
    ) -> Result<Side<Kept>> {
        let options = self.options(plan)?;
        let now = Time::from_millis(now.as_millis() + self.skew);
        let side = Side::open(self.id, Tape::store(tape), Vec::new(), options, None, now);
        let mut side = side.map_err(said)?;
        side.ahead = self.skew;
        Ok(side)
    }
}

/// Four characters a token: what matters here is that everybody counts alike.
#[derive(Debug)]
struct Quarters;

impl TokenCounter for Quarters {
    fn name(&self) -> &'static str {
        "quarters"
    }

    fn count(&self, text: &str) -> usize {
        text.len().div_ceil(4)
    }
}
