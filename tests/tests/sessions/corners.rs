//! Cases where two rules meet.

use std::sync::Arc;
use std::time::Duration;

use accp_registry::{Field, Schema, Type};
use accp_runtime::session::{Event, MemberId, Mid, Options, Outbound, Rules, SchemaClashes};
use accp_runtime::{DynamicFrame, ErrorCode, Registry, Value};

use crate::sessions::room::Room;
use crate::sessions::sides::{self, NOW, Node, dynamic, frame, numbers, open_host, options, plan};

const LONG: Duration = Duration::from_secs(40);

/// An `aid` may name the first frame of a chain that has its own `cid`.
#[test]
fn aid_of_the_first_frame_of_a_named_chain() {
    let mut host = open_host(options("hub"), Rules::default());
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ",cid:c1"));
    host.takes(101, &frame("@dev>req:plan{}", 2, 2, ",aid:101000001001"));
    host.takes(101, &frame("@dev>cancel:task{}", 3, 3, ",cid:c1"));
    assert!(host.state().is_cancelled(&Mid::parse("101000001002")));
}

/// If an agent cancels another agent's chain before this chain begins, the chain can still begin.
#[test]
fn a_chain_that_has_not_begun_is_cancelled_by_another() {
    let mut host = open_host(options("hub"), Rules::default());
    let cancel = "@qa>cancel:task{}[mid:102000001001,seq:1,cid:101000001001]";
    host.hears(102, cancel, NOW);
    let seq = 1 + host.frames().len() as u64;
    host.takes(101, &frame("@dev>req:plan{}", 1, seq, ""));
}

fn sends_and_comes_to_rest(message: &DynamicFrame<'static>) {
    let mut room = Room::pair();
    room.say(0, &Outbound::message(message).in_chain("c"));
    room.pass_often(10, LONG);
    assert_eq!(room.members[0].session().outbox_len(), 0, "{message:?}");
}

/// If a session accepted an application's frame that looks like a link frame, the frame would never be
/// acknowledged, and all later frames would wait for ever.
#[test]
fn frames_of_an_application_that_read_as_link_frames() {
    for (intent, operation) in [
        ("ack", "task"),
        ("qry", "bytes"),
        ("sync", "registry"),
        ("sync", "bytes"),
    ] {
        let mut room = Room::pair();
        let message = DynamicFrame::new("dev", intent, operation).unwrap();
        let sent = room.members[0]
            .session_mut()
            .send(&Outbound::message(&message), NOW);
        room.settle();
        room.pass_often(10, LONG);
        assert!(sent.is_err(), "{intent}:{operation}");
        assert_eq!(
            room.members[0].session().outbox_len(),
            0,
            "{intent}:{operation}"
        );
    }
}

/// The parts of an error carry `of`, as link errors do.
#[test]
fn an_error_in_parts() {
    let message = dynamic("dev", "fail", "error")
        .under("ER")
        .with("code", "E4002")
        .with("msg", "no")
        .with("retry", true)
        .with("a", numbers(40))
        .with("b", numbers(40))
        .with("c", numbers(40));
    sends_and_comes_to_rest(&message);
}

#[test]
fn bytes_are_asked_for_again() {
    let mut room = Room::new(&["dev"]);
    room.on_the_way(|passed| vec![passed.text.replace("|d:eHh4eHh4", "|d:eHh4eHh5")]);
    room.say(
        0,
        &Outbound::message(&plan("dev", 1).with("goal", "x".repeat(60))),
    );
    room.heal();
    room.pass_often(10, LONG);
    assert!(room.host.cold_text("k101_1").is_some());
    room.check_replicas();
}

fn registry(codes: &[&str]) -> Arc<Registry> {
    let mut registry = Registry::standard();
    for code in codes {
        let mut schema = Schema::new(&format!("finding_{code}"), code);
        schema.fields.push(Field::new("topic", Type::String));
        registry.register(schema).unwrap();
    }
    Arc::new(registry)
}

/// A side that did not get the schemas of a peer asks for them again on the next connection.
#[test]
fn a_registry_is_asked_for_again() {
    let mut hub = options("hub");
    hub.registry = registry(&["FD"]);
    let mut room = Room::open(hub, Rules::default());
    room.on_the_way(|passed| {
        let change = passed.text.contains("|key:reg_");
        vec![if change {
            passed.text.replace("|d:e", "|d:A")
        } else {
            passed.text.clone()
        }]
    });
    room.enter(options("dev"));
    room.heal();
    let knows = |room: &Room| {
        let registry = &room.members[0].session().options().registry;
        registry.schema("FD").is_some()
    };
    assert!(!knows(&room));
    room.members[0].connected();
    room.settle();
    assert!(knows(&room));
}

