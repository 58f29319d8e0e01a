//! The guests of a host: agents that live in its process.

use std::any::Any;
use std::sync::Weak;

use accp_frame::AgentId;
use accp_session::{Cold, Entry, Event, Input, MemberId, Outgoing};
use accp_store::{Committer, DriverError, SideId};
use tokio::sync::watch;

use super::guest::Guest;
use super::work::Work;
use super::{CLOSED, Side};
use crate::clock::now;
use crate::command::{Command, refuse};
use crate::error::Error;
use crate::inbox::Inbox;

/// The error of an agent whose name was opened again.
const AGAIN: &str = "the agent was opened again";

impl Side {
    /// Carries out a command of the handle with this number.
    pub(super) async fn obey_guest(&mut self, by: u64, command: Command) -> Result<(), Error> {
        if let Command::Open { agent, own, last } = command {
            return self.open(by, &agent, own, last).await;
        }
        if let Command::Close = command {
            self.ended.remove(&by);
            if let Some(guest) = self.guests.remove(&by) {
                self.driver.session_mut()?.end_guest(guest.member);
            }
            return Ok(());
        }
        let Some(guest) = self.guests.get_mut(&by) else {
            let why = self.ended.get(&by).cloned();
            refuse(command, why.unwrap_or_else(Error::ended));
            return Ok(());
        };
        let (driver, durable) = (&mut self.driver, &mut self.durable);
        match command {
            Command::Send(posting) => {
                let mut sender = guest.sender(driver, durable);
                guest.work.tell(&mut sender, posting)?;
            }
            Command::Ask(asking) => guest.ask(driver, durable, asking)?,
            Command::Abandon(number) => {
                let mut sender = guest.sender(driver, durable);
                guest.work.abandon(&mut sender, number)?;
            }
            Command::Leave(number) => guest.work.leave(number),
            Command::Taken { position, is_taken } => guest.taken(driver, position, is_taken)?,
            Command::Serve(add) => {
                guest.work.serve(add);
                guest.begin_again();
                self.tell_takes()?;
            }
            Command::Handled(marked) => {
                let member = guest.member;
                let mut sender = guest.sender(driver, durable);
                guest.work.ended(&mut sender, member, marked)?;
            }
            Command::Drain { leaves, done } => {
                guest.work.leaves |= leaves;
                guest.work.drain(Some(done));
            }
            // The host already has the whole session, so the guest has joined.
            Command::Joined(done) => drop(done.send(Ok(()))),
            other => self.look_up(other).await?,
        }
        Ok(())
    }

    /// Opens an agent. An earlier guest or link of this agent ends.
    async fn open(
        &mut self,
        number: u64,
        agent: &AgentId<'static>,
        own: Weak<dyn Any + Send + Sync>,
        last: watch::Sender<u64>,
    ) -> Result<(), Error> {
        if self.work.drains() {
            self.ended.insert(number, Error::Ended(CLOSED.to_owned()));
            return Ok(());
        }
        let known = self.driver.session().state().member_of(agent.as_str());
        let end = self.driver.session().position();
        let member = match self.driver.session_mut()?.join_guest(agent, now()) {
            Ok(member) => member,
            Err(error) => {
                self.ended.insert(number, error.into());
                return Ok(());
            }
        };
        self.end_guests_of(member, AGAIN);
        self.peers.remove(&member);
        let inbox = match known {
            None => Inbox::at(self.driver.session().position()),
            Some(_) => self.inbox_of(member, agent, end).await?,
        };
        let again = if known.is_some() { end } else { 0 };
        let session = self.driver.session_mut()?;
        // From here on, each frame that is handed out is either marked in the inbox or delivered again.
        let kept = session.handled_as(member, &inbox.to_string(), None, now());
        if let Err(error) = kept {
            session.end_guest(member);
            self.ended.insert(number, Error::Ended(error.to_string()));
            return Ok(());
        }
        let work = Work::new(agent.as_str(), own);
        let guest = Guest::new(member, work, inbox, again, last);
        self.guests.insert(number, guest);
        Ok(())
    }

    /// Returns the inbox of an agent, as the store has it. If the store has none, this makes an inbox. An earlier
    /// version kept a side for the agent in the store: then the inbox comes from that side, and the side's frames
    /// are posted.
    async fn inbox_of(
        &mut self,
        member: MemberId,
        agent: &AgentId<'static>,
        end: u64,
    ) -> Result<Inbox, Error> {
        let session = self.driver.session();
        let party = session
            .state()
            .members()
            .find(|(other, _)| *other == member);
        let joined = party.map_or(0, |(_, party)| party.joined);
        if let Some(inbox) = session.inbox_of(member) {
            return inbox.parse().map_err(|_| {
                let text =
                    format!("the store has an inbox of {agent} that cannot be read: {inbox}");
                Error::Damaged(text)
            });
        }
        let side = SideId::new(session.id(), agent);
        let Some(committer) = &self.committer else {
            return Ok(Inbox::begins(joined, end));
        };
        let Some(before) = Before::load(committer, &side).await? else {
            return Ok(Inbox::begins(joined, end));
        };
        let session = self.driver.session_mut()?;
        for frame in &before.outbox {
            // The host recognises a frame that it already has, so a second posting does no harm. A
            // refusal is not reported, because the caller that sent the frame is gone.
            let posted = session.post_outgoing(member, frame, now());
            posted.map_err(DriverError::from)?;
        }
        for value in &before.values {
            if let Some(bytes) = &value.bytes {
                let supplied = session.supply(member, &value.key, bytes, now());
                supplied.map_err(DriverError::from)?;
            }
        }
        self.leaving.push(side);
        Ok(before.inbox)
    }

