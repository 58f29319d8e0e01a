//! The planner, which holds the list while tiers act on it.

use std::collections::BTreeSet;

use time::format_description::well_known::Rfc3339;

use super::{FileLookup, ListPlan, NewFile, Options, PlanError, earlier};
use crate::archive::{Archive, Archived};
use crate::check::broken;
use crate::drift::DriftEvent;
use crate::event::{Event, Intent, Tier};
use crate::finding::{Code, Finding};
use crate::hooks::{Hooks, Verdict};
use crate::list::MessageList;
use crate::media::Way;
use crate::message::{ListMessage, Role};
use crate::names::{self, CommandOptions};
use crate::parsed::{Parsed, parse};
use crate::session::{Covers, ListSession, ListUpdate, Slot, SlotKind, Usage};
use crate::summary::quoted;
use crate::unit::{Unit, units};
use crate::window::State;

/// A tier saves at least this share of the window, in percent. So it acts seldom, and seldom makes a cache useless.
const STEP: u64 = 10;

/// The list while tiers act on it, and what they have decided.
pub(super) struct Planner<'p> {
    pub(super) session: &'p ListSession,
    pub(super) options: &'p Options<'p>,
    pub(super) lookup: &'p dyn FileLookup,
    /// The options of the commands that texts in the list name.
    pub(super) commands: CommandOptions,
    given: &'p MessageList,
    /// The whole conversation.
    pub(super) all: Vec<Parsed>,
    pub(super) draft: Draft,
    /// The tokens that a model reads outside the list.
    beside: u64,
    before: u64,
    /// Whether the given list has new messages, or other texts of the system.
    has_news: bool,
    events: Vec<Event>,
    pub(super) drift: Vec<DriftEvent>,
}

/// The part of the planner that can be undone, if a tier is deferred or does not help.
#[derive(Clone, Default)]
pub(super) struct Draft {
    pub(super) slots: Vec<Slot>,
    /// The tokens of each slot.
    pub(super) tokens: Vec<u64>,
    made: Vec<(ListMessage, Covers, SlotKind)>,
    pub(super) files: Vec<NewFile>,
    taken: BTreeSet<String>,
    /// How many messages the archive has.
    archived: usize,
    checkpoints: u64,
    /// Whether tier 2 has cut an input.
    pub(super) has_cut_inputs: bool,
}

/// A tier that is about to act.
pub(super) struct Act {
    tier: Tier,
    trigger: String,
    before: u64,
    saved: Draft,
}

impl<'p> Planner<'p> {
    pub(super) fn new(
        session: &'p ListSession,
        options: &'p Options<'p>,
        lookup: &'p dyn FileLookup,
        given: &'p MessageList,
        update: &ListUpdate,
    ) -> Self {
        let root = lookup.root();
        let commands = CommandOptions::of(&session.id, root.as_deref());
        let mut all = parse(
            session.form,
            Way::Command(&commands),
            session.originals.iter().chain(&update.new),
        );
        for message in &mut all {
            message.marked = session.marks.contains(&message.index);
        }
        let mut planner = Self {
            session,
            options,
            lookup,
            commands,
            given,
            all,
            beside: given.beside(options.counter),
            before: 0,
            has_news: !update.new.is_empty() || !update.changed.is_empty(),
            events: Vec::new(),
            drift: Vec::new(),
            draft: Draft {
                archived: session.archived,
                checkpoints: session.checkpoints,
                ..Draft::default()
            },
        };
        for slot in &update.slots {
            planner.push(slot.clone());
        }
        planner.before = options.window.count(given, options.counter);
        planner
    }

    pub(super) fn push(&mut self, slot: Slot) {
        let tokens = self
            .options
            .window
            .tokens(&slot.message, self.options.counter);
        self.draft.tokens.push(tokens);
        self.draft.slots.push(slot);
    }

    /// Returns the tokens of the list, and those that a model reads outside the list.
    pub(super) fn total(&self) -> u64 {
        self.draft.tokens.iter().sum::<u64>() + self.beside
    }

