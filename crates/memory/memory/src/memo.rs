//! A counter that counts each text once: the tiers count the same results and messages one after the other.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use accp_frame::TokenCounter;

/// A text with fewer bytes is counted anew each time, because counting it is faster than looking it up.
const SHORT: usize = 128;

/// A counter that remembers what it has counted.
pub(crate) struct Memo<'c> {
    counter: &'c dyn TokenCounter,
    known: RefCell<HashMap<Box<str>, usize>>,
}

impl<'c> Memo<'c> {
    pub(crate) fn of(counter: &'c dyn TokenCounter) -> Self {
        Self {
            counter,
            known: RefCell::default(),
        }
    }
}

impl fmt::Debug for Memo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Memo").field(&self.counter.name()).finish()
    }
}

impl TokenCounter for Memo<'_> {
    fn name(&self) -> &str {
        self.counter.name()
    }

    fn count(&self, text: &str) -> usize {
        if text.len() < SHORT {
            return self.counter.count(text);
        }
        if let Some(count) = self.known.borrow().get(text) {
            return *count;
        }
        let count = self.counter.count(text);
        self.known.borrow_mut().insert(text.into(), count);
        count
    }
}