    /// Deletes the sides of agents that have become guests, once their inboxes are durable.
    pub(super) async fn delete_sides(&mut self) -> Result<(), Error> {
        let (sides, committer) = (std::mem::take(&mut self.leaving), &self.committer);
        if let (false, Some(committer)) = (sides.is_empty(), committer) {
            let deleted = committer.ask(move |store| {
                sides
                    .iter()
                    .try_for_each(|side| store.delete(side).map(drop))
            });
            deleted.await.map_err(DriverError::from)?;
        }
        Ok(())
    }

    /// Ends the guests of a member for this reason.
    pub(super) fn end_guests_of(&mut self, member: MemberId, why: &str) {
        let guests = self.guests.iter();
        let numbers = guests.filter(|(_, guest)| guest.member == member);
        let numbers: Vec<u64> = numbers.map(|(number, _)| *number).collect();
        for number in numbers {
            if let Some(mut guest) = self.guests.remove(&number) {
                guest.work.end(|| Error::Ended(why.to_owned()));
                self.ended.insert(number, Error::Ended(why.to_owned()));
            }
        }
    }

    /// Hands guests the entries that have become durable, up to the position `end`, and takes their inputs.
    /// Returns whether the session has new inputs.
    pub(super) async fn serve_guests(
        &mut self,
        fresh: &[Entry],
        events: &[Event],
        end: u64,
    ) -> Result<bool, DriverError> {
        let mut has_inputs = false;
        let is_news = |event| matches!(event, &Event::Supplied(_) | &Event::Unavailable(_));
        let has_values = events.iter().any(is_news);
        for guest in self.guests.values_mut() {
            let (driver, durable) = (&mut self.driver, &mut self.durable);
            guest.work.settle(true, fresh, &[]);
            if has_values {
                guest.unblock();
            }
            has_inputs |= guest.work.follow(&mut guest.sender(driver, durable), &[])?;
            has_inputs |= guest.advance(driver, fresh, end).await?;
            has_inputs |= guest.mark_late(driver, durable)?;
            has_inputs |= guest.work.send_early(&mut guest.sender(driver, durable))?;
        }
        // A reply of this round becomes durable with the next commit. Agents that drain end after
        // that commit.
        if !has_inputs {
            has_inputs = self.end_drained()?;
        }
        Ok(has_inputs)
    }

    /// Ends the guests that were closed and have nothing left to do. Returns whether there were any.
    fn end_drained(&mut self) -> Result<bool, DriverError> {
        let drained = self.guests.iter();
        let drained = drained.filter(|(_, guest)| guest.work.has_drained());
        let drained: Vec<u64> = drained.map(|(number, _)| *number).collect();
        for &number in &drained {
            let Some(mut guest) = self.guests.remove(&number) else {
                continue;
            };
            let session = self.driver.session_mut()?;
            session.end_guest(guest.member);
            if guest.work.leaves {
                session
                    .handle(Input::Leave(guest.member), now())
                    .map_err(DriverError::from)?;
            }
            guest.work.tell_drained();
            guest.work.end(|| Error::Ended(CLOSED.to_owned()));
            self.ended.insert(number, Error::Ended(CLOSED.to_owned()));
        }
        Ok(!drained.is_empty())
    }
}

/// The data of an agent in a side of its own, as an earlier version of this program kept it.
struct Before {
    inbox: Inbox,
    /// Frames that the host may not have.
    outbox: Vec<Outgoing>,
    /// The values that these frames may refer to.
    values: Vec<Cold>,
}

impl Before {
    /// Reads a side. `None` if the store has no such side.
    async fn load(committer: &Committer, side: &SideId) -> Result<Option<Self>, Error> {
        let side = side.clone();
        let stored = committer.ask(move |store| {
            let stored = match store.summary(&side)? {
                Some(summary) if !summary.host => store.load(&side)?,
                _ => None,
            };
            let Some(stored) = stored else {
                return Ok(None);
            };
            let mut values = Vec::new();
            if !stored.outbox.is_empty() {
                for key in store.cold_keys(&side)? {
                    values.extend(store.cold(&side, &key)?.map(|kept| kept.value));
                }
            }
            Ok(Some((stored, values)))
        });
        let Some((stored, values)) = stored.await.map_err(DriverError::from)? else {
            return Ok(None);
        };
        let late = stored.entries.iter().filter(|entry| entry.is_due());
        let due = stored.due.iter().chain(late).map(|entry| entry.position);
        let snapshot = stored.snapshot.as_ref();
        let covered = snapshot.map_or(0, |snapshot| snapshot.position);
        Ok(Some(Self {
            inbox: Inbox::except(due, stored.last.max(covered)),
            outbox: stored.outbox,
            values,
        }))
    }
}
