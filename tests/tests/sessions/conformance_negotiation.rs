//! Conformance of the exchange about registries: REG-03 to REG-05 (draft sections 6.4
//! and 7.1) and SEC-03 (9). `docs/conformance.md` lists the tests of each requirement.

use std::sync::Arc;
use std::time::Duration;

use accp_registry::{Field, Hash, Schema, Type};
use accp_runtime::session::{Event, Input, MemberId, Options, Outbound, Rules};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Registry, Value};
use accp_session::{Codec, EntryKind};
use accp_testkit::Side;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use crate::sessions::room::{Passed, Room};
use crate::sessions::sides::{self, NOW, Node, STANDARD, dynamic, keyless, open_host, options};

fn finding(code: &str) -> Schema {
    let mut schema = Schema::new(&format!("finding_{code}"), code);
    schema.fields.push(Field::new("topic", Type::String));
    schema
}

/// Returns the standard profiles with schemas of these codes.
fn registry(codes: &[&str]) -> Arc<Registry> {
    let mut registry = Registry::standard();
    for code in codes {
        registry.register(finding(code)).unwrap();
    }
    Arc::new(registry)
}

fn knowing(mut options: Options, codes: &[&str]) -> Options {
    options.registry = registry(codes);
    options
}

/// Returns the hello frames among the passed frames.
fn hellos(room: &Room) -> Vec<DynamicFrame<'_>> {
    let texts = room
        .passed
        .iter()
        .filter(|passed| passed.text.contains(">sync:registry{"));
    texts
        .map(|passed| DynamicFrame::decode(&passed.text, &STANDARD).unwrap())
        .collect()
}

/// Returns whether a frame asks for schemas, or has a piece of schemas, for a side that takes them over. A host
/// that does not learn schemas asks for a member's schemas only to compare them; such frames do not count.
fn is_of_schemas(text: &str) -> bool {
    text.contains("key:reg_") && !text.contains("key:reg_compared")
}

fn asked_for_schemas(passed: &Passed) -> bool {
    passed.text.contains(">qry:bytes{") && is_of_schemas(&passed.text)
}

// ---- REG-03 ------------------------------------------------------------------------

#[test]
fn reg_03_accepts_equal_hashes_and_asks_for_nothing_more() {
    let room = Room::new(&["dev"]);
    let first = &room.passed[0];
    assert_eq!((first.from, first.to), (sides::member(101), MemberId::HOST));
    let hellos = hellos(&room);
    assert!(
        hellos.iter().any(|hello| hello.agent == "dev")
            && hellos.iter().any(|hello| hello.agent == "hub")
    );
    for hello in hellos {
        let get = |key: &str| hello.payload.get(key).cloned();
        assert_eq!(get("version"), Some(1.into()));
        assert_eq!(get("hash"), Some(Value::from(STANDARD.hash().short(6))));
    }
    assert!(!room.passed.iter().any(asked_for_schemas));
    // The sides compare the whole hash, and the log holds it.
    assert_eq!(room.host.state().schemas(), Some(STANDARD.hash()));
    assert_eq!(room.members[0].state().schemas(), Some(STANDARD.hash()));
}

/// No frame of the session is sent before the hello, and garbage is not a hello.
#[test]
fn reg_03_refuses_to_begin_without_a_hello() {
    let mut room = Room::open(options("hub"), Rules::default());
    room.on_the_way(|_| Vec::new());
    room.enter(options("dev"));
    let message = DynamicFrame::new("dev", "req", "plan").unwrap();
    let dev = room.members[0].session_mut();
    let error = dev.send(&Outbound::message(&message), NOW).unwrap_err();
    assert_eq!(error.to_string(), "the host has not answered yet");
    for text in [
        "@hub>sync:registry{}[mid:910000000001,seq:0]",
        "@hub>sync:registry{n:99|v:1}[mid:910000000001,seq:0]",
        "@hub>sync:registry{n:101}[mid:910000000001,seq:0]",
        "@hub>ack:frame{}[mid:910000000001,seq:3,of:101000001001,at:1]",
        "@hub>req:plan{}[mid:100000001001,seq:1,pos:4,by:100]",
        "@hub>sync:registry{",
    ] {
        dev.receive(MemberId::HOST, text.as_bytes(), NOW);
        assert!(!dev.is_quiet(), "{text}");
        dev.send(&Outbound::message(&message), NOW).unwrap_err();
    }
    assert_eq!(
        room.members[0].state(),
        &accp_runtime::session::State::default()
    );
    room.heal();
    room.pass(std::time::Duration::from_secs(2));
    room.check_replicas();
}

