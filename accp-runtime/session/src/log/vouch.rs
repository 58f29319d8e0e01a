//! The identity of a log, its running hash, and what its host vouches for.
//!
//! Each relayed entry has a running hash, made from the hash of the relayed entry before it and from the entry
//! itself. Other entries have none, so a member, which sees only relayed entries, computes the same hashes as the
//! host. With each entry the host sends a proof that only its secret can make. A member keeps the last proof and
//! gives it back in its hello. By the proof, a host whose store is an old copy recognises that it made entries beyond
//! its own position. It also recognises a log that is not its own.

use std::fmt;

use accp_registry::Hash;

/// The secret of a log. Only the host of the session has it.
///
/// A peer that has this secret can make the host believe that it was rolled back, and so stop the host.
#[derive(Clone, PartialEq, Eq)]
pub struct LogKey([u8; 32]);

impl LogKey {
    /// Takes 32 random bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for a store.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the identity of the log, which is not a secret.
    pub fn identity(&self) -> LogId {
        LogId(first_16(&blake3::derive_key(
            "accp: identity of a log",
            &self.0,
        )))
    }

    /// Returns the hash before the first entry.
    pub(crate) fn root(&self) -> Hash {
        Hash::from(*blake3::hash(&self.identity().0).as_bytes())
    }

    fn proof(&self, position: u64, hash: &Hash) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&position.to_le_bytes());
        hasher.update(hash.as_bytes());
        first_16(hasher.finalize().as_bytes())
    }

    /// Vouches for the log up to this position.
    pub(crate) fn vouch(&self, position: u64, hash: Hash) -> Voucher {
        Voucher {
            log: self.identity(),
            position,
            hash,
            proof: self.proof(position, &hash),
        }
    }

    /// Returns whether a holder of this key made this voucher.
    pub(crate) fn vouched(&self, claim: &Voucher) -> bool {
        claim.log == self.identity() && claim.proof == self.proof(claim.position, &claim.hash)
    }

    /// Returns the pairs of a relay that vouch for its entry.
    pub(crate) fn pairs(&self, position: u64, hash: &Hash) -> Vouched {
        Vouched {
            sum: sum(hash),
            proof: self.proof(position, hash),
        }
    }
}

impl fmt::Debug for LogKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogKey of log {}", self.identity())
    }
}

/// The identity of a log. The logs of two sessions with the same name have different identities.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogId([u8; 16]);

impl LogId {
    /// Returns the bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LogId({self})")
    }
}

/// The proof of a host that its log has this hash at this position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Voucher {
    pub(crate) log: LogId,
    pub(crate) position: u64,
    pub(crate) hash: Hash,
    pub(crate) proof: [u8; 16],
}

impl Voucher {
    /// Returns the identity of the log.
    pub fn log(&self) -> LogId {
        self.log
    }

    /// Returns the position.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the voucher as bytes, for a store.
    pub fn to_bytes(&self) -> [u8; 72] {
        let mut bytes = [0; 72];
        bytes[..16].copy_from_slice(&self.log.0);
        bytes[16..24].copy_from_slice(&self.position.to_le_bytes());
        bytes[24..56].copy_from_slice(self.hash.as_bytes());
        bytes[56..].copy_from_slice(&self.proof);
        bytes
    }

    /// Reads the bytes of [`Voucher::to_bytes`]; `None` when there are not 72 of them.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (log, rest) = bytes.split_first_chunk()?;
        let (position, rest) = rest.split_first_chunk()?;
        let (hash, proof) = rest.split_first_chunk::<32>()?;
        Some(Self {
            log: LogId(*log),
            position: u64::from_le_bytes(*position),
            hash: Hash::from(*hash),
            proof: proof.try_into().ok()?,
        })
    }

    /// Returns the voucher as hexadecimal digits, for a hello and a fold.
    pub(crate) fn digits(&self) -> String {
        hex::encode(self.to_bytes())
    }

    /// Reads the digits of [`Voucher::digits`].
    pub(crate) fn read(digits: &str) -> Option<Self> {
        Self::from_bytes(&unhex::<72>(digits)?)
    }

    /// Returns the voucher for the next entry, which a relay brings.
    pub(crate) fn followed_by(&self, position: u64, hash: Hash, vouched: &Vouched) -> Self {
        Self {
            log: self.log,
            position,
            hash,
            proof: vouched.proof,
        }
    }
}

impl fmt::Debug for Voucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            log,
            position,
            hash,
            ..
        } = self;
        write!(
            f,
            "Voucher(log {log}, position {position}, hash {})",
            hash.short(8)
        )
    }
}

/// The pairs of a relay that vouch for its entry: the beginning of the hash, with which the member checks that the
/// entry is unchanged, and the proof.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Vouched {
    sum: u64,
    proof: [u8; 16],
}

impl Vouched {
    /// Returns whether the pairs belong to an entry with this hash.
    pub(crate) fn is_of(&self, hash: &Hash) -> bool {
        self.sum == sum(hash)
    }

    pub(crate) fn read(sum: &str, proof: &str) -> Option<Self> {
        let sum = unhex::<8>(sum)?;
        Some(Self {
            sum: u64::from_be_bytes(sum),
            proof: unhex(proof)?,
        })
    }
}

impl fmt::Display for Vouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sum:{:016x},proof:{}", self.sum, hex::encode(self.proof))
    }
}

fn sum(hash: &Hash) -> u64 {
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_be_bytes(first)
}

fn first_16(bytes: &[u8; 32]) -> [u8; 16] {
    let mut first = [0; 16];
    first.copy_from_slice(&bytes[..16]);
    first
}

fn unhex<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_voucher_is_read_as_it_was_written(key: [u8; 32], position: u64, hash: [u8; 32]) {
            let key = LogKey::new(key);
            let voucher = key.vouch(position, Hash::from(hash));
            prop_assert!(key.vouched(&voucher));
            prop_assert_eq!(Voucher::from_bytes(&voucher.to_bytes()), Some(voucher));
            prop_assert_eq!(Voucher::read(&voucher.digits()), Some(voucher));
            let pairs = key.pairs(position, &voucher.hash);
            let text = pairs.to_string();
            let (sum, proof) = text.split_once(',').unwrap();
            let read = Vouched::read(&sum[4..], &proof[6..]).unwrap();
            prop_assert!(read == pairs && read.is_of(&voucher.hash));
            prop_assert_eq!(voucher.followed_by(position, voucher.hash, &read), voucher);
        }

        /// Nobody can forge a voucher without the key.
        #[test]
        fn a_changed_voucher_is_not_vouched_for(key: [u8; 32], position: u64, at in 0usize..72, bit in 0u8..8) {
            let key = LogKey::new(key);
            let mut bytes = key.vouch(position, key.root()).to_bytes();
            bytes[at] ^= 1 << bit;
            prop_assert!(!key.vouched(&Voucher::from_bytes(&bytes).unwrap()));
        }

        #[test]
        fn a_reader_takes_any_text(text in "[0-9a-fg\u{e9}]{0,4}|[0-9a-f]{143,145}|[0-9a-f\u{e9}]{142,144}") {
            if let Some(voucher) = Voucher::read(&text) {
                prop_assert_eq!(voucher.digits(), text);
            }
        }
    }
}
