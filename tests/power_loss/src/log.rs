//! The operations on a disk, in order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::shim::{self, Answer, Event};

/// A list of events that several writers add to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Event>>>);

impl Log {
    /// Adds an event.
    pub(crate) fn tell(&self, event: Event) {
        self.lock().push(event);
    }

    /// From now on, adds each event of SQLite, changed by `told`. The syncs of SQLite take no time.
    pub(crate) fn tell_of_sqlite(&self, told: impl Fn(&Event) -> Event + Send + 'static) {
        let log = self.clone();
        shim::set_disk(move |event| {
            log.tell(told(event));
            sound(event)
        });
    }

    /// Returns the number of events.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns all events, and empties the log.
    pub(crate) fn take(&self) -> Vec<Event> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Event>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the answer of a disk that does not fail, and whose syncs cost no time.
pub(crate) fn sound(event: &Event) -> Answer {
    match event {
        Event::Sync(_) => Answer::DoneAlready,
        _ => Answer::Done,
    }
}