    /// Returns the tokens that a model reads outside the list.
    pub(super) fn beside(&self) -> u64 {
        self.beside
    }

    /// Returns the least number of tokens that a step saves.
    pub(super) fn step(&self) -> u64 {
        self.options.window.tokens_at(STEP)
    }

    pub(super) fn list(&self) -> MessageList {
        let slots = self.draft.slots.iter();
        self.given
            .with(slots.map(|slot| slot.message.clone()).collect())
    }

    pub(super) fn units(&self) -> Vec<Unit> {
        units(&self.list())
    }

    /// Returns the index of the first slot that belongs to the newest `turns` turns.
    pub(super) fn newest(&self, turns: usize) -> usize {
        let units = self.units();
        let unit = (self.last(&units) + 1).saturating_sub(turns);
        units.get(unit).map_or(0, |unit| unit.messages.start)
    }

    /// Lets all tiers act, in order.
    pub(super) fn run(&mut self, hooks: &mut dyn Hooks) -> Result<(), PlanError> {
        // A list that fits and has nothing new stays as it is (CTX-73).
        let fits = self.total() <= self.options.window.room();
        if !self.has_news && fits && !self.options.force {
            return Ok(());
        }
        self.watch();
        self.large_results(hooks);
        self.results(hooks);
        self.inputs(hooks);
        self.media(hooks);
        self.summarise(hooks)?;
        // The input that was cut goes into the archive, so that a search finds it there. The file that the call
        // wrote may change later.
        if self.draft.has_cut_inputs {
            self.archive();
        }
        self.fit()
    }

    /// Returns the time, with its zone.
    pub(super) fn now(&self) -> String {
        self.options.now.format(&Rfc3339).unwrap_or_default()
    }

    /// Begins the act of a tier.
    pub(super) fn begin(&self, tier: Tier, trigger: String) -> Act {
        Act {
            tier,
            trigger,
            before: self.total(),
            saved: self.draft.clone(),
        }
    }

    /// Returns the limit in tokens under which tiers 1 and 2 bring the list; `None` if the list is already below the
    /// limit.
    pub(super) fn cuts_to(&self) -> Option<u64> {
        let window = self.options.window;
        let limit = window.tokens_at(window.acts_at());
        if self.options.force {
            return Some(0);
        }
        (self.total() >= limit).then_some(limit)
    }

    /// Returns whether tier 1 or 2 has done enough.
    pub(super) fn is_enough(&self, before: u64, goal: u64) -> bool {
        let now = self.total();
        now < goal && before - now >= self.step()
    }

    /// Keeps what a tier has done if it reaches the goal or saves a whole step.
    pub(super) fn keep_if(&mut self, act: Act, goal: u64, hooks: &mut dyn Hooks) {
        let saved = act.before.saturating_sub(self.total());
        let helps = self.total() < goal || saved >= self.step() || self.options.force;
        if saved > 0 && helps {
            self.end(act, hooks);
        } else {
            self.undo(act);
        }
    }

    /// Returns the log's reason for a tier that acts at this number of tokens.
    pub(super) fn over(&self, tokens: u64) -> String {
        let room = self.options.window.room();
        let share = tokens.saturating_mul(100) / room;
        let forced = if self.options.force { ", forced" } else { "" };
        format!("{tokens} of {room} tokens, {share} %{forced}")
    }

    /// Takes back what a tier has done.
    pub(super) fn undo(&mut self, act: Act) {
        self.draft = act.saved;
    }

