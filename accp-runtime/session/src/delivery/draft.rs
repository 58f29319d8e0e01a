//! The frames on their way to a member that knows only the draft.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::delivery::backoff::Backoff;
use crate::log::mid::Mid;
use crate::wire::relayed::Relayed;
use accp_context::Time;

/// The number of times that the host pings a member that has not acknowledged everything, or sends the shared state
/// to a member that has not acknowledged this state.
const PINGS: u32 = 3;
/// The number of timeouts after which a frame goes out without the values that have not come.
const PATIENCE: u32 = 5;

/// The state of a member that knows only the draft: which frames it was sent, and which it gets next.
///
/// Such a member does not acknowledge positions. A frame that was sent to it counts as arrived, until
/// the member asks for it again: by the `seq` of its `sync:registry`, or by E3003.
#[derive(Debug)]
pub(crate) struct DraftMember {
    /// The last number (`seq`) that was sent to the member.
    pub number: u64,
    /// The last number that the member has acknowledged.
    pub held: u64,
    /// The version of the last whole shared state that was sent to the member.
    pub version: u64,
    /// The frames with the whole shared state, until the member acknowledges one of them.
    pub states: Vec<Mid>,
    /// The number that the member last asked for again, and when.
    pub asked: Option<(u64, Time)>,
    /// The entries that the member gets next. The first may wait for values.
    pub waiting: VecDeque<Relayed>,
    /// The values for the first entry, by key.
    pub values: BTreeMap<String, WantedValue>,
    /// What to send because of the last timeout.
    pub due: Option<DraftTimeout>,
}

/// A value that a frame waits for.
#[derive(Debug)]
pub(crate) enum WantedValue {
    /// The store reads it, or its bytes are on their way to the host.
    Asked,
    /// Nobody has it any more, or it does not fit into a frame.
    Gone,
    Here(Arc<[u8]>),
}

/// What a member gets after a timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DraftTimeout {
    /// A ping with the last number. A member that lacks this number answers E3003.
    Ping,
    /// The first entry that waits, without the values that have not come.
    Entry,
    /// The whole shared state.
    State,
}

impl DraftMember {
    pub(crate) fn new(number: u64, version: u64) -> Self {
        Self {
            number,
            held: number,
            version,
            states: Vec::new(),
            asked: None,
            waiting: VecDeque::new(),
            values: BTreeMap::new(),
            due: None,
        }
    }

    /// Starts again after this number: drops the entries and values that wait for the member.
    pub(crate) fn go_back(&mut self, number: u64) {
        self.number = number;
        self.waiting.clear();
        self.values.clear();
    }

    /// Notes the id of the last frame of a whole state that goes out to the member.
    pub(crate) fn state_sent(&mut self, mid: Option<Mid>) {
        if self.states.len() > PINGS as usize {
            self.states.remove(0);
        }
        self.states.extend(mid);
    }

    /// Returns the entry that the member gets next.
    pub(crate) fn first(&self) -> Option<Relayed> {
        self.waiting.front().cloned()
    }

    /// Removes the first waiting entry, because it was sent.
    pub(crate) fn pop_waiting(&mut self) {
        self.waiting.pop_front();
        self.values.clear();
    }

    /// Gives up the values that have not come.
    pub(crate) fn give_up(&mut self) {
        for wanted in self.values.values_mut() {
            if let WantedValue::Asked = wanted {
                *wanted = WantedValue::Gone;
            }
        }
    }

    /// Returns whether the member has acknowledged everything that was sent to it.
    pub(crate) fn has_all(&self) -> bool {
        self.waiting.is_empty() && self.held >= self.number && self.states.is_empty()
    }

    /// Decides what the member gets after a timeout.
    pub(crate) fn timeout(&mut self, retry: &mut Backoff, now: Time) {
        self.due = if !self.waiting.is_empty() {
            (retry.tries() >= PATIENCE).then_some(DraftTimeout::Entry)
        } else if !self.states.is_empty() && retry.tries() < PINGS {
            Some(DraftTimeout::State)
        } else if self.held < self.number && retry.tries() < PINGS {
            Some(DraftTimeout::Ping)
        } else {
            self.states.clear();
            return retry.rest();
        };
        retry.again(now);
    }
}
