//! Resolution of a reference, step by step (draft section 3.1.1).

use std::borrow::Cow;
use std::sync::Arc;

use accp_frame::{DynamicFrame, Registry, Value};
use accp_registry::Hash;

use crate::interface::output::Cold;
use crate::log::entry::Entry;
use crate::reference::UNBOUNDED;
use crate::reference::{ColdKey, Reference, Target, Walk, read_value};
use crate::session::Session;
use crate::state::locate::{Located, ReadError};
use ReadError::{Expired, NotFound, Unauthorized};

/// The greatest number of references read in a row, because references can form a circle.
const HOPS: usize = 8;

/// Reads the value that a reference names, and asks for the data that it needs. It does no IO
/// itself.
///
/// The caller calls [`next`](Self::next) until it returns a value or an error. The caller looks up
/// each [`Need`](Resolved::Need) in the store, and hands in the result with the next call. A whole
/// frame is its text. A path into a frame starts at its payload, under full names. A value that is
/// itself a reference is followed; at most eight references in a row are read.
///
/// ```
/// use accp_runtime::session::Reference;
/// use accp_session::{Found, Resolved, Resolver};
/// # use std::sync::Arc;
/// # use accp_runtime::{AgentId, Registry, Value};
/// # use accp_runtime::session::{Options, Rules, Session, Time};
/// # use accp_session::{Entry, Output};
/// # let options = Options::new("lunch", AgentId::new("planner")?, Arc::new(Registry::standard()));
/// # let mut session = Session::host(options, Rules::default(), Time::from_secs(1_714_000_000));
/// # let Some(Output::Batch(mut batch)) = session.poll() else { panic!() };
/// # let look_up = |_| Found::Entry(batch.entries[0].clone());
///
/// let reference = Reference::parse("cold.p1.agent").ok_or("not a reference")?;
/// let mut resolver = Resolver::new(&reference);
/// let mut found = None;
/// let value = loop {
///     match resolver.next(&session, found)? {
///         Resolved::Value(value) => break Some(value),
///         Resolved::Need(need) => found = Some(look_up(need)),
///         Resolved::Fetch { .. } => break None, // later
///     }
/// };
/// assert_eq!(value, Some(Value::from("planner")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Resolver {
    /// The reference that is read now.
    key: String,
    /// The number of references that were read.
    hops: usize,
    at: At,
}

/// The data that a resolver waits for.
#[derive(Debug, Clone)]
enum At {
    Start,
    /// An entry of the log, of this session or of another.
    Entry {
        position: u64,
        foreign: bool,
    },
    /// The frame at this position as a fetched value, because the frame is older than the log of
    /// this side. Without the value the resolver returns this error.
    Fetched {
        position: u64,
        error: ReadError,
    },
    /// A value, of this session or of another.
    Value {
        key: String,
        foreign: bool,
    },
}

/// The next step to the value of a reference.
#[derive(Debug, Clone, PartialEq)]
pub enum Resolved {
    /// The value of the reference.
    Value(Value<'static>),
    /// Data to look up in the store.
    Need(Need),
    /// The bytes are not here. [`Input::Fetch`](crate::Input::Fetch) with the same fields asks for
    /// them; a host has asked already. Resolve the reference again after
    /// [`Event::Supplied`](crate::Event::Supplied).
    Fetch {
        /// The key of the value.
        key: String,
        /// The digest and the length that the log gives.
        announced: Option<(Hash, u64)>,
    },
}

/// Data to look up in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The session of the item; `None` for the session of the resolver. In another session, a host needs the item
    /// from the store of the other session's host. A member needs the item from the store of its own agent in that
    /// session.
    pub session: Option<String>,
    /// The item that is needed.
    pub item: Item,
}

/// An item that a store keeps of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The entry at this position.
    Entry(u64),
    /// The value under this key.
    Value(String),
}

