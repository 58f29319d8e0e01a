//! What references name, read when somebody wants it (draft section 3.1.1).

use std::borrow::Cow;
use std::sync::Arc;

use accp_registry::Hash;
use accp_runtime::session::ReadError::{self, Expired, NotFound, Unauthorized};
use accp_runtime::session::{
    Cold, ColdKey, Input, InputError, Located, Reference, Target, Walk, read_value,
};
use accp_runtime::{DecodeOptions, Limits, Message, Registry, Value};

use crate::{Driver, DriverError, Link, SideId, Store, StoreError};

/// How many references are followed, one to the next: they can form a circle.
const HOPS: usize = 8;

/// What a reference names, without the path into it.
enum Source {
    Value(Value<'static>),
    /// The wire text of a value.
    Wire(Arc<[u8]>),
    /// A frame.
    Frame(String),
}

/// Where a path leads.
enum End {
    Value(Value<'static>),
    /// To another reference.
    Reference(String),
}

impl<S: Store, L: Link> Driver<S, L> {
    /// Reads what a reference names; `None` while its bytes are on their way here, until
    /// [`Event::Supplied`](accp_runtime::session::Event::Supplied) says that they have come.
    /// On a member, [`carry_out`](Self::carry_out) asks the host for them.
    ///
    /// A frame as a whole is its text. A path into it starts at its payload, under full
    /// names. A value that is a reference itself is followed, to eight of them in a row.
    ///
    /// # Errors
    /// [`DriverError::Reference`]; [`DriverError::Store`], which does not put the session
    /// aside here.
    pub fn read(
        &mut self,
        reference: &Reference<'_>,
    ) -> Result<Option<Value<'static>>, DriverError> {
        self.check()?;
        let mut key = reference.to_string();
        for _ in 0..HOPS {
            let Some(reference) = Reference::parse(&key) else {
                // Of no tier: a value like any other.
                return Ok(Some(Value::Ref(Cow::Owned(key))));
            };
            let end = self.source(&reference).and_then(|source| {
                let registry = &self.session.options().registry;
                source
                    .map(|source| source.follow(&reference, registry))
                    .transpose()
            });
            match end.map_err(|fault| fault.at(key.clone()))? {
                None => return Ok(None),
                Some(End::Value(value)) => return Ok(Some(value)),
                Some(End::Reference(next)) => key = next,
            }
        }
        Err(DriverError::Reference(key, ReadError::NotFound))
    }

    /// What the reference names, wherever it is kept; `None` while it is on its way.
    fn source(&mut self, reference: &Reference<'_>) -> Result<Option<Source>, Fault> {
        let (state, store) = (self.session.state(), &mut self.store);
        let source = match state.locate(reference)? {
            Located::Here(value) => Source::Value(value),
            Located::Hot(text) => Source::Frame(text),
            Located::Log(position) => {
                // Hot state reaches back further than the log of a side that joined late.
                let hot = state.hot().frame(position).map(Source::from);
                match frame(store, &self.side, position) {
                    Ok(frame) => frame,
                    Err(fault) => {
                        let here = match hot {
                            Some(hot) => Some(hot),
                            None => fetched(store, &self.side, position)?,
                        };
                        match here {
                            Some(source) => source,
                            None if fault.is_not_found()
                                && self.fetch(&format!("p{position}"), None)? =>
                            {
                                return Ok(None);
                            }
                            None => return Err(fault),
                        }
                    }
                }
            }
            Located::Cold(key) => match value(store, &self.side, &key) {
                Ok(value) => {
                    let Some(bytes) = value.bytes else {
                        self.fetch(&key, Some((value.digest, value.length)))?;
                        return Ok(None);
                    };
                    Source::Wire(bytes)
                }
                // It was put before this side has joined.
                Err(fault) => {
                    if fault.is_not_found() && self.fetch(&key, None)? {
                        return Ok(None);
                    }
                    return Err(fault);
                }
            },
            Located::Foreign { session, key } => {
                let side = self.sibling(&session)?;
                match ColdKey::parse(&key) {
                    Some(ColdKey::Frame(position)) => frame(&mut self.store, &side, position)?,
                    _ => value(&mut self.store, &side, &key)?
                        .bytes
                        .map(Source::Wire)
                        .ok_or(NotFound)?,
                }
            }
            _ => return Err(NotFound.into()),
        };
        Ok(Some(source))
    }

