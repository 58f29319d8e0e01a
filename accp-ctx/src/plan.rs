//! What has to happen to a list, tier by tier.

use std::cell::RefCell;

use accp_frame::TokenCounter;

use crate::check::check;
use crate::event::{Event, Intent, Tier};
use crate::finding::{Code, Finding};
use crate::hooks::{Hooks, Verdict};
use crate::list::MessageList;
use crate::message::Message;
use crate::names;
use crate::offload::{self, offload};
use crate::said::{Said, said};
use crate::session::{Covers, Kind, Session, Slot, Stranger};
use crate::summary::{Summarizer, SummaryError, Wanted};
use crate::truncate::{self, Persisted, persisted, truncate};
use crate::unit::{Unit, last, units};
use crate::window::{State, Window};
use crate::writes::{Writes, reported};

/// From half a window on, a result with more tokens leaves too.
const RESULT: u64 = 1_000;
/// An input with more tokens is large.
const INPUT: u64 = 1_000;
/// A tier acts in steps of at least this share of the window, in percent, so that it seldom breaks a cache.
const STEP: u64 = 10;
/// The most of a window that a summary takes, in percent.
const SUMMARY: u64 = 20;

/// A file to write before the list leaves.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NewFile {
    /// The path below the root.
    pub path: String,
    /// The text. Of a file that grows, the text behind its end.
    pub text: String,
    /// Whether the file grows.
    pub grows: bool,
}

/// What is known of the world around a list.
pub trait World {
    /// Returns whether there is a file at this path below the root.
    fn is_taken(&self, path: &str) -> bool;

    /// Returns the text of a file that the program wrote, if it can be read.
    fn written(&self, path: &str) -> Option<String>;
}

/// What a plan is made with.
pub struct Means<'m> {
    /// The window of the model.
    pub window: &'m Window,
    /// Counts tokens.
    pub counter: &'m dyn TokenCounter,
    /// The tools that write files.
    pub writes: &'m Writes,
    /// The files that are there.
    pub world: &'m dyn World,
    /// Sums up what leaves.
    pub summarizer: &'m dyn Summarizer,
    /// Whether tiers 1 and 2 act under their limit too.
    pub force: bool,
    /// The time, in words with its zone, and as `YYYYMMDD_HHMMSS`.
    pub now: (&'m str, &'m str),
}

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The list breaks rules of its form.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The list does not belong to the session.
    #[error(transparent)]
    Stranger(#[from] Stranger),
    /// The list does not fit, whatever leaves.
    #[error("{0}")]
    OverWindow(Finding),
    /// What is marked as critical has no room.
    #[error("{0}")]
    NoRoom(String),
}

/// What happens to a list, and why.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The list as it will stand.
    pub(crate) slots: Vec<Slot>,
    /// What was said since the last plan.
    pub(crate) new: Vec<Message>,
    /// What was made for the list, and what it stands for.
    pub(crate) made: Vec<(Message, Covers, Kind)>,
    /// The tiers that act, in order.
    pub events: Vec<Event>,
    /// The files to write before the list leaves.
    pub files: Vec<NewFile>,
    /// Tokens of the list that was given.
    pub before: u64,
    /// Tokens of the list that leaves.
    pub after: u64,
    /// How full the window was, with the list that was given.
    pub state: State,
    /// What the caller should do, if anything.
    pub advice: Option<String>,
}

impl Session {
    /// Plans what happens to a list. Nothing has changed then.
    ///
    /// # Errors
    /// When the list breaks the rules of its form, does not belong to the session, or does not fit.
    pub fn plan(
        &self,
        list: &MessageList,
        means: &Means<'_>,
        hooks: &mut dyn Hooks,
    ) -> Result<Plan, PlanError> {
        let faults = check(list);
        if !faults.is_empty() {
            return Err(PlanError::Invalid(faults));
        }
        let taken = self.take(list)?;
        let messages = self.originals.iter().chain(&taken.new);
        let mut all = said(self.form, messages);
        for said in &mut all {
            said.marked = self.marks.contains(&said.index);
        }
        let beside = list.beside(means.counter);
        let tokens = |slot: &Slot| means.window.tokens(&slot.message, means.counter);
        let mut planner = Planner {
            session: self,
            means,
            all,
            tokens: taken.slots.iter().map(tokens).collect(),
            slots: taken.slots,
            beside,
            plan: Drafted::default(),
            names: RefCell::default(),
            given: list,
        };
        let before = planner.total();
        planner.run(hooks)?;
        planner.finish(taken.new, before)
    }

    /// Returns what has happened, once the files of a plan are written.
    pub(crate) fn apply(&mut self, plan: &Plan) {
        self.originals.extend(plan.new.iter().cloned());
        for (message, covers, _) in &plan.made {
            self.made.insert(message.digest(), covers.clone());
        }
        self.slots.clone_from(&plan.slots);
        self.events.extend(plan.events.iter().cloned());
    }
}

#[derive(Default)]
struct Drafted {
    made: Vec<(Message, Covers, Kind)>,
    events: Vec<Event>,
    files: Vec<NewFile>,
}

struct Planner<'p> {
    session: &'p Session,
    means: &'p Means<'p>,
    /// The whole conversation.
    all: Vec<Said>,
    slots: Vec<Slot>,
    tokens: Vec<u64>,
    /// Tokens beside the list.
    beside: u64,
    plan: Drafted,
    /// The paths that the plan takes.
    names: RefCell<Vec<String>>,
    given: &'p MessageList,
}

/// A result of a message of the list.
#[derive(Clone, Copy)]
struct Result_ {
    slot: usize,
    answer: usize,
    tokens: u64,
}
