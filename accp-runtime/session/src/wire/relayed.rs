//! Entries of the log as members have them.

use std::sync::Arc;

use accp_registry::Hash;

use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::MemberId;
use crate::log::vouch::Vouched;
use crate::wire::relay::Relay;

/// An entry of the log in the form that members get.
#[derive(Debug, Clone)]
pub(crate) struct Relayed {
    pub position: u64,
    pub sender: MemberId,
    pub to: Option<MemberId>,
    pub tokens: u32,
    pub cut: bool,
    /// True for an entry of the kind [`EntryKind::Repeat`].
    pub repeat: bool,
    pub text: Arc<str>,
    pub hash: Option<Hash>,
}

impl Relayed {
    /// Returns the entry in a relay.
    pub(crate) fn by(relay: &Relay<'_>) -> Self {
        Self {
            position: relay.position,
            sender: relay.sender,
            to: relay.to,
            tokens: relay.tokens,
            cut: relay.cut,
            repeat: relay.repeat,
            text: format!("{}]", relay.frame).into(),
            hash: None,
        }
    }

    /// Returns the relay of the entry, which comes after the relayed position `prev`.
    pub(crate) fn relay(&self, prev: u64, vouched: Option<Vouched>) -> Relay<'_> {
        Relay {
            frame: self.text.strip_suffix(']').unwrap_or(&self.text),
            position: self.position,
            sender: self.sender,
            to: self.to,
            prev,
            tokens: self.tokens,
            cut: self.cut,
            repeat: self.repeat,
            vouched,
        }
    }

    /// Returns the running hash at the entry, from the hash at the entry before it.
    pub(crate) fn hash_after(&self, before: &Hash) -> Hash {
        let mut head = [0; 47];
        head[..32].copy_from_slice(before.as_bytes());
        head[32..40].copy_from_slice(&self.position.to_le_bytes());
        head[40..42].copy_from_slice(&self.sender.number().to_le_bytes());
        head[42..46].copy_from_slice(&self.tokens.to_le_bytes());
        head[46] = u8::from(self.cut) | u8::from(self.repeat) << 1;
        let to = self.to.map(|to| to.number().to_le_bytes());
        head[46] |= u8::from(to.is_some()) << 2;
        let mut hasher = blake3::Hasher::new();
        hasher
            .update(&head)
            .update(to.as_ref().map_or(&[][..], |to| &to[..]));
        hasher.update(self.text.as_bytes());
        Hash::from(*hasher.finalize().as_bytes())
    }

    /// Returns what members get of an entry.
    pub(crate) fn of(entry: &Entry) -> Self {
        Self {
            position: entry.position,
            sender: entry.sender,
            to: entry.to,
            tokens: entry.tokens,
            cut: entry.cut,
            repeat: entry.kind == EntryKind::Repeat,
            text: Arc::clone(&entry.text),
            hash: entry.hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_covers_every_part_of_an_entry() {
        let root = Hash::of(b"root");
        let one = Relayed {
            position: 1,
            sender: MemberId::HOST,
            to: None,
            tokens: 7,
            cut: false,
            repeat: false,
            text: "@a>req:plan{}[mid:1]".into(),
            hash: None,
        };
        let change = |change: fn(&mut Relayed)| {
            let mut changed = one.clone();
            change(&mut changed);
            changed
        };
        let changed = [
            change(|entry| entry.position = 2),
            change(|entry| entry.sender = MemberId::LAST),
            change(|entry| entry.to = Some(MemberId::HOST)),
            change(|entry| entry.to = Some(MemberId::LAST)),
            change(|entry| entry.tokens = 8),
            change(|entry| entry.cut = true),
            change(|entry| entry.repeat = true),
            change(|entry| entry.text = "@a>req:plan{}[mid:2]".into()),
        ];
        let hash = one.hash_after(&root);
        assert!(changed.iter().all(|entry| entry.hash_after(&root) != hash));
        assert_ne!(one.hash_after(&Hash::of(b"another root")), hash);
    }
}