/// The host registers a schema while a member fetches an earlier one, and an answer comes late. The
/// member ends with the schemas in force.
#[test]
fn an_answer_about_earlier_schemas_comes_late() {
    let mut room = Room::new(&["dev"]);
    let (mut first, mut answers) = (None, 0);
    room.on_the_way(move |passed| {
        if !passed.text.contains("|key:reg_") || !passed.text.contains("sync:bytes") {
            return vec![passed.text.clone()];
        }
        answers += 1;
        let late = first.get_or_insert_with(|| passed.text.clone());
        match answers {
            1 => vec![],
            2 => vec![passed.text.clone()],
            _ => vec![late.clone(), passed.text.clone()],
        }
    });
    for code in ["FA", "FB"] {
        let mut schema = Schema::new(&format!("finding_{code}"), code);
        schema.fields.push(Field::new("topic", Type::String));
        room.host.register(schema, NOW).unwrap();
        room.settle();
    }
    room.pass_often(5, LONG);
    let [host, dev] = [&room.host, &room.members[0]].map(|side| side.session().options());
    assert_eq!(dev.registry.hash(), host.registry.hash());
}

/// A host whose registry has changed cannot keep the schemas of an earlier run that clash with the new registry.
/// The host reports this.
#[test]
fn schemas_of_an_earlier_run_that_clash() {
    let mut host = open_host(options("hub"), Rules::default());
    let mut schema = Schema::new("finding", "FD");
    schema.fields.push(Field::new("severity", Type::Integer));
    host.register(schema, NOW).unwrap();
    host.carries_out(NOW);
    let mut hub = options("hub");
    hub.registry = registry(&["FD"]);
    host.events.clear();
    host.restart_as(hub.clone());
    let clash = |event: &Event| matches!(event, Event::SchemasUnavailable(_));
    assert!(host.events.iter().any(clash), "{:?}", host.events);
    assert_eq!(host.session().options().registry, hub.registry);
}

#[test]
fn the_host_asks_for_the_schemas_of_a_member_once() {
    let mut hub = options("hub");
    hub.registry = registry(&["FA"]);
    let mut room = Room::open(
        hub,
        Rules {
            learn_schemas: true,
            ..Rules::default()
        },
    );
    room.enter(options("dev"));
    let asked = room
        .passed(100, 101)
        .filter(|text| text.contains("key:reg_all}"));
    assert_eq!(asked.count(), 1);
}

/// Returns options with a schema that has these fields.
fn with_fields(agent: &'static str, fields: &[(&str, Type)]) -> Options {
    let mut registry = Registry::standard();
    let mut schema = Schema::new("finding", "FD");
    let fields = fields.iter();
    schema.fields = fields
        .map(|(name, ty)| Field::new(name, ty.clone()))
        .collect();
    registry.register(schema).unwrap();
    let mut options = options(agent);
    options.registry = Arc::new(registry);
    options
}

/// Returns the differences that a side reports about the registry of a peer.
fn told_of(events: &[Event], peer: MemberId) -> Vec<String> {
    let differ = events.iter().filter_map(|event| match event {
        Event::SchemasDiffer(member, changes) if *member == peer => Some(changes),
        _ => None,
    });
    differ.flatten().map(ToString::to_string).collect()
}

/// Both sides report once what breaks between their registries, and go on. A schema that one side lacks is not
/// reported: nothing breaks for this side, or it learns the schema.
#[test]
fn both_sides_say_what_breaks_between_their_registries() {
    let mut room = Room::open(
        with_fields("hub", &[("size", Type::Integer)]),
        Rules::default(),
    );
    room.enter(with_fields("dev", &[("size", Type::String)]));
    room.enter(options("qa"));
    let breaks = "breaks either reader: it refuses a value of the other type, or reads another value (E1004)";
    let [dev, qa] = [101, 102].map(|number| MemberId::new(number).unwrap());
    let at = "/schemas/finding/types/size: the type of `size` changed from";
    let expected = |from, to| vec![format!("{at} {from} to {to}\n    {breaks}")];
    assert_eq!(
        told_of(&room.host.events, dev),
        expected("string", "integer")
    );
    let of_dev = told_of(&room.members[0].events, MemberId::HOST);
    assert_eq!(of_dev, expected("integer", "string"));
    assert_eq!(told_of(&room.host.events, qa), [""; 0]);
    assert_eq!(told_of(&room.members[1].events, MemberId::HOST), [""; 0]);
    // Nobody waits for schemas that clash: each side goes on with its own.
    for side in &room.members {
        assert!(!side.session().awaits_schemas());
    }
    let clashes = |member| room.host.session().schema_clashes(member).len();
    assert_eq!([clashes(dev), clashes(qa)], [1, 0]);
    room.say(0, &Outbound::message(&plan("dev", 1)));
    room.check_replicas();
    room.members[0].reopen_as(with_fields("dev", &[("size", Type::String)]));
    room.settle();
    assert_eq!(told_of(&room.host.events, dev).len(), 1);
}

