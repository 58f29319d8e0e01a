//! The state that the members of a session share by `sync:state` (draft section 5.4).

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read_value;
use accp_frame::__internal::wrong;
use accp_frame::{
    DecodeError, DecodeOptions, EncodeError, ErrorCode, Intent, Limits, Map, Message, Number,
    Reader, Token, Value,
};

/// Values under keys, as they stand at a version; `$ctx.key` names one of them.
///
/// Nothing at all is version 0. Every update makes a new version, and one that was made for
/// another version than the one held changes nothing.
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

/// A change that follows the state which it was checked against.
#[derive(Debug)]
pub(crate) struct Change {
    version: u64,
    /// Whether nothing of the state before stays.
    replaces: bool,
    entries: Map<'static>,
    /// The size of the state that it makes.
    bytes: usize,
}

/// What a frame `sync:state` does to the shared state.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StateUpdate<'a> {
    /// `{v:8|delta:{..}}`: what changes from version 7 to version 8. A key that is `~`, or
    /// the string `null` as in the draft, is removed.
    Delta {
        /// The version that it makes.
        version: u64,
        /// The keys that change.
        changes: Map<'a>,
    },
    /// `{v:8|state:{..}}`: all there is at version 8, whatever was before.
    Full {
        /// The version that it makes.
        version: u64,
        /// Every key.
        state: Map<'a>,
    },
}

/// Why an update changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StateError {
    /// It was made for another version than the one held.
    Version {
        /// The version held.
        held: u64,
        /// The version that the update would make.
        offered: u64,
    },
    /// The state would be too large.
    Size {
        /// What it would have, in bytes.
        bytes: usize,
        /// What it may have.
        limit: usize,
    },
}

impl SharedState {
    /// What a state may have by default, in [bytes](Self::bytes): 64 KiB.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// The version, from 1; 0 is the empty state before the first update.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The values, ascending by key.
    pub fn entries(&self) -> &Map<'static> {
        &self.entries
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value<'static>> {
        self.entries.get(key)
    }

    /// The size: the bytes of every key and of the wire text of every value.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the version of `update`, if it follows the one held and what comes of it has at
    /// most `limit` bytes.
    ///
    /// A delta must be for the next version. A full state may be for any later one, because
    /// it rests on none.
    ///
    /// # Errors
    /// E2001 with the version held, E2003; nothing has changed then.
    pub fn apply(&mut self, update: StateUpdate<'_>, limit: usize) -> Result<(), StateError> {
        let change = self.check(update, limit)?;
        self.make(change);
        Ok(())
    }

    /// The change that [`SharedState::apply`] makes, if it may be made. Nothing is changed or
    /// copied for it.
    pub(crate) fn check(
        &self,
        update: StateUpdate<'_>,
        limit: usize,
    ) -> Result<Change, StateError> {
        let (held, version) = (self.version, update.version());
        let (replaces, entries) = match update {
            StateUpdate::Delta { changes, .. } => (false, changes),
            StateUpdate::Full { state, .. } => (true, state),
        };
        let follows = if replaces {
            version > held
        } else {
            held.checked_add(1) == Some(version)
        };
        if !follows {
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

    /// What makes the next version hold exactly the entries of `target`; a delta without
    /// changes where it does so already.
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

    /// All of the state at its version.
    pub fn to_full(&self) -> StateUpdate<'static> {
        StateUpdate::Full {
            version: self.version,
            state: self.entries.clone(),
        }
    }
}

impl<'a> StateUpdate<'a> {
    /// Reads a frame `sync:state`. Params that are neither version, delta nor state are
    /// passed over.
    ///
    /// # Errors
    /// E1001 for the grammar and what stands twice, a delta beside a state included; E1004
    /// for another frame, a version that is no integer from 0, changes that are no map, and
    /// what is missing.
    pub fn decode(text: &'a str) -> Result<Self, DecodeError> {
        // What a frame may hold is for its session to judge.
        let options = DecodeOptions {
            limits: Limits::NONE,
            marks: true,
        };
        let mut r = Reader::new(text, options)?;
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

    /// The version that the update makes.
    pub fn version(&self) -> u64 {
        match self {
            Self::Delta { version, .. } | Self::Full { version, .. } => *version,
        }
    }

    /// The frame, without an envelope.
    ///
    /// # Errors
    /// When `agent` is no agent id.
    pub fn to_message(&self, agent: impl Into<Cow<'a, str>>) -> Result<Message<'a>, EncodeError> {
        let (key, entries) = match self {
            Self::Delta { changes, .. } => ("delta", changes),
            Self::Full { state, .. } => ("state", state),
        };
        let version = self.version();
        let version =
            i64::try_from(version).map_or(Value::Number(Number::Unsigned(version)), Value::Integer);
        Ok(Message::new(agent, "sync", "state")?
            .with("version", version)
            .with(key, entries.clone()))
    }
}

impl StateError {
    /// The code that names the refusal (draft section 3.6).
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Version { .. } => ErrorCode::REF_NOT_FOUND,
            Self::Size { .. } => ErrorCode::BUDGET_EXCEEDED,
        }
    }
}

