//! Accidents without an enemy: wrong clocks, values that nobody can supply, old copies of a store.

use std::time::Duration;

use accp_runtime::session::{Event, Input, MemberId, Mid, Outbound, Scope, Time};
use accp_runtime::{DynamicFrame, ErrorCode};

use crate::sessions::room::{Passed, Room};
use accp_session::{Entry, EntryKind};
use accp_store::{Retention, Store};

use crate::sessions::sides::{
    NOW, Node, counting, frame, member, numbers, open_host, options, plan, rules,
};

const SECOND: Duration = Duration::from_secs(1);
const DIGEST: &str = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";

fn long(agent: &'static str, n: i64) -> DynamicFrame<'static> {
    plan(agent, n).with("goal", format!("{n}{}", "x".repeat(60)))
}

/// Fetches that nobody can answer do not block later fetches, neither at the host nor at a member.
#[test]
fn values_that_nobody_can_supply() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    // The store of `@dev` has lost the bytes of its first values.
    room.on_the_way(|passed| {
        let is_lost = |n: &u32| passed.text.contains(&format!("|key:k101_{n}|"));
        if passed.text.contains(">sync:bytes{") && (1..=12).any(|n| is_lost(&n)) {
            vec![]
        } else {
            vec![passed.text.clone()]
        }
    });
    for n in 1..=12 {
        room.say(0, &Outbound::message(&long("dev", n)));
    }
    for n in 1..=12 {
        let key = format!("k101_{n}");
        let input = accp_session::Input::Fetch {
            key: &key,
            announced: None,
        };
        let now = room.now;
        room.members[1].is_taken(input, now);
    }
    room.settle();
    room.say(0, &Outbound::message(&long("dev", 13)));
    room.say(1, &Outbound::message(&long("qa", 14)));
    room.pass(SECOND);
    room.pass(SECOND);
    assert!(
        room.host.cold_text("k101_13").is_some(),
        "of the same member"
    );
    assert!(room.host.cold_text("k102_1").is_some(), "of another member");
    let input = accp_session::Input::Fetch {
        key: "k101_13",
        announced: None,
    };
    let now = room.now;
    room.members[1].is_taken(input, now);
    room.pass_often(4, SECOND);
    assert!(
        room.members[1].cold_text("k101_13").is_some(),
        "by a member"
    );
    // The member and the host both report the values as unavailable. The member gives up. The
    // host does not, and gets the values when their owner is back.
    room.pass_often(40, 10 * SECOND);
    let given_up = |event: &&Event| matches!(event, Event::Unavailable(_));
    assert_eq!(room.members[1].events.iter().filter(given_up).count(), 12);
    assert_eq!(room.host.events.iter().filter(given_up).count(), 12);
    room.heal();
    room.members[0].connected();
    room.settle();
    for n in 1..=12 {
        assert!(room.host.cold_text(&format!("k101_{n}")).is_some(), "{n}");
    }
}

/// A refused announcement leaves a gap in the numbers of the values, and the host accepts later announcements.
#[test]
fn a_refused_announcement() {
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    let put = |key: &str| format!("@dev>sync:put{{keys:[[{key},{DIGEST},60]]}}");
    let huge = put("k101_1").replace(",60]", ",4611686018427387904]");
    let refused = host.refuses(101, &frame(&huge, 1, 1, ""));
    assert_eq!(refused.code, ErrorCode::BUDGET_EXCEEDED);
    host.hears(101, &frame(&put("k101_2"), 2, 1, ""), NOW);
    host.restart_as(options("hub"));
    for (n, key, seq) in [(3, "k101_1", 2), (4, "k101_2", 2), (5, "k101_3", 3)] {
        let goal = frame(&format!("@dev>req:plan{{goal:$cold.{key}}}"), n, seq, "");
        if key == "k101_2" {
            host.takes(101, &goal);
        } else {
            assert_eq!(
                host.refuses(101, &goal).code,
                ErrorCode::REF_NOT_FOUND,
                "{key}"
            );
        }
    }
}