    /// Ends the act of a tier, and logs it. The caller's program may defer the tier; then the act is undone, unless
    /// the list was over the window.
    pub(super) fn end(&mut self, act: Act, hooks: &mut dyn Hooks) {
        let known: BTreeSet<_> = act.saved.files.iter().map(|file| &file.path).collect();
        let files = self.draft.files.iter().map(|file| &file.path);
        let after = self.total();
        let mut event = Event {
            at: self.now(),
            tier: act.tier,
            trigger: act.trigger,
            before: act.before,
            after,
            saved: act.before.saturating_sub(after),
            files: files
                .filter(|path| !known.contains(path))
                .cloned()
                .collect(),
            intent: self.intent(),
            deferred: false,
        };
        let must = act.before > self.options.window.room();
        if hooks.before(&event) == Verdict::Defer && !must {
            self.draft = act.saved;
            event = Event {
                after: event.before,
                saved: 0,
                files: Vec::new(),
                intent: self.intent(),
                deferred: true,
                ..event
            };
        }
        self.events.push(event);
    }

    /// Replaces a message of the list by one that shows less.
    pub(super) fn replace(&mut self, slot: usize, message: ListMessage) {
        let tokens = self.options.window.tokens(&message, self.options.counter);
        let place = &mut self.draft.slots[slot];
        place.message = message.clone();
        if place.kind == SlotKind::Original {
            place.kind = SlotKind::Cut;
        }
        self.draft.tokens[slot] = tokens;
        self.draft
            .made
            .push((message, place.covers.clone(), place.kind));
    }

    /// Replaces the whole list. `made` is the only message in it that was made now.
    pub(super) fn rearrange(&mut self, slots: Vec<Slot>, made: &Slot) {
        self.draft.slots.clear();
        self.draft.tokens.clear();
        for slot in slots {
            self.push(slot);
        }
        self.draft
            .made
            .push((made.message.clone(), made.covers.clone(), made.kind));
    }

    /// Inserts a message that was made for the list.
    pub(super) fn insert(&mut self, at: usize, slot: Slot) {
        let tokens = self
            .options
            .window
            .tokens(&slot.message, self.options.counter);
        self.draft
            .made
            .push((slot.message.clone(), slot.covers.clone(), slot.kind));
        self.draft.tokens.insert(at, tokens);
        self.draft.slots.insert(at, slot);
    }

    /// Returns a path for a result that is moved out now.
    pub(super) fn path(&mut self, tool: &str) -> String {
        let now = self.options.now;
        let stamp = format!(
            "{:04}{:02}{:02}_{:02}{:02}{:02}",
            now.year(),
            u8::from(now.month()),
            now.day(),
            now.hour(),
            now.minute(),
            now.second()
        );
        let taken = &self.draft.taken;
        let is_taken = |path: &str| taken.contains(path) || self.lookup.is_taken(path);
        let path = names::offloaded(&stamp, tool, is_taken);
        self.draft.taken.insert(path.clone());
        path
    }

    /// Appends to the archive what it lacks of the conversation.
    pub(super) fn archive(&mut self) {
        let path = self.session.id.archive();
        let mut new = Vec::new();
        if !self.draft.files.iter().any(|file| file.path == path) {
            new = earlier::archived(self.session, &self.all, self.options.now);
        }
        let messages = self.all[self.draft.archived..].iter();
        new.extend(messages.map(|one| Archived::of_parsed(one, Some(self.options.now))));
        if !new.is_empty() {
            self.draft.files.push(NewFile {
                path,
                text: Archive::text(&new),
                grows: true,
            });
        }
        self.draft.archived = self.all.len();
    }

    /// Stores the current list in a checkpoint.
    pub(super) fn checkpoint(&mut self) {
        self.draft.checkpoints += 1;
        let number = self.draft.checkpoints;
        let list: Vec<_> = self
            .draft
            .slots
            .iter()
            .map(|slot| slot.message.json())
            .collect();
        let text = serde_json::json!({
            "session": self.session.id.as_str(),
            "checkpoint": number,
            "at": self.now(),
            "on": [accp_context::Trigger::Hot.as_str()],
            "form": self.session.form.name(),
            "window": self.options.window.size(),
            "tokens": self.total(),
            "said": self.all.len(),
            "archive": self.session.id.archive(),
            "list": list,
        });
        self.draft.files.push(NewFile {
            path: self.session.id.checkpoint(number),
            text: format!("{text}\n"),
            grows: false,
        });
    }