/// The answer of a store to a [`Need`].
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// The entry.
    Entry(Entry),
    /// The value. Its bytes are `None` when they are not here, or have expired.
    Value {
        /// The value.
        value: Cold,
        /// True if the value has expired.
        expired: bool,
    },
    /// The store does not have the item, and has not discarded it either.
    Nothing,
    /// The store has discarded the item.
    Gone,
}

/// The target of a reference, before its path is followed.
enum Source {
    Value(Value<'static>),
    /// The wire text of a value.
    Wire(Arc<[u8]>),
    /// The text of a frame.
    Frame(String),
}

/// The source that a reference names, or a step that the caller has to take before the source is known.
enum Next {
    Source(Source),
    Step(Resolved),
}

/// The result of following the path of a reference: a value, or another reference to follow.
enum End {
    Value(Value<'static>),
    /// Another reference.
    Reference(String),
}

impl Resolver {
    /// Starts to read a reference.
    pub fn new(reference: &Reference<'_>) -> Self {
        Self {
            key: reference.to_string(),
            hops: 0,
            at: At::Start,
        }
    }

    /// Returns the reference that is read now, without its `$`: the given reference, or a reference that it led to.
    /// After an error, this is the reference at fault.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Takes the next step, with the answer to the last [`Need`], if there was one.
    ///
    /// # Errors
    /// The [`ReadError`] of the reference [`key`](Self::key).
    pub fn next(&mut self, session: &Session, found: Option<Found>) -> Result<Resolved, ReadError> {
        let mut found = found;
        loop {
            let key = self.key.clone();
            let Some(reference) = Reference::parse(&key) else {
                // A reference without a tier is a value like any other.
                return Ok(Resolved::Value(Value::Ref(Cow::Owned(key))));
            };
            let at = std::mem::replace(&mut self.at, At::Start);
            let source = match self.source(at, &reference, session, found.take())? {
                Next::Source(source) => source,
                Next::Step(step) => return Ok(step),
            };
            match source.follow(&reference, &session.options().registry)? {
                End::Value(value) => return Ok(Resolved::Value(value)),
                End::Reference(next) => self.key = next,
            }
            self.hops += 1;
            if self.hops == HOPS {
                return Err(NotFound);
            }
        }
    }

    fn source(
        &mut self,
        at: At,
        reference: &Reference<'_>,
        session: &Session,
        found: Option<Found>,
    ) -> Result<Next, ReadError> {
        match at {
            At::Start => self.start(reference, session),
            At::Entry { position, foreign } => self.entry(position, foreign, session, found),
            At::Fetched { position, error } => {
                let bytes = match found {
                    Some(Found::Value { value, .. }) => value.bytes,
                    _ => None,
                };
                let text = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
                match text {
                    Some(text) => Ok(Next::Source(Source::Frame(text))),
                    // The host may have the frame, so a member asks the host for it.
                    None if error == NotFound && !session.is_host() => {
                        Ok(fetch(format!("p{position}"), None))
                    }
                    None => Err(error),
                }
            }
            At::Value { key, foreign } => value(key, foreign, session, found),
        }
    }

    fn start(&mut self, reference: &Reference<'_>, session: &Session) -> Result<Next, ReadError> {
        Ok(match session.state().locate(reference)? {
            Located::Here(value) => Next::Source(Source::Value(value)),
            Located::Hot(text) => Next::Source(Source::Frame(text)),
            Located::Log(position) => self.need_entry(position, None),
            Located::Cold(key) => self.need_value(key, None),
            Located::Foreign { session, key } => match ColdKey::parse(&key) {
                Some(ColdKey::Frame(position)) => self.need_entry(position, Some(session)),
                _ => self.need_value(key, Some(session)),
            },
        })
    }

