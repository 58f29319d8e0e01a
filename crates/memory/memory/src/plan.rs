//! Plans what happens to a list, tier by tier.

mod bound;
mod media;
mod planner;
mod tier1;
mod tier2;
mod tier3;
mod watch;

use accp_frame::TokenCounter;
use time::OffsetDateTime;

use crate::check::broken;
use crate::drift::{DriftEvent, Judge, LEXICAL};
use crate::event::Event;
use crate::finding::Finding;
use crate::form::Form;
use crate::hooks::Hooks;
use crate::list::MessageList;
use crate::memo::Memo;
use crate::message::ListMessage;
use crate::session::{Covers, ListMismatch, ListSession, ListUpdate, Slot, SlotKind, Usage};
use crate::summarizer::{Summarizer, SummaryError};
use crate::window::{State, Window};
use crate::writes::Writes;
use planner::Planner;

/// A file to write before the list is returned.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct NewFile {
    /// The path below the root.
    pub path: String,
    /// The text; for a file that grows, the text to append.
    pub text: String,
    /// Whether the file grows.
    pub grows: bool,
}

/// Looks up the files that a plan depends on. `()` has no files.
pub trait FileLookup {
    /// Returns whether there is a file at this path below the root.
    fn is_taken(&self, path: &str) -> bool;

    /// Returns the text of a file that the program wrote, if it can be read.
    fn written(&self, path: &str) -> Option<String>;

    /// Returns the root that commands in the texts of a list have to name. `None` if it is the default root of the
    /// commands.
    fn root(&self) -> Option<String> {
        None
    }
}

impl FileLookup for () {
    fn is_taken(&self, _: &str) -> bool {
        false
    }

    fn written(&self, _: &str) -> Option<String> {
        None
    }
}

/// What can be planned without a new list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnDemand {
    /// A checkpoint of the current list.
    Checkpoint,
    /// The shortest list for a fresh start.
    Fresh,
}

/// How a list is compressed.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// The window of the model.
    pub window: &'o Window,
    /// Counts tokens.
    pub counter: &'o dyn TokenCounter,
    /// The tools that write files.
    pub writes: &'o Writes,
    /// Sums up what leaves.
    pub summarizer: &'o dyn Summarizer,
    /// The judges that look for drift after a summary: [`LEXICAL`], or others. Without judges, no message is judged.
    pub judges: &'o [&'o dyn Judge],
    /// Whether tiers 1 and 2 act under their limit too.
    pub force: bool,
    /// The time, in the zone that logs have.
    pub now: OffsetDateTime,
}

impl<'o> Options<'o> {
    /// Returns the options of a window: the writing tools of the table, summaries by rules, judges by words, and
    /// nothing forced. `now` is in the zone that logs have.
    ///
    /// ```
    /// use accp_memory::{Options, Views, Window};
    ///
    /// # let counter = accp_tokens::Bpe::o200k_base();
    /// let window = Window::of(128_000)?;
    /// let views = Views::new(std::sync::Arc::new(counter));
    /// let options = Options {
    ///     summarizer: &views,
    ///     ..Options::new(&window, &counter, time::OffsetDateTime::now_utc())
    /// };
    /// assert!(!options.force);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(window: &'o Window, counter: &'o dyn TokenCounter, now: OffsetDateTime) -> Self {
        Self {
            window,
            counter,
            writes: Writes::known(),
            summarizer: &(),
            judges: LEXICAL,
            force: false,
            now,
        }
    }
}

