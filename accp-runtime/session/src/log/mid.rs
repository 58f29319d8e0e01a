//! Message ids and members.
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

/// A message id (draft section 3.5). Hexadecimal ids are compared without regard to case.
///
/// ```
/// use accp_runtime::session::Mid;
///
/// assert_eq!(Mid::parse("49679033E07C"), Mid::parse("49679033e07c"));
/// assert!(Mid::parse("49679033e07c").is_hex());
/// assert!(!Mid::parse("m1").is_hex()); // taken only where the host's policy says so
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Mid(Repr);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Repr {
    /// 12 hexadecimal digits.
    Hex(u64),
    /// Any other text, as written.
    Name(Box<str>),
}

impl Mid {
    /// Reads an id. Chains are named the same way, so a `cid` equals the `mid` of the request that
    /// it names.
    pub fn parse(text: &str) -> Self {
        let digits = text.bytes().try_fold(0, |value: u64, byte| {
            let digit = char::from(byte).to_digit(16)?;
            Some((value << 4) | u64::from(digit))
        });
        match digits {
            Some(value) if text.len() == 12 => Self(Repr::Hex(value)),
            _ => Self(Repr::Name(text.into())),
        }
    }

    /// Returns whether the id has the form of the draft, 12 hexadecimal digits.
    pub fn is_hex(&self) -> bool {
        matches!(self.0, Repr::Hex(_))
    }

    /// Returns whether the id is longer than a host takes. An answer to a frame repeats the id, and
    /// has to stay within the limits of a frame.
    pub(crate) fn is_too_long(&self) -> bool {
        matches!(&self.0, Repr::Name(name) if name.len() > 128)
    }

    /// Returns the member whose generator makes ids like this one.
    pub(crate) fn maker(&self) -> Option<MemberId> {
        MemberId::of_id(decimal(self.as_bits()?)?)
    }

    /// Returns the epoch of an id that the generator of this member made.
    pub(crate) fn epoch_by(&self, maker: MemberId) -> Option<u32> {
        let id = decimal(self.as_bits()?)?;
        maker.ids().contains(&id).then(|| maker.epoch_of(id))
    }

    /// Returns the id of these 48 bits, in the form of the draft; `None` if there are more bits.
    pub fn from_bits(bits: u64) -> Option<Self> {
        (bits < 1 << 48).then_some(Self(Repr::Hex(bits)))
    }

    /// Returns the 48 bits of an id in the form of the draft.
    pub fn as_bits(&self) -> Option<u64> {
        match self.0 {
            Repr::Hex(value) => Some(value),
            Repr::Name(_) => None,
        }
    }
}

impl fmt::Display for Mid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Hex(value) => write!(f, "{value:012x}"),
            Repr::Name(name) => f.write_str(name),
        }
    }
}

impl fmt::Debug for Mid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mid({self})")
    }
}

impl From<String> for Mid {
    fn from(text: String) -> Self {
        Self::parse(&text)
    }
}

impl From<Mid> for String {
    fn from(mid: Mid) -> Self {
        mid.to_string()
    }
}

/// A member of a session, by the number that the host gave it: 100 is the host, 101 to 899 and 9000
/// to 9999 are the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(u16);

impl MemberId {
    /// The host itself.
    pub const HOST: Self = Self(100);
    /// The last number of a member.
    pub const LAST: Self = Self(9999);
    /// Stands for the taker of a request that has no taker yet ([`Entry::to`](crate::Entry::to)). No member has this
    /// number.
    pub const NOBODY: Self = Self(99);
    /// The greatest number of members, not counting the host.
    pub(crate) const OTHERS: u16 = (899 - 100) + 1000;

    /// Returns the member with this number; `None` outside 100 to 899 and 9000 to 9999.
    pub const fn new(number: u16) -> Option<Self> {
        match number {
            100..=899 | 9000..=9999 => Some(Self(number)),
            _ => None,
        }
    }

    /// Returns the member with this number, or [`NOBODY`](Self::NOBODY).
    pub const fn addressee(number: u16) -> Option<Self> {
        if number == Self::NOBODY.0 {
            return Some(Self::NOBODY);
        }
        Self::new(number)
    }

    /// Returns the member that joins after this one.
    pub(crate) fn next(self) -> Option<Self> {
        Self::new(self.0 + 1).or(Self::new(9000).filter(|next| *next > self))
    }

    /// Returns the first epoch that the ids of this member cannot name. All ids have 12 digits, so a member number of
    /// four digits leaves one digit less for the epoch.
    fn epochs(self) -> u32 {
        if self.0 < 1000 { EPOCHS } else { EPOCHS / 10 }
    }

    /// Returns the ids that the generator of this member makes, as decimal numbers.
    pub(crate) fn ids(self) -> RangeInclusive<u64> {
        let count = u64::from(self.epochs()) * 1000;
        let first = u64::from(self.0) * count;
        first..=first + count - 1
    }

    /// Returns the member whose generator makes this id, given as a decimal number.
    fn of_id(id: u64) -> Option<Self> {
        let numbers = [id / 1_000_000_000, id / 100_000_000].into_iter();
        numbers.flat_map(u16::try_from).find_map(Self::new)
    }

    /// Returns the epoch of an id of this member, given as a decimal number.
    pub(crate) fn epoch_of(self, id: u64) -> u32 {
        (id / 1000) as u32 % self.epochs()
    }

