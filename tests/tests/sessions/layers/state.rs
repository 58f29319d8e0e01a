//! Shared state, references and schemas after kills: DEL, SEC-02, SEC-05, REG-02 and OP-01.

use accp_registry::{Field, FrameSpec, Schema, Type};
use accp_runtime::session::{Event, Input, Outbound, ReadError, Reference, Rules, StateUpdate};
use accp_runtime::{DynamicFrame, ErrorCode, Map, Value};
use proptest::prelude::*;
use serde_json::json;

use super::{LONG, calm, kill, kill_all, kill_all_and_calm, spoil_link};
use crate::sessions::returns::lose;
use crate::sessions::room::Room;
use crate::sessions::sides::{
    NOW, Node, Side, counting, dynamic, frame, member, open_host, options,
};

const DIGEST: &str = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";

fn host() -> Side {
    open_host(options("hub"), Rules::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Changes are folded once and in order, over a link that fails and even if sides are killed.
    /// Only changed keys are sent, also by a side that was killed.
    #[test]
    fn del_01_changes_are_folded_once_whoever_is_killed(
        changes in prop::collection::vec(("[a-c]", prop::option::of(0..9_i64), any::<bool>()), 1..6),
    ) {
        let mut room = Room::with(counting("hub"), Rules::default(), &["dev", "qa"]);
        let mut expected = Map::new();
        for (at, (key, value, is_killed)) in changes.into_iter().enumerate() {
            let mut target = expected.clone();
            match value {
                Some(value) => drop(target.insert(key, Value::from(value))),
                None => drop(target.remove(&key)),
            }
            let held = room.members[at % 2].state().shared().clone();
            prop_assert_eq!(held.entries(), &expected);
            let update = held.delta_to(&target).to_message(["dev", "qa"][at % 2]).unwrap().into_owned();
            spoil_link(&mut room);
            room.say(at % 2, &Outbound::message(&update));
            if is_killed {
                kill_all(&mut room);
            }
            calm(&mut room);
            expected = target;
            prop_assert_eq!(room.host.state().shared().entries(), &expected);
            let text = room.host.frames().pop().unwrap().text;
            let StateUpdate::Delta { changes, version } = StateUpdate::decode(&text).unwrap() else {
                return Err(TestCaseError::fail("no delta"));
            };
            prop_assert_eq!(version, at as u64 + 1);
            prop_assert!(changes.len() <= 1, "{}", text);
        }
    }
}

/// A host that was killed refuses a delta for another version with the version that it holds. A
/// member that has missed everything rebuilds the state.
#[test]
fn del_02_the_version_is_held_after_a_kill() {
    let mut room = Room::new(&["dev", "qa"]);
    let delta = |version: u64, value: i64| {
        let changes = [("a", Value::from(value))].into_iter().collect();
        let update = StateUpdate::Delta { version, changes };
        update.to_message("dev").unwrap().into_owned()
    };
    lose(&mut room, |passed| passed.to == member(102));
    for version in 1..=3 {
        room.say(0, &Outbound::message(&delta(version, 1)));
    }
    kill_all_and_calm(&mut room);
    for side in &room.members {
        assert_eq!(side.session().state().shared().version(), 3);
    }
    let before = room.host.state().clone();
    for stale in [1, 3, 5] {
        room.members[0].events.clear();
        room.say(0, &Outbound::message(&delta(stale, 2)));
        let held = room.members[0].events.iter().find_map(|event| match event {
            Event::Refused(_, error) => Some((error.code, error.version)),
            _ => None,
        });
        assert_eq!(held, Some((ErrorCode::REF_NOT_FOUND, Some(3))), "{stale}");
        assert_eq!(room.host.state().shared(), before.shared());
    }
    room.say(0, &Outbound::message(&delta(4, 2)));
    assert_eq!(room.host.state().shared().get("a"), Some(&2.into()));
    room.check_replicas();
}

/// A grant holds on every side after a kill. Other references stay refused.
#[test]
fn sec_02_grants_hold_after_a_kill() {
    let mut room = Room::new(&["dev"]);
    let now = room.now;
    room.host.grant("s2", "k101_4", now);
    room.settle();
    kill_all_and_calm(&mut room);
    let ask = |key: &str| {
        let ask = DynamicFrame::new("dev", "qry", "lookup").unwrap();
        ask.with("of", Value::Ref(key.to_owned().into()))
    };
    room.say(0, &Outbound::message(&ask("ext.s2.k101_4")));
    assert_eq!(room.host.frames().len(), 1);
    for key in ["ext.s2.k101_5", "ext.s3.k101_4", "ext.s2.p4"] {
        let reference = Reference::parse(key).unwrap();
        for side in [&room.host, &room.members[0]] {
            let located = side.session().state().locate(&reference);
            assert_eq!(located, Err(ReadError::Unauthorized), "{key}");
        }
        let text = format!("@dev>qry:lookup{{of:${key}}}[mid:101000009001,seq:2]");
        assert_eq!(
            room.host.refuses(101, &text).code,
            ErrorCode::UNAUTHORIZED_REF
        );
        room.host.reopen_as(options("hub"));
        calm(&mut room);
    }
}

/// Expired values stay expired, and missing values stay missing, on every side after a kill.
#[test]
fn sec_05_what_has_expired_stays_expired_after_a_kill() {
    let mut host = host();
    let put = format!("@dev>sync:put{{keys:[[k101_1,{DIGEST},60],[k101_2,{DIGEST},60]]}}");
    host.takes(101, &frame(&put, 1, 1, ""));
    host.expire(&["k101_1"], NOW);
    host.carries_out(NOW);
    kill(&mut host);
    let ask = |key: &str, n| frame(&format!("@dev>qry:lookup{{of:$cold.{key}}}"), n, 2, "");
    for (n, key, code) in [
        (2, "k101_1", ErrorCode::REF_EXPIRED),
        (3, "k101_3", ErrorCode::REF_NOT_FOUND),
    ] {
        assert_eq!(host.refuses(101, &ask(key, n)).code, code, "{key}");
    }
    host.takes(101, &ask("k101_2", 4));

    let mut room = Room::new(&["dev"]);
    let long = dynamic("dev", "req", "plan").with("goal", "x".repeat(60));
    room.say(0, &Outbound::message(&long));
    let now = room.now;
    room.host.expire(&["k101_1"], now);
    room.settle();
    kill_all_and_calm(&mut room);
    let reference = Reference::parse("cold.k101_1").unwrap();
    for side in [&room.host, &room.members[0]] {
        let located = side.session().state().locate(&reference);
        assert_eq!(located, Err(ReadError::Expired));
    }
}

/// Returns a schema with a default and an operation of its own.
fn finding() -> Schema {
    let mut schema = Schema::new("finding", "FD");
    schema.fields.push(Field::new("topic", Type::String));
    let mut grade = Field::new("grade", Type::String);
    grade.default = Some(json!("minor"));
    schema.fields.push(grade);
    schema.frames.push(FrameSpec::new(&["done", "review_it"]));
    schema
}

/// After a kill, every side knows a code and an operation that were registered while the session ran, with their
/// defaults. No side knows another code.
#[test]
fn reg_02_codes_and_operations_are_known_after_a_kill() {
    let mut room = Room::new(&["dev", "qa"]);
    let text = |n: u32, code: &str| {
        format!("@dev>done:review_it{{topic:x|schema:{code}}}[mid:101000009{n:03},seq:1]")
    };
    let unknown = room.host.refuses(101, &text(1, "FD"));
    assert_eq!(unknown.code, ErrorCode::UNKNOWN_SCHEMA);
    let now = room.now;
    room.host
        .is_taken(Input::Register(Box::new(finding())), now);
    room.settle();
    kill_all_and_calm(&mut room);
    let unknown = room.host.refuses(101, &text(2, "FE"));
    assert_eq!(unknown.code, ErrorCode::UNKNOWN_SCHEMA);
    let review = dynamic("dev", "done", "review_it")
        .under("FD")
        .with("topic", "x")
        .with("grade", "minor");
    room.say(0, &Outbound::message(&review));
    room.pass(LONG);
    for side in [&room.host, &room.members[1]] {
        let registry = &side.session().options().registry;
        assert!(registry.has_operation("review_it"));
        let inbound = side.inbox.last().unwrap();
        assert!(
            inbound
                .text()
                .starts_with("@dev>done:review_it{topic:x|schema:FD}[")
        );
        let message = inbound.message(registry).unwrap();
        assert_eq!(message.payload.get("grade"), Some(&"minor".into()));
    }
}