    /// Continues with an entry that was read from a log.
    fn entry(
        &mut self,
        position: u64,
        foreign: bool,
        session: &Session,
        found: Option<Found>,
    ) -> Result<Next, ReadError> {
        let error = match found {
            Some(Found::Entry(entry)) if entry.position == position && entry.kind.is_relayed() => {
                return Ok(Next::Source(Source::Frame(entry.text.to_string())));
            }
            Some(Found::Gone) => Expired,
            _ => NotFound,
        };
        if foreign {
            return Err(error);
        }
        // Hot state reaches back further than the log of a side that joined late.
        if let Some(text) = session.state().hot().frame(position) {
            return Ok(Next::Source(Source::Frame(text.into())));
        }
        self.at = At::Fetched { position, error };
        Ok(need(None, Item::Value(format!("p{position}"))))
    }

    fn need_entry(&mut self, position: u64, session: Option<String>) -> Next {
        let foreign = session.is_some();
        self.at = At::Entry { position, foreign };
        need(session, Item::Entry(position))
    }

    fn need_value(&mut self, key: String, session: Option<String>) -> Next {
        let item = Item::Value(key.clone());
        let foreign = session.is_some();
        self.at = At::Value { key, foreign };
        need(session, item)
    }
}

/// Continues with the value that was read for a key.
fn value(
    key: String,
    foreign: bool,
    session: &Session,
    found: Option<Found>,
) -> Result<Next, ReadError> {
    match found {
        Some(Found::Value { expired: true, .. } | Found::Gone) => Err(Expired),
        Some(Found::Value { value, .. }) => match value.bytes {
            Some(bytes) => Ok(Next::Source(Source::Wire(bytes))),
            None if foreign => Err(NotFound),
            None => Ok(fetch(key, Some((value.digest, value.length)))),
        },
        // The value may be older than the membership of this side, so this side asks the host for
        // it.
        _ if !foreign && !session.is_host() => Ok(fetch(key, None)),
        _ => Err(NotFound),
    }
}

fn need(session: Option<String>, item: Item) -> Next {
    Next::Step(Resolved::Need(Need { session, item }))
}

fn fetch(key: String, announced: Option<(Hash, u64)>) -> Next {
    Next::Step(Resolved::Fetch { key, announced })
}

impl Source {
    /// Follows the path of the reference.
    fn follow(self, reference: &Reference<'_>, registry: &Registry) -> Result<End, ReadError> {
        match self {
            // For a checkpoint, the path was followed already.
            Self::Value(value) if matches!(reference.target, Target::Warm(_)) => {
                let way = Reference {
                    path: None,
                    ..*reference
                };
                end_of(&way, &value)
            }
            Self::Value(value) => end_of(reference, &value),
            Self::Wire(bytes) => end_of(reference, &read_value(&bytes).map_err(|_| NotFound)?),
            Self::Frame(text) if reference.path.is_none() => Ok(End::Value(text.into())),
            Self::Frame(text) => {
                let message = DynamicFrame::decode_with(&text, registry, &UNBOUNDED);
                let payload = message.map_err(|_| NotFound)?.payload;
                end_of(reference, &Value::Map(payload))
            }
        }
    }
}

fn end_of(reference: &Reference<'_>, value: &Value<'_>) -> Result<End, ReadError> {
    let next = match reference.walk(value).ok_or(NotFound)? {
        Walk::Value(Value::Ref(key)) => key.to_string(),
        Walk::Value(value) => return Ok(End::Value(value.clone().into_owned())),
        Walk::Reference { key, .. } if Reference::parse(key).is_none() => return Err(NotFound),
        Walk::Reference { key, rest } => format!("{key}.{rest}"),
    };
    let Target::Foreign { session, .. } = reference.target else {
        return Ok(End::Reference(next));
    };
    // References in a value of another session lead into that session, which grants cold state
    // only.
    match (Reference::parse(&next), next.strip_prefix("cold.")) {
        (None, _) => Ok(End::Reference(next)),
        (Some(_), Some(cold)) => Ok(End::Reference(format!("ext.{session}.{cold}"))),
        (Some(_), None) => Err(Unauthorized),
    }
}
