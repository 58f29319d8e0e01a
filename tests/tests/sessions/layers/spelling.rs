//! What a session writes: FRAME-06 to FRAME-10 and the rules for tokens, OPT. Each rule is tested with a message
//! that goes from an application over the link into the log and to a handler.

use std::sync::Arc;

use accp_runtime::profiles::{ScheduleReq, ToolReq, TransactionReq};
use accp_runtime::session::{Input, Outbound, Rules, StateUpdate};
use accp_runtime::{AgentId, Decimal, DynamicFrame, ErrorCode, Map, Registry, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{LONG, kill_all};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, STANDARD, Side, dynamic, frame, open_host, options};
use crate::sessions::whole::Pair;

fn host() -> Side {
    open_host(options("hub"), Rules::default())
}

/// Sends a message with these fields. Returns its payload, which is the same on the link, in the log and at the
/// other member.
fn said(fields: &[(&str, Value<'static>)]) -> String {
    let mut room = Room::new(&["dev", "qa"]);
    let mut message = DynamicFrame::new("dev", "req", "plan").unwrap();
    for (name, value) in fields {
        message = message.with(*name, value.clone());
    }
    room.say(0, &Outbound::message(&message));
    room.check_replicas();
    let payload = |text: &str| text.rsplit_once("}[").unwrap().0.to_owned();
    let sent = room
        .passed(101, 100)
        .find(|text| text.contains(">req:plan{"));
    let sent = payload(sent.unwrap());
    assert_eq!(payload(&room.host.frames()[0].text), sent);
    assert_eq!(payload(room.members[1].inbox[0].text()), sent);
    sent.strip_prefix("@dev>req:plan{").unwrap().to_owned()
}

/// Returns the payload as a handler of the session reads it.
fn heard(params: &str) -> Map<'static> {
    let heard = host().takes(101, &frame(&format!("@dev>req:plan{{{params}}}"), 1, 1, ""));
    let message = heard.inbound[0].message(&STANDARD);
    message.unwrap().payload.into_owned()
}

#[test]
fn frame_06_integers_are_spelt_one_way_in_a_session() {
    let written = said(&[
        ("a", 0.into()),
        ("b", (-7).into()),
        ("c", i64::MIN.into()),
        ("d", Value::from_json(&json!(u64::MAX)).into_owned()),
    ]);
    assert_eq!(
        written,
        "a:0|b:-7|c:-9223372036854775808|d:#18446744073709551615"
    );
    // Other spellings of integers are read as texts.
    let heard = heard("a:7|b:007|c:-0");
    let values = ["a", "b", "c"].map(|name| heard.get(name).unwrap().clone());
    assert_eq!(values, [7.into(), "007".into(), "-0".into()]);
}

#[test]
fn frame_07_decimals_are_spelt_one_way_in_a_session() {
    let decimal = |text| Value::from(Decimal::parse(text).unwrap());
    let written = said(&[
        ("a", decimal("12.5")),
        ("b", decimal("-0.000001")),
        ("c", Decimal::from(100).into()),
    ]);
    assert_eq!(written, "a:12.5|b:-0.000001|c:100.0");
    // A host refuses a seventh decimal place in the value of a decimal field.
    let pay = |amount: &str| format!("@dev>req:transaction{{txn:t1|amt:{amount}|schema:TX}}");
    let mut host = host();
    for (n, amount) in (1..).zip(["1.1234567", "#1.1234567"]) {
        let refused = host.refuses(101, &frame(&pay(amount), n, 1, ""));
        assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{amount}");
    }
    host.takes(101, &frame(&pay("1.123456"), 9, 1, ""));
}

/// The keys of maps are in ascending order in a frame, in a value that is sent separately, and in the announced
/// changes of the shared state.
#[test]
fn frame_08_maps_are_sorted_wherever_a_session_writes_them() {
    let map = || -> Map<'static> {
        [("z", 1.into()), ("b", 2.into()), ("a", 3.into())]
            .into_iter()
            .collect()
    };
    assert_eq!(said(&[("of", map().into())]), "of:{a:3,b:2,z:1}");

    let mut room = Room::new(&["dev"]);
    let update = StateUpdate::Delta {
        version: 1,
        changes: map(),
    };
    room.say(0, &Outbound::message(&update.to_message("dev").unwrap()));
    let log = room.host.frames().pop().unwrap().text;
    assert!(
        log.contains("{delta:{a:3,b:2,z:1}|") || log.contains("|delta:{a:3,b:2,z:1}"),
        "{log}"
    );
    assert_eq!(
        room.members[0].state().shared().entries().to_string(),
        "{a:3,b:2,z:1}"
    );

    // A session moves a map that is six levels deep out of its frame.
    let mut deep = Value::from(map());
    for _ in 0..6 {
        deep = vec![deep].into();
    }
    let message = dynamic("dev", "req", "plan").with("deep", deep);
    room.say(0, &Outbound::message(&message));
    let kept = room.host.cold_text("k101_1").unwrap();
    assert!(kept.contains("{a:3,b:2,z:1}"), "{kept}");
    // A map that has one key twice is refused.
    let refused = host().refuses(101, &frame("@dev>req:plan{of:{a:1,a:2}}", 1, 1, ""));
    assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
}

