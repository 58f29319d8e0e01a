//! A guest: an agent in the process of its host. It reads the log of the host, and keeps how far it has handled
//! that log.

use std::collections::BTreeSet;

use accp_session::{Entry, Inbound, InputError, MemberId, Mid, Transmit};
use accp_store::{AsyncDriver, DriverError};
use tokio::sync::watch;

use super::catch_up::{answered_by, is_open};
use super::sender::SessionSender;
use super::work::{Dispatch, Work};
use crate::clock::now;
use crate::command::Asking;
use crate::context::Marked;
use crate::error::OnDurable;
use crate::inbox::Inbox;

/// The most and the fewest entries that are read at a time.
const PIECE: usize = 256;
const FEW: usize = 8;

type Driver = AsyncDriver<Vec<Transmit>>;

/// A guest. It keeps only the positions of frames that wait, because the log has their texts.
pub(super) struct Guest {
    pub(super) member: MemberId,
    pub(super) work: Work,
    inbox: Inbox,
    /// The last position of the log when the agent was opened. Handlers of an earlier run may have got the frames
    /// up to this position.
    again: u64,
    /// The guest has offered the frames before this position to its handlers.
    next: u64,
    /// The guest has looked for answers and pieces for its askers before this position.
    heard: u64,
    /// The ids that the agent has answered, while the guest reads positions from before its inbox.
    answered: Option<BTreeSet<Mid>>,
    /// True while the frame at `next` cannot be handed out: it waits for its values, or no handler has taken it.
    is_blocked: bool,
    /// Frames for askers. Their values are not here yet.
    held: Vec<Inbound>,
    /// How far the log is durable.
    last: watch::Sender<u64>,
}

impl Guest {
    pub(super) fn new(
        member: MemberId,
        work: Work,
        inbox: Inbox,
        again: u64,
        last: watch::Sender<u64>,
    ) -> Self {
        Self {
            member,
            work,
            next: inbox.through() + 1,
            heard: 0,
            inbox,
            again,
            answered: None,
            is_blocked: false,
            held: Vec::new(),
            last,
        }
    }

