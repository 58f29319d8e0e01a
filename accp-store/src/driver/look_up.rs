//! What a resolver needs, looked up in a store.

use accp_session::{Found, Item, Need};

use crate::{SideId, Store, StoreError};

/// Looks up what a session needs to read a reference: in its own side, or in the same side of
/// another session.
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

/// The same side of another session: of a host its host's, of a member that of its agent.
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
    // When several agents have hosted it, this one goes first.
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
    let kept = store.summary(side)?;
    let is_gone = kept.is_some_and(|kept| position < kept.first);
    Ok(if is_gone { Found::Gone } else { Found::Nothing })
}
