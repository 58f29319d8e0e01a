//! Replays the growing list of one agent at one setting, and checks each list that the session returns.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use accp_memory::{
    FileLookup, Form, Intent, ListPlan, ListSession, MessageList, Options, PlanError, SessionId,
    Tier, Window, Writes,
};
use time::{Duration, OffsetDateTime};

use crate::Result;
use crate::checks::{Counter, Step, least};
use crate::out::Out;
use crate::talk::Talk;
use crate::tally::Tally;

/// One of this many steps is also planned from the whole conversation, and one is compressed a second time.
const SAMPLE: usize = 7;

/// The paths that plans have named so far. No file is written.
#[derive(Default)]
struct Made(RefCell<BTreeSet<String>>);

impl FileLookup for Made {
    fn is_taken(&self, path: &str) -> bool {
        self.0.borrow().contains(path)
    }

    fn written(&self, _: &str) -> Option<String> {
        None
    }
}

/// A list that grows, and its session.
pub(crate) struct Sweep<'s> {
    talk: &'s Talk,
    window: &'s Window,
    counter: &'s Counter,
    writes: &'s Writes,
    session: ListSession,
    made: Made,
    /// The list that the last step returned.
    shown: Vec<Arc<str>>,
    /// How many messages of the conversation the session knows.
    said: usize,
}

impl<'s> Sweep<'s> {
    pub(crate) fn new(
        talk: &'s Talk,
        window: &'s Window,
        counter: &'s Counter,
        writes: &'s Writes,
    ) -> Result<Self> {
        let id = SessionId::new("sweep").map_err(|error| error.to_string())?;
        Ok(Self {
            talk,
            window,
            counter,
            writes,
            session: ListSession::new(id, talk.form),
            made: Made::default(),
            shown: Vec::new(),
            said: 0,
        })
    }

    /// Lets the list grow to its end.
    pub(crate) fn run(&mut self, tally: &mut Tally, out: &mut Out) -> Result<()> {
        tally.lists += 1;
        let (mut refused, mut ended) = (0, false);
        for (number, end) in self.talk.steps.iter().enumerate() {
            tally.steps += 1;
            let given = self.talk.list(
                self.shown
                    .iter()
                    .chain(&self.talk.messages[self.said..*end]),
            )?;
            ended = false;
            match self.plan(&given, number) {
                Ok(plan) => self.take(&given, &plan, (number, *end), tally, out)?,
                Err(PlanError::OverWindow(_) | PlanError::NoRoom(_)) => {
                    refused += 1;
                    ended = true;
                    self.refused(*end, tally);
                }
                Err(error) => tally
                    .faults
                    .push(format!("{}, step {number}: {error}", self.talk.id)),
            }
        }
        tally.refused += refused;
        tally.stuck += usize::from(refused > 0);
        tally.ended += usize::from(ended);
        Ok(())
    }

    fn plan(&self, list: &MessageList, number: usize) -> std::result::Result<ListPlan, PlanError> {
        let seconds = i64::try_from(number).unwrap_or_default();
        let options = Options {
            writes: self.writes,
            ..Options::new(
                self.window,
                self.counter,
                OffsetDateTime::UNIX_EPOCH + Duration::seconds(seconds),
            )
        };
        self.session.plan(list, &options, &self.made, &mut ())
    }

    /// Counts a refused step if the messages that no tier may remove would have fitted alone. Notes the room that was
    /// left for a summary.
    fn refused(&self, end: usize, tally: &mut Tally) {
        let least = least(self.talk, end, self.counter);
        if least <= self.window.room() {
            tally.might += 1;
            tally.spare.push(self.window.room() - least);
        }
    }

    /// Takes over the list that a step returned, and checks it.
    fn take(
        &mut self,
        given: &MessageList,
        plan: &ListPlan,
        (number, end): (usize, usize),
        tally: &mut Tally,
        out: &mut Out,
    ) -> Result<()> {
        let list = plan.list(given);
        let acted = !plan.events.is_empty();
        let at = format!(
            "{}, window {}, step {number}",
            self.talk.id,
            self.window.size()
        );
        if number % SAMPLE == SAMPLE - 1 {
            tally.whole += 1;
            let whole = self.talk.list(self.talk.messages[..end].iter())?;
            match self.plan(&whole, number) {
                Ok(whole) if texts(&whole.list(given)) == texts(&list) => {}
                Ok(_) => tally.faults.push(format!(
                    "{at}: the whole conversation leads to another list"
                )),
                Err(error) => tally
                    .faults
                    .push(format!("{at}: the whole conversation is refused: {error}")),
            }
        }
        self.made
            .0
            .borrow_mut()
            .extend(plan.files.iter().map(|file| file.path.clone()));
        self.session.apply(plan);
        let step = Step {
            talk: self.talk,
            end,
            before: &self.shown,
            given,
            list: &list,
            events: &plan.events,
            after: plan.after,
            room: self.window.room(),
            has_file: &|path| self.made.is_taken(path),
        };
        tally.faults.extend(
            step.faults(self.counter)
                .into_iter()
                .map(|fault| format!("{at}: {fault}")),
        );
        if acted && let Some(summary) = step.summary() {
            out.summary(&at, &summary)?;
        }
        let restored = self
            .session
            .originals()
            .iter()
            .map(accp_memory::ListMessage::raw);
        if !restored.eq(self.talk.messages[..end].iter().map(|raw| &**raw)) {
            tally
                .faults
                .push(format!("{at}: the conversation is not restored"));
        }
        out.list(&list, acted)?;
        self.again(&list, number, acted, &at, tally);
        tally.acted += usize::from(acted);
        for event in &plan.events {
            tally.event(event);
            let counted = event.tier == Tier::Three;
            tally.verbatim += usize::from(counted && event.intent == Intent::Verbatim);
            tally.referenced += usize::from(counted && event.intent == Intent::Referenced);
        }
        tally.most = tally.most.max(plan.after * 1_000 / self.window.room());
        self.shown = texts(&list).into_iter().map(Arc::from).collect();
        self.said = end;
        Ok(())
    }

    /// Compresses a list a second time. No message was added, so nothing may change.
    fn again(&self, list: &MessageList, number: usize, acted: bool, at: &str, tally: &mut Tally) {
        if !acted && !number.is_multiple_of(SAMPLE) {
            return;
        }
        tally.twice += 1;
        match self.plan(list, number + 1) {
            Ok(again) => {
                let same = texts(&again.list(list)) == texts(list);
                if !same || !again.events.is_empty() || !again.files.is_empty() {
                    tally
                        .faults
                        .push(format!("{at}: the list changes when nothing was said"));
                }
            }
            Err(error) => tally.faults.push(format!(
                "{at}: the list is refused when it is given again: {error}"
            )),
        }
    }
}

fn texts(list: &MessageList) -> Vec<&str> {
    list.messages()
        .iter()
        .map(accp_memory::ListMessage::raw)
        .collect()
}

/// Returns the window of a setting.
pub(crate) fn window(size: u64, stress: bool) -> Result<Window> {
    Ok(Window::of(size)
        .map_err(|error| error.to_string())?
        .with_stress(stress))
}

/// Returns the form of this name.
pub(crate) fn form(name: &str) -> Result<Form> {
    Form::named(name).ok_or_else(|| format!("{name} is not a form: openai, anthropic or responses"))
}
