//! The state that the members of a session share.

use accp_registry::Registry;
use proptest::prelude::*;

use super::reference::any_value;
use accp_frame::EncodeOptions;
use accp_frame::{Limits, Map, Value};
use accp_session::*;

/// Returns whether the value removes its key: null, or the string that the draft writes for null.
fn is_removal(value: &Value<'_>) -> bool {
    matches!(value, Value::Null) || value.as_str() == Some("null")
}

/// Returns the size of an entry in bytes.
fn size(key: &str, value: &Value<'_>) -> usize {
    key.len() + value.to_string().len()
}

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
    insta::assert_snapshot!(snapshot("[]"), @"the shared state of the snapshot is not a map");
    insta::assert_snapshot!(snapshot("{a:"), @"the shared state of the snapshot: E1001 at byte 3: expected a value, found the end");
}
