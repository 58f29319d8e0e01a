//! Batches that a store must refuse, at the end of a run. A store that refuses a batch keeps nothing of it.

use std::sync::Arc;

use accp_registry::Hash;
use accp_runtime::session::{MemberId, Mid};
use accp_session::{Batch, Cold, Entry, EntryKind, OutboxChange, Outgoing, Snapshot, Stored};
use accp_store::{Retention, SideId, Store, StoreErrorKind};

use super::World;
use super::disks::Disks;
use super::node::{Result, said};
use super::reading::FOREIGN;

/// A batch that does not fit, and why.
type Bad = (&'static str, Batch);

fn host(change: impl FnOnce(&mut Batch)) -> Batch {
    Batch::new(true).with(change)
}

fn value(key: &str, bytes: &[u8]) -> Cold {
    Cold {
        key: key.to_owned(),
        digest: Hash::of(bytes),
        length: bytes.len() as u64,
        bytes: Some(bytes.into()),
    }
}

fn outgoing(mid: &str) -> OutboxChange {
    OutboxChange::Put(Outgoing {
        order: 1 << 40,
        mid: Mid::parse(mid),
        head: "@hub>req:plan{}".into(),
        tail: String::new(),
    })
}

/// Checks that a store refuses a batch for a side.
fn refuses(
    store: &mut dyn Store,
    group: &[(&SideId, &Batch)],
    fault: &SideId,
    what: &str,
) -> Result {
    match store.commit(group) {
        Err(error) if error.kind() == StoreErrorKind::Conflict && error.side() == Some(fault) => {
            Ok(())
        }
        other => Err(format!("a batch with {what} is kept: {other:?}")),
    }
}

impl World {
    /// Lets the store of the host take batches that do not fit. A store behind a committer is left out, because the
    /// committer closes a side after such a batch.
    pub(super) fn judge_refusals_of_stores(&self) -> Result {
        if matches!(self.disks, Disks::Queue(_)) {
            return Ok(());
        }
        let side = self.room.host.driver.side().clone();
        let mut store = self.room.host.store.lock().map_err(said)?;
        let store = store.inner_mut();
        let Some(before) = store.load(&side).map_err(said)? else {
            return Err("the store has no host".into());
        };
        for (what, batch) in self.bad_batches(&before) {
            refuses(store, &[(&side, &batch)], &side, what)?;
        }
        // The good batch of a group may not be kept without the bad one.
        let other = SideId::new("other_6", side.agent());
        let expires = |key: &str| host(|batch| batch.expired.push(key.to_owned()));
        let (good, bad) = (
            expires(FOREIGN[0]),
            host(|batch| batch.handled.push(u64::MAX >> 2)),
        );
        let group = [(&other, &good), (&side, &bad)];
        refuses(store, &group, &side, "an unknown position in a group")?;
        let kept = store.cold(&other, FOREIGN[0]).map_err(said)?;
        if kept.is_none_or(|kept| kept.expired) {
            return Err("a part of a refused group is kept".into());
        }
        if store.load(&side).map_err(said)?.as_ref() != Some(&before) {
            return Err("a batch that was refused has changed the host".into());
        }
        judge_expiry(store, &other)
    }

    fn bad_batches(&self, stored: &Stored) -> Vec<Bad> {
        let covered = stored.snapshot.as_ref().map(|snapshot| snapshot.position);
        let last = stored.last.max(covered.unwrap_or_default());
        let entry = |position: u64, mid: &str, text: &str| {
            let entry = Entry::new(position, self.room.now, Mid::parse(mid), text.to_owned());
            entry.with(|entry| (entry.sequence, entry.sender) = (1, MemberId::HOST))
        };
        let (mid, text) = ("fedcba987654", "@hub>req:plan{}[mid:fedcba987654,seq:1]");
        let entries = |all: Vec<Entry>| host(|batch| batch.entries = all);
        let next = last + 1;
        let mut bad: Vec<Bad> = vec![
            ("a position twice", entries(vec![entry(last, mid, text)])),
            ("no text", entries(vec![entry(next, mid, "")])),
            (
                "an id twice",
                entries(vec![entry(next, mid, text), entry(next + 1, mid, text)]),
            ),
            (
                "a position that goes back",
                entries(vec![
                    entry(next + 1, mid, text),
                    entry(next, "fedcba987655", text),
                ]),
            ),
            ("a mark of nothing", host(|batch| batch.handled.push(next))),
            ("a lapse of nothing", host(|batch| batch.lapsed.push(next))),
            (
                "bytes of another value",
                host(|batch| {
                    let wrong = value("k100_999999", b"here");
                    let bytes = Some(Arc::from(&b"this"[..]));
                    batch.cold.push(Cold { bytes, ..wrong });
                }),
            ),
            (
                "an epoch twice",
                host(|batch| batch.epoch = Some(stored.epoch)),
            ),
            (
                "another kind of side",
                Batch::new(false).with(|batch| batch.last_put = Some(1)),
            ),
            (
                "a place for two frames",
                host(|batch| batch.outbox = vec![outgoing(mid), outgoing("fedcba987656")]),
            ),
            (
                "a number of 64 bits",
                host(|batch| batch.outbox_sequence = Some(u64::MAX)),
            ),
        ];
        let consumed = self.observer.log.iter();
        let mut consumed = consumed.filter(|entry| entry.kind == EntryKind::Frame);
        if let Some(taken) = consumed.find(|entry| entry.sequence > 0) {
            let mid = taken.mid.to_string();
            bad.push(("an id of before", entries(vec![entry(next, &mid, text)])));
        }
        if let Some(key) = self.observer.keys().first() {
            let other = value(key, b"not what was put");
            bad.push(("a key twice", host(|batch| batch.cold.push(other))));
        }
        if let Some(position) = covered.and_then(|covered| covered.checked_sub(1)) {
            let text = "{}".into();
            let older = Some(Snapshot { position, text });
            bad.push(("an older snapshot", host(|batch| batch.snapshot = older)));
        }
        bad
    }
}

/// Lets the values of another session expire. Their bytes are shared: they stay until the last key has expired, and no
/// later batch brings a value back.
fn judge_expiry(store: &mut dyn Store, side: &SideId) -> Result {
    let [first, rest @ ..] = &FOREIGN;
    let kept = store.cold(side, first).map_err(said)?;
    let bytes = kept.and_then(|kept| kept.value.bytes);
    let bytes = bytes.ok_or_else(|| format!("the bytes of {first} are gone"))?;
    let expires = host(|batch| batch.expired.push((*first).to_owned()));
    let again = host(|batch| batch.cold.push(value(first, &bytes)));
    for batch in [&expires, &again] {
        store.commit(&[(side, batch)]).map_err(said)?;
        let kept = store.cold(side, first).map_err(said)?;
        if kept.is_none_or(|kept| !kept.expired || kept.value.bytes.is_some()) {
            return Err(format!("{first} has expired, and is there"));
        }
    }
    let freed = store.retain(side, Retention::default()).map_err(said)?;
    let others = rest.iter().map(|key| store.cold(side, key));
    let others = others.collect::<std::result::Result<Vec<_>, _>>();
    let others = others.map_err(said)?.into_iter().flatten();
    let is_there = others.map(|kept| kept.value.bytes.is_some());
    if freed.bytes != 0 || is_there.filter(|is_there| *is_there).count() != rest.len() {
        return Err(format!(
            "the values beside {first} lose their bytes: {freed:?}"
        ));
    }
    let expires = host(|batch| batch.expired = rest.iter().map(|key| (*key).to_owned()).collect());
    store.commit(&[(side, &expires)]).map_err(said)?;
    let freed = store.retain(side, Retention::default()).map_err(said)?;
    if freed.bytes == bytes.len() as u64 {
        return Ok(());
    }
    Err(format!("all values have expired, and {freed:?} is freed"))
}
