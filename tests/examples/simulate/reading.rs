//! The drivers read references at the end of a run. Each reference must lead to the content that its sender has
//! put.

use std::sync::Arc;
use std::time::Duration;

use accp_registry::Hash;
use accp_runtime::session::Reference;
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::{Batch, Cold, EntryKind, ReadError};
use accp_store::{DriverError, SideId, Store};

use super::World;
use super::authority::value_key;
use super::node::{REGISTRY, Result, said};
use super::text::{field, head};

/// The number of frames that each side reads.
const READ: u64 = 3;
/// The value of another session.
const ELSEWHERE: &str = "said_elsewhere";
/// The keys of the values that each other session has. One key is the beginning of another key.
pub(super) const FOREIGN: [&str; 3] = ["k101_1", "k101_10", "k101_2"];

/// What a reference leads to: a value, or an error with a code.
type Read = std::result::Result<Value<'static>, ErrorCode>;

impl World {
    /// Puts another session into the store of the host.
    pub(super) fn keep_another_session(&mut self, session: &str) -> Result {
        let side = SideId::new(session, self.room.host.driver.side().agent());
        let bytes: Arc<[u8]> = ELSEWHERE.as_bytes().into();
        let value = Cold {
            key: String::new(),
            digest: Hash::of(&bytes),
            length: bytes.len() as u64,
            bytes: Some(bytes),
        };
        let values = FOREIGN.iter().map(|key| Cold {
            key: (*key).into(),
            ..value.clone()
        });
        let batch = Batch::new(true).with(|batch| {
            batch.epoch = Some(1);
            batch.cold = values.collect();
        });
        let mut store = self.room.host.store.lock().map_err(said)?;
        let store = store.inner_mut();
        store.load(&side).map_err(said)?;
        store.commit(&[(&side, &batch)]).map_err(said)
    }

    /// Lets every side read references to frames, to their fields, and to other sessions.
    pub(super) fn read_references(&mut self) -> Result {
        for who in 0..self.nodes.len() {
            if self.nodes[who].plain {
                continue;
            }
            for _ in 0..READ {
                let at = self.rng.below(self.observer.log.len() as u64);
                self.read_frame(who, at + 1)?;
            }
        }
        for n in 4..9 {
            for key in FOREIGN {
                let session = format!("other_{n}");
                let wanted = match self.observer.is_granted(&session, key) {
                    true if self.copies.is_back(0) => continue,
                    true => Ok(Value::from(ELSEWHERE)),
                    false => Err(ErrorCode::UNAUTHORIZED_REF),
                };
                self.expect(0, &format!("ext.{session}.{key}"), &[wanted])?;
            }
        }
        // The names of these two sessions are a little longer or shorter than the name of another session.
        for (session, key) in [("other_40", "k101_1"), ("other_", "k101_1")] {
            let wanted = Err(ErrorCode::UNAUTHORIZED_REF);
            self.expect(0, &format!("ext.{session}.{key}"), &[wanted])?;
        }
        self.read_beyond_the_end()
    }

    /// Lets each side read beyond the end of the log, and beyond the last value of each member.
    fn read_beyond_the_end(&mut self) -> Result {
        let relayed = self.observer.log.iter().rev().find(|e| e.kind.is_relayed());
        let end = relayed.map_or(0, |entry| entry.position);
        for who in 0..self.nodes.len() {
            if self.nodes[who].plain {
                continue;
            }
            let lacks = Err(ErrorCode::REF_NOT_FOUND);
            let ckpt = self.room.host.session().state().warm().last() + 1;
            let beyond = [
                format!("cold.p{}", end + 1),
                "cold.p0".into(),
                format!("hot.p{}", end + 1),
                format!("warm.ckpt_{ckpt}"),
            ];
            for key in beyond {
                self.expect(who, &key, std::slice::from_ref(&lacks))?;
            }
            let member = (who + 1) % self.nodes.len();
            let last = self.observer.last_put(self.nodes[member].id);
            let id = self.nodes[member].id;
            // A number has no leading zeros, so this key must lead nowhere.
            let again = format!("cold.k{id}_0{last}");
            for key in [format!("cold.{}", value_key(id, last + 1)), again] {
                self.expect(who, &key, std::slice::from_ref(&lacks))?;
            }
        }
        Ok(())
    }

