//! Message ids: which member they belong to, and what happens when they are used up.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::DerefMut;
use std::time::Duration;

use accp_runtime::session::{
    Event, Input, InputError, MemberId, Mid, Options, Outbound, Rules, Scope, SendError,
};
use accp_runtime::{AgentId, ErrorCode};
use accp_session::{Batch, EntryKind};
use accp_store::Store;
use accp_testkit::Shared;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::sessions::lineage::{copy, decide, restore, said};
use crate::sessions::room::Room;
use crate::sessions::sides::{
    NOW, Node, Side, counting, hello, member, open_host, options, plan, rules,
};

/// The last epoch in the ids of a host.
const LAST: u32 = 999_999;

/// Returns the agent of a member on a full host.
fn agent_of(number: u16) -> String {
    match number {
        101 => "dev".into(),
        102 => "qa".into(),
        _ => format!("a{number}"),
    }
}

/// Lets agents in until the members up to this number are in the session.
fn fill(host: &mut Side, last: u16) {
    let all = (103..=899).chain(9000..=9999).filter(|n| *n <= last);
    for number in all {
        let joined = host.join_as(&[&agent_of(number)], false, NOW).unwrap();
        assert_eq!(
            joined,
            accp_runtime::session::Answer::Joined(member(number))
        );
    }
    host.carries_out(NOW);
}

/// Generates the number of a member: with three digits, with four digits, or at an edge of the range.
fn numbers() -> impl Strategy<Value = u16> {
    let edges = prop::sample::select(vec![101_u16, 102, 899, 9000, 9001, 9999]);
    prop_oneof![101..=899_u16, 9000..=9999_u16, edges]
}

/// Returns an id as the generator of this member makes it.
fn id_of(number: u16, epoch: u32, counter: u16) -> String {
    let digits = if number < 1000 { 6 } else { 5 };
    let epoch = epoch % 10_u32.pow(digits);
    let digits = digits as usize;
    format!("{number}{epoch:0digits$}{counter:03}")
}

/// Makes the side use ids of the epochs after this one, as after many restarts.
fn skip_to(side: &mut Side, epoch: u32) {
    let batch = Batch::new(side.session().is_host()).with(|batch| batch.epoch = Some(epoch));
    let id = side.driver.side().clone();
    side.store.commit(&[(&id, &batch)]).unwrap();
    side.restart(NOW).unwrap();
}

fn send(side: &mut Side, n: i64) -> Result<Mid, SendError> {
    let agent = side.options.agent.clone();
    let agent = if agent.as_str() == "hub" {
        "hub"
    } else {
        "dev"
    };
    side.session_mut()
        .send(&Outbound::message(&plan(agent, n)), NOW)
}

/// A frame under an id of another member is refused, and the refusal names that member. So the ids
/// of two members are never the same.
#[test]
fn an_id_belongs_to_one_member() {
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    fill(&mut host, MemberId::LAST.number());
    let host = RefCell::new((host, BTreeSet::new(), std::collections::BTreeMap::new()));
    let case = (
        numbers(),
        numbers(),
        any::<bool>(),
        1..1_000_000_u32,
        1..1000_u16,
    );
    let mut runner = TestRunner::new(Config::with_cases(256));
    runner
        .run(&case, |(from, other, own, epoch, counter)| {
            let (host, used, last) = &mut *host.borrow_mut();
            let owner = if own { from } else { other };
            let mid = id_of(owner, epoch, counter);
            prop_assert_eq!(mid.len(), 12);
            let bits = Mid::parse(&mid).as_bits().and_then(Mid::from_bits);
            prop_assert_eq!(bits, Some(Mid::parse(&mid)));
            prop_assert_eq!(Mid::from_bits(1 << 48), None);
            if owner == from && !used.insert(mid.clone()) {
                return Ok(());
            }
            let seq = last.get(&from).map_or(1, |last| last + 1);
            let text = format!("@{}>req:plan{{}}[mid:{mid},seq:{seq}]", agent_of(from));
            // A member sends a hello before its first frame.
            let greeting = hello(&agent_of(from), host.session().position());
            host.hears(from, &greeting, NOW);
            let heard = host.hears(from, &text, NOW);
            if owner == from {
                last.insert(from, seq);
                prop_assert_eq!(heard.entries[0].mid.to_string(), mid);
            } else {
                prop_assert!(heard.entries.is_empty());
                let holder = format!("|holder:{owner}");
                prop_assert!(heard.sends[0].contains("code:E3002"), "{:?}", heard.sends);
                prop_assert!(heard.sends[0].contains(&holder), "{:?}", heard.sends);
            }
            Ok(())
        })
        .unwrap();
}