/// A host refuses a frame of a member that has not sent its hello, and names the hello as the missing step. After the
/// hello it takes the frame.
#[test]
fn reg_03_refuses_a_frame_before_the_hello() {
    let mut host = open_host(options("hub"), Rules::default());
    host.join_as(&["ops"], false, NOW).unwrap();
    host.carries_out(NOW);
    let text = "@ops>req:plan{}[mid:103000001001,seq:1,ts:1714000000]";
    for _ in 0..2 {
        let refused = host.refuses(103, text);
        assert_eq!(refused.code, ErrorCode::TIMEOUT);
        assert!(
            refused.message.contains("sync:registry before"),
            "{refused:?}"
        );
    }
    host.greets(NOW);
    host.takes(103, text);
}

// ---- REG-04 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// A side that lacks schemas has them after one exchange, and keeps them. After a restart it
    /// asks for nothing.
    #[test]
    fn reg_04_accepts_the_delta_once_and_keeps_it(
        host in prop::sample::subsequence(vec!["FA", "FB", "FC"], 0..=3),
        member in prop::sample::subsequence(vec!["FA", "FB"], 0..=2),
    ) {
        let mut room = Room::open(knowing(options("hub"), &host), Rules::default());
        room.enter(knowing(options("dev"), &member));
        room.check_replicas();
        let of_host = room.host.session().options().registry.hash();
        let of_member = Arc::clone(&room.members[0].session().options().registry);
        prop_assert_eq!(room.host.state().schemas(), Some(of_host));
        let asked = room.passed.iter().filter(|passed| asked_for_schemas(passed)).count();
        prop_assert_eq!(asked, usize::from(host != member));
        // A schema that both sides have is not sent. A schema that only the member has stays with
        // the member.
        let has_all = member.iter().all(|code| host.contains(code));
        prop_assert_eq!(of_member.hash() == of_host, has_all);
        prop_assert!(member.iter().all(|code| of_member.schema(code).is_some()));
        let sent = room.passed(100, 101).filter(|text| is_of_schemas(text));
        prop_assert_eq!(sent.count(), asked);

        room.members[0].reopen_as(knowing(options("dev"), &member));
        room.passed.clear();
        room.settle();
        prop_assert!(!has_all || !room.passed.iter().any(asked_for_schemas));
        prop_assert_eq!(&room.members[0].session().options().registry, &of_member);
    }

    /// A host that learns takes its members' schemas, and all other members get them from the host.
    #[test]
    fn reg_04_accepts_the_schemas_of_members_where_the_host_learns(
        host in prop::sample::subsequence(vec!["FA", "FB", "FC"], 0..=3),
        members in prop::collection::vec(prop::sample::subsequence(vec!["FA", "FB", "FD"], 0..=3), 1..3),
    ) {
        let rules = Rules { learn_schemas: true, ..Rules::default() };
        let mut room = Room::open(knowing(options("hub"), &host), rules);
        for (agent, codes) in ["dev", "qa"].into_iter().zip(&members) {
            room.enter(knowing(options(agent), codes));
        }
        room.check_replicas();
        let registry = Arc::clone(&room.host.session().options().registry);
        for code in members.iter().flatten().chain(&host) {
            prop_assert!(registry.schema(code).is_some(), "{}", code);
        }
        prop_assert_eq!(room.host.state().schemas(), Some(registry.hash()));
        for node in &room.members {
            prop_assert_eq!(node.session().options().registry.hash(), registry.hash());
        }
    }
}

/// A delta must not redefine a known code or remove a code. The side keeps its schemas, and reports
/// the refusal.
#[test]
fn reg_04_refuses_a_delta_that_redefines_a_code() {
    let mut other = Registry::standard();
    let mut schema = Schema::new("other", "FD");
    schema.fields.push(Field::new("severity", Type::Integer));
    other.register(schema).unwrap();
    let mut hub = options("hub");
    hub.registry = Arc::new(other);
    let mut room = Room::open(hub.clone(), Rules::default());
    room.enter(knowing(options("dev"), &["FD"]));
    let unavailable =
        |event: &Event| matches!(event, Event::SchemasUnavailable(why) if why.contains("FD"));
    assert!(
        room.members[0].events.iter().any(unavailable),
        "{:?}",
        room.members[0].events
    );
    assert_eq!(
        room.members[0].session().options().registry,
        registry(&["FD"])
    );
    // The sides go on with the schemas that both know.
    let message = DynamicFrame::new("dev", "req", "plan").unwrap();
    room.say(0, &Outbound::message(&message));
    room.check_replicas();

    // A delta is accepted if the policy allows it.
    let mut dev = knowing(options("dev"), &["FD"]);
    dev.schemas = accp_registry::DeltaPolicy {
        allow_redefine: true,
        allow_remove: true,
    };
    let mut room = Room::open(hub.clone(), Rules::default());
    room.enter(dev);
    assert_eq!(
        room.members[0].session().options().registry.hash(),
        hub.registry.hash()
    );
}