    pub(super) fn sender<'s>(
        &self,
        driver: &'s mut Driver,
        durable: &'s mut Vec<OnDurable>,
    ) -> SessionSender<'s> {
        SessionSender {
            driver,
            guest: Some(self.member),
            durable,
        }
    }

    /// Tells followers of the log how far it is durable.
    pub(super) fn tell(&self, position: u64) {
        self.last.send_if_modified(|last| {
            let is_news = *last != position;
            *last = position;
            is_news
        });
    }

    pub(super) fn ask(
        &mut self,
        driver: &mut Driver,
        durable: &mut Vec<OnDurable>,
        asking: Asking,
    ) -> Result<(), DriverError> {
        if self.work.questions.is_empty() {
            self.heard = driver.session().position() + 1;
        }
        let mut sender = self.sender(driver, durable);
        self.work.ask(&mut sender, asking)
    }

    /// Offers frames again that no handler has taken so far.
    pub(super) fn begin_again(&mut self) {
        self.next = self.inbox.through() + 1;
        self.is_blocked = false;
    }

    /// Notes that values have arrived, or will never arrive.
    pub(super) fn unblock(&mut self) {
        self.is_blocked = false;
    }

    /// Marks frames as handled, with their answers. Returns whether the session has taken any mark.
    pub(super) fn mark_late(
        &mut self,
        driver: &mut Driver,
        durable: &mut Vec<OnDurable>,
    ) -> Result<bool, DriverError> {
        if self.work.late.is_empty() {
            return Ok(false);
        }
        let registry = driver.session().options().registry.clone();
        let (member, offered) = (self.member, self.offered());
        let (begun, inbox) = (self.work.begun.clone(), &mut self.inbox);
        let owed = self.work.owed(driver.session(), member);
        self.work
            .mark_late(&registry, &owed, durable, |inbound, answers| {
                let marked = marked(inbox, inbound.position(), offered, &begun);
                let answer = answers.into_iter().next();
                let answer = answer.map(|answer| answer.answering(inbound)).transpose();
                let answer = answer.map_err(|error| InputError::Send(error.into()))?;
                let text = marked.to_string();
                let session = driver.session_mut()?;
                let handled = session.handled_as(member, &text, answer.as_ref(), now());
                let mid = handled.map_err(InputError::from)?;
                *inbox = marked;
                Ok(mid)
            })
    }

    /// Marks a frame that an asker gets. Returns false if the session takes no mark now.
    fn mark(&mut self, driver: &mut Driver, at: u64) -> Result<bool, DriverError> {
        let marked = marked(&self.inbox, at, self.offered(), &self.work.begun);
        let session = driver.session_mut()?;
        let text = marked.to_string();
        let is_kept = session.handled_as(self.member, &text, None, now()).is_ok();
        if is_kept {
            self.inbox = marked;
        }
        Ok(is_kept)
    }

    /// Returns the position before which every frame was offered to handlers, or to askers alone if the agent has no
    /// handlers.
    fn offered(&self) -> u64 {
        if self.work.listens {
            self.next
        } else {
            self.heard
        }
    }

    fn hands(&self) -> bool {
        let listens = self.work.listens && !self.work.drains();
        listens && !self.is_blocked && self.work.room() > 0
    }

    /// Returns the position from which this guest reads on. `None` if that is after `end`, the last durable
    /// position, or if nobody waits for frames.
    fn wanted(&self, end: u64) -> Option<u64> {
        let next = Some(self.next).filter(|_| self.hands());
        let heard = Some(self.heard).filter(|_| !self.work.questions.is_empty());
        let from = next.into_iter().chain(heard).filter(|from| *from <= end);
        from.min()
    }

    /// Goes on reading the log as far as a receiver waits for it, and hands out the frames. `fresh` are the entries
    /// that have become durable last, up to the position `end`. Returns whether the session has new inputs.
    pub(super) async fn advance(
        &mut self,
        driver: &mut Driver,
        fresh: &[Entry],
        end: u64,
    ) -> Result<bool, DriverError> {
        let mut has_inputs = self.hand_held(driver).await?;
        while let Some(from) = self.wanted(end) {
            if self.hands() && self.inbox.is_before(self.next) && self.answered.is_none() {
                let since = self.inbox.through() + 1;
                self.answered = Some(answered_by(driver, self.member, since).await?);
            }
            let read;
            let is_fresh = fresh.first().is_some_and(|first| first.position <= from)
                && fresh.last().is_some_and(|last| last.position == end);
            let entries = if is_fresh {
                &fresh[fresh.partition_point(|entry| entry.position < from)..]
            } else {
                let all = !self.work.questions.is_empty();
                let most = if all { PIECE } else { self.work.room() + FEW };
                read = driver.entries(from, most).await?;
                &read[..]
            };
            let mut expected = from;
            for entry in entries {
                // Positions between the entries were erased, so the guest passes over them.
                self.pass(expected, entry.position - 1);
                expected = entry.position + 1;
                has_inputs |= self.take(driver, entry).await?;
            }
            if entries.is_empty() {
                self.pass(from, end);
            }
        }
        if !self.inbox.is_before(self.next) {
            self.answered = None;
        }
        Ok(has_inputs)
    }

    /// Skips positions that hold nothing for this guest.
    fn pass(&mut self, first: u64, last: u64) {
        if first > last {
            return;
        }
        if self.hands() && (first..=last).contains(&self.next) {
            self.inbox.pass(self.next, last);
            self.next = last + 1;
        }
        if (first..=last).contains(&self.heard) {
            self.heard = last + 1;
        }
    }

    /// Takes the next entry of the log. Returns whether the session has new inputs.
    async fn take(&mut self, driver: &mut Driver, entry: &Entry) -> Result<bool, DriverError> {
        let at = entry.position;
        let asks = !self.work.questions.is_empty() && at >= self.heard;
        let hands = self.hands() && at >= self.next;
        if asks {
            self.heard = at + 1;
        }
        if !asks && !hands {
            return Ok(false);
        }
        let mut out = self.held.iter().chain(&self.work.given);
        let is_out = out.any(|out| out.position() == at);
        if is_out || self.inbox.contains(at) || self.work.begun.contains(&at) {
            self.next = if hands { at + 1 } else { self.next };
            return Ok(false);
        }
        let session = driver.session_mut()?;
        let inbound = session.inbound_for(self.member, entry, at <= self.again);
        let Some(inbound) = inbound.filter(|inbound| !session.has_lapsed(inbound, now())) else {
            self.pass(at, at);
            return Ok(false);
        };
        if asks && (self.work.piece(&inbound).is_some() || self.work.answered(&inbound).is_some()) {
            self.next = if hands { at + 1 } else { self.next };
            self.held.push(inbound);
            return self.hand_held(driver).await;
        }
        if !hands {
            return Ok(false);
        }
        if self.inbox.is_before(at) {
            let answered = self.answered.as_ref();
            if !answered.is_some_and(|answered| is_open(&inbound, answered)) {
                self.pass(at, at);
                return Ok(false);
            }
        }
        if !self.work.takes(&inbound) {
            self.next = at + 1;
            return Ok(false);
        }
        let Some(whole) = driver.with_values(&inbound).await? else {
            self.is_blocked = true;
            return Ok(false);
        };
        match self.work.start(&whole) {
            Dispatch::Started => self.next = at + 1,
            Dispatch::Refused => {
                self.next = at + 1;
                return Ok(true);
            }
            Dispatch::Nobody => self.is_blocked = true,
        }
        Ok(false)
    }

    /// Hands frames to askers, each once its values are here and after the pieces before it. Returns
    /// whether the session has new inputs.
    async fn hand_held(&mut self, driver: &mut Driver) -> Result<bool, DriverError> {
        let mut has_inputs = false;
        let mut waiting = Vec::new();
        for inbound in std::mem::take(&mut self.held) {
            let piece = self.work.piece(&inbound);
            let answered = self.work.answered(&inbound);
            let asked = answered.and_then(|(at, _)| self.work.questions.get(at));
            let number = piece.or_else(|| Some(asked?.asking.number));
            let Some(number) = number else {
                // The agent that asked no longer waits. A handler may take the frame.
                self.next = self.next.min(inbound.position());
                continue;
            };
            let whole = if waiting.contains(&number) {
                None
            } else {
                driver.with_values(&inbound).await?
            };
            let Some(whole) = whole else {
                waiting.push(number);
                self.held.push(inbound);
                continue;
            };
            let at = whole.position();
            match (piece, answered) {
                (Some(number), _) => {
                    if !self.mark(driver, at)? {
                        waiting.push(number);
                        self.held.push(inbound);
                        continue;
                    }
                    has_inputs = true;
                    let registry = &driver.session().options().registry;
                    self.work.hand_piece(registry, whole, number);
                }
                (None, Some(answered)) => {
                    let registry = &driver.session().options().registry;
                    if !self.work.hand_answer(registry, whole, answered) {
                        // The asker no longer waits, so a handler gets the answer.
                        has_inputs = true;
                        self.next = self.next.min(at);
                    }
                }
                (None, None) => {}
            }
        }
        Ok(has_inputs)
    }

    /// Marks an answer that its asker has taken. An answer whose asker has left waits for a handler.
    pub(super) fn taken(
        &mut self,
        driver: &mut Driver,
        position: u64,
        is_taken: bool,
    ) -> Result<(), DriverError> {
        let Some(inbound) = self.work.given(position) else {
            return Ok(());
        };
        if !is_taken {
            self.next = self.next.min(position);
            self.is_blocked = false;
        } else if !self.mark(driver, position)? {
            self.work.late.push_back(Marked {
                inbound,
                reply: None,
                was_handled: false,
                done: None,
            });
        }
        Ok(())
    }
}

/// Returns an inbox with one more position. If there are too many gaps, the oldest frames that no handler takes
/// count as handled.
fn marked(inbox: &Inbox, at: u64, offered: u64, begun: &BTreeSet<u64>) -> Inbox {
    let mut marked = inbox.clone();
    marked.add(at);
    marked.trim(|gap| *gap.end() < offered && begun.range(gap).next().is_none());
    marked
}