/// If a frame in parts refers to a value of a refused announcement, the host refuses all parts of the frame, and
/// the caller gets one event about the frame.
#[test]
fn a_refused_announcement_of_frames_in_parts() {
    let mut room = Room::pair();
    room.on_the_way(|_| vec![]);
    let message = |n| {
        let message = plan("dev", n).with("goal", "x".repeat(90));
        let fields = ["a", "b", "c"].into_iter();
        fields.fold(message, |message, name| message.with(name, numbers(60)))
    };
    let mut mids: Vec<_> = (1..=3)
        .map(|n| room.say(0, &Outbound::message(&message(n))))
        .collect();
    let now = room.now;
    let leave = Input::Leave(member(101));
    room.host.session_mut().handle(leave, now).unwrap();
    room.settle();
    room.heal();
    room.pass_often(10, SECOND);
    assert_eq!(room.members[0].session().outbox_len(), 0);
    let refused = room.members[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Refused(mid, _) => Some(mid.clone()),
            _ => None,
        });
    let mut refused: Vec<_> = refused.filter(|mid| mids.contains(mid)).collect();
    refused.sort();
    mids.sort();
    assert_eq!(refused, mids);
    assert!(!room.passed(101, 100).any(|text| text.contains(",pt:")));
}

/// A host that has lost entries takes a frame in parts back from a member. The first part of the frame got its
/// number long before the last part. The sender does not know that the host has the parts, and sends all of them
/// again.
#[test]
fn a_frame_in_parts_is_taken_back() {
    let mut room = Room::open(counting("hub"), rules(Scope::Shared));
    room.enter(counting("dev"));
    room.enter(counting("qa"));
    let backup = room.host.store.lock().unwrap().clone();
    let keep = |is_lost: bool, text: &str| Vec::from_iter((!is_lost).then(|| text.to_owned()));
    room.on_the_way(move |passed| keep(passed.text.contains(",pt:3/3,"), &passed.text));
    let message = ["a", "b", "c"]
        .into_iter()
        .fold(plan("dev", 1), |message, name| {
            message.with(name, numbers(60))
        });
    let mid = room.say(0, &Outbound::message(&message));
    room.say(1, &Outbound::message(&plan("qa", 2)));
    let plain = room.say(1, &Outbound::message(&plan("qa", 3)));
    room.on_the_way(move |passed| keep(passed.to == member(101), &passed.text));
    room.pass_often(10, SECOND);
    assert!(room.host.frames().iter().any(|entry| entry.mid == mid));
    assert_eq!(room.members[0].session().outbox_len(), 3);
    *room.host.store.lock().unwrap() = backup;
    room.restart(MemberId::HOST).unwrap();
    room.pass_often(3, 40 * SECOND);
    let now = room.now;
    room.host.session_mut().handle(Input::Recover, now).unwrap();
    // The parts arrive before the relay of the frame reaches their sender.
    let is_relay = |passed: &Passed| passed.to == member(101) && passed.text.contains(",by:");
    room.on_the_way(move |passed| keep(is_relay(passed), &passed.text));
    room.pass_often(4, 10 * SECOND);
    room.heal();
    room.pass_often(4, 40 * SECOND);
    let is_refused = |entry: &Entry| matches!(entry.kind, EntryKind::Refused(_));
    assert!(!room.host.log().iter().any(is_refused));
    let events = &room.members[0].events;
    assert!(events.contains(&Event::Acknowledged(mid)), "{events:?}");
    assert!(
        !events
            .iter()
            .any(|event| matches!(event, Event::Refused(..)))
    );
    room.check_replicas();
    // A frame in parts leaves a gap before its position, because its last part is not relayed.
    // Without such a gap, the host knows that the frame was not in parts.
    let last = room.host.log().iter().map(|entry| entry.sequence).max();
    let next = last.unwrap_or_default() + 1;
    let part = format!("@qa>req:plan{{}}[mid:102000009001,seq:{next},pt:2/2,of:{plain}]");
    let heard = room.host.hears(102, &part, now);
    assert!(heard.sends[0].contains("code:E1004"), "{heard:?}");
}

/// A clock that was ahead for a while costs time and has no other effect.
#[test]
fn the_clock_of_a_member_is_ahead_for_a_while() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    room.members[0].ahead = 60_000;
    let now = room.members[0].clock(room.now);
    let member = room.members[0].session_mut();
    let mid = member
        .send(&Outbound::message(&long("dev", 1)), now)
        .unwrap();
    room.settle();
    assert_eq!(room.host.frames().len(), 0);
    room.members[0].ahead = 0;
    room.pass_often(20, SECOND);
    room.say(0, &Outbound::message(&long("dev", 2)));
    assert_eq!(room.host.frames().len(), 2);
    assert_eq!(room.host.frames()[0].mid, mid);
    let refused = |event: &Event| matches!(event, Event::Refused(..));
    assert!(!room.members[0].events.iter().any(refused));
    room.check_replicas();
}