    /// Returns whether the list shows the intent verbatim.
    fn intent(&self) -> Intent {
        let first = self
            .all
            .iter()
            .find(|message| message.role == Role::User && !message.text.trim().is_empty());
        let Some(first) = first else {
            return Intent::Verbatim;
        };
        let shows = |slot: &Slot| match slot.kind {
            SlotKind::Original | SlotKind::Cut => {
                slot.covers.iter().any(|range| range.contains(&first.index))
            }
            SlotKind::Summary => shown(&slot.message, &first.text),
            SlotKind::Recovered => false,
        };
        if self.draft.slots.iter().any(shows) {
            Intent::Verbatim
        } else {
            Intent::Referenced
        }
    }

    /// Refuses a list that is over the window, or that breaks a rule.
    fn fit(&mut self) -> Result<(), PlanError> {
        let room = self.options.window.room();
        let total = self.total();
        if total > room {
            return Err(PlanError::OverWindow(self.too_large(total, room)));
        }
        let faults = broken(&self.list());
        if faults.is_empty() {
            Ok(())
        } else {
            Err(PlanError::Invalid(faults))
        }
    }

    /// Says what has to stay in a list that does not fit.
    pub(super) fn too_large(&self, total: u64, room: u64) -> Finding {
        let newest = self.newest(1);
        let mut what: Vec<_> = Vec::new();
        if self.beside > 0 {
            what.push(format!("{} tokens outside the list", self.beside));
        }
        for (at, slot) in self.draft.slots.iter().enumerate() {
            let part = match slot.message.role {
                Role::System => "system message",
                _ if slot.message.stays() => "compaction",
                _ if slot.kind == SlotKind::Summary => "summary",
                _ if at >= newest => "newest turn",
                _ => continue,
            };
            let place = match (slot.covers.as_slice(), slot.kind) {
                ([range], SlotKind::Original | SlotKind::Cut) => {
                    format!(" (message {})", range.start)
                }
                _ => String::new(),
            };
            what.push(format!("{} of the {part}{place}", self.draft.tokens[at]));
        }
        let text = format!(
            "the list has {total} tokens at least, and the window has room for {room}: {}; give a larger window, or \
             shorten one of these",
            what.join(", ")
        );
        Finding::of_list(Code::OverWindow, text)
    }

    pub(super) fn finish(mut self, new: Vec<ListMessage>) -> ListPlan {
        let after = self.total();
        let window = self.options.window;
        let state = window.state(after);
        let mut advice = None;
        if state == State::Critical {
            let is_new = self.has_news || !self.draft.made.is_empty();
            if is_new && self.draft.checkpoints == self.session.checkpoints {
                self.archive();
                self.checkpoint();
            }
            let number = self.draft.checkpoints;
            advice = Some(format!(
                "begin a fresh session: `accp context resume{} --checkpoint {number}` gives its list",
                self.commands
            ));
        }
        ListPlan {
            form: self.session.form,
            slots: self.draft.slots,
            new,
            changed: Vec::new(),
            made: self.draft.made,
            summed_up: self.events.iter().any(acted).then_some(self.all.len()),
            drift: self.drift,
            events: self.events,
            files: self.draft.files,
            archived: self.draft.archived,
            checkpoints: self.draft.checkpoints,
            window: Some(Usage {
                tokens: after,
                room: window.room(),
                window: window.size(),
                counted_with: self.options.counter.name().to_owned(),
            }),
            before: self.before,
            after,
            state,
            advice,
            bound: Vec::new(),
        }
    }
}

/// Returns whether a summary took the place of messages.
fn acted(event: &Event) -> bool {
    event.tier == Tier::Three && !event.deferred
}

/// Returns whether a message shows a text, whole or quoted.
fn shown(message: &ListMessage, text: &str) -> bool {
    let content = message.json()["content"].as_str().unwrap_or_default();
    content.contains(text) || content.contains(&quoted(text))
}
