//! How a member with an empty store catches up with its session.

use std::collections::BTreeSet;
use std::sync::Arc;

use accp_frame::{ErrorCode, Frame};
use accp_session::{Entry, Event, Inbound, MemberId, Mid, Transmit};
use accp_store::{AsyncDriver, DriverError};

use super::Side;
use crate::clock::now;
use crate::error::Error;

/// How many entries are read at a time.
const PIECE: usize = 256;

impl Side {
    /// Starts a side that has just joined. The agent may have been in the session before, with a store that
    /// was lost. So the side first gets the log since the agent joined, and handlers get only the questions
    /// in it that the agent has not answered.
    pub(super) async fn catch_up(&mut self) -> Result<(), Error> {
        let session = self.driver.session();
        if self.begins && session.has_joined() && session.position() >= session.known() {
            let mut answered = BTreeSet::new();
            if !self.inbox.is_empty() {
                let me = session.me();
                answered = answered_by(&mut self.driver, me, 1).await?;
            }
            self.begins = false;
            for inbound in std::mem::take(&mut self.inbox) {
                if is_open(&inbound, &answered) {
                    self.inbox.push(inbound);
                } else if self.driver.session().waits(inbound.position()) {
                    self.driver.handled(&inbound, Vec::new(), now())?;
                }
            }
        }
        self.tell_joined();
        Ok(())
    }

    /// Answers the callers of [`Command::Joined`](crate::command::Command::Joined) if the host does not let this side
    /// in. The host gives the same answer to each later hello. A side that was in the session before ends: the host
    /// has taken it out, for example because the store of the host is new, and will never answer this side again.
    pub(super) fn tell_refused(&mut self, events: &[Event]) -> Result<(), Error> {
        let refusal = events.iter().find_map(|event| match event {
            Event::PeerError(MemberId::HOST, error)
                if error.of.is_none() && error.code == ErrorCode::POLICY_DENIED =>
            {
                Some(error)
            }
            _ => None,
        });
        let Some(refusal) = refusal else {
            return Ok(());
        };
        let session = self.driver.session();
        if session.has_joined() {
            // A side that is up to date has an answer to its last hello, so the refusal is about an earlier hello.
            return if session.is_up_to_date() {
                Ok(())
            } else {
                Err(Error::Removed(Box::new(refusal.clone())))
            };
        }
        for done in self.joining.drain(..) {
            let _ = done.send(Err(Error::Refused(refusal.clone())));
        }
        Ok(())
    }

    pub(super) fn tell_joined(&mut self) {
        if self.driver.session().has_joined() && !self.begins {
            for done in self.joining.drain(..) {
                let _ = done.send(Ok(()));
            }
        }
    }
}

/// Returns the ids that this member has answered, in the log from a position on.
pub(super) async fn answered_by(
    driver: &mut AsyncDriver<Vec<Transmit>>,
    member: MemberId,
    mut from: u64,
) -> Result<BTreeSet<Mid>, DriverError> {
    let mut answered = BTreeSet::new();
    loop {
        let entries: Vec<Entry> = driver.entries(from, PIECE).await?;
        let Some(last) = entries.last() else {
            return Ok(answered);
        };
        from = last.position + 1;
        for entry in entries.iter().filter(|entry| entry.sender == member) {
            answered.extend(names(&entry.text));
        }
    }
}

/// Returns the id that an answer names: its `aid`, or else its `cid`. Returns nothing if the frame is not an answer.
fn names(text: &Arc<str>) -> Vec<Mid> {
    let Ok(frame) = Frame::parse(text) else {
        return Vec::new();
    };
    let ends = matches!(&*frame.intent, "done" | "fail" | "end");
    let Some(envelope) = frame.envelope().ok().filter(|_| ends) else {
        return Vec::new();
    };
    // An answer without `aid` answers the first frame of its chain.
    let named = envelope.causation_id.or(envelope.correlation_id);
    named.iter().map(|id| Mid::parse(id)).collect()
}

/// Returns whether a frame is a question that waits for an answer.
pub(super) fn is_open(inbound: &Inbound, answered: &BTreeSet<Mid>) -> bool {
    let Ok(frame) = Frame::parse(inbound.text()) else {
        return false;
    };
    let asks = matches!(&*frame.intent, "req" | "qry" | "esc");
    asks && inbound.mid().is_ok_and(|mid| !answered.contains(&mid))
}