/// A strict host refuses a member whose registry breaks readers, and gives the reason. It accepts a member that only
/// lacks a schema, and one whose registry differs without breaking anything.
#[test]
fn a_strict_host_refuses_a_registry_that_breaks() {
    let rules = Rules {
        clashes: SchemaClashes::Refused,
        ..Rules::default()
    };
    let mut room = Room::open(with_fields("hub", &[("size", Type::Integer)]), rules);
    room.enter(with_fields("dev", &[("size", Type::String)]));
    room.enter(options("qa"));
    let more = [("size", Type::Integer), ("note", Type::Text)];
    room.enter(with_fields("ops", &more));
    room.pass_often(3, LONG);
    let has_joined = |event: &Event| matches!(event, Event::Joined(_));
    let joined = room
        .members
        .iter()
        .map(|node| node.events.iter().any(has_joined));
    assert!(joined.eq([false, true, true]));
    let why = |event: &Event| {
        matches!(event, Event::PeerError(_, error)
        if error.code == ErrorCode::POLICY_DENIED && error.message.contains("registry diff"))
    };
    assert!(room.members[0].events.iter().any(why));
    // The refused member is out of the session.
    let is_out = room
        .host
        .state()
        .members()
        .all(|(_, party)| party.present == (party.agents != ["dev"]));
    assert!(is_out);
    room.say(1, &Outbound::message(&plan("qa", 1)));
    assert_eq!(room.host.frames().len(), 1);
}

/// A refusal names the refused frame, so the sender gives up this frame and goes on.
#[test]
fn a_host_with_narrower_limits() {
    let mut hub = options("hub");
    hub.limits.frame_bytes = 1000;
    let mut room = Room::with(hub, Rules::default(), &["dev"]);
    let large = plan("dev", 1).with("goal", vec![accp_runtime::Value::from("x".repeat(40)); 100]);
    room.say(0, &Outbound::message(&large));
    room.say(0, &Outbound::message(&plan("dev", 2)));
    room.pass_often(10, LONG);
    assert_eq!(room.members[0].session().outbox_len(), 0);
    assert_eq!(room.host.frames().len(), 1);
    let is_refusal = |event: &&Event| matches!(event, Event::Refused(..));
    assert_eq!(room.members[0].events.iter().filter(is_refusal).count(), 1);
}

#[test]
fn an_unknown_intent() {
    let mut host = open_host(options("hub"), Rules::default());
    let heard = host.hears(101, &frame("@dev>nope:plan{}", 1, 1, ""), NOW);
    assert_eq!(sides::of(&heard.sends[0]), Some(Mid::parse("101000001001")));
}

#[test]
fn link_frames_that_cannot_be_read() {
    let mut host = open_host(options("hub"), Rules::default());
    for text in [
        "@dev>sync:registry{",
        "@dev>sync:bytes{key",
        "@dev>qry:bytes{key:a|key:",
    ] {
        host.ignores(101, text, NOW);
    }
}

/// A frame that announces values has the limits of any frame.
#[test]
fn the_announcement_of_many_values() {
    let mut room = Room::pair();
    let mut message = plan("dev", 1);
    for n in 0..6 {
        message = message.with(format!("text_{n}"), format!("{n} ").repeat(30));
    }
    room.say(0, &Outbound::message(&message));
    for text in room
        .passed(101, 100)
        .filter(|text| text.contains(">sync:put{"))
    {
        assert!(
            sides::frame_tokens(text).total <= 240,
            "{}",
            sides::frame_tokens(text).total
        );
    }
}

/// The code of a refusal is in a field of the frame, and is not repeated in the message.
#[test]
fn the_text_of_a_refused_delta() {
    let mut host = open_host(options("hub"), Rules::default());
    let refused = host.refuses(101, &frame("@dev>sync:state{v:3|delta:{a:1}}", 1, 1, ""));
    assert!(!refused.message.contains("E2001"), "{}", refused.message);
}