/// Members whose numbers have four digits take part as all others do: with frames, with values, and when all sides
/// restart.
#[test]
fn a_member_of_four_digits() {
    let mut room = Room::open(counting("hub"), Rules::default());
    fill_room(&mut room);
    for (at, agent) in ["dev", "qa"].into_iter().enumerate() {
        let id = room.deref_mut().enter(Shared::default(), counting(agent));
        assert_eq!(id.unwrap(), member(9000 + at as u16));
    }
    room.settle();
    let value = "v".repeat(3_000);
    let message = plan("dev", 1).with("goal", value.as_str());
    let mid = room.say(0, &Outbound::message(&message));
    assert_eq!(mid.to_string(), "900000001002");
    let text = room.host.frames().pop().unwrap().text;
    assert!(text.contains("$cold.k9000_1"), "{text}");
    assert_eq!(room.host.cold_text("k9000_1").unwrap(), value);
    let link = room.passed(9000, 100).find(|text| text.contains(">ack:"));
    let link = crate::sessions::sides::mid_of(link.unwrap())
        .unwrap()
        .to_string();
    assert!(link.starts_with("99000") && link.len() == 12, "{link}");
    for id in [MemberId::HOST, member(9000), member(9001)] {
        room.restart(id).unwrap();
        room.settle();
    }
    let mid = room.say(0, &Outbound::message(&plan("dev", 2)));
    assert_eq!(mid.to_string(), "900000002001");
    room.check_replicas();
}

/// A member whose store is an old copy gives other ids to the new frames of its run. The frames in the copy keep
/// their ids, so the host takes none of these frames twice.
#[test]
fn frames_of_an_old_copy_keep_their_ids() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    room.on_the_way(|passed| {
        let is_heard = passed.from != MemberId::HOST;
        Vec::from_iter(is_heard.then(|| passed.text.clone()))
    });
    let first = room.say(0, &Outbound::message(&plan("dev", 1)));
    let copy = room.members[0].store.lock().unwrap().clone();
    room.heal();
    room.restart(member(101)).unwrap();
    room.settle();
    let second = room.say(0, &Outbound::message(&plan("dev", 2)));
    *room.members[0].store.lock().unwrap() = copy;
    room.restart(member(101)).unwrap();
    let now = room.now;
    let dev = room.members[0].session_mut();
    let third = dev.send(&Outbound::message(&plan("dev", 3)), now).unwrap();
    assert_eq!(third, second, "it knows of no later run");
    room.pass_often(4, Duration::from_secs(40));
    let frames = room.host.frames();
    let mids: Vec<_> = frames.iter().map(|entry| entry.mid.clone()).collect();
    assert_eq!(mids[..2], [first, second]);
    assert_eq!(mids.len(), 3);
    assert!(frames[2].text.contains("{n:3}"));
    assert_eq!(room.members[0].session().outbox_len(), 0);
    room.check_replicas();
}

fn fill_room(room: &mut Room) {
    for number in 101..=899 {
        let name = format!("a{number}");
        room.host.join_as(&[&name], false, NOW).unwrap();
        room.host.leave(member(number), NOW);
    }
}

/// When a host has used up its ids, it returns an error, and makes no id twice. The members go on.
#[test]
fn a_host_uses_up_its_ids() {
    let mut hub = counting("hub");
    hub.backlog = 10_000;
    let mut host = open_host(hub, rules(Scope::Sender));
    skip_to(&mut host, LAST - 2);
    host.greets(NOW);
    let mut sent = Vec::new();
    let error = loop {
        match send(&mut host, 0) {
            Ok(mid) => sent.push(mid.to_string()),
            Err(error) => break error,
        }
        assert!(sent.len() < 1_000);
    };
    assert!(sent.len() > 500, "{}", sent.len());
    // When the ids of the last epoch but one are used up, the next frame takes the first id of the
    // last epoch.
    let last = sent.pop().unwrap();
    assert_eq!(last, "100999999001");
    assert!(sent.iter().all(|mid| mid.starts_with("100999998")));
    assert_eq!(error, SendError::IdsUsedUp);
    assert_eq!(error.code(), ErrorCode::BUDGET_EXCEEDED);
    insta::assert_snapshot!(error, @"all message ids of this side are used up; begin a new session");
    for _ in 0..3 {
        refuses_everything(&mut host);
        let restarted = host.options.clone();
        host.restart_as(restarted);
    }
    let mids: Vec<_> = host.log().into_iter().map(|entry| entry.mid).collect();
    let unique: BTreeSet<_> = mids.iter().collect();
    assert_eq!(unique.len(), mids.len());
}