impl StateError {
    /// What is wrong, without the code.
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

/// A null, and what the draft writes for it, is no value of the shared state.
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

/// How a snapshot holds a shared state.
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
            Ok(_) => Err("the shared state of the snapshot is no map".into()),
            Err(error) => Err(format!("the shared state of the snapshot: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use accp_registry::Registry;
    use proptest::prelude::*;

    use super::*;
    use crate::refs::reference::tests::any_value;
    use accp_frame::EncodeOptions;

    const LIMIT: usize = SharedState::MAX_BYTES;

    fn any_map() -> impl Strategy<Value = Map<'static>> {
        let value = prop_oneof![5 => any_value(), 1 => Just(Value::from("null"))];
        prop::collection::vec(("[a-e]{1}|[ -~]{0,3}", value), 0..5)
            .prop_map(|entries| entries.into_iter().collect())
    }

    fn present(map: &Map<'static>) -> Map<'static> {
        let kept = map
            .clone()
            .into_iter()
            .filter(|(_, value)| !is_removal(value));
        kept.collect()
    }

    fn frame(update: &StateUpdate<'_>) -> String {
        let options = EncodeOptions {
            inline: true,
            limits: Limits::NONE,
            ..EncodeOptions::default()
        };
        update
            .to_message("a")
            .and_then(|message| message.encode_with(&Registry::empty(), options))
            .unwrap()
    }

    fn full(version: u64, entries: &Map<'static>) -> SharedState {
        let mut state = SharedState::default();
        let update = StateUpdate::Full {
            version,
            state: entries.clone(),
        };
        state.apply(update, usize::MAX).unwrap();
        state
    }

    proptest! {
        #[test]
        fn deltas_in_their_order_rebuild_the_state(targets in prop::collection::vec(any_map(), 1..6)) {
            let (mut here, mut there) = (SharedState::default(), SharedState::default());
            for target in &targets {
                let update = here.delta_to(target);
                let text = frame(&update);
                let read = StateUpdate::decode(&text);
                prop_assert_eq!(&read, &Ok(update.clone()), "{}", text);
                here.apply(update, LIMIT).unwrap();
                there.apply(read.unwrap(), LIMIT).unwrap();
                prop_assert_eq!(here.entries(), &present(target));
                prop_assert_eq!(&here, &there);
                let text = frame(&here.to_full());
                prop_assert_eq!(StateUpdate::decode(&text), Ok(here.to_full()));
            }
            prop_assert_eq!(here.version(), targets.len() as u64);
            prop_assert_eq!(full(here.version(), here.entries()), here);
        }

        #[test]
        fn a_delta_holds_what_changes_and_nothing_else(before in any_map(), after in any_map()) {
            let state = full(1, &before);
            let StateUpdate::Delta { changes, .. } = state.delta_to(&after) else {
                return Err(TestCaseError::fail("no delta"));
            };
            let (before, after) = (present(&before), present(&after));
            for (key, value) in changes.iter() {
                prop_assert_ne!(before.get(key), after.get(key));
                prop_assert_eq!(after.get(key), Some(value).filter(|value| !is_removal(value)));
            }
            let keys = before.iter().chain(after.iter()).map(|(key, _)| key);
            let changed: std::collections::BTreeSet<_> =
                keys.filter(|key| before.get(key) != after.get(key)).collect();
            prop_assert!(changed.into_iter().eq(changes.iter().map(|(key, _)| key)));
        }

        #[test]
        fn what_is_refused_changes_nothing(
            entries in any_map(), changes in any_map(), version in 1_u64..4, offered in 0_u64..6, limit in 0_usize..60,
        ) {
            let state = full(version, &entries);
            for update in [
                StateUpdate::Delta { version: offered, changes: changes.clone() },
                StateUpdate::Full { version: offered, state: changes.clone() },
            ] {
                let is_delta = matches!(update, StateUpdate::Delta { .. });
                let mut expected = if is_delta { state.entries().clone() } else { Map::new() };
                for (key, value) in changes.clone() {
                    expected.insert(key, value);
                }
                let expected = present(&expected);
                let bytes: usize = expected.iter().map(|(k, v)| size(k, v)).sum();
                let mut after = state.clone();
                let result = after.apply(update, limit);
                if offered != version + 1 && (is_delta || offered <= version) {
                    prop_assert_eq!(result, Err(StateError::Version { held: version, offered }));
                } else if bytes > limit {
                    prop_assert_eq!(result, Err(StateError::Size { bytes, limit }));
                } else {
                    prop_assert_eq!(result, Ok(()));
                    prop_assert_eq!(after.entries(), &expected);
                    prop_assert_eq!((after.version(), after.bytes()), (offered, bytes));
                    continue;
                }
                prop_assert_eq!(&after, &state);
            }
        }

        #[test]
        fn comes_back_from_a_snapshot(entries in any_map(), version in 1_u64..) {
            let state = full(version, &entries);
            let text = serde_json::to_string(&state).unwrap();
            prop_assert_eq!(serde_json::from_str::<SharedState>(&text).unwrap(), state);
        }

        #[test]
        fn reads_any_text_or_refuses_it(
            text in r"@a>sync:state[{](v|version|delta|state|q)?:[{}a:,0-9~\[\]|v]{0,12}[}]|[ -~]{0,40}",
        ) {
            if let Ok(update) = StateUpdate::decode(&text) {
                let text = frame(&update);
                prop_assert_eq!(StateUpdate::decode(&text), Ok(update.clone()));
            }
        }
    }

    #[test]
    fn reads_the_frame_of_the_draft() {
        let text = "@orchestrator>sync:state{v:7|delta:{task_3:done,task_4:wip,budget:$42.30}}";
        let update = StateUpdate::decode(text).unwrap();
        assert_eq!(update.version(), 7);
        let mut state = full(6, &Map::new());
        state.apply(update, LIMIT).unwrap();
        assert_eq!(state.get("budget"), Some(&Value::Ref("42.30".into())));

        let text = "@a>sync:state{v:8|delta:{task_4:null,budget:~}|q:1}[mid:a]";
        state
            .apply(StateUpdate::decode(text).unwrap(), LIMIT)
            .unwrap();
        assert_eq!(state.entries().to_string(), "{task_3:done}");
    }

    #[test]
    fn a_version_beyond_the_last_one_is_refused() {
        let mut state = full(u64::MAX, &Map::new());
        let update = state.delta_to(&Map::new());
        assert_eq!(StateUpdate::decode(&frame(&update)), Ok(update.clone()));
        assert!(matches!(
            state.apply(update, LIMIT),
            Err(StateError::Version { .. })
        ));
    }

    #[test]
    fn says_what_is_wrong() {
        let error = |payload: &str| {
            let text = format!("@a>sync:state{{{payload}}}");
            StateUpdate::decode(&text).unwrap_err().to_string()
        };
        let errors: Vec<_> = [
            "delta:{}",
            "v:1",
            "v:-1|delta:{}",
            "v:one|delta:{}",
            "v:1|delta:[]",
            "v:1|state:$a",
            "v:1|v:2|delta:{}",
            "v:1|delta:{}|state:{}",
            "v:1|delta:{a:1,a:2}",
        ]
        .map(error)
        .into();
        insta::assert_snapshot!(errors.join("\n"), @r"
        E1004 at byte 22: expected a version, and a delta or a state
        E1004 at byte 17: expected a version, and a delta or a state
        E1004 at byte 16: expected a version, an integer from 0
        E1004 at byte 16: expected a version, an integer from 0
        E1004 at byte 24: expected a map from keys to values
        E2001 at byte 24: expected a map from keys to values; the reference has not been resolved
        E1001 at byte 20: expected one version, and one of delta and state
        E1001 at byte 33: expected one version, and one of delta and state
        E1001 at byte 25: expected every key once in a map
        ");
        insta::assert_snapshot!(StateUpdate::decode("@a>sync:put{}").unwrap_err(), @"E1004 at byte 3: expected the frame sync:state");
        insta::assert_snapshot!(StateError::Size { bytes: 70_000, limit: LIMIT }, @"E2003: the shared state would have 70000 bytes, and may have 65536; remove keys, or let them hold references to cold state");
        let snapshot = |state: &str| {
            let text = format!(r#"{{"v":1,"state":"{state}"}}"#);
            serde_json::from_str::<SharedState>(&text)
                .unwrap_err()
                .to_string()
        };
        insta::assert_snapshot!(snapshot("[]"), @"the shared state of the snapshot is no map");
        insta::assert_snapshot!(snapshot("{a:"), @"the shared state of the snapshot: E1001 at byte 3: expected a value, found the end");
    }
}