// ---- REG-05 ------------------------------------------------------------------------

#[test]
fn reg_05_accepts_a_schema_while_the_session_runs() {
    let mut room = Room::new(&["dev", "qa"]);
    let before = room.host.state().schemas().unwrap();
    let text = "@dev>done:review{topic:limits|schema:FD}";
    let decode = |room: &mut Room| {
        let of_member = Codec::new(room.members[1].session_mut())
            .decode(text)
            .is_ok();
        (
            Codec::new(room.host.session_mut()).decode(text).is_ok(),
            of_member,
        )
    };
    assert_eq!(decode(&mut room), (false, false));
    let mut codec = Codec::new(room.host.session_mut());
    codec.register_schema(finding("FD"), NOW).unwrap();
    room.settle();
    let after = room.host.state().schemas().unwrap();
    assert_ne!(after, before);
    assert_eq!(after, registry(&["FD"]).hash());
    assert_eq!(decode(&mut room), (true, true));
    for node in &room.members {
        assert_eq!(node.state().schemas(), Some(after));
        assert!(node.events.contains(&Event::Schemas(after)));
    }
    let message = dynamic("dev", "done", "review")
        .under("FD")
        .with("topic", "limits");
    room.say(0, &Outbound::message(&message));
    room.check_replicas();

    // A host that restarts without the schema still has it, and so does a late member.
    room.host.reopen_as(options("hub"));
    room.settle();
    room.enter(options("late"));
    assert_eq!(room.members[2].session().options().registry.hash(), after);
    assert_eq!(room.host.state().schemas(), Some(after));
    room.check_replicas();
}

#[test]
fn reg_05_refuses_a_faulty_schema_and_changes_nothing() {
    let mut host = open_host(options("hub"), Rules::default());
    let before = (host.state().clone(), host.session().position());
    let mut nameless = finding("FD");
    nameless.fields.push(Field::new("", Type::String));
    let mut twice = finding("FD");
    twice.fields.push(Field::new("topic", Type::String));
    for schema in [finding("TA"), finding("no code"), nameless, twice] {
        assert!(host.register(schema, NOW).is_err());
        assert_eq!(
            (host.state(), host.session().position()),
            (&before.0, before.1)
        );
        assert_eq!(host.session().options().registry, *STANDARD);
    }
    let unknown = "@dev>done:review{topic:x|schema:FD}[mid:101000001001,seq:1]";
    assert_eq!(
        host.refuses(101, unknown).code,
        accp_runtime::ErrorCode::UNKNOWN_SCHEMA
    );
    host.register(finding("FD"), NOW).unwrap();
    host.carries_out(NOW);
    host.takes(
        101,
        "@dev>done:review{topic:x|schema:FD}[mid:101000001002,seq:1]",
    );
}

// ---- SEC-03 ------------------------------------------------------------------------

#[test]
fn sec_03_accepts_a_registry_that_has_its_hash() {
    let mut room = Room::open(knowing(options("hub"), &["FD"]), Rules::default());
    room.enter(options("dev"));
    let hash = registry(&["FD"]).hash();
    assert_eq!(room.members[0].session().options().registry.hash(), hash);
    assert!(room.members[0].events.contains(&Event::Schemas(hash)));
    // The store keeps the registry under its hash, and the log names the hash in force.
    let stored = room.members[0].stored();
    let json = stored
        .registries
        .iter()
        .find(|(kept, _)| *kept == hash)
        .unwrap();
    assert_eq!(Registry::from_json(&json.1).unwrap().hash(), hash);
    let log = room.host.log();
    let announced = log
        .iter()
        .rfind(|entry| entry.text.contains(">sync:schemas{"))
        .unwrap();
    assert_eq!(announced.kind, EntryKind::Control);
    assert!(announced.text.contains(&hash.to_string()));
}