#[test]
fn frame_10_no_exponent_leaves_a_session() {
    let written = said(&[
        ("a", Value::try_from(1e20).unwrap()),
        ("b", Value::try_from(1e-7).unwrap()),
        ("c", Value::try_from(-0.0).unwrap()),
    ]);
    assert_eq!(written, "a:#100000000000000000000|b:#0.0000001|c:#-0");
    assert!(Value::try_from(f64::NAN).is_err());
    // A number that a peer writes with an exponent is a text, and not an amount.
    assert_eq!(heard("a:1e5").get("a"), Some(&"1e5".into()));
    let pay = frame("@dev>req:transaction{txn:t1|amt:1e3|schema:TX}", 1, 1, "");
    assert_eq!(host().refuses(101, &pay).code, ErrorCode::INVALID_TYPE);
}

/// Returns JSON whose numbers a frame can give back.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9).prop_map(Json::from),
        "\\PC{0,70}".prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// A typed handler gets a value of every type unchanged, even if the value is sent separately and the receiver
    /// is killed in between.
    #[test]
    fn frame_09_every_value_comes_back_after_a_kill(values in prop::collection::vec(any_json(), 1..4), kills: bool) {
        let mut pair = Pair::new();
        let mut sent = Vec::new();
        for value in &values {
            let arguments: Map<'_> = [("of", Value::from_data(value))].into_iter().collect();
            let call = ToolReq { tool_name: "t".into(), arguments: Some(arguments.clone()) };
            pair.host.send(&Outbound::frame(&call), pair.now).unwrap();
            sent.push(Value::from(arguments).to_json());
        }
        pair.pass(3);
        if kills {
            pair.restart();
        }
        let (got, faults) = pair.member_serves(30, |inbound| {
            let call = inbound.decode::<ToolReq<'_>>()?.frame;
            Ok(Value::from(call.arguments.unwrap()).to_json())
        });
        prop_assert_eq!(faults, [""; 0]);
        prop_assert_eq!(got, sent);
    }
}

fn task() -> ScheduleReq<'static> {
    ScheduleReq::new(AgentId::new("qa").unwrap(), "T1")
}

