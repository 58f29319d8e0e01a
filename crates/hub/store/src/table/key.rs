//! The columns of table `cold`: the keys of values.

use std::sync::Arc;

use accp_registry::Hash;
use accp_session::Cold;

use super::cell::{Cell, hex, integer};
use super::columns::{Columns, Damage};
use crate::changes::{Conflict, Key, State};
use crate::store::Kept;

impl Key {
    /// Returns the columns after the name of the key.
    pub(crate) fn cells(&self) -> Result<[Cell<'_>; 3], Conflict> {
        Ok([
            Cell::Bytes(self.digest.as_bytes()),
            integer(self.length)?,
            Cell::Integer(self.state as i64),
        ])
    }

    /// Reads the name of a key and the rest of its row, from the columns after `side`.
    pub(crate) fn read(columns: &mut Columns<'_>) -> Result<(String, Self), Damage> {
        let name = columns.text()?.to_owned();
        let key = Self {
            digest: columns.digest()?,
            length: columns.number()?,
            state: match columns.integer()? {
                0 => State::Known,
                1 => State::Held,
                2 => State::Expired,
                _ => return Err(columns.wrong("a state, 0 to 2")),
            },
        };
        Ok((name, key))
    }

    /// Checks that the bytes of a key are there if they must be. `length` is the length of the bytes
    /// that were found.
    pub(crate) fn check(&self, name: &str, length: Option<u64>) -> Result<(), Damage> {
        // Only a `Held` key must have its bytes. The bytes of a `Known` key may never have come, and the bytes of an
        // `Expired` key may be deleted.
        if self.state != State::Held || length == Some(self.length) {
            return Ok(());
        }
        Err(Damage(format!(
            "table `blob` lacks the {} bytes of key `{name}`",
            self.length
        )))
    }

    /// Returns the value under the key. `bytes` are the bytes with its digest, if they are there and
    /// the key has not expired.
    pub(crate) fn into_kept(self, name: &str, bytes: Option<Arc<[u8]>>) -> Result<Kept, Damage> {
        self.check(name, bytes.as_deref().map(|bytes| bytes.len() as u64))?;
        let value = Cold {
            key: name.into(),
            digest: self.digest,
            length: self.length,
            bytes: bytes.filter(|bytes| bytes.len() as u64 == self.length),
        };
        let expired = self.state == State::Expired;
        Ok(Kept { value, expired })
    }
}

/// Makes the fault for bytes that are kept although no key has their digest.
pub(crate) fn no_key(digest: &[u8]) -> Damage {
    Damage(format!(
        "table `blob` keeps bytes under digest {}, which no key has",
        hex(digest)
    ))
}

/// Makes the fault for bytes that are kept under a wrong digest.
pub(crate) fn other_digest(digest: &[u8], found: &Hash) -> Damage {
    Damage(format!(
        "table `blob` keeps bytes under digest {}, but their digest is {found}",
        hex(digest)
    ))
}