/// A byte of the registry's transfer is changed, or the whole transfer is replaced by another well-formed registry.
/// The side refuses the registry and reports that. The session goes on with the known schemas.
#[test]
fn sec_03_refuses_a_registry_that_was_tampered_with() {
    let other = registry(&["FX"]).delta_from(&STANDARD).to_json();
    let digest = Hash::of(other.as_bytes());
    let (data, length) = (BASE64.encode(&other), other.len());
    let forged = format!("|len:{length}|sha:{digest}}}[mid:910000000001,seq:1]");
    for replaced in [false, true] {
        let mut room = Room::open(knowing(options("hub"), &["FD"]), Rules::default());
        let (data, forged) = (data.clone(), forged.clone());
        room.on_the_way(move |passed| {
            let is_it = |(_, rest): &(&str, &str)| rest.contains("|key:reg_");
            let Some((before, rest)) = passed.text.split_once("|d:").filter(is_it) else {
                return vec![passed.text.clone()];
            };
            let (there, after) = rest.split_once('|').unwrap();
            let (key, _) = after.split_once('|').unwrap();
            if replaced {
                vec![format!("{before}|d:{data}|{key}{forged}")]
            } else {
                vec![format!("{before}|d:A{}|{after}", &there[1..])]
            }
        });
        room.enter(options("dev"));
        let refused =
            |event: &Event| matches!(event, Event::Tampered(_) | Event::SchemasUnavailable(_));
        let dev = &mut room.members[0];
        assert!(dev.events.iter().any(refused), "{:?}", dev.events);
        assert_eq!(dev.session().options().registry, *STANDARD);
        let stored = dev.stored();
        assert_eq!(stored.registries, []);
        room.heal();
        room.say(
            0,
            &Outbound::message(&DynamicFrame::new("dev", "req", "plan").unwrap()),
        );
        room.pass(Duration::from_secs(40));
        room.check_replicas();
        let registry = &room.members[0].session().options().registry;
        assert!(registry.schema("FD").is_some(), "it asks again");
    }
}

/// A host was killed after it had asked a member for its schemas. The restarted host asks again, even if the member
/// acknowledges entries before the member answers the greeting. The log has no key.
#[test]
fn reg_04_accepts_schemas_that_a_killed_host_had_asked_for() {
    let hub = options("hub");
    let rules = Rules {
        learn_schemas: true,
        ..Rules::default()
    };
    let store = keyless(&hub, &rules);
    let mut host = Side::open(MemberId::HOST, store, vec![], hub, Some(rules), NOW).unwrap();
    host.driver
        .join(&AgentId::new("dev").unwrap(), NOW)
        .unwrap();
    let asks = |sends: &[String]| {
        sends
            .iter()
            .any(|text| text.contains(">qry:bytes{at:0|key:reg_all}"))
    };
    let hello = "@dev>sync:registry{hash:c03a74|pos:2|v:1.0}[mid:910100000001]";
    assert!(asks(&host.hears(101, hello, NOW).sends));

    host.reopen_as(options("hub"));
    let held = host.session().position();
    let ack = format!("@dev>ack:frame{{}}[mid:910100000002,seq:{held}]");
    host.hears(101, &ack, NOW);
    let again = host
        .session()
        .next_timeout()
        .expect("the greeting goes out again");
    host.is_taken(Input::Timeout, again);
    let greeting = &host.carries_out(again)[0].text;
    assert!(greeting.starts_with("@hub>sync:registry{"), "{greeting}");
    assert!(asks(&host.hears(101, hello, again).sends));
}

/// A member goes on asking for the schemas in force, and never gives them up.
#[test]
fn reg_04_accepts_schemas_that_come_late() {
    let mut hub = options("hub");
    hub.registry = registry(&["FD"]);
    let mut room = Room::open(hub, Rules::default());
    let is_schemas = |passed: &Passed| passed.text.contains("|key:reg_");
    room.on_the_way(move |passed| {
        Vec::from_iter((!is_schemas(passed)).then(|| passed.text.clone()))
    });
    room.enter(options("dev"));
    room.pass_often(20, Duration::from_secs(60));
    let events = &room.members[0].events;
    let is_given_up = |event: &Event| matches!(event, Event::Unavailable(_));
    assert!(!events.iter().any(is_given_up), "{events:?}");
    room.heal();
    room.pass_often(3, Duration::from_secs(60));
    let registry = &room.members[0].session().options().registry;
    assert!(registry.schema("FD").is_some());
}