/// Checks that the host refuses every call that needs an id of its own, and that it still accepts
/// and handles a frame of a member.
fn refuses_everything(host: &mut Side) {
    let used_up = Err(InputError::Send(SendError::IdsUsedUp));
    let agents = [AgentId::new("late").unwrap()];
    let plan = plan("hub", 1);
    let inputs = [
        Input::Join {
            agents: &agents,
            supervisor: false,
        },
        Input::Leave(member(101)),
        Input::Grant {
            session: "other",
            key: "*",
        },
        Input::Expire(&["k101_1"]),
        Input::Phase,
        Input::Send(&Outbound::message(&plan)),
    ];
    let state = host.state().clone();
    for input in inputs {
        assert_eq!(host.session_mut().handle(input, NOW), used_up);
    }
    assert_eq!(*host.state(), state);
    let seq = 1 + host
        .frames()
        .iter()
        .filter(|entry| entry.sender == member(101))
        .count();
    let text = crate::sessions::sides::frame("@dev>req:plan{}", seq as u32, seq as u64, "");
    let position = host.takes(101, &text).inbound[0].position();
    let reply = [Outbound::message(&plan)];
    let refused = host.session_mut().handled(position, &reply, NOW);
    assert_eq!(refused, Err(SendError::IdsUsedUp));
    assert_eq!(host.session_mut().handled(position, &[], NOW), Ok(()));
    host.carries_out(NOW);
}

/// A host without ids cannot write a checkpoint. It says so, and stays within its budget.
#[test]
fn a_checkpoint_without_an_id() {
    let mut hub = counting("hub");
    hub.backlog = 10_000;
    let mut host = open_host(hub, rules(Scope::Sender));
    skip_to(&mut host, LAST);
    host.greets(NOW);
    let mut told = 0;
    for n in 1..=100 {
        let plan = format!("@dev>req:plan{{goal:a_goal_of_some_length_{n}}}");
        let text = crate::sessions::sides::frame(&plan, n, n.into(), "");
        let heard = host.takes(101, &text);
        let is_told =
            |event: &&Event| matches!(event, Event::NotWritten(why) if why.contains("used up"));
        told += heard.events.iter().filter(is_told).count();
        let hot_state = host.state().hot().tokens();
        assert!(hot_state <= host.options.context.hot, "{hot_state}");
    }
    assert!(told > 0);
    let log = host.log();
    assert!(
        !log.iter()
            .any(|entry| entry.text.contains(">sync:checkpoint{"))
    );
}

/// A member uses up its ids, with a member number of three digits and of four. All frames that it has sent still
/// arrive.
#[test]
fn a_member_uses_up_its_ids() {
    for (is_long, epochs) in [(false, 1_000_000), (true, 100_000)] {
        let mut room = Room::with(options("hub"), rules(Scope::Sender), &[]);
        if is_long {
            fill_room(&mut room);
        }
        let dev = Options {
            outbox: 2_000,
            ..options("dev")
        };
        room.deref_mut().enter(Shared::default(), dev).unwrap();
        room.settle();
        skip_to(&mut room.members[0], epochs - 3);
        room.settle();
        let mut sent = Vec::new();
        let error = loop {
            match send(&mut room.members[0], 0) {
                Ok(mid) => sent.push(mid),
                Err(error) => break error,
            }
        };
        assert_eq!(error, SendError::IdsUsedUp);
        assert!(sent.len() > 500);
        room.settle();
        let arrived: Vec<_> = room
            .host
            .frames()
            .into_iter()
            .map(|entry| entry.mid)
            .collect();
        assert_eq!(arrived, sent);
        let id = room.members[0].id;
        for _ in 0..4 {
            room.restart(id).unwrap();
            room.settle();
            assert_eq!(send(&mut room.members[0], 0), Err(SendError::IdsUsedUp));
        }
        room.check_replicas();
    }
}

