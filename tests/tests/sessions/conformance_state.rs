//! Conformance of references for long values, OPT-03 (draft section 3.3, item 4), and of shared
//! state by deltas, DEL (5.4). `docs/conformance.md` lists the tests of each requirement.

use accp_runtime::context::Checkpoint;
use accp_runtime::profiles::{ChatReq, ScheduleReq};
use accp_runtime::session::{Event, Options, Outbound, Rules, SharedState, StateUpdate};
use accp_runtime::{AgentId, DynamicFrame, ErrorCode, Map, Value};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{
    self, NOW, Node, Side, checkpoint, counting, frame, open_host, options,
};

fn host(options: Options) -> Side {
    open_host(options, Rules::default())
}

fn plan<'a>(agent: &'a str, goal: impl Into<Value<'a>>) -> DynamicFrame<'a> {
    let message = DynamicFrame::new(agent, "req", "plan").unwrap();
    message.with("goal", goal)
}

// ---- OPT-03 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A scalar of more than 50 characters is sent as a reference, and the receiver of the
    /// reference has the value.
    #[test]
    fn opt_03_accepts_long_scalars_and_sends_references(
        text in "\\PC{44,56}", inside: bool, from_host: bool, typed: bool,
    ) {
        let mut room = Room::new(&["dev"]);
        let agent = if from_host { "hub" } else { "dev" };
        let value = if inside { Value::from(vec![Value::from(text.as_str())]) } else { text.as_str().into() };
        let task = ScheduleReq {
            assignee: AgentId::new("dev").unwrap(), task: text.as_str().into(), priority: "high".into(),
            deadline: None, deps: vec![], status: None, progress: None,
        };
        let message = plan(agent, value.clone());
        let outbound = if typed { Outbound::frame(&task) } else { Outbound::message(&message) };
        if from_host {
            room.host_says(&outbound);
        } else {
            room.say(0, &outbound);
        }
        let entry = room.host.frames().pop().unwrap();
        let read = DynamicFrame::decode(&entry.text, &sides::STANDARD).unwrap();
        let field = read.payload.get(if typed { "task" } else { "goal" }).unwrap();
        let scalar = match field {
            Value::Array(items) => &items[0],
            scalar => scalar,
        };
        if text.chars().count() > 50 {
            prop_assert_eq!(room.host.follow(scalar), Value::from(text.as_str()));
        } else {
            prop_assert_eq!(scalar, &Value::from(text.as_str()));
        }
        room.check_replicas();
    }
}

#[test]
fn opt_03_accepts_what_the_registry_says_is_inline_unless_strict() {
    let long = "so ".repeat(30);
    let chat = ChatReq {
        role: "user".into(),
        content: long.as_str().into(),
        turn: None,
        lang: "en".into(),
        reply_to: None,
    };
    let mut room = Room::counting(&["dev"]);
    room.say(0, &Outbound::frame(&chat));
    room.say(0, &Outbound::frame(&chat).strict());
    let frames = room.host.frames();
    let content = |at: usize| {
        let message = DynamicFrame::decode(&frames[at].text, &sides::STANDARD).unwrap();
        message.payload.get("content").unwrap().clone().into_owned()
    };
    assert_eq!(content(0), Value::from(long.as_str()));
    assert_eq!(room.host.follow(&content(1)), Value::from(long.as_str()));
}