/// A path into a frame works although hot state keeps no metadata and the schema of the frame requires a `cid`.
#[test]
fn a_path_into_a_frame_whose_schema_requires_metadata() {
    let mut room = Room::counting(&["dev"]);
    let result = dynamic("dev", "done", "tool")
        .under("TC")
        .with("tool_name", "search")
        .with("result", 42);
    room.say(0, &Outbound::message(&result).in_chain("c1"));
    let entry = room.host.frames().pop().unwrap();
    let key = format!("hot.p{}.result", entry.position);
    assert_eq!(room.host.session().resolve(&key), Some(42.into()));
}

/// `replicated` is the position that all members have. Retention depends on this position.
#[test]
fn how_far_all_members_are() {
    let mut room = Room::new(&["dev", "qa"]);
    room.say(0, &Outbound::message(&plan("dev", 1)));
    let last = room.host.session().position();
    assert_eq!(room.host.session().replicated(), last);
    room.on_the_way(|passed| match passed.to.number() {
        102 => vec![],
        _ => vec![passed.text.clone()],
    });
    room.say(0, &Outbound::message(&plan("dev", 2)));
    assert_eq!(room.host.session().replicated(), last);
    room.host.disconnected(sides::member(102));
    assert_eq!(room.host.session().replicated(), 0);
    room.host.leave(sides::member(102), NOW);
    room.settle();
    assert_eq!(
        room.host.session().replicated(),
        room.host.session().position()
    );
}

/// The host was told that a member is gone. When a frame of the member arrives, the host sends to the member again.
#[test]
fn a_host_that_was_told_that_a_member_is_gone() {
    let mut room = Room::pair();
    room.host.disconnected(sides::member(101));
    room.host_says(&Outbound::message(&plan("hub", 1)));
    room.say(0, &Outbound::message(&plan("dev", 2)));
    room.pass_often(3, LONG);
    room.check_replicas();
}

/// Frames about the session come only from the session's own API. An application cannot send such a frame, whether it
/// is well-formed or unreadable.
#[test]
fn frames_about_the_session_are_not_an_application_s_to_send() {
    let mut room = Room::new(&["dev", "qa"]);
    let before = room.host.state().clone();
    let operations = [
        "open",
        "join",
        "leave",
        "grant",
        "expire",
        "schemas",
        "veto",
        "checkpoint",
        "put",
    ];
    for operation in operations {
        let malformed = dynamic("hub", "sync", operation).with("x", 1);
        let well_formed = dynamic("hub", "sync", operation)
            .with("n", 101)
            .with("agents", Value::from(vec![Value::from("eve")]))
            .with("sid", "other")
            .with("key", "*")
            .with("keys", Value::from(vec![Value::from("k101_1")]));
        for message in [&malformed, &well_formed] {
            let outbound = Outbound::message(message);
            let refused = room.host.session_mut().send(&outbound, NOW).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::POLICY_DENIED, "{operation}");
            let text = refused.to_string();
            assert!(
                text.contains(&format!("sync:{operation} is about the session")),
                "{text}"
            );
            let by_dev = Outbound::message(message).by("dev");
            let refused = room.members[0]
                .session_mut()
                .send(&by_dev, NOW)
                .unwrap_err();
            assert_eq!(refused.code(), ErrorCode::POLICY_DENIED, "{operation}");
        }
    }
    room.settle();
    assert_eq!(*room.host.state(), before);
    let hello = plan("hub", 1);
    room.host_says(&Outbound::message(&hello));
    for node in &room.members {
        assert_eq!(node.inbox.len(), 1, "members go on to receive");
    }
    room.check_replicas();
}

/// A peer that knows only the draft may leave a schema out, or write other types than this crate does.
#[test]
fn link_frames_of_other_implementations() {
    let mut host = open_host(options("hub"), Rules::default());
    let hello = "@dev>sync:registry{v:1.0|hash:123456|pos:0|n:x|ext:log|y:1}[mid:910100000001]";
    let heard = host.hears(101, hello, NOW);
    assert!(
        heard.sends[0].starts_with("@hub>sync:registry{"),
        "{heard:?}"
    );

    let mut room = Room::pair();
    let sent = room.members[0]
        .session_mut()
        .send(&Outbound::message(&plan("dev", 1)), NOW);
    let mid = sent.unwrap();
    room.members[0].carries_out(NOW);
    let error = format!("@hub>fail:error{{code:E1004|msg:no}}[mid:910000001009,seq:3,of:{mid}]");
    let dev = &mut room.members[0];
    dev.session_mut()
        .receive(MemberId::HOST, error.as_bytes(), NOW);
    dev.carries_out(NOW);
    let refused = |event: &Event| matches!(event, Event::Refused(of, _) if *of == mid);
    assert!(dev.events.iter().any(refused), "{:?}", dev.events);
    assert_eq!(dev.session().outbox_len(), 0);
}