/// Each new id of a frame is refused as taken, until no id is left. The sender of the frame gets an error with the
/// reason.
#[test]
fn no_other_id_for_a_frame() {
    let mut room = Room::new(&["dev"]);
    skip_to(&mut room.members[0], LAST - 2);
    room.settle();
    room.on_the_way(|_| Vec::new());
    let mut mid = send(&mut room.members[0], 1).unwrap();
    let mut renamed = BTreeSet::from([mid.clone()]);
    let why = loop {
        let refusal = format!(
            "@hub>fail:error{{code:E3002|msg:taken|retry:true|holder:102|schema:ER}}[mid:910000000099,seq:3,of:{mid}]"
        );
        let dev = &mut room.members[0];
        dev.session_mut()
            .receive(MemberId::HOST, refusal.as_bytes(), NOW);
        dev.carries_out(NOW);
        let told = dev.events.drain(..).find_map(|event| match event {
            Event::Retried { new, .. } => Some(Ok(new)),
            Event::Refused(_, error) => Some(Err(error.message)),
            _ => None,
        });
        match told.unwrap() {
            Ok(new) => mid = new,
            Err(why) => break why,
        }
        assert!(renamed.insert(mid.clone()), "{mid} is made twice");
    };
    assert!(renamed.len() > 1_500, "{}", renamed.len());
    assert!(why.contains("begin a new session"), "{why}");
    assert_eq!(room.members[0].session().outbox_len(), 0);
}

/// A member uses ids with a member number that is not given yet. The member that later gets this
/// number has at least half of its ids left.
#[test]
fn ids_of_a_member_to_come() {
    for (used, first) in [
        (7_u32, "102000008001"),
        (499_999, "102500000001"),
        (500_000, "102000001001"),
        (LAST, "102000001001"),
    ] {
        let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
        room.on_the_way(move |passed| {
            let own = crate::sessions::sides::mid_of(&passed.text)
                .unwrap()
                .to_string();
            let is_plan = passed.text.contains(">req:plan{") && passed.from == member(101);
            let to = if is_plan {
                id_of(102, used, 1)
            } else {
                own.clone()
            };
            vec![passed.text.replace(&own, &to)]
        });
        room.say(0, &Outbound::message(&plan("dev", 1)));
        room.heal();
        let entries = room.host.log();
        let taken = entries
            .iter()
            .filter(|entry| entry.mid.to_string() == id_of(102, used, 1));
        assert_eq!(taken.count(), 1);
        room.enter(options("qa"));
        let sent = room.members[1]
            .session_mut()
            .send(&Outbound::message(&plan("qa", 1)), NOW);
        room.settle();
        let log = room.host.frames();
        let entry = log
            .iter()
            .find(|entry| entry.sender == member(102))
            .unwrap();
        assert_eq!(sent.unwrap().to_string(), first);
        assert_eq!(entry.mid.to_string(), first);
        assert_eq!(entry.kind, EntryKind::Frame);
    }
}

/// A host names an epoch that is far too high to a member. This does not use up the ids of the
/// member.
#[test]
fn a_host_that_claims_the_last_epoch() {
    for (told, next) in [
        ("5", 6),
        ("499000", 499_001),
        ("600000", 2),
        ("999999", 2),
        ("1000000", 2),
        ("4294967295", 2),
        ("4294967296", 2),
        ("9223372036854775807", 2),
    ] {
        let mut room = Room::new(&["dev"]);
        let pair = format!("{{epoch:{told}|");
        room.on_the_way(move |passed| {
            let is_hello = passed.from == MemberId::HOST && passed.text.contains(">sync:registry{");
            let changed = passed.text.replacen('{', &pair, 1);
            vec![if is_hello {
                changed
            } else {
                passed.text.clone()
            }]
        });
        room.restart(member(101)).unwrap();
        room.settle();
        let mid = room.say(0, &Outbound::message(&plan("dev", 1)));
        assert_eq!(mid.to_string(), id_of(101, next, 1), "{told}");
        room.heal();
        room.check_replicas();
    }
}

/// The ids that a host takes back may be of later runs than its old copy knows.
#[test]
fn a_host_takes_back_ids_of_later_runs() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    for n in 0..4 {
        room.say(0, &Outbound::message(&plan("dev", n)));
    }
    let backup = copy(&room);
    for n in 4..7 {
        let now = room.now;
        room.host.restart(now).unwrap();
        room.settle();
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    let before = said(&room.host.frames());
    restore(&mut room, backup);
    room.pass(Duration::from_secs(40));
    decide(&mut room, Input::Recover).unwrap();
    room.pass(Duration::from_secs(40));
    assert_eq!(said(&room.host.frames()), before);
    for n in 7..9 {
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    assert_eq!(said(&room.host.frames()).len(), before.len() + 2);
    room.check_replicas();
}