/// Frames have the short names of fields, whatever names the caller has used. A default is not sent.
#[test]
fn opt_02_short_names_leave_a_session() {
    let mut room = Room::new(&["dev", "qa"]);
    let message = dynamic("dev", "req", "schedule")
        .under("TA")
        .with("assignee", "qa")
        .with("task", "T1")
        .with("priority", "high");
    let typed = ScheduleReq {
        priority: "high".into(),
        ..task()
    };
    room.say(0, &Outbound::message(&message));
    room.say(0, &Outbound::frame(&typed));
    room.host_says(&Outbound::frame(&typed));
    for entry in room.host.frames() {
        let (_, payload) = entry.text.split_once(':').unwrap();
        let expected = "schedule{asgn:qa|task:T1|pri:high|schema:TA}[";
        assert!(payload.starts_with(expected), "{}", entry.text);
    }
}

#[test]
fn opt_04_defaults_stay_at_home_and_come_back() {
    let mut room = Room::new(&["dev", "qa"]);
    let pay = TransactionReq {
        transaction_id: "t1".into(),
        amount: Decimal::from(3),
        currency: "USD".into(),
        account: None,
        reference: None,
        status: "pending".into(),
        retryable: false,
    };
    room.say(0, &Outbound::frame(&task()));
    room.say(0, &Outbound::frame(&pay));
    kill_all(&mut room);
    room.pass(LONG);
    let inbox = &room.members[1].inbox;
    let texts: Vec<&str> = inbox
        .iter()
        .map(|it| it.text().split_once('[').unwrap().0)
        .collect();
    assert_eq!(
        texts,
        [
            "@dev>req:schedule{asgn:qa|task:T1|schema:TA}",
            "@dev>req:transaction{txn:t1|amt:3.0|schema:TX}"
        ]
    );
    assert_eq!(inbox[0].decode::<ScheduleReq<'_>>().unwrap().frame, task());
    assert_eq!(inbox[1].decode::<TransactionReq<'_>>().unwrap().frame, pay);
    // The host also reads a default that a peer writes out.
    let text = frame(
        "@dev>req:schedule{asgn:hub|task:T1|pri:medium|schema:TA}",
        1,
        1,
        "",
    );
    let heard = host().takes(101, &text);
    let task = ScheduleReq {
        assignee: AgentId::new("hub").unwrap(),
        ..task()
    };
    assert_eq!(
        heard.inbound[0].decode::<ScheduleReq<'_>>().unwrap().frame,
        task
    );
}

/// A session sends the symbol of a value and the short name of a field, even under a schema that was registered
/// while the session ran, and after all sides were killed.
#[test]
fn opt_06_symbols_leave_a_session() {
    let warehouse = include_str!("../../../registry/warehouse.json");
    let registry = Registry::from_json(warehouse).unwrap();
    let of_location = registry.schema("LC").unwrap().clone();
    let of_move = registry.schema("SV").unwrap().clone();
    let mut room = Room::new(&["dev"]);
    for schema in [of_location, of_move] {
        let now = room.now;
        room.host.is_taken(Input::Register(Box::new(schema)), now);
        room.settle();
    }
    kill_all(&mut room);
    room.pass(LONG);
    let target: Map<'_> = [("aisle", Value::from("7b"))].into_iter().collect();
    let message = dynamic("dev", "req", "move")
        .under("SV")
        .with("item", "box")
        .with("target", target)
        .with("trend", "up");
    room.say(0, &Outbound::message(&message));
    let entry = room.host.frames().pop().unwrap();
    let expected = "@dev>req:move{item:box|who:{z:7b}|trend:+|schema:SV}[";
    assert!(entry.text.starts_with(expected), "{}", entry.text);
    let registry = Arc::clone(&room.host.session().options().registry);
    let read = room.host.inbox.pop().unwrap();
    let read = read.message(&registry).unwrap();
    assert_eq!(read.payload.get("trend"), Some(&"up".into()));
    // `sideways` is neither the name nor the symbol of a value.
    let mid = "mid:101000009001,seq:2";
    let bad =
        format!("@dev>req:move{{item:box|target:{{aisle:7b}}|trend:sideways|schema:SV}}[{mid}]");
    assert_eq!(room.host.hears(101, &bad, NOW).entries.len(), 1);
    assert_eq!(room.host.frames().len(), 1);
}
