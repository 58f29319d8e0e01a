//! References: what each names, where a frame holds them, and the way on into a value
//! (draft sections 3.1.1, 5.1 and 7.3).

use std::fmt;

use accp_registry::lexical::is_ref_char;

use crate::MemberId;
use accp_frame::__internal::read_bytes;
use accp_frame::{DecodeError, DecodeOptions, Limits, Reader, Value};

/// A reference to the state of a session: `$cold.k101_12.rows.0.id`.
///
/// ```
/// use accp_runtime::session::{ColdKey, MemberId, Reference, Target};
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
    /// What it names.
    pub target: Target<'a>,
    /// The way from there: keys, and indexes from 0, with dots between. `None` is all of it.
    pub path: Option<&'a str>,
}

/// What a reference names, without the path into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Target<'a> {
    /// `hot.p57`: the frame at this position of the log, while it is in hot state.
    Hot(u64),
    /// `warm.ckpt_3`: the checkpoint with this number.
    Warm(u64),
    /// `cold.p57`, `cold.k101_12`: what was moved out of the context.
    Cold(ColdKey<'a>),
    /// `ctx.budget`: a key of the shared state (draft section 5.4).
    Context(&'a str),
    /// `ext.sid.k101_12`: cold state of another session, which must have granted it.
    Foreign {
        /// The other session. Of its name a reference can hold letters, digits and `_`.
        session: &'a str,
        /// The key there.
        key: ColdKey<'a>,
    },
    /// A tier of ours and after it nothing that is ever a key: the whole of the reference,
    /// which leads nowhere (E2001).
    Unknown(&'a str),
}

/// A key of cold state, without its tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ColdKey<'a> {
    /// `p57`: the frame at this position of the log. A path starts at its payload, under
    /// full names.
    Frame(u64),
    /// `k101_12`: the twelfth value that member 101 put.
    Value {
        /// Who put it.
        member: MemberId,
        /// Its number among those of the member, from 1.
        number: u64,
    },
    /// A name that is well-formed and that no session gives.
    Other(&'a str),
}

/// Where the path of a reference leads inside a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Walk<'v, 'a> {
    /// To this value, which may be a reference itself.
    Value(&'v Value<'a>),
    /// To a reference that stands in the way.
    Reference {
        /// Its key.
        key: &'v str,
        /// What is left of the path, to be gone behind it.
        rest: &'v str,
    },
}

impl<'a> Reference<'a> {
    /// Reads the key that follows a `$`; `None` when its first segment is no tier, so that
    /// the reference is an opaque value.
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

    /// Follows the path into the value that the target holds; `None` when it leads nowhere
    /// (E2001).
    ///
    /// A reference on the way is not followed: what it names may have to be fetched first.
    /// Whoever follows it bounds how often, for references can form a circle.
    ///
    /// ```
    /// use accp_runtime::session::{Reference, Walk, read_value};
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
    /// Reads a key of cold state, without its tier; `None` for the empty text.
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

/// The keys of all references in the text of a frame, in their order, each without its `$`.
///
/// The text must have kept to the grammar. Then a `$` is a reference unless it is escaped,
/// and one pass over the bytes finds them all.
///
/// ```
/// use accp_runtime::session::references;
///
/// let frame = r"@a>qry:lookup{src:$ctx.sales_db|fee:\$9|of:[$cold.p7,$cold.k101_2.id]}";
/// assert!(references(frame).eq(["ctx.sales_db", "cold.p7", "cold.k101_2.id"]));
/// ```
pub fn references(frame: &str) -> impl Iterator<Item = &str> + Clone {
    frame
        .match_indices('$')
        // After an escaped `\` there is no `$`: a string would go over into a reference.
        .filter(|&(at, _)| at == 0 || frame.as_bytes().get(at - 1) != Some(&b'\\'))
        .map(|(at, _)| {
            let rest = frame.get(at + 1..).unwrap_or_default();
            let length = rest.bytes().take_while(|&byte| is_ref_char(byte)).count();
            rest.get(..length).unwrap_or_default()
        })
}

/// The value whose wire text these bytes are, as cold state keeps it. No limit applies but
/// that of [`Limits::MAX_DEPTH`].
///
/// # Errors
/// E1001 with the byte and what was expected there.
pub fn read_value(bytes: &[u8]) -> Result<Value<'_>, DecodeError> {
    let options = DecodeOptions {
        limits: Limits::NONE,
        marks: true,
    };
    read_bytes(bytes, |text| {
        let mut r = Reader::new(text, options)?;
        let value = Value::read(&mut r)?;
        r.finish()?;
        Ok(value)
    })
}

/// The first segment, and what follows its dot.
fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

/// An index from 0, in its one spelling.
fn index(text: &str) -> Option<usize> {
    match text {
        "0" => Some(0),
        text => counter(text)?.try_into().ok(),
    }
}

/// A number from 1, in its one spelling: two keys never name one thing.
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
    /// What follows the `$`.
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
    /// The key without its tier.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Frame(position) => write!(f, "p{position}"),
            Self::Value { member, number } => write!(f, "k{member}_{number}"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use accp_frame::Map;

    /// Any value that comes back from its wire text.
    pub(crate) fn any_value() -> impl Strategy<Value = Value<'static>> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,6}".prop_map(Value::from),
            r"[$\\@|a]{1,4}".prop_map(Value::from),
            any_key().prop_map(|key| Value::Ref(key.into())),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-c_.]{1,3}", inner), 0..4)
                    .prop_map(|entries| Value::Map(entries.into_iter().collect::<Map<'_>>())),
            ]
        })
    }

    fn any_key() -> impl Strategy<Value = String> {
        let tier = prop_oneof!["hot", "warm", "cold", "ctx", "ext", "[a-z0-9]{1,4}"];
        let name = prop_oneof![
            "p[0-9]{1,3}",
            "k[0-9]{1,3}_[0-9]{1,2}",
            "ckpt_[0-9]{1,2}",
            "[a-z0-9_]{0,4}"
        ];
        (tier, prop::collection::vec(name, 0..4)).prop_map(|(tier, names)| {
            names
                .into_iter()
                .fold(tier, |key, name| format!("{key}.{name}"))
        })
    }

    fn collect<'v>(value: &'v Value<'_>, out: &mut Vec<&'v str>) {
        match value {
            Value::Ref(key) => out.push(key),
            Value::Array(items) => items.iter().for_each(|item| collect(item, out)),
            Value::Map(map) => map.iter().for_each(|(_, item)| collect(item, out)),
            _ => {}
        }
    }

    /// Every place in a value that a path can name.
    fn places<'v>(
        value: &'v Value<'static>,
        path: &str,
        out: &mut Vec<(String, &'v Value<'static>)>,
    ) {
        let mut go = |step: &str, inner: &'v Value<'static>| {
            // The separator cannot be named.
            if !step.contains('.') {
                let path = if path.is_empty() {
                    step.to_string()
                } else {
                    format!("{path}.{step}")
                };
                out.push((path.clone(), inner));
                places(inner, &path, out);
            }
        };
        match value {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| go(&at.to_string(), item));
            }
            Value::Map(map) => map.iter().for_each(|(key, item)| go(key, item)),
            _ => {}
        }
    }

    proptest! {
        #[test]
        fn every_key_comes_back_from_what_was_read(key in prop_oneof![any_key(), "[a-z0-9_.]{1,12}"]) {
            let first = key.split('.').next().unwrap();
            let is_tier = ["hot", "warm", "cold", "ctx", "ext"].contains(&first);
            let read = Reference::parse(&key);
            prop_assert_eq!(read.is_some(), is_tier);
            if let Some(reference) = read {
                prop_assert_eq!(reference.to_string(), key);
            }
        }

        #[test]
        fn finds_what_a_reader_finds(values in prop::collection::vec(any_value(), 1..4)) {
            let values = Value::from(values);
            let frame = format!("@a>req:plan{{x:{values}}}[mid:a,note:$ctx.n]");
            let parsed = accp_frame::Frame::parse_with(
                &frame,
                &DecodeOptions { limits: Limits::NONE, marks: true },
            );
            prop_assert!(parsed.is_ok(), "{}", frame);
            let mut expected = Vec::new();
            collect(&values, &mut expected);
            expected.push("ctx.n");
            expected.sort_unstable();
            let mut found: Vec<_> = references(&frame).collect();
            found.sort_unstable();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn values_come_back_from_their_bytes(value in any_value()) {
            let text = value.to_string();
            prop_assert_eq!(read_value(text.as_bytes()), Ok(value));
        }

        #[test]
        fn reads_any_bytes_or_refuses_them(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(value) = read_value(&bytes) {
                let text = value.to_string();
                prop_assert_eq!(read_value(text.as_bytes()), Ok(value.clone()));
            }
        }

        #[test]
        fn a_path_leads_to_every_part_of_a_value(value in any_value()) {
            let mut all = Vec::new();
            places(&value, "", &mut all);
            for (path, part) in all {
                let reference = Reference { target: Target::Context("a"), path: Some(&path) };
                prop_assert_eq!(reference.walk(&value), Some(Walk::Value(part)), "{}", path);
                let beyond = format!("{path}.zz");
                let beyond = Reference { path: Some(&beyond), ..reference }.walk(&value);
                let expected = match part {
                    Value::Ref(key) => Some(Walk::Reference { key, rest: "zz" }),
                    _ => None,
                };
                prop_assert_eq!(beyond, expected);
            }
        }
    }

    #[test]
    fn tells_the_targets_apart() {
        let cold = |name| Target::Cold(ColdKey::parse(name).unwrap());
        let foreign = |session, name| Target::Foreign {
            session,
            key: ColdKey::parse(name).unwrap(),
        };
        let member = |number| MemberId::new(number).unwrap();
        let value = |number, of| ColdKey::Value {
            member: member(of),
            number,
        };
        assert_eq!(ColdKey::parse("k101_12"), Some(value(12, 101)));
        assert_eq!(ColdKey::parse("p57"), Some(ColdKey::Frame(57)));
        for (key, target, path) in [
            ("hot.p57", Target::Hot(57), None),
            ("hot.p57.task", Target::Hot(57), Some("task")),
            ("hot.p0", Target::Unknown("hot.p0"), None),
            ("hot.p057", Target::Unknown("hot.p057"), None),
            ("hot.57", Target::Unknown("hot.57"), None),
            ("warm.ckpt_1.status", Target::Warm(1), Some("status")),
            ("warm.ckpt_", Target::Unknown("warm.ckpt_"), None),
            ("cold.p57.a.0", cold("p57"), Some("a.0")),
            ("cold.k101_12", Target::Cold(value(12, 101)), None),
            ("cold.k099_1", Target::Cold(ColdKey::Other("k099_1")), None),
            (
                "cold.k0101_1",
                Target::Cold(ColdKey::Other("k0101_1")),
                None,
            ),
            ("cold.k900_1", Target::Cold(ColdKey::Other("k900_1")), None),
            ("cold.k101_0", Target::Cold(ColdKey::Other("k101_0")), None),
            ("cold.notes", Target::Cold(ColdKey::Other("notes")), None),
            (
                "cold.p99999999999999999999",
                Target::Cold(ColdKey::Other("p99999999999999999999")),
                None,
            ),
            ("cold.", Target::Unknown("cold."), None),
            ("cold", Target::Unknown("cold"), None),
            ("ctx.sales_db", Target::Context("sales_db"), None),
            ("ctx.a..b", Target::Context("a"), Some(".b")),
            ("ctx.", Target::Unknown("ctx."), None),
            (
                "ext.s1.k101_12.rows",
                foreign("s1", "k101_12"),
                Some("rows"),
            ),
            ("ext.s1.p7", foreign("s1", "p7"), None),
            ("ext.s1", Target::Unknown("ext.s1"), None),
            ("ext..p7", Target::Unknown("ext..p7"), None),
        ] {
            assert_eq!(
                Reference::parse(key),
                Some(Reference { target, path }),
                "{key}"
            );
        }
        for opaque in ["42.30", "api.crm", "Hot.p1", "hots.p1", "."] {
            assert_eq!(Reference::parse(opaque), None, "{opaque}");
        }
    }

    #[test]
    fn says_what_is_no_value() {
        let error = |bytes: &[u8]| read_value(bytes).unwrap_err().to_string();
        insta::assert_snapshot!(error(b"[1"), @"E1001 at byte 2: expected ',' or ']' after an element, found the end");
        insta::assert_snapshot!(error(b"1|"), @"E1001 at byte 1: expected the end of the frame, found '|'");
        insta::assert_snapshot!(error(b"\xff"), @"E1001 at byte 0: expected printable ASCII; a text value writes other characters as %XX");
    }
}