    /// Lets a side read the frame at a position of the log, and two of its fields.
    fn read_frame(&mut self, who: usize, position: u64) -> Result {
        let Some(entry) = self.observer.log.get(position as usize - 1).cloned() else {
            return Ok(());
        };
        if !self.is_kept(position)? {
            return Ok(());
        }
        if who == 0 && !entry.kind.is_relayed() {
            let wanted = Err(ErrorCode::REF_NOT_FOUND);
            return self.expect(0, &format!("cold.p{position}"), &[wanted]);
        }
        if entry.kind != EntryKind::Frame || self.has_discarded(who, position)? {
            return Ok(());
        }
        let key = format!("cold.p{position}");
        // A side that joined later may have the frame in hot state only, without its metadata.
        let texts = [&*entry.text, head(&entry.text)];
        let texts = texts.map(|text| Ok(Value::from(text.to_owned())));
        self.expect(who, &key, &texts)?;
        let sender = usize::from(entry.sender.number() - 100);
        let n = field(&entry.text, "n");
        let message = n.and_then(|n| self.said.get(&(sender, n)));
        let Some(message) = message.filter(|message| message.intent.as_str() != "sync") else {
            return Ok(());
        };
        let message = message.clone();
        for name in ["n", "text", "field_3"] {
            let path = format!("{key}.{name}");
            let wanted = match message.payload.get(name) {
                Some(value) if !self.is_gone(&entry.text, name)? => Ok(value.clone()),
                Some(_) => continue,
                None => Err(ErrorCode::REF_NOT_FOUND),
            };
            self.expect(who, &path, &[wanted])?;
        }
        Ok(())
    }

    /// Returns whether the store of a side has discarded the text of an entry.
    fn has_discarded(&mut self, who: usize, position: u64) -> Result<bool> {
        let Some(side) = self.room.side(self.nodes[who].id) else {
            return Ok(true);
        };
        let kept = side.store.summary(side.driver.side()).map_err(said)?;
        Ok(kept.is_none_or(|kept| position < kept.first))
    }

    /// Returns whether the value of a field has expired, or was lost with an older copy of a store.
    fn is_gone(&self, text: &str, name: &str) -> Result<bool> {
        let message = DynamicFrame::decode(text, &REGISTRY).map_err(said)?;
        Ok(match message.payload.get(name) {
            Some(Value::Ref(key)) => {
                let key = key.strip_prefix("cold.").unwrap_or(key);
                !self.observer.keys().iter().any(|kept| kept == key) || self.copies.has_back()
            }
            _ => false,
        })
    }

    /// Lets a side read a reference, and checks that the result is one of `wanted`.
    fn expect(&mut self, who: usize, key: &str, wanted: &[Read]) -> Result {
        let mut read = None;
        for _ in 0..40 {
            read = self.read(who, key)?;
            if read.is_some() {
                break;
            }
            // The bytes are on their way, so the side reads again after some time.
            self.rest(Duration::from_millis(500))?;
        }
        self.counts.references += 1;
        if read.as_ref().is_some_and(|read| wanted.contains(read)) {
            return Ok(());
        }
        let agent = self.nodes[who].agent;
        Err(format!(
            "@{agent} reads ${key} as {read:?} and not as {wanted:?}"
        ))
    }

    /// Reads a reference once. Returns `None` while bytes are on their way.
    fn read(&mut self, who: usize, key: &str) -> Result<Option<Read>> {
        let reference = Reference::parse(key).ok_or_else(|| format!("{key} is no reference"))?;
        // The driver may have been told earlier that nobody has the value. Then one read gives this error, and the
        // next read asks again.
        let may_wait = self.nodes[who].wanted.has_asked();
        let Some(side) = self.room.side(self.nodes[who].id) else {
            return Ok(Some(Err(ErrorCode::REF_NOT_FOUND)));
        };
        match side.driver.read(&reference) {
            Err(DriverError::Reference(_, ReadError::Unavailable)) if may_wait => Ok(None),
            Ok(value) => Ok(value.map(Ok)),
            Err(DriverError::Reference(_, error)) => Ok(Some(Err(error.code()))),
            Err(error) => Err(said(error)),
        }
    }
}
