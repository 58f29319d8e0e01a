//! Facts that are durable on a side. The process that is killed writes each of them as a line.

use std::fmt;
use std::str::FromStr;

use accp_runtime::session::{Event, Mid};

/// The end of a frame that a member has sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Acknowledged,
    Refused,
    Expired,
    Cancelled,
}

impl Fate {
    pub(crate) const ALL: [Self; 4] = [
        Self::Acknowledged,
        Self::Refused,
        Self::Expired,
        Self::Cancelled,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::Refused => "refused",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A fact that is durable on a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The side has kept the message with this number, under this id.
    Said(u64, Mid),
    /// The side has handled the frame at this position.
    Handled(u64),
    /// The cancel token of the handler at this position fired while the handler was running.
    Stopped(u64),
    /// The frame with this id has come to its end.
    Ended(Mid, Fate),
    /// The frame with the first id has the second id from now on.
    Renamed(Mid, Mid),
    /// The host has dropped this frame.
    Dropped(Mid),
    /// The bytes of a value have arrived.
    Supplied(String),
    /// A handler has read the bytes of a value, and found them to be right.
    Read(String),
    /// A handler could not read a value, because it had expired.
    Gone(String),
    /// The side has this checkpoint.
    Checkpoint(u64),
    /// Retention has deleted this many texts, and this many bytes of texts and values.
    Freed(u64, u64),
}

impl Fact {
    /// Returns the fact of an event, if the checks need it.
    ///
    /// # Errors
    /// If a kill never leads to such an event.
    pub(crate) fn of(event: Event) -> Result<Option<Self>, String> {
        Ok(Some(match event {
            Event::Acknowledged(mid) => Self::Ended(mid, Fate::Acknowledged),
            Event::Refused(mid, _) => Self::Ended(mid, Fate::Refused),
            Event::Expired(mid) => Self::Ended(mid, Fate::Expired),
            Event::Cancelled(mid) => Self::Ended(mid, Fate::Cancelled),
            Event::Retried { old, new, .. } if old != new => Self::Renamed(old, new),
            Event::Dropped(mid) => Self::Dropped(mid),
            Event::Supplied(key) => Self::Supplied(key),
            Event::Checkpoint(id) => Self::Checkpoint(id),
            Event::Missed(_)
            | Event::RolledBack { .. }
            | Event::Recovered(_)
            | Event::NotRecovered(_)
            | Event::Removed(_)
            | Event::Tampered(_)
            | Event::SchemasUnavailable(_)
            | Event::SchemasDiffer(..)
            | Event::NotWritten(_) => return Err(format!("no kill may lead to {event:?}")),
            _ => return Ok(None),
        }))
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Said(n, mid) => write!(f, "said {n} {mid}"),
            Self::Handled(position) => write!(f, "handled {position}"),
            Self::Stopped(position) => write!(f, "stopped {position}"),
            Self::Ended(mid, fate) => write!(f, "{fate} {mid}"),
            Self::Renamed(old, new) => write!(f, "renamed {old} {new}"),
            Self::Dropped(mid) => write!(f, "dropped {mid}"),
            Self::Supplied(key) => write!(f, "supplied {key}"),
            Self::Read(key) => write!(f, "read {key}"),
            Self::Gone(key) => write!(f, "gone {key}"),
            Self::Checkpoint(id) => write!(f, "checkpoint {id}"),
            Self::Freed(texts, bytes) => write!(f, "freed {texts} {bytes}"),
        }
    }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (verb, first, second) = (word(), word(), word());
        let number = |word: &str| {
            let number = word.parse();
            number.map_err(|_| format!("a number in `{line}`"))
        };
        let fate = Fate::ALL.into_iter().find(|fate| fate.as_str() == verb);
        Ok(match verb {
            "said" => Self::Said(number(first)?, Mid::parse(second)),
            "handled" => Self::Handled(number(first)?),
            "stopped" => Self::Stopped(number(first)?),
            "renamed" => Self::Renamed(Mid::parse(first), Mid::parse(second)),
            "dropped" => Self::Dropped(Mid::parse(first)),
            "supplied" => Self::Supplied(first.into()),
            "read" => Self::Read(first.into()),
            "gone" => Self::Gone(first.into()),
            "checkpoint" => Self::Checkpoint(number(first)?),
            "freed" => Self::Freed(number(first)?, number(second)?),
            _ => {
                let fate = fate.ok_or_else(|| format!("a fact, not `{line}`"))?;
                Self::Ended(Mid::parse(first), fate)
            }
        })
    }
}
