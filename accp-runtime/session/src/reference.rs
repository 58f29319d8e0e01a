//! References: their targets, their places in a frame, and the paths into values (draft sections
//! 3.1.1, 5.1 and 7.3).

use std::fmt;

use accp_registry::lexical::is_ref_char;

use crate::log::mid::MemberId;
use accp_frame::__internal::read_bytes;
use accp_frame::{DecodeError, DecodeOptions, Limits, Reader, Value};

/// Options for reading a text without limits: the text was checked before, or it has values in place of references,
/// or the session that it belongs to checks the limits.
pub(crate) const UNBOUNDED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// A reference to the state of a session: `$cold.k101_12.rows.0.id`.
///
/// ```
/// use accp_runtime::session::{MemberId, Reference};
/// use accp_session::{ColdKey, Target};
///
/// let reference = Reference::parse("cold.k101_12.rows.0").expect("a tier of ours");
/// let member = MemberId::new(101).expect("a member");
/// assert_eq!(reference.target, Target::Cold(ColdKey::Value { member, number: 12 }));
/// assert_eq!(reference.path, Some("rows.0"));
/// assert_eq!(reference.to_string(), "cold.k101_12.rows.0");
///
/// // Of no tier: a value like any other, as the draft's `budget:$42.30`.
/// assert_eq!(Reference::parse("42.30"), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The target of the reference.
    pub target: Target<'a>,
    /// The path from the target: keys, and indexes from 0, with dots between. `None` names the whole target.
    pub path: Option<&'a str>,
}