/// Why a session cannot plan a list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The list breaks rules of its form.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Finding>),
    /// The list does not belong to the session.
    #[error(transparent)]
    Mismatch(#[from] ListMismatch),
    /// The list does not fit, even if everything leaves that may leave.
    #[error("{0}")]
    OverWindow(Finding),
    /// The messages marked as critical do not fit.
    #[error(transparent)]
    NoRoom(#[from] SummaryError),
}

/// What happens to a list, and why.
#[derive(Debug, Clone)]
pub struct ListPlan {
    /// The form that the session has after this plan.
    pub(crate) form: Form,
    /// The slots of the new list.
    pub(crate) slots: Vec<Slot>,
    /// The messages that are new since the last plan.
    pub(crate) new: Vec<ListMessage>,
    /// The messages that were made for the list, and which messages of the conversation they cover.
    pub(crate) made: Vec<(ListMessage, Covers, SlotKind)>,
    /// The tiers that act, in order.
    pub events: Vec<Event>,
    /// The files to write before the list is returned.
    pub files: Vec<NewFile>,
    /// Signs of drift in what the assistant has said since the last list.
    pub drift: Vec<DriftEvent>,
    /// The number of messages in the conversation when this plan writes a summary. `None` if the plan writes none.
    pub(crate) summed_up: Option<usize>,
    /// How many messages the archive has after this plan.
    pub(crate) archived: usize,
    /// How many checkpoints there are after this plan.
    pub(crate) checkpoints: u64,
    /// How full the window is after this plan.
    pub(crate) window: Option<Usage>,
    /// Tokens of the list that was given.
    pub before: u64,
    /// Tokens of the new list.
    pub after: u64,
    /// How full the window is with the new list.
    pub state: State,
    /// What the caller should do, if anything.
    pub advice: Option<String>,
    /// The thoughts that the provider may refuse, because the messages before them have changed.
    pub bound: Vec<Finding>,
}

impl ListPlan {
    /// Returns the plan that leaves a session as it is.
    #[cfg(feature = "disk")]
    pub(crate) fn unchanged(session: &ListSession) -> Self {
        Self {
            form: session.form,
            slots: session.slots.clone(),
            new: Vec::new(),
            made: Vec::new(),
            events: Vec::new(),
            drift: Vec::new(),
            summed_up: None,
            files: Vec::new(),
            archived: session.archived,
            checkpoints: session.checkpoints,
            window: None,
            before: 0,
            after: 0,
            state: State::Green,
            advice: None,
            bound: Vec::new(),
        }
    }

    /// Returns the new list, in the request that was given.
    pub fn list(&self, given: &MessageList) -> MessageList {
        let messages = self.slots.iter().map(|slot| slot.message.clone());
        given.with(messages.collect())
    }

    /// Returns whether the plan changes nothing that has to be stored: no message is new, and nothing was made.
    #[cfg(feature = "disk")]
    pub(crate) fn is_empty(&self) -> bool {
        self.new.is_empty() && self.made.is_empty() && self.files.is_empty()
    }
}

impl ListSession {
    /// Plans what happens to a list, with the files that `lookup` knows. The session does not change.
    ///
    /// # Errors
    /// When the list breaks the rules of its form, does not belong to the session, or does not fit.
    pub fn plan(
        &self,
        list: &MessageList,
        options: &Options<'_>,
        lookup: &dyn FileLookup,
        hooks: &mut dyn Hooks,
    ) -> Result<ListPlan, PlanError> {
        let faults = broken(list);
        if !faults.is_empty() {
            return Err(PlanError::Invalid(faults));
        }
        let update = self.update(list)?;
        let in_form = (list.form() != self.form).then(|| Self {
            form: list.form(),
            ..self.clone()
        });
        let memo = Memo::of(options.counter);
        // The schemas of the request say which tools write.
        let writes = options.writes.clone().with_schemas(list.tools());
        let options = Options {
            counter: &memo,
            writes: &writes,
            ..*options
        };
        let mut planner = Planner::new(
            in_form.as_ref().unwrap_or(self),
            &options,
            lookup,
            list,
            &update,
        );
        planner.run(hooks)?;
        planner.leave_out_thoughts(&update.slots);
        let plan = planner.finish(update.new);
        let bound = bound::bound(plan.form, &update.slots, &plan.slots);
        Ok(ListPlan { bound, ..plan })
    }

    /// Plans a checkpoint of the current list, or the shortest list for a fresh start: system messages, a summary,
    /// and the newest turn.
    ///
    /// # Errors
    /// When the messages marked as critical do not fit.
    pub fn plan_on_demand(
        &self,
        options: &Options<'_>,
        lookup: &dyn FileLookup,
        what: OnDemand,
    ) -> Result<ListPlan, PlanError> {
        let list = self.list();
        let list = list.map_err(|fault| PlanError::Invalid(vec![fault]))?;
        let update = ListUpdate {
            slots: self.without_cache_marks(),
            new: Vec::new(),
        };
        let mut planner = Planner::new(self, options, lookup, &list, &update);
        match what {
            OnDemand::Checkpoint => planner.checkpoint(),
            OnDemand::Fresh => planner.begin_anew()?,
        }
        Ok(planner.finish(Vec::new()))
    }

    /// Applies a plan of this session, after its files were written. [`Context`](crate::disk::Context) does both. A
    /// program that keeps files elsewhere writes them itself and then calls this.
    ///
    /// ```
    /// use accp_memory::{Form, MessageList, Options, ListSession, SessionId, Window};
    ///
    /// # let counter = accp_tokens::Bpe::o200k_base();
    /// let window = Window::of(1_000)?;
    /// let options = Options::new(&window, &counter, time::OffsetDateTime::now_utc());
    /// let list = MessageList::read(r#"[{"role":"user","content":"Rye?"}]"#, None)?;
    /// let mut session = ListSession::new(SessionId::new("s")?, Form::OpenAi);
    /// let plan = session.plan(&list, &options, &(), &mut ())?;
    /// assert!(plan.files.is_empty());
    /// assert_eq!(plan.list(&list).to_string(), list.to_string());
    /// session.apply(&plan);
    /// assert_eq!(session.originals().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply(&mut self, plan: &ListPlan) {
        self.originals.extend(plan.new.iter().cloned());
        for (message, covers, _) in &plan.made {
            self.made.insert(message.digest(), covers.clone());
        }
        self.form = plan.form;
        self.slots.clone_from(&plan.slots);
        self.drift.extend(plan.drift.iter().cloned());
        self.summed_up = plan.summed_up.or(self.summed_up);
        self.archived = plan.archived;
        self.checkpoints = plan.checkpoints;
        self.usage = plan.window.clone().or_else(|| self.usage.take());
        self.events.extend(plan.events.iter().cloned());
    }
}