/// A clock that is set back does not delay frames that wait for a timer.
#[test]
fn a_clock_is_set_back() {
    for side in [0, 1] {
        let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
        // The first try of each frame gets lost.
        room.on_the_way(|_| vec![]);
        room.say(0, &Outbound::message(&plan("dev", 1)));
        room.host_says(&Outbound::message(&plan("hub", 2)));
        room.heal();
        let back = if side == 0 {
            &mut room.host
        } else {
            &mut room.members[0]
        };
        back.ahead = -365 * 24 * 3_600_000;
        room.pass_often(10, SECOND);
        let frames = room.members[0].frames();
        // The host accepts the frames of a member whose clock is a year behind. A host whose own clock is a year
        // behind treats frames as frames of the future, until its clock is right again.
        assert_eq!(frames.len(), if side == 0 { 1 } else { 2 }, "{side}");
        let back = if side == 0 {
            &mut room.host
        } else {
            &mut room.members[0]
        };
        back.ahead = 0;
        room.pass_often(10, 4 * SECOND);
        assert_eq!(room.members[0].frames().len(), 2, "{side}");
        room.check_replicas();
    }
}

/// A frame in parts is refused as a whole: the caller gets one event, under the id that it knows.
#[test]
fn a_frame_in_parts_is_refused_once_whole() {
    let mut room = Room::with(
        crate::sessions::sides::counting("hub"),
        rules(Scope::Sender),
        &[],
    );
    room.enter(crate::sessions::sides::counting("dev"));
    let message = plan("dev", 1)
        .with("a", numbers(60))
        .with("b", numbers(60))
        .with("see", accp_runtime::Value::Ref("cold.k101_9".into()));
    let mid = room.say(0, &Outbound::message(&message));
    let fates: Vec<_> = room.members[0].events.iter().filter_map(fate).collect();
    assert_eq!(fates, [("refused", mid)]);
    let mid = room.say(
        0,
        &Outbound::message(&plan("dev", 1).with("a", numbers(60)).with("b", numbers(60))),
    );
    let fates: Vec<_> = room.members[0].events.iter().filter_map(fate).collect();
    assert_eq!(fates[1..], [("acknowledged", mid.clone())]);
    let last = room.host.frames().pop().map(|entry| entry.mid);
    assert_eq!(last, Some(mid));
}

/// The first part of a frame gets a new id, and the other parts name the frame by the new id.
#[test]
fn the_first_part_gets_a_new_id() {
    let mut room = Room::with(
        crate::sessions::sides::counting("hub"),
        rules(Scope::Sender),
        &[],
    );
    room.enter(crate::sessions::sides::counting("dev"));
    let message = plan("dev", 1).with("a", numbers(60)).with("b", numbers(60));
    let now = room.now;
    let dev = room.members[0].session_mut();
    let old = dev.send(&Outbound::message(&message), now).unwrap();
    let clash = format!(
        "@hub>fail:error{{code:E3002|msg:taken|retry:false|holder:102|seq:7|schema:ER}}\
         [mid:910000009999,seq:4,of:{old}]"
    );
    dev.receive(MemberId::HOST, clash.as_bytes(), now);
    let before = room.members[0].stored().outbox;
    assert!(before.is_empty(), "nothing was committed yet");
    room.settle();
    let [whole] = &room.host.frames()[..] else {
        panic!("{:?}", room.members[0].events);
    };
    assert_ne!(whole.mid, old);
    let fates: Vec<_> = room.members[0].events.iter().filter_map(fate).collect();
    assert_eq!(fates, [("acknowledged", whole.mid.clone())]);
}

fn fate(event: &Event) -> Option<(&'static str, Mid)> {
    match event {
        Event::Acknowledged(mid) => Some(("acknowledged", mid.clone())),
        Event::Refused(mid, _) => Some(("refused", mid.clone())),
        _ => None,
    }
}

/// A restored host is ahead of a member, and has discarded its log up to the member's position. The
/// store keeps the hashes, so the member does not go on from a fold of another log.
#[test]
fn a_member_of_a_log_that_the_host_has_lost_and_discarded() {
    let mut hub = options("hub");
    hub.snapshot_entries = 10;
    let mut room = Room::with(hub, rules(Scope::Sender), &["dev"]);
    let say = |n| plan("hub", n);
    for n in 0..4 {
        room.host_says(&Outbound::message(&say(n)));
    }
    let backup = room.host.store.lock().unwrap().clone();
    for n in 4..8 {
        room.host_says(&Outbound::message(&say(n)));
    }
    let held = room.members[0].session().position();
    room.on_the_way(|_| vec![]);
    *room.host.store.lock().unwrap() = backup;
    let now = room.now;
    room.host.restart(now).unwrap();
    for n in 100..160 {
        let message = say(n);
        let sent = Outbound::message(&message);
        room.host.session_mut().send(&sent, now).unwrap();
        room.host.carries_out(now);
    }
    let keep = Retention {
        log_before: u64::MAX,
    };
    let id = room.host.driver.side().clone();
    room.host.store.retain(&id, keep).unwrap();
    let first = room.host.store.summary(&id).unwrap().unwrap().first;
    assert!(first > held + 1, "{held} is not discarded");

    room.heal();
    let id = room.members[0].id;
    room.restart(id).unwrap();
    room.pass(40 * SECOND);
    let lost =
        |event: &Event| matches!(event, Event::RolledBack { position, .. } if *position == held);
    assert!(room.host.events.iter().any(lost), "{:?}", room.host.events);
    assert_eq!(room.members[0].session().position(), held);
}