/// A value has to be announced before a frame refers to it, by its owner and under the owner's next
/// key number.
#[test]
fn opt_03_refuses_references_to_values_that_were_not_put() {
    let mut host = host(options("hub"));
    let digest = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";
    let put = |key: &str| format!("@dev>sync:put{{keys:[[{key},{digest},60]]}}");
    let goal = "@dev>req:plan{goal:$cold.k101_1}";
    assert_eq!(
        host.refuses(101, &frame(goal, 1, 1, "")).code,
        ErrorCode::REF_NOT_FOUND
    );
    for key in ["k102_1", "k100_1", "k101_0", "k101_01", "p1", "notes"] {
        let refused = host.refuses(101, &frame(&put(key), 2, 1, ""));
        assert_eq!(refused.code, ErrorCode::POLICY_DENIED, "{key}");
        host = open_host(options("hub"), Rules::default());
    }
    for payload in [
        "",
        "keys:[]x",
        "keys:[k101_1]",
        "keys:[[k101_1,abc,60]]",
        "keys:[[k101_1]]",
    ] {
        let refused = host.refuses(
            101,
            &format!("@dev>sync:put{{{payload}}}[mid:10100000100a,seq:1]"),
        );
        let codes = [ErrorCode::INVALID_TYPE, ErrorCode::PARSE_ERROR];
        assert!(codes.contains(&refused.code), "{payload}: {refused:?}");
        host = open_host(options("hub"), Rules::default());
    }
    let announced = host.hears(101, &frame(&put("k101_1"), 3, 1, ""), NOW);
    // The host asks for the bytes at once, because their owner may not come back.
    assert!(
        announced
            .sends
            .iter()
            .any(|send| send.contains(">qry:bytes{"))
    );
    host.takes(101, &frame(goal, 4, 2, ""));
}

// ---- DEL ---------------------------------------------------------------------------

fn any_state() -> impl Strategy<Value = Map<'static>> {
    let value = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[a-z ]{0,8}".prop_map(Value::from),
        Just(Value::Null),
    ];
    prop::collection::vec(("[a-e]", value), 0..5).prop_map(|entries| entries.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Each side sends only the changes, and afterwards all sides have the same state.
    #[test]
    fn del_01_accepts_deltas_and_sends_what_changes(
        targets in prop::collection::vec((0..3_usize, any_state()), 1..8), counts: bool,
    ) {
        let hub = if counts { counting("hub") } else { options("hub") };
        let mut room = Room::with(hub, Rules::default(), &["dev", "qa"]);
        for (who, target) in &targets {
            let shared = room.host.state().shared().clone();
            let agent = ["hub", "dev", "qa"][*who];
            let update = shared.delta_to(target);
            let message = update.to_message(agent).unwrap();
            match who {
                0 => room.host_says(&Outbound::message(&message)),
                who => room.say(who - 1, &Outbound::message(&message)),
            };
            let text = room.host.frames().pop().unwrap().text;
            let StateUpdate::Delta { changes, version } = StateUpdate::decode(&text).unwrap() else {
                return Err(TestCaseError::fail("no delta"));
            };
            prop_assert_eq!(version, shared.version() + 1);
            for (key, value) in changes.iter() {
                prop_assert_ne!(shared.get(key).unwrap_or(&Value::Null), value);
            }
            let present: Map<'_> = target.clone().into_iter().filter(|(_, v)| *v != Value::Null).collect();
            prop_assert_eq!(room.host.state().shared().entries(), &present);
            room.check_replicas();
        }
        // A late member has the state without any of the deltas.
        room.enter(options("late"));
        prop_assert_eq!(room.members[2].state().shared(), room.host.state().shared());
        room.check_replicas();
    }
}

#[test]
fn del_01_refuses_an_update_that_is_none() {
    for (payload, code) in [
        ("delta:{a:1}", ErrorCode::INVALID_TYPE),
        ("v:1", ErrorCode::INVALID_TYPE),
        ("v:-1|delta:{a:1}", ErrorCode::INVALID_TYPE),
        ("v:one|delta:{a:1}", ErrorCode::INVALID_TYPE),
        ("v:1|delta:[a]", ErrorCode::INVALID_TYPE),
        ("v:1|delta:{a:1}|state:{a:1}", ErrorCode::PARSE_ERROR),
        ("v:1|delta:{a:1,a:2}", ErrorCode::PARSE_ERROR),
    ] {
        let mut host = host(options("hub"));
        let text = format!("@dev>sync:state{{{payload}}}");
        let refused = host.refuses(101, &frame(&text, 1, 1, ""));
        assert_eq!(refused.code, code, "{payload}");
        host.takes(101, &frame("@dev>sync:state{v:1|delta:{a:1}}", 2, 1, ""));
    }
}

