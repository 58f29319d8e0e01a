//! The asides of a session: those that it holds in memory, and all of them in the ledger.

use std::collections::{HashMap, VecDeque};

use rusqlite::params;

use crate::aside::Aside;
use crate::digest::Place;
use crate::ledger::{Ledger, Result};

/// The most bytes of a session's asides. If they have more, the oldest ones are forgotten, and lists that still have
/// their answers go out without them.
const BYTES: usize = 32 << 20;

/// The asides of a session, by the place of the answer in the list.
#[derive(Debug, Default)]
pub(crate) struct Asides {
    by_place: HashMap<Place, VecDeque<(Aside, usize)>>,
    /// The places of all asides, the oldest first.
    order: VecDeque<Place>,
    bytes: usize,
}

impl Asides {
    /// Adds an aside whose text has this many bytes. Returns the places of the asides that are forgotten: for each, the
    /// oldest one at that place.
    pub(crate) fn put(&mut self, place: Place, aside: Aside, bytes: usize) -> Vec<Place> {
        let there = self.by_place.entry(place).or_default();
        there.push_back((aside, bytes));
        self.order.push_back(place);
        self.bytes += bytes;
        let mut gone = Vec::new();
        while self.bytes > BYTES && self.order.len() > 1 {
            let Some(place) = self.order.pop_front() else {
                break;
            };
            if let Some(there) = self.by_place.get_mut(&place) {
                let oldest = there.pop_front();
                self.bytes -= oldest.map_or(0, |(_, bytes)| bytes);
                if there.is_empty() {
                    self.by_place.remove(&place);
                }
            }
            gone.push(place);
        }
        gone
    }

    /// Returns the asides at a place, the newest first; `None` if there are none.
    pub(crate) fn at(&self, place: &Place) -> Option<Vec<&Aside>> {
        let there = self.by_place.get(place)?.iter().rev();
        Some(there.map(|(aside, _)| aside).collect())
    }

    /// Returns how many bytes the texts of all asides have.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Ledger {
    /// Keeps the aside of an answer.
    pub(crate) fn keep_aside(&self, session: &str, place: &[u8], text: &str) -> Result<()> {
        let text = self.sealed(session, text)?;
        let row = "INSERT INTO aside (session, place, text) VALUES (?1, ?2, ?3)";
        self.connection()
            .execute(row, params![session, place, text])?;
        Ok(())
    }

    /// Returns the asides of a session with their places, in order.
    pub(crate) fn asides(&self, session: &str) -> Result<Vec<(Vec<u8>, String)>> {
        let connection = self.connection();
        let mut rows = connection
            .prepare_cached("SELECT place, text FROM aside WHERE session = ?1 ORDER BY id")?;
        let rows = rows.query_map([session], |row| {
            Ok((row.get(0)?, self.opened(session, row.get(1)?)))
        })?;
        Ok(rows.collect::<std::result::Result<_, _>>()?)
    }

    /// Forgets the oldest aside of a session at a place.
    pub(crate) fn drop_aside(&self, session: &str, place: &[u8]) -> Result<()> {
        let row = "DELETE FROM aside WHERE id = (SELECT MIN(id) FROM aside WHERE session = ?1 AND place = ?2)";
        self.connection().execute(row, params![session, place])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aside(tokens: u64) -> Aside {
        Aside {
            tokens,
            ..Aside::default()
        }
    }

    #[test]
    fn the_oldest_asides_give_way() {
        let mut asides = Asides::default();
        let [one, other] = [[1; 16], [2; 16]];
        let third = BYTES / 3;
        for (place, tokens) in [(one, 1), (other, 2), (one, 3)] {
            assert!(asides.put(place, aside(tokens), third).is_empty());
        }
        let tokens = |asides: &Asides, place: &Place| {
            let there = asides.at(place).unwrap_or_default();
            there.iter().map(|aside| aside.tokens).collect::<Vec<_>>()
        };
        assert_eq!(tokens(&asides, &one), [3, 1]);
        assert_eq!(asides.put(other, aside(4), third), [one]);
        assert_eq!(
            (tokens(&asides, &one), tokens(&asides, &other)),
            (vec![3], vec![4, 2])
        );
        // One aside stays, however large it is.
        assert_eq!(
            asides.put([3; 16], aside(5), 2 * BYTES),
            [other, one, other]
        );
        assert_eq!((asides.at(&one), asides.bytes()), (None, 2 * BYTES));
    }

    #[test]
    fn an_aside_that_is_forgotten_leaves_the_ledger() {
        let ledger = Ledger::in_memory().unwrap();
        for (place, text) in [([1; 16], "a"), ([2; 16], "b"), ([1; 16], "c")] {
            ledger.keep_aside("s", &place, text).unwrap();
        }
        ledger.drop_aside("s", &[1; 16]).unwrap();
        let left = ledger.asides("s").unwrap().into_iter();
        let left: Vec<String> = left.map(|(_, text)| text).collect();
        assert_eq!(left, ["b", "c"]);
    }
}