/// A member that was restored from an old copy of its store loses nothing that it sends.
#[test]
fn a_member_comes_back_with_an_old_store() {
    for copied in [0, 5] {
        let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
        for n in 0..copied {
            room.say(0, &Outbound::message(&plan("dev", n)));
        }
        let copy = room.members[0].store.lock().unwrap().clone();
        for n in copied..10 {
            room.say(0, &Outbound::message(&plan("dev", n)));
        }
        *room.members[0].store.lock().unwrap() = copy;
        let id = room.members[0].id;
        room.restart(id).unwrap();
        for n in 10..20 {
            room.say(0, &Outbound::message(&plan("dev", n)));
        }
        room.pass_often(10, 40 * SECOND);
        let frames = room.host.frames();
        for n in 0..20 {
            let said = |entry: &&accp_session::Entry| entry.text.contains(&format!("{{n:{n}}}"));
            assert_eq!(
                frames.iter().filter(said).count(),
                1,
                "copied {copied}: frame {n}"
            );
        }
        room.check_replicas();
    }
}

/// A member that was away while the host discarded the log starts again from a fold, and is told
/// what it has missed.
#[test]
fn the_log_that_a_member_lacks_is_gone() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &[]);
    for agent in ["dev", "qa"] {
        let mut options = options(agent);
        options.backlog = 10_000;
        room.enter(options);
    }
    room.say(0, &Outbound::message(&plan("dev", 1)));
    let held = room.members[1].session().position();
    room.on_the_way(|passed| match passed.to.number() {
        102 => vec![],
        _ => vec![passed.text.clone()],
    });
    for n in 0..1_200 {
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    let now = room.now;
    room.host.handle_all(now);
    room.settle();
    let log_before = room.host.session().position() - 10;
    let retention = accp_store::Retention { log_before };
    let id = room.host.driver.side().clone();
    let freed = room.host.store.retain(&id, retention).unwrap();
    assert!(freed.entries >= 1_000, "{freed:?}");
    room.restart(MemberId::HOST).unwrap();
    room.heal();
    room.pass_often(20, 40 * SECOND);
    let last = room.host.session().position();
    let missed: Vec<_> = room.members[1]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Missed(positions) => Some(positions.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(missed, [held + 1..=last]);
    room.host_says(&Outbound::message(&plan("hub", 9_999)));
    room.say(1, &Outbound::message(&plan("qa", 1)));
    assert_eq!(room.members[1].frames().len(), 1 + 2);
    room.check_replicas();
    let id = room.members[1].id;
    room.restart(id).unwrap();
    room.settle();
    room.check_replicas();
}

/// The host recognises a repeated frame even if its clock was set back: it ignores an expired frame again, and answers
/// an accepted frame with E3002.
#[test]
fn the_clock_of_the_host_is_set_back() {
    let back = Time::from_secs(NOW.as_secs() - 1_000);
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    let taken = frame("@dev>req:plan{}", 1, 1, "");
    host.takes(101, &taken);
    let expired = frame("@dev>req:plan{}", 2, 2, ",ttl:1");
    let late = NOW + 100 * SECOND;
    let heard = host.ignores(101, &expired, late);
    assert_eq!(heard.entries[0].kind, EntryKind::Dropped);
    host.ignores(101, &expired, back);
    let heard = host.hears(101, &taken, back);
    assert!(heard.sends[0].contains("code:E3002"), "{heard:?}");
    let next = frame("@dev>req:plan{}", 3, 3, "");
    let heard = host.hears(101, &next, back);
    assert!(heard.sends[0].contains("code:E3001"), "{heard:?}");
    assert!(heard.sends[0].contains("retry:true"), "{heard:?}");
    host.takes(101, &next);
}
