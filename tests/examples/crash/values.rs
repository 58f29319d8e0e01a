//! Checks the bytes of values in the file of the killed process.

use std::collections::BTreeMap;

use accp_runtime::session::MemberId;
use accp_session::EntryKind;

use super::file::Contents;
use super::frames::{LongText, long_text};
use super::world::World;

type Result<T = ()> = std::result::Result<T, String>;

/// Compares the bytes of the values in the file with the texts that their senders have put. Checks that bytes which
/// the process had are still there unless they have expired, and that values reported as expired have expired.
/// Returns the number of values that were compared.
pub(crate) fn check(world: &World<'_>, contents: &Contents) -> Result<u64> {
    let own = own(contents);
    let texts = world.log.texts.iter().chain(&own);
    let mut compared = 0;
    for (key, text) in texts {
        let Some(kept) = contents.values.get(key) else {
            continue;
        };
        let Some(bytes) = &kept.value.bytes else {
            continue;
        };
        if **bytes != *text.as_bytes() {
            return Err(format!("{key} has other bytes than its sender put"));
        }
        compared += 1;
    }
    let prefix = format!("k{}_", world.own);
    let of_log = world.log.texts.keys();
    let own = own
        .keys()
        .chain(of_log.filter(|key| key.starts_with(&prefix)));
    for key in own.chain(&world.told.supplied) {
        let kept = contents.values.get(key);
        let is_there = kept.is_some_and(|kept| kept.expired || kept.value.bytes.is_some());
        // If the value has expired, a member may have lost the bytes before it learns of the expiry.
        if !is_there && !world.log.expired.contains(key) {
            return Err(format!("{key} was here, and its bytes are gone"));
        }
    }
    match world.told.gone.difference(&world.log.expired).next() {
        Some(key) => Err(format!("{key} was said to have expired, and has not")),
        None => Ok(compared),
    }
}

/// Checks that a host at rest has the bytes of all values that have not expired.
pub(crate) fn complete(world: &World<'_>, contents: &Contents) -> Result {
    let mut values = contents.values.iter();
    let lacks = values.find(|(_, kept)| !kept.expired && kept.value.bytes.is_none());
    match lacks {
        Some((key, _)) if world.own == MemberId::HOST => Err(format!("{key} has no bytes")),
        _ => Ok(()),
    }
}

/// Returns the texts that the process has put, by the frames in its outbox and in its log.
fn own(contents: &Contents) -> BTreeMap<String, String> {
    let waiting = contents.stored.outbox.iter();
    let waiting = waiting.filter_map(|frame| long_text(&frame.head));
    let frames = contents.entries.iter();
    let frames = frames.filter(|entry| entry.kind == EntryKind::Frame);
    let frames = frames.filter(|entry| entry.sender == MemberId::HOST && contents.stored.host);
    waiting
        .chain(frames.filter_map(|entry| long_text(&entry.text)))
        .map(|LongText { key, text }| (key, text))
        .collect()
}