    /// The same side of another session: of a host its host's, of a member that of its agent.
    fn sibling(&mut self, session: &str) -> Result<SideId, Fault> {
        let own = SideId::new(session, self.side.agent());
        if self.session.is_host() {
            let sides = self.store.sides(session)?.into_iter();
            let hosts = sides.filter(|kept| kept.host).map(|kept| kept.side);
            // When several agents have hosted it, this one goes first.
            return Ok(hosts.min_by_key(|host| *host != own).unwrap_or(own));
        }
        Ok(own)
    }

    /// Asks the host for bytes. Whether they may come: a host fetches all that is put without
    /// being asked, and nobody has more.
    fn fetch(&mut self, key: &str, announced: Option<(Hash, u64)>) -> Result<bool, Fault> {
        let now = self.session.now();
        self.session.handle(Input::Fetch { key, announced }, now)?;
        Ok(!self.session.is_host() || announced.is_some())
    }
}

/// A frame of a log, which is the cold history.
fn frame(store: &mut impl Store, side: &SideId, position: u64) -> Result<Source, Fault> {
    let entry = store.entries(side, position, 1)?.pop();
    if let Some(entry) = entry.filter(|entry| entry.position == position) {
        let is_said = entry.kind.is_relayed();
        return Ok(is_said
            .then(|| Source::from(&*entry.text))
            .ok_or(NotFound)?);
    }
    let kept = store.summary(side)?;
    let is_gone = kept.is_some_and(|kept| position < kept.first);
    Err(if is_gone { Expired } else { NotFound }.into())
}

/// A frame that was fetched from the host, because it is older than the log of this side.
fn fetched(store: &mut impl Store, side: &SideId, position: u64) -> Result<Option<Source>, Fault> {
    let kept = store.cold(side, &format!("p{position}"))?;
    let bytes = kept.and_then(|kept| kept.value.bytes);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
    Ok(text.map(Source::Frame))
}

fn value(store: &mut impl Store, side: &SideId, key: &str) -> Result<Cold, Fault> {
    let kept = store.cold(side, key)?.ok_or(NotFound)?;
    Ok((!kept.expired).then_some(kept.value).ok_or(Expired)?)
}

impl Source {
    /// Goes the path of the reference.
    fn follow(self, reference: &Reference<'_>, registry: &Registry) -> Result<End, Fault> {
        match self {
            // A checkpoint has gone it already.
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
                let options = DecodeOptions {
                    limits: Limits::NONE,
                    marks: true,
                };
                let message = Message::decode_with(&text, registry, &options);
                let payload = message.map_err(|_| NotFound)?.payload;
                end_of(reference, &Value::Map(payload))
            }
        }
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        Self::Frame(text.into())
    }
}

fn end_of(reference: &Reference<'_>, value: &Value<'_>) -> Result<End, Fault> {
    let next = match reference.walk(value).ok_or(NotFound)? {
        Walk::Value(Value::Ref(key)) => key.to_string(),
        Walk::Value(value) => return Ok(End::Value(value.clone().into_owned())),
        Walk::Reference { key, .. } if Reference::parse(key).is_none() => {
            return Err(NotFound.into());
        }
        Walk::Reference { key, rest } => format!("{key}.{rest}"),
    };
    let Target::Foreign { session, .. } = reference.target else {
        return Ok(End::Reference(next));
    };
    // What a value of another session refers to is there, and nothing but cold state is ever
    // granted.
    match (Reference::parse(&next), next.strip_prefix("cold.")) {
        (None, _) => Ok(End::Reference(next)),
        (Some(_), Some(cold)) => Ok(End::Reference(format!("ext.{session}.{cold}"))),
        (Some(_), None) => Err(Unauthorized.into()),
    }
}

/// Why a reference was not read.
enum Fault {
    Input(InputError),
    Store(StoreError),
    Reference(ReadError),
}

impl Fault {
    fn is_not_found(&self) -> bool {
        matches!(self, Self::Reference(NotFound))
    }

    fn at(self, key: String) -> DriverError {
        match self {
            Self::Input(error) => DriverError::Input(error),
            Self::Store(error) => DriverError::Store(error),
            Self::Reference(error) => DriverError::Reference(key, error),
        }
    }
}

impl From<InputError> for Fault {
    fn from(error: InputError) -> Self {
        Self::Input(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        Self::Reference(error)
    }
}
