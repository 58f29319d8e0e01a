//! Looks up data in a store: for references that a session reads, and for searches.

use std::collections::BTreeSet;

use accp_session::{Found, Item, Need, Session};

use crate::error::StoreError;
use crate::search::Match;
use crate::side::SideId;
use crate::store::Store;

/// A search that leaves out the frames in hot state, because the model sees those already.
pub(super) struct Search {
    hot: BTreeSet<u64>,
    limit: usize,
}

impl Search {
    pub(super) fn of(session: &Session, limit: usize) -> Self {
        let hot = session.state().hot().positions().collect();
        Self { hot, limit }
    }

    pub(super) fn look(
        &self,
        store: &mut (impl Store + ?Sized),
        side: &SideId,
        words: &str,
    ) -> Result<Vec<Match>, StoreError> {
        let most = self.limit.saturating_add(self.hot.len());
        let all = store.search(side, words, most)?.into_iter();
        let left = all.filter(|found| !self.hot.contains(&found.position));
        Ok(left.take(self.limit).collect())
    }
}

/// Looks up an entry or a value that a session needs to read a reference. It looks in the session's
/// own side, or in the same side of another session.
pub(super) fn look_up(
    store: &mut (impl Store + ?Sized),
    own: &SideId,
    is_host: bool,
    need: &Need,
) -> Result<Found, StoreError> {
    let side = match &need.session {
        None => own.clone(),
        Some(session) => sibling(store, own, is_host, session)?,
    };
    match &need.item {
        Item::Entry(position) => entry(store, &side, *position),
        Item::Value(key) => Ok(match store.cold(&side, key)? {
            Some(kept) => Found::Value {
                value: kept.value,
                expired: kept.expired,
            },
            None => Found::Nothing,
        }),
    }
}

/// Returns the same side of another session: for a host the side of that session's host, for a
/// member the side of its own agent there.
fn sibling(
    store: &mut (impl Store + ?Sized),
    own: &SideId,
    is_host: bool,
    session: &str,
) -> Result<SideId, StoreError> {
    let side = SideId::new(session, own.agent());
    if !is_host {
        return Ok(side);
    }
    let sides = store.sides(session)?.into_iter();
    let hosts = sides.filter(|kept| kept.host).map(|kept| kept.side);
    // Several agents may have hosted the session. If this agent has, its side is taken.
    Ok(hosts.min_by_key(|host| *host != side).unwrap_or(side))
}

fn entry(
    store: &mut (impl Store + ?Sized),
    side: &SideId,
    position: u64,
) -> Result<Found, StoreError> {
    let entry = store.entries(side, position, 1)?.pop();
    if let Some(entry) = entry.filter(|entry| entry.position == position) {
        return Ok(Found::Entry(entry));
    }
    // `entries` leaves out an entry whose text was discarded or erased, but `entry` finds it.
    let is_gone = store.entry(side, position)?.is_some();
    Ok(if is_gone { Found::Gone } else { Found::Nothing })
}
