//! Copies whole sides of sessions from one store to another. A command runs its sessions in one store and copies them
//! into a file in one commit. So if the command is killed, the file has either whole sessions or none.

use accp_session::{Batch, Due, Entry, OutboxChange};
use accp_store::{SideId, Store, StoreError};

/// Returns everything that a store keeps of a side, as one batch. A commit of this batch makes the side in another
/// store.
///
/// # Errors
/// The errors of the store.
pub(crate) fn read_side(store: &mut impl Store, side: &SideId) -> Result<Batch, StoreError> {
    let stored = store.load(side)?.unwrap_or_default();
    let mut batch = Batch::new(stored.host);
    batch.entries = store.entries(side, 1, usize::MAX)?;
    batch.outbox = stored.outbox.into_iter().map(OutboxChange::Put).collect();
    batch.outbox_sequence = Some(stored.outbox_sequence);
    batch.last_put = Some(stored.last_put);
    batch.epoch = Some(stored.epoch).filter(|epoch| *epoch > 0);
    batch.key = stored.key;
    batch.voucher = stored.voucher;
    batch.inboxes = stored.inboxes;
    batch.registries = stored.registries;
    batch.snapshot = stored.snapshot;
    for key in store.cold_keys(side)? {
        let Some(kept) = store.cold(side, &key)? else {
            continue;
        };
        batch.cold.push(kept.value);
        if kept.expired {
            batch.expired.push(key);
        }
    }
    Ok(batch)
}

/// Copies all sides of a store to another store, in one commit.
///
/// # Errors
/// The errors of the stores. After an error, `to` has none of the sides.
pub(crate) fn copy_all(from: &mut impl Store, to: &mut impl Store) -> Result<(), StoreError> {
    let sides = from.list()?.into_iter().map(|summary| summary.side);
    let batches = sides.map(|side| Ok((side.clone(), read_side(from, &side)?)));
    let batches = batches.collect::<Result<Vec<_>, StoreError>>()?;
    let group: Vec<_> = batches.iter().map(|(side, batch)| (side, batch)).collect();
    to.commit(&group)
}

/// Returns whether a side has exactly this log. It does not matter whether the frames were handled, or which secret
/// protects the log.
///
/// # Errors
/// The errors of the store.
pub(crate) fn has_log(
    store: &mut impl Store,
    side: &SideId,
    log: &[Entry],
) -> Result<bool, StoreError> {
    let kept = store.entries(side, 1, log.len() + 1)?;
    let as_handled = |entry: &Entry| {
        entry.clone().with(|entry| {
            entry.due = Due::No;
            entry.hash = None;
        })
    };
    Ok(kept.iter().map(as_handled).eq(log.iter().map(as_handled)))
}
