//! The orders for a side, and the frames that it sends for them.

use std::fmt;
use std::str::FromStr;

use accp_runtime::session::{Mid, Session};
use accp_runtime::{DynamicFrame, Map, Value};
use accp_testkit::Rng;

/// A message that a side gets the order to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// A short request.
    Short,
    /// A request with a text of this many bytes, which goes to cold state.
    Long(usize),
    /// A request with so many fields that a member sends it in parts.
    Wide,
    /// A request that expires after a second.
    Brief,
    /// A cancellation of the last request of this side.
    Cancel,
    /// A change of the shared state.
    Delta,
}

impl Word {
    /// Draws a word.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.below(100) {
            0..15 => Self::Long(60 + rng.below(400) as usize),
            // A side sends values of this length in several pieces.
            15..18 => Self::Long(3_000 + rng.below(30_000) as usize),
            18..27 => Self::Wide,
            27..37 => Self::Brief,
            37..47 => Self::Cancel,
            47..57 => Self::Delta,
            _ => Self::Short,
        }
    }

    /// Returns the message, or `None` if the side has nothing to say, because it has no request to
    /// cancel.
    pub(crate) fn message(
        self,
        n: u64,
        session: &Session,
        last_request: Option<&Mid>,
    ) -> Option<DynamicFrame<'static>> {
        let agent = session.options().agent.to_string();
        let request = || {
            let message = DynamicFrame::new(agent.clone(), "req", "plan").ok()?;
            Some(message.with("n", n as i64))
        };
        match self {
            Self::Short => request(),
            Self::Long(size) => {
                let message = request()?.with("size", size as i64);
                Some(message.with("text", text(&agent, n, size)))
            }
            Self::Wide => {
                let fields = 0..40;
                let wide = format!("wide_{n}_").repeat(5);
                Some(fields.fold(request()?, |message, at| {
                    message.with(format!("field_{at}"), wide.clone())
                }))
            }
            Self::Brief => {
                let mut message = request()?;
                message.envelope.ttl = Some(1);
                Some(message)
            }
            Self::Cancel => {
                let message = DynamicFrame::new(agent, "cancel", "task").ok()?;
                let mut message = message.with("n", n as i64);
                message.envelope.correlation_id = Some(last_request?.to_string().into());
                Some(message)
            }
            Self::Delta => {
                let shared = session.state().shared();
                let mut target: Map<'static> = shared.entries().clone();
                let key = format!("k{}", n % 5);
                if n.is_multiple_of(7) && target.get(&key).is_some() {
                    target.remove(&key);
                } else {
                    target.insert(key, Value::from(format!("{agent}_{n}")));
                }
                let delta = shared.delta_to(&target).to_message(&agent).ok()?;
                Some(delta.into_owned().with("n", n as i64))
            }
        }
    }

    /// Returns whether the message is a request that may be cancelled later. A request that expires
    /// is not cancelled, so that the host has one reason to drop it.
    pub(crate) fn may_be_cancelled(self) -> bool {
        matches!(self, Self::Short | Self::Long(_) | Self::Wide)
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("short"),
            Self::Long(size) => write!(f, "long:{size}"),
            Self::Wide => f.write_str("wide"),
            Self::Brief => f.write_str("brief"),
            Self::Cancel => f.write_str("cancel"),
            Self::Delta => f.write_str("delta"),
        }
    }
}

impl FromStr for Word {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, size) = text.split_once(':').unwrap_or((text, "0"));
        match (name, size.parse()) {
            ("long", Ok(size)) => Ok(Self::Long(size)),
            ("short", _) => Ok(Self::Short),
            ("wide", _) => Ok(Self::Wide),
            ("brief", _) => Ok(Self::Brief),
            ("cancel", _) => Ok(Self::Cancel),
            ("delta", _) => Ok(Self::Delta),
            _ => Err(format!("a word, not `{text}`")),
        }
    }
}

/// Work that a side gets the order to do, in addition to its messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Chore {
    /// The host takes a checkpoint.
    Phase,
    /// The host grants the keys of this session.
    Grant(String),
    /// The host lets the bytes under this key expire.
    Expire(String),
    /// The store deletes the texts before this position that nobody needs any longer.
    Retain(u64),
}

impl fmt::Display for Chore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Phase => f.write_str("phase"),
            Self::Grant(session) => write!(f, "grant:{session}"),
            Self::Expire(key) => write!(f, "expire:{key}"),
            Self::Retain(before) => write!(f, "retain:{before}"),
        }
    }
}

impl FromStr for Chore {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, what) = text.split_once(':').unwrap_or((text, ""));
        match (name, what.parse()) {
            ("phase", _) => Ok(Self::Phase),
            ("grant", _) => Ok(Self::Grant(what.into())),
            ("expire", _) => Ok(Self::Expire(what.into())),
            ("retain", Ok(before)) => Ok(Self::Retain(before)),
            _ => Err(format!("a chore, not `{text}`")),
        }
    }
}

/// Returns the long text in the message of an agent. No two messages have the same text.
pub(crate) fn text(agent: &str, n: u64, size: usize) -> String {
    let mut text = format!("{agent}_{n}_").repeat(size / 4 + 1);
    text.truncate(size);
    text
}
