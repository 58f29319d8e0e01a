//! The state that the members of a session share by `sync:state` (draft section 5.4).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::reference::UNBOUNDED;
use crate::reference::read_value;
use crate::wire::refusal::Refusal;
use accp_frame::__internal::wrong;
use accp_frame::{
    DecodeError, DynamicFrame, EncodeError, ErrorCode, Intent, Map, Number, Reader, Token, Value,
};

/// The values of the shared state at a version, by key; `$ctx.key` names one of them.
///
/// Version 0 is the empty state. Every update makes a new version. An update that was made for another version than
/// the present one changes nothing. In the draft the version is the number of the last checkpoint plus one, so that
/// two updates after one checkpoint could not be told apart. Here a checkpoint names the version that it covers
/// ([`Checkpoint::version`](accp_context::Checkpoint::version)).
///
/// ```
/// use accp_runtime::Value;
/// use accp_runtime::session::{SharedState, StateUpdate};
///
/// let mut state = SharedState::default();
/// let frame = "@planner>sync:state{v:1|delta:{task_3:wip,budget:42}}";
/// state.apply(StateUpdate::decode(frame)?, SharedState::MAX_BYTES)?;
/// let frame = "@dev>sync:state{v:2|delta:{task_3:done,budget:~}}";
/// state.apply(StateUpdate::decode(frame)?, SharedState::MAX_BYTES)?;
/// assert_eq!(state.get("task_3"), Some(&Value::from("done")));
/// assert_eq!(state.get("budget"), None);
///
/// // Made for version 1, which is gone.
/// let late = "@planner>sync:state{v:2|delta:{task_3:blocked}}";
/// let refused = state.apply(StateUpdate::decode(late)?, SharedState::MAX_BYTES).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "E2001: version 2 does not follow version 2, which is held; make the change again on that",
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub struct SharedState {
    version: u64,
    entries: Map<'static>,
    bytes: usize,
}

/// A change that fits the state against which it was checked.
#[derive(Debug)]
pub(crate) struct Change {
    pub version: u64,
    /// True if the change replaces all earlier entries.
    replaces: bool,
    entries: Map<'static>,
    /// The size of the state after the change.
    bytes: usize,
}

/// An update of the shared state by a frame `sync:state`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StateUpdate<'a> {
    /// `{v:8|delta:{..}}`: the changes from version 7 to version 8. A key with the value `~`, or
    /// the string `null` as in the draft, is removed.
    Delta {
        /// The version that the update makes.
        version: u64,
        /// The keys that change.
        changes: Map<'a>,
    },
    /// `{v:8|state:{..}}`: the whole state at version 8, whatever it was before.
    Full {
        /// The version that the update makes.
        version: u64,
        /// Every key.
        state: Map<'a>,
    },
}

/// The reason why an update changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// The update was made for another version than the present one.
    Version {
        /// The present version of the state.
        held: u64,
        /// The version that the update would make.
        offered: u64,
    },
    /// The state would be too large.
    Size {
        /// The size that the state would have, in bytes.
        bytes: usize,
        /// The largest size that the state may have, in bytes.
        limit: usize,
    },
}