/// The target of a reference, without the path into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target<'a> {
    /// `hot.p57`: the frame at this position of the log, while it is in hot state.
    Hot(u64),
    /// `warm.ckpt_3`: the checkpoint with this number.
    Warm(u64),
    /// `cold.p57`, `cold.k101_12`: a frame or a value that was moved out of the context.
    Cold(ColdKey<'a>),
    /// `ctx.budget`: a key of the shared state (draft section 5.4).
    Context(&'a str),
    /// `ext.sid.k101_12`: cold state of another session, which must have granted it.
    Foreign {
        /// The other session. A reference can hold only letters, digits and `_` of its name.
        session: &'a str,
        /// The key there.
        key: ColdKey<'a>,
    },
    /// A tier of the protocol without a valid key after it: the whole reference, which leads
    /// nowhere (E2001).
    Unknown(&'a str),
}

/// A key of cold state, without its tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColdKey<'a> {
    /// `p57`: the frame at this position of the log. A path starts at its payload, under full
    /// names.
    Frame(u64),
    /// `k101_12`: the twelfth value that member 101 put.
    Value {
        /// The member that put the value.
        member: MemberId,
        /// The number of the value among those of the member, from 1.
        number: u64,
    },
    /// A well-formed name that no session gives.
    Other(&'a str),
}

/// Where the path of a reference ends inside a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Walk<'v, 'a> {
    /// The path leads to this value, which may be a reference itself.
    Value(&'v Value<'a>),
    /// The path leads to a reference before its end.
    Reference {
        /// The key of the reference.
        key: &'v str,
        /// The rest of the path, to follow from the value of that reference.
        rest: &'v str,
    },
}

impl<'a> Reference<'a> {
    /// Reads the key that follows a `$`. Returns `None` when its first segment is not a tier, so
    /// that the reference is an opaque value.
    pub fn parse(key: &'a str) -> Option<Self> {
        let (tier, rest) = split(key);
        let Some((name, path)) = rest.map(split) else {
            let is_tier = matches!(tier, "hot" | "warm" | "cold" | "ctx" | "ext");
            return is_tier.then_some(Self::unknown(key));
        };
        let (target, path) = match tier {
            "hot" => (position(name).map(Target::Hot), path),
            "warm" => (numbered(name, "ckpt_").map(Target::Warm), path),
            "cold" => (ColdKey::parse(name).map(Target::Cold), path),
            "ctx" => ((!name.is_empty()).then_some(Target::Context(name)), path),
            "ext" => {
                let (key, path) = path.map_or(("", None), split);
                let key = ColdKey::parse(key).filter(|_| !name.is_empty());
                (key.map(|key| Target::Foreign { session: name, key }), path)
            }
            _ => return None,
        };
        Some(target.map_or(Self::unknown(key), |target| Self { target, path }))
    }

    const fn unknown(key: &'a str) -> Self {
        Self {
            target: Target::Unknown(key),
            path: None,
        }
    }

    /// Follows the path into the value of the target. Returns `None` when the path leads nowhere
    /// (E2001).
    ///
    /// Does not follow a reference on the way, because its value may have to be fetched first. A caller that
    /// follows references must limit their number, because references can form a circle.
    ///
    /// ```
    /// use accp_runtime::session::Reference;
    /// use accp_session::{Walk, read_value};
    ///
    /// let value = read_value(b"{rows:[{id:7},{id:$ctx.newest}]}")?;
    /// let walk = |key| Reference::parse(key).and_then(|reference| reference.walk(&value));
    /// assert_eq!(walk("cold.k101_1.rows.0.id"), Some(Walk::Value(&7.into())));
    /// assert_eq!(
    ///     walk("cold.k101_1.rows.1.id.name"),
    ///     Some(Walk::Reference { key: "ctx.newest", rest: "name" }),
    /// );
    /// assert_eq!(walk("cold.k101_1.rows.2"), None);
    /// # Ok::<(), accp_runtime::DecodeError>(())
    /// ```
    pub fn walk<'v, 'x>(&self, value: &'v Value<'x>) -> Option<Walk<'v, 'x>>
    where
        'a: 'v,
    {
        let mut value = value;
        let mut left = self.path;
        while let Some(path) = left {
            let (step, rest) = split(path);
            value = match value {
                Value::Map(map) => map.get(step)?,
                Value::Array(items) => items.get(index(step)?)?,
                Value::Ref(key) => return Some(Walk::Reference { key, rest: path }),
                _ => return None,
            };
            left = rest;
        }
        Some(Walk::Value(value))
    }
}

impl<'a> ColdKey<'a> {
    /// Reads a key of cold state, without its tier. Returns `None` for the empty text.
    pub fn parse(name: &'a str) -> Option<Self> {
        let value = || {
            let (member, number) = name.strip_prefix('k')?.split_once('_')?;
            let member = MemberId::new(counter(member)?.try_into().ok()?)?;
            let number = counter(number)?;
            Some(Self::Value { member, number })
        };
        let known = position(name).map(Self::Frame).or_else(value);
        known.or_else(|| (!name.is_empty()).then_some(Self::Other(name)))
    }
}

/// Returns the keys of all references in the text of a frame, in order, each without its `$`.
///
/// The text must have kept to the grammar. Then a `$` is a reference unless it is escaped, and one
/// pass over the bytes finds them all.
///
/// ```
/// use accp_session::references;
///
/// let frame = r"@a>qry:lookup{src:$ctx.sales_db|fee:\$9|of:[$cold.p7,$cold.k101_2.id]}";
/// assert!(references(frame).eq(["ctx.sales_db", "cold.p7", "cold.k101_2.id"]));
/// ```
pub fn references(frame: &str) -> impl Iterator<Item = &str> + Clone {
    places(frame).map(|(_, key)| key)
}

/// As [`references`], each with the place of its `$`.
pub(crate) fn places(frame: &str) -> impl Iterator<Item = (usize, &str)> + Clone {
    frame
        .match_indices('$')
        // A `\` before a `$` always escapes it: the grammar has no reference right after a string.
        .filter(|&(at, _)| at == 0 || frame.as_bytes().get(at - 1) != Some(&b'\\'))
        .map(move |(at, _)| {
            let rest = frame.get(at + 1..).unwrap_or_default();
            let length = rest.bytes().take_while(|&byte| is_ref_char(byte)).count();
            (at, rest.get(..length).unwrap_or_default())
        })
}

/// Reads a value from its wire text, as cold state keeps it. Only the limit [`Limits::MAX_DEPTH`]
/// applies.
///
/// # Errors
/// E1001 with the byte and what was expected there.
pub fn read_value(bytes: &[u8]) -> Result<Value<'_>, DecodeError> {
    read_bytes(bytes, |text| {
        let mut r = Reader::new(text, UNBOUNDED)?;
        let value = Value::read(&mut r)?;
        r.finish()?;
        Ok(value)
    })
}

/// Returns the first segment, and the rest after its dot.
fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

/// Reads an index from 0, in its only spelling.
fn index(text: &str) -> Option<usize> {
    match text {
        "0" => Some(0),
        text => counter(text)?.try_into().ok(),
    }
}

/// Reads a number from 1, in its only spelling, so that two keys never name the same thing.
fn counter(text: &str) -> Option<u64> {
    let canonical = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| canonical)
}

fn numbered(name: &str, prefix: &str) -> Option<u64> {
    counter(name.strip_prefix(prefix)?)
}

fn position(name: &str) -> Option<u64> {
    numbered(name, "p")
}

impl fmt::Display for Reference<'_> {
    /// Writes the key that follows the `$`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Target::Hot(position) => write!(f, "hot.p{position}")?,
            Target::Warm(number) => write!(f, "warm.ckpt_{number}")?,
            Target::Cold(key) => write!(f, "cold.{key}")?,
            Target::Context(key) => write!(f, "ctx.{key}")?,
            Target::Foreign { session, key } => write!(f, "ext.{session}.{key}")?,
            Target::Unknown(key) => f.write_str(key)?,
        }
        match self.path {
            Some(path) => write!(f, ".{path}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ColdKey<'_> {
    /// Writes the key without its tier.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(position) => write!(f, "p{position}"),
            Self::Value { member, number } => write!(f, "k{member}_{number}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}