#[test]
fn del_02_accepts_deltas_in_their_order_and_rebuilds_the_state() {
    let mut host = host(options("hub"));
    for (n, (payload, state)) in (1..).zip([
        (
            "v:1|delta:{task_3:wip,budget:42,owner:dev}",
            "{budget:42,owner:dev,task_3:wip}",
        ),
        (
            "v:2|delta:{task_3:done,budget:~}",
            "{owner:dev,task_3:done}",
        ),
        // The draft writes `null`, which is a string by its own grammar.
        ("v:3|delta:{owner:null}", "{task_3:done}"),
        ("v:9|state:{a:1}", "{a:1}"),
        ("v:10|delta:{}", "{a:1}"),
    ]) {
        let text = format!("@dev>sync:state{{{payload}}}");
        host.takes(101, &frame(&text, n, n.into(), ""));
        assert_eq!(host.state().shared().entries().to_string(), state);
    }
    assert_eq!(host.session().resolve("ctx.a"), Some(1.into()));
}

/// A checkpoint names the version that it covers, on the wire and on each side. From the state of
/// that version, the later deltas lead to the present state.
#[test]
fn del_02_accepts_the_last_checkpoint_as_the_base_of_deltas() {
    let mut host = host(counting("hub"));
    let mut states = vec![host.state().shared().clone()];
    let (mut n, mut covered) = (0, Vec::new());
    for version in 1..=6_u32 {
        n += 1;
        let delta = format!(
            "@dev>sync:state{{v:{version}|delta:{{a{}:{version}}}}}",
            version % 2
        );
        host.takes(101, &frame(&delta, n, n.into(), ""));
        states.push(host.state().shared().clone());
        if version % 2 == 0 {
            n += 1;
            host.takes(101, &frame("@dev>done:plan{}", n, n.into(), ""));
            covered.push(u64::from(version));
        }
    }
    let mut log = host.log();
    let named: Vec<_> = log.iter().filter_map(checkpoint).collect();
    let named: Vec<_> = named.iter().map(Checkpoint::version).collect();
    assert_eq!(named, covered);
    assert_eq!(states.pop().as_ref(), Some(host.state().shared()));
    // A reader takes the state of the second checkpoint, and applies the entries after it.
    let mut base = states[4].clone();
    let at = log
        .iter()
        .rposition(|entry| checkpoint(entry).is_some_and(|it| it.version() == 4));
    for entry in log.split_off(at.unwrap()) {
        if entry.text.contains(">sync:state{") {
            let update = StateUpdate::decode(&entry.text).unwrap();
            base.apply(update, SharedState::MAX_BYTES).unwrap();
        }
    }
    assert_eq!(base, *host.state().shared());
}

/// The refusal names the held version, and the state does not change. The sender repeats its change
/// on that version.
#[test]
fn del_02_refuses_a_delta_for_another_version() {
    let mut host = host(options("hub"));
    host.takes(101, &frame("@dev>sync:state{v:1|delta:{a:1}}", 1, 1, ""));
    for (n, payload) in (2..).zip([
        "v:0|delta:{a:2}",
        "v:1|delta:{a:2}",
        "v:3|delta:{a:2}",
        "v:9223372036854775807|delta:{}",
        "v:1|state:{}",
    ]) {
        let text = format!("@dev>sync:state{{{payload}}}");
        let refused = host.refuses(101, &frame(&text, n, 2, ""));
        assert_eq!(
            (refused.code, refused.version),
            (ErrorCode::REF_NOT_FOUND, Some(1)),
            "{payload}"
        );
    }
    let mut room = Room::new(&["dev", "qa"]);
    let update = |agent: &str, version, n: i64| {
        let changes = [("a", Value::from(n))].into_iter().collect();
        let message = StateUpdate::Delta { version, changes }.to_message(agent.to_owned());
        message.unwrap().into_owned()
    };
    room.say(0, &Outbound::message(&update("dev", 1, 1)));
    room.say(1, &Outbound::message(&update("qa", 1, 2)));
    let held = room.members[1].events.iter().find_map(|event| match event {
        Event::Refused(_, error) => error.version,
        _ => None,
    });
    assert_eq!(held, Some(1));
    room.say(1, &Outbound::message(&update("qa", held.unwrap() + 1, 2)));
    assert_eq!(room.host.state().shared().get("a"), Some(&2.into()));
    room.check_replicas();
}
