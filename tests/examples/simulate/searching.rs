//! Searches in the store of the host. A search may run before the bytes of a value have come, and another search
//! after that.

use accp_runtime::Value;
use accp_runtime::session::MemberId;
use accp_session::EntryKind;
use accp_store::Store;

use super::World;
use super::node::{Result, said};
use super::text::field;

impl World {
    /// Searches for a word, so that the store reads the entries and values that it has at this time.
    pub(super) fn search(&mut self) -> Result {
        self.moves("search", 0);
        self.finds("short").map(drop)
    }

    /// Returns the positions of the frames that a search finds.
    fn finds(&mut self, words: &str) -> Result<Vec<u64>> {
        let host = &mut self.room.host;
        let most = usize::MAX >> 1;
        let found = host.store.search(host.driver.side(), words, most);
        let found = found.map_err(said)?.into_iter();
        Ok(found.map(|one| one.position).collect())
    }

    /// Checks that a search finds a frame by a word of its text, and another frame by a word of the value that it
    /// refers to.
    pub(super) fn judge_search(&mut self) -> Result {
        let told = &self.observer.content.told;
        let at = self.rng.below(told.len() as u64) as usize;
        let mut wanted: Vec<(u64, String)> = Vec::new();
        wanted.extend(told.iter().nth(at).map(|(at, fact)| (*at, fact.1.clone())));
        wanted.extend(self.value_in_the_log());
        for (at, word) in wanted {
            if self.is_kept(at)? && !self.finds(&word)?.contains(&at) {
                return Err(format!("a search for {word} does not find {at}"));
            }
        }
        Ok(())
    }

    /// Returns the position of a frame that refers to a value of a member, and a word of the value.
    fn value_in_the_log(&mut self) -> Option<(u64, String)> {
        let from = self.rng.below(self.observer.log.len() as u64) as usize;
        let mut entries = self.observer.log.iter().skip(from);
        entries.find_map(|entry| {
            let is_its = entry.kind == EntryKind::Frame && entry.sender != MemberId::HOST;
            let key = entry.text.split_once("list:$cold.").filter(|_| is_its)?.1;
            let key = key.split(['|', '}']).next()?;
            let is_here = self.observer.bounds.supplied.contains(key);
            if !is_here || self.observer.expired.contains(key) || self.observer.timeline.has_lost()
            {
                return None;
            }
            let sender = usize::from(entry.sender.number() - MemberId::HOST.number());
            let message = self.said.get(&(sender, field(&entry.text, "n")?))?;
            let Some(Value::Array(items)) = message.payload.get("list") else {
                return None;
            };
            Some((entry.position, items.last()?.to_string()))
        })
    }
}