impl SharedState {
    /// The largest size of a state by default, in [bytes](Self::bytes): 64 KiB.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Returns the version, from 1; 0 is the empty state before the first update.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the values, ascending by key.
    pub fn entries(&self) -> &Map<'static> {
        &self.entries
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value<'static>> {
        self.entries.get(key)
    }

    /// Returns the size: the bytes of every key and of the wire text of every value.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the version of `update`, if this version follows the present one and the new state has at most `limit`
    /// bytes.
    ///
    /// A delta must be for the next version. A full state may be for any later version, because it
    /// does not build on an earlier one. The host of a session takes only the next million versions.
    ///
    /// # Errors
    /// E2001 with the present version, or E2003; then nothing has changed.
    pub fn apply(&mut self, update: StateUpdate<'_>, limit: usize) -> Result<(), StateError> {
        let change = self.check(update, limit)?;
        self.make(change);
        Ok(())
    }

    /// Returns the change that [`SharedState::apply`] would make. Neither changes nor copies the
    /// state.
    pub(crate) fn check(
        &self,
        update: StateUpdate<'_>,
        limit: usize,
    ) -> Result<Change, StateError> {
        let (held, offered) = (self.version, update.version());
        if matches!(update, StateUpdate::Full { .. }) && offered <= held {
            return Err(StateError::Version { held, offered });
        }
        self.check_judged(update, limit)
    }

    /// As [`SharedState::check`], for an update that a host has accepted or sends. In this case a
    /// whole state may have any version, because the host may have been restored from an older copy.
    pub(crate) fn check_judged(
        &self,
        update: StateUpdate<'_>,
        limit: usize,
    ) -> Result<Change, StateError> {
        let (held, version) = (self.version, update.version());
        let (replaces, entries) = match update {
            StateUpdate::Delta { changes, .. } => (false, changes),
            StateUpdate::Full { state, .. } => (true, state),
        };
        if !replaces && held.checked_add(1) != Some(version) {
            return Err(StateError::Version {
                held,
                offered: version,
            });
        }
        let before = |(key, _)| self.get(key).map_or(0, |value| size(key, value));
        let kept = if replaces {
            0
        } else {
            self.bytes - entries.iter().map(before).sum::<usize>()
        };
        let set = entries.iter().filter(|(_, value)| !is_removal(value));
        let bytes = kept + set.map(|(key, value)| size(key, value)).sum::<usize>();
        if bytes > limit {
            return Err(StateError::Size { bytes, limit });
        }
        Ok(Change {
            version,
            replaces,
            entries: entries.into_owned(),
            bytes,
        })
    }

    /// Makes a change that was checked against this very state.
    pub(crate) fn make(&mut self, change: Change) {
        if change.replaces {
            self.entries = Map::new();
        }
        for (key, value) in change.entries {
            if is_removal(&value) {
                self.entries.remove(&key);
            } else {
                self.entries.insert(key, value);
            }
        }
        self.version = change.version;
        self.bytes = change.bytes;
    }

    /// Removes the values that an update has set and that nobody has changed since. The version stays.
    pub(crate) fn erase(&mut self, update: &StateUpdate<'_>) {
        let (StateUpdate::Delta {
            changes: entries, ..
        }
        | StateUpdate::Full { state: entries, .. }) = update;
        for (key, value) in entries.iter() {
            if self.get(key) == Some(value) {
                self.bytes -= size(key, value);
                self.entries.remove(key);
            }
        }
    }

    /// Returns the update that makes the next version hold exactly the entries of `target`. The delta has no changes
    /// if the state already has these entries.
    ///
    /// ```
    /// use accp_runtime::session::SharedState;
    /// use accp_runtime::{Map, Value};
    ///
    /// let target: Map = [("task_3", Value::from("done"))].into_iter().collect();
    /// let update = SharedState::default().delta_to(&target);
    /// let frame = update.to_message("dev")?.encode(&accp_runtime::Registry::standard())?;
    /// assert_eq!(frame, "@dev>sync:state{delta:{task_3:done}|v:1}");
    /// # Ok::<(), accp_runtime::EncodeError>(())
    /// ```
    pub fn delta_to<'a>(&self, target: &Map<'a>) -> StateUpdate<'a> {
        let is_gone = |key: &str| target.get(key).is_none_or(is_removal);
        let gone = self.entries.iter().filter(|(key, _)| is_gone(key));
        let gone = gone.map(|(key, _)| (String::from(key), Value::Null));
        let is_new =
            |(key, value): &(&str, &Value<'a>)| !is_removal(value) && self.get(key) != Some(value);
        let new = target.iter().filter(is_new);
        let new = new.map(|(key, value)| (String::from(key), value.clone()));
        StateUpdate::Delta {
            version: self.version.saturating_add(1),
            changes: gone.chain(new).collect(),
        }
    }

    /// Returns the whole state at its version.
    pub fn to_full(&self) -> StateUpdate<'static> {
        StateUpdate::Full {
            version: self.version,
            state: self.entries.clone(),
        }
    }
}

impl<'a> StateUpdate<'a> {
    /// Reads a frame `sync:state`. Skips params other than version, delta and state.
    ///
    /// # Errors
    /// E1001 when the text breaks the grammar or a param stands twice; a frame with a delta and a state counts as
    /// such. E1004 for another frame, a version that is not an integer from 0, changes that are not a map, and
    /// missing params.
    pub fn decode(text: &'a str) -> Result<Self, DecodeError> {
        let mut r = Reader::new(text, UNBOUNDED)?;
        let header = r.header()?;
        if (header.intent, header.operation) != (Intent::SYNC.as_str(), "state") {
            let at = 2 + header.agent.len();
            let expected = "the frame sync:state";
            return Err(DecodeError::new(ErrorCode::INVALID_TYPE, at, expected));
        }
        let mut version = None;
        let mut entries = None;
        while let Some(key) = r.param()? {
            let at = r.at();
            let taken = match key {
                "v" | "version" => {
                    let value = read_version(&mut r)?;
                    version.replace(value).is_some()
                }
                "delta" | "state" => {
                    let map = read_map(&mut r)?;
                    entries.replace((key == "delta", map)).is_some()
                }
                _ => {
                    r.skip_value()?;
                    false
                }
            };
            if taken {
                let expected = "one version, and one of delta and state";
                return Err(DecodeError::new(ErrorCode::PARSE_ERROR, at, expected));
            }
        }
        let end = r.at() - 1;
        while r.metadata()?.is_some() {
            r.skip_value()?;
        }
        r.finish()?;
        let (Some(version), Some((is_delta, entries))) = (version, entries) else {
            let expected = "a version, and a delta or a state";
            return Err(DecodeError::new(ErrorCode::INVALID_TYPE, end, expected));
        };
        Ok(if is_delta {
            Self::Delta {
                version,
                changes: entries,
            }
        } else {
            Self::Full {
                version,
                state: entries,
            }
        })
    }