    /// Returns the number.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The first epoch that no id can name, for members whose numbers have three digits.
const EPOCHS: u32 = 1_000_000;
/// The least number of ids in an epoch.
const IN_EPOCH: u64 = 998;
/// A peer may always make a generator skip this many epochs, and more only up to half of the epochs that are left.
const SKIPPED: u32 = 1000;

/// Returns the number whose decimal digits are the 12 hexadecimal digits of these bits.
pub(crate) fn decimal(bits: u64) -> Option<u64> {
    (0..12).rev().try_fold(0, |value, place| {
        let digit = (bits >> (4 * place)) & 0xf;
        (digit < 10).then_some(value * 10 + digit)
    })
}

/// Makes message ids that are certain to be unique, from the member's number, an epoch that is
/// raised durably at each start, and a counter. The ids have decimal digits only, because these
/// cost 4 tokens where hexadecimal digits cost 7 or 8. When the last epoch is over, there are no more
/// ids: none is made twice.
#[derive(Debug, Clone)]
pub(crate) struct MidSource {
    member: MemberId,
    /// The epoch, from 1. When it equals the number of epochs of the member, the ids are used up.
    epoch: u32,
    /// The counter of ids of frames with a `seq`: 0 to 999, upwards.
    counter: u16,
    /// The counter of ids of entries without a `seq`: 1000 to 1, downwards.
    control: u16,
    /// The counter of link frames. Their ids are never compared with other ids.
    link: u32,
    /// The seed of the ids of this run, if the host gives no numbers to its members.
    ids: Option<Box<[u8; 32]>>,
}

impl MidSource {
    /// Starts a new epoch after `last`, the last committed epoch.
    pub(crate) fn new(member: MemberId, last: u32) -> Self {
        let epoch = last.saturating_add(1).min(EPOCHS);
        Self {
            member,
            epoch,
            counter: 0,
            control: 1000,
            link: epoch * 1000,
            ids: None,
        }
    }

    /// Returns the epoch of the ids made so far. The epoch must be committed before frames with these ids leave this
    /// side.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn member(&self) -> MemberId {
        self.member
    }

    /// Returns whether the epochs after the present one hold this many ids. The last epoch is kept for frames that the
    /// session itself writes, and for frames that need another id.
    pub(crate) fn has(&self, ids: u64) -> bool {
        let later = self.member.epochs().saturating_sub(self.epoch + 1);
        u64::from(later) * IN_EPOCH >= ids
    }

    /// Returns whether to believe a peer which says that this epoch was used. If the claim is too far ahead, it is
    /// ignored: otherwise a peer could use up the ids of this side.
    pub(crate) fn may_follow(&self, last: u32) -> bool {
        let left = self.member.epochs().saturating_sub(self.epoch);
        last >= self.epoch && last - self.epoch <= (left / 2).max(SKIPPED)
    }

    /// Starts a new epoch after `last`, unless this one is later.
    pub(crate) fn raise(&mut self, last: u32) {
        if self.epoch <= last {
            let (member, link, ids) = (self.member, self.link, self.ids.take());
            *self = Self {
                link,
                ids,
                ..Self::new(member, last)
            };
        }
    }

    pub(crate) fn set_member(&mut self, member: MemberId) {
        self.member = member;
    }

    /// Makes ids that begin with a letter from now on, for a host that gives no numbers to its members.
    /// The ids are pseudo-random: no other run makes them if it has another seed `ids`.
    pub(crate) fn set_ids(&mut self, ids: [u8; 32]) {
        self.ids = Some(Box::new(ids));
    }

    /// Returns the next id of a session frame; `None` when all are used up.
    pub(crate) fn next(&mut self) -> Option<Mid> {
        self.make_room()?;
        self.counter += 1;
        Some(self.mid(self.counter))
    }

    /// Returns the next id of an entry that takes no `seq`. These ids count down, so that the ids
    /// of entries with a `seq` have no gaps.
    pub(crate) fn next_control(&mut self) -> Option<Mid> {
        self.make_room()?;
        self.control -= 1;
        Some(self.mid(self.control))
    }

    fn make_room(&mut self) -> Option<()> {
        if self.counter + 1 == self.control {
            self.raise(self.epoch);
        }
        (self.epoch < self.member.epochs()).then_some(())
    }

    fn mid(&self, counter: u16) -> Mid {
        if let Some(ids) = &self.ids {
            let mut hasher = blake3::Hasher::new_keyed(ids);
            hasher.update(&self.epoch.to_le_bytes());
            hasher.update(&counter.to_le_bytes());
            let digest = hasher.finalize();
            let drawn = digest.as_bytes().iter().take(8);
            let drawn = drawn.fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
            // The first digit is from a to f, because the ids in the ranges of members have only
            // decimal digits.
            let first = 0xa + (drawn >> 48) % 6;
            return Mid(Repr::Hex(first << 44 | drawn & ((1 << 44) - 1)));
        }
        let id = self.member.ids().start() + u64::from(self.epoch) * 1000 + u64::from(counter);
        Mid::parse(&id.to_string())
    }

    /// Returns the next id of a link frame: 9, the number of the member, and the digits that are left.
    pub(crate) fn next_link(&mut self) -> String {
        self.link = self.link.wrapping_add(1);
        let count = u64::from(self.member.epochs()) * 100;
        let id = 900_000_000_000 + u64::from(self.member.0) * count + u64::from(self.link) % count;
        id.to_string()
    }
}
