//! Tasks that wait for the cancellation of a frame, and the values and frames whose fate a side waits for.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use accp_runtime::session::{Event, Inbound, Mid};

/// How many tasks wait for each cancellation.
const WAITERS: usize = 3;

type Result<T = ()> = std::result::Result<T, String>;

#[derive(Debug, Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Tasks that wait for the cancellation of a frame's chain.
#[derive(Debug)]
pub(super) struct Watch {
    pub(super) inbound: Inbound,
    calls: Vec<Arc<Calls>>,
    /// Whether the chain was cancelled before the tasks began to wait.
    was_over: bool,
}

fn is_ready(inbound: &Inbound, calls: &Arc<Calls>) -> bool {
    let waker = Waker::from(Arc::clone(calls));
    let token = inbound.cancel_token();
    let future = pin!(token.cancelled());
    future.poll(&mut Context::from_waker(&waker)) == Poll::Ready(())
}

impl Watch {
    pub(super) fn new(inbound: &Inbound) -> Self {
        let calls: Vec<_> = (0..WAITERS).map(|_| Arc::<Calls>::default()).collect();
        let was_over = inbound.cancel_token().is_cancelled();
        // The first task asks twice, and must be told only once.
        for calls in calls.iter().chain(calls.first()) {
            is_ready(inbound, calls);
        }
        Self {
            inbound: inbound.clone(),
            calls,
            was_over,
        }
    }

    pub(super) fn judge(&self) -> Result {
        let is_over = self.inbound.cancel_token().is_cancelled();
        let wanted = usize::from(is_over && !self.was_over);
        let position = self.inbound.position();
        for calls in &self.calls {
            let told = calls.0.load(Ordering::Relaxed);
            if told != wanted {
                return Err(format!(
                    "a waiter for the cancellation of {position} is told {told} times, not {wanted}"
                ));
            }
            if is_over && !is_ready(&self.inbound, calls) {
                return Err(format!("the cancellation of {position} does not last"));
            }
        }
        Ok(())
    }
}

/// Values that a member has asked for.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// For each key, whether the member has been told about the value.
    pub(super) told: BTreeMap<String, bool>,
    /// Whether other checks ask for values now, so that the answers do not count any more.
    pub(super) is_over: bool,
}

impl Wanted {
    /// Takes note of what a member is told about values, and checks that the member is told once about each value.
    pub(super) fn hears(&mut self, events: &[Event]) -> Result {
        for event in events.iter().filter(|_| !self.is_over) {
            let (Event::Supplied(key) | Event::Unavailable(key)) = event else {
                continue;
            };
            if let Some(told) = self.told.get_mut(key)
                && std::mem::replace(told, true)
            {
                return Err(format!("it is told twice of {key}"));
            }
        }
        Ok(())
    }

    pub(super) fn has_asked(&self) -> bool {
        !self.told.is_empty()
    }

    pub(super) fn is_told(&self) -> bool {
        self.told.values().all(|told| *told)
    }
}

/// The frames whose end a side was told of. For each frame, whether it was in parts.
pub(super) type Fates = BTreeMap<Mid, bool>;