    /// Returns the version that the update makes.
    pub fn version(&self) -> u64 {
        match self {
            Self::Delta { version, .. } | Self::Full { version, .. } => *version,
        }
    }

    /// Returns the frame, without an envelope.
    ///
    /// # Errors
    /// When `agent` is not an agent id.
    pub fn to_message(
        &self,
        agent: impl Into<Cow<'a, str>>,
    ) -> Result<DynamicFrame<'a>, EncodeError> {
        let (key, entries) = match self {
            Self::Delta { changes, .. } => ("delta", changes),
            Self::Full { state, .. } => ("state", state),
        };
        let version = self.version();
        let version =
            i64::try_from(version).map_or(Value::Number(Number::Unsigned(version)), Value::Integer);
        Ok(DynamicFrame::new(agent, "sync", "state")?
            .with("version", version)
            .with(key, entries.clone()))
    }
}

impl StateError {
    /// Returns the code that names the refusal (draft section 3.6).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Version { .. } => ErrorCode::REF_NOT_FOUND,
            Self::Size { .. } => ErrorCode::BUDGET_EXCEEDED,
        }
    }
}

impl StateError {
    /// Returns the text of the error, without the code.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Version { held, offered } => format!(
                "version {offered} does not follow version {held}, which is held; make the \
                 change again on that"
            ),
            Self::Size { bytes, limit } => format!(
                "the shared state would have {bytes} bytes, and may have {limit}; remove keys, \
                 or let them hold references to cold state"
            ),
        }
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.text())
    }
}

impl std::error::Error for StateError {}

/// Returns whether the value removes its key: null, or the string that the draft writes for null.
fn is_removal(value: &Value<'_>) -> bool {
    matches!(value, Value::Null) || value.as_str() == Some("null")
}

fn size(key: &str, value: &Value<'_>) -> usize {
    key.len() + value.to_string().len()
}

fn read_version(r: &mut Reader<'_>) -> Result<u64, DecodeError> {
    let at = r.at();
    let version = match Value::read(r)? {
        Value::Integer(value) => u64::try_from(value).ok(),
        Value::Number(Number::Unsigned(value)) => Some(value),
        _ => None,
    };
    let wrong = || DecodeError::new(ErrorCode::INVALID_TYPE, at, "a version, an integer from 0");
    version.ok_or_else(wrong)
}

fn read_map<'a>(r: &mut Reader<'a>) -> Result<Map<'a>, DecodeError> {
    let at = r.at();
    let expected = "a map from keys to values";
    match Value::read(r)? {
        Value::Map(map) => Ok(map),
        Value::Ref(key) => wrong(at, Token::Ref(&key), expected),
        _ => wrong(at, Token::Null, expected),
    }
}

/// The form of a shared state in a snapshot.
#[derive(Serialize, Deserialize)]
struct Text {
    v: u64,
    /// The wire text of the map.
    state: String,
}

impl From<SharedState> for Text {
    fn from(state: SharedState) -> Self {
        Self {
            v: state.version,
            state: state.entries.to_string(),
        }
    }
}

impl TryFrom<Text> for SharedState {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        match read_value(text.state.as_bytes()).map(Value::into_owned) {
            Ok(Value::Map(entries)) => Ok(Self {
                version: text.v,
                bytes: entries.iter().map(|(key, value)| size(key, value)).sum(),
                entries,
            }),
            Ok(_) => Err("the shared state of the snapshot is not a map".into()),
            Err(error) => Err(format!("the shared state of the snapshot: {error}")),
        }
    }
}

impl From<StateError> for Refusal {
    fn from(error: StateError) -> Self {
        Self {
            version: match error {
                StateError::Version { held, .. } => Some(held),
                _ => None,
            },
            ..Self::new(error.code(), error.text())
        }
    }
}
