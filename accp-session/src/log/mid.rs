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
        let Repr::Hex(value) = self.0 else {
            return None;
        };
        let digit = |place: u32| (value >> (4 * place)) & 0xf;
        let is_decimal = (0..12).all(|place| digit(place) < 10);
        let number = digit(11) * 100 + digit(10) * 10 + digit(9);
        MemberId::new(u16::try_from(number).ok()?).filter(|_| is_decimal)
    }

    /// Returns the epoch of an id that a generator made.
    pub(crate) fn epoch(&self) -> Option<u32> {
        self.maker()?;
        let digits = self.to_string();
        digits.get(3..9)?.parse().ok()
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

/// A member of a session, by the number that the host gave it: 100 is the host, 101 to 899 are the
/// others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(u16);

impl MemberId {
    /// The host itself.
    pub const HOST: Self = Self(100);
    /// The last number of a member.
    pub const LAST: Self = Self(899);

    /// Returns the member with this number; `None` outside 100 to 899.
    pub const fn new(number: u16) -> Option<Self> {
        if number >= Self::HOST.0 && number <= Self::LAST.0 {
            Some(Self(number))
        } else {
            None
        }
    }

    /// Returns the ids that the generator of this member makes, as decimal numbers.
    pub(crate) fn ids(self) -> RangeInclusive<u64> {
        let first = u64::from(self.0) * 1_000_000_000;
        first..=first + 999_999_999
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

/// Returns the epoch of an id that a generator made, given as a decimal number.
pub(crate) fn epoch_of(id: u64) -> u64 {
    id / 1000 % 1_000_000
}

/// Makes message ids that are certain to be unique, from the member's number, an epoch that is
/// raised durably at each start, and a counter. The ids have decimal digits only, because these
/// cost 4 tokens where hexadecimal digits cost 7 or 8.
#[derive(Debug, Clone)]
pub(crate) struct MidSource {
    member: MemberId,
    /// 1 to 999,999.
    epoch: u32,
    /// 0 to 999.
    counter: u16,
    /// 1000 to 1.
    control: u16,
    /// The counter of link frames. Their ids are never compared with other ids.
    link: u32,
}

impl MidSource {
    /// Starts a new epoch after `last`, the last committed epoch.
    pub(crate) fn new(member: MemberId, last: u32) -> Self {
        Self {
            member,
            epoch: last + 1,
            counter: 0,
            control: 1000,
            link: (last + 1).wrapping_mul(1000),
        }
    }

    /// Returns the epoch that must be committed before the ids made so far leave.
    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn member(&self) -> MemberId {
        self.member
    }

    /// Starts a new epoch after `last`, unless this one is later.
    pub(crate) fn raise(&mut self, last: u32) {
        if self.epoch <= last {
            let (member, link) = (self.member, self.link);
            *self = Self {
                link,
                ..Self::new(member, last)
            };
        }
    }

    pub(crate) fn set_member(&mut self, member: MemberId) {
        self.member = member;
    }

    /// Returns the next id of a session frame.
    pub(crate) fn next(&mut self) -> Mid {
        self.make_room();
        self.counter += 1;
        self.mid(self.counter)
    }

    /// Returns the next id of an entry that takes no `seq`. These ids count down, so that the ids
    /// of entries with a `seq` have no gaps.
    pub(crate) fn next_control(&mut self) -> Mid {
        self.make_room();
        self.control -= 1;
        self.mid(self.control)
    }

    fn make_room(&mut self) {
        if self.counter + 1 == self.control {
            self.epoch += 1;
            self.counter = 0;
            self.control = 1000;
        }
    }

    fn mid(&self, counter: u16) -> Mid {
        let text = format!(
            "{:03}{:06}{counter:03}",
            self.member.0,
            self.epoch % 1_000_000,
        );
        Mid::parse(&text)
    }

    /// Returns the next id of a link frame.
    pub(crate) fn next_link(&mut self) -> String {
        self.link = self.link.wrapping_add(1);
        format!("9{:03}{:08}", self.member.0, self.link % 100_000_000)
    }
}
