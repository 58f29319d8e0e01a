//! Values that are held open by name, until newer ones need the room.

use std::collections::HashMap;
use std::sync::Arc;

/// This many values are held open, however large they are.
const LEAST: usize = 64;
/// More values are held open as long as all their lists, with the asides of these, have at most this many bytes. A
/// list takes about eight times as much memory.
const BYTES: usize = 32 << 20;

/// The values that are held open, by name.
pub(crate) struct Open<T> {
    all: HashMap<String, Held<T>>,
    uses: u64,
    bytes: usize,
}

struct Held<T> {
    used: u64,
    bytes: usize,
    what: Arc<T>,
}

impl<T> Default for Open<T> {
    fn default() -> Self {
        Self {
            all: HashMap::new(),
            uses: 0,
            bytes: 0,
        }
    }
}

impl<T> Open<T> {
    /// Returns the value under a name, if it is held open.
    pub(crate) fn found(&mut self, name: &str) -> Option<Arc<T>> {
        self.uses += 1;
        let held = self.all.get_mut(name)?;
        held.used = self.uses;
        Some(Arc::clone(&held.what))
    }

    /// Holds a value open under a name, and returns it. If another value is open under this name already, returns
    /// that value.
    pub(crate) fn hold(&mut self, name: &str, what: T) -> Arc<T> {
        if let Some(found) = self.found(name) {
            return found;
        }
        let what = Arc::new(what);
        let held = Held {
            used: self.uses,
            bytes: 0,
            what: Arc::clone(&what),
        };
        self.all.insert(name.to_owned(), held);
        self.shrink();
        what
    }

    /// Records how many bytes the list of a value has.
    pub(crate) fn weigh(&mut self, name: &str, bytes: usize) {
        if let Some(held) = self.all.get_mut(name) {
            self.bytes = self.bytes - held.bytes + bytes;
            held.bytes = bytes;
            self.shrink();
        }
    }

    /// While the lists have too many bytes, drops the value that was used longest ago, except values that somebody
    /// uses now.
    fn shrink(&mut self) {
        while self.all.len() > LEAST && self.bytes > BYTES {
            let idle = self.all.iter();
            let idle = idle.filter(|(_, held)| Arc::strong_count(&held.what) == 1);
            let oldest = idle.min_by_key(|(_, held)| held.used);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            let gone = self.all.remove(&name);
            self.bytes -= gone.map_or(0, |held| held.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_large_and_old_gives_way() {
        let mut open = Open::default();
        let kept = open.hold("0", 0);
        for n in 0..200 {
            let name = n.to_string();
            open.hold(&name, n);
            open.weigh(&name, 1 << 20);
            open.weigh(&name, 1 << 18);
        }
        assert!((120..=128).contains(&open.all.len()) && open.bytes <= BYTES);
        assert!(
            open.found("0")
                .is_some_and(|found| Arc::ptr_eq(&found, &kept))
        );
        assert!(open.found("1").is_none() && open.found("199").is_some());
        (0..99).for_each(|n| open.weigh(&(n + 100).to_string(), 1 << 30));
        assert_eq!(open.all.len(), LEAST);
    }
}
