//! Members that come back: they ask about frames whose fate they have missed, and are let in again.

use std::time::Duration;

use accp_runtime::session::{Event, MemberId, Mid, Outbound, Scope};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_session::EntryKind;
use accp_store::{MemoryStore, Retention, Store};

use crate::sessions::lineage::copy;
use crate::sessions::room::{Passed, Room};
use crate::sessions::sides::{
    NOW, Node, STANDARD, Side, frame, is_relay, member, open_host, options, plan, rules,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const DEV: MemberId = MemberId::new(101).unwrap();

/// Returns the fates of its frames that a side has reported to its caller, in order.
fn fates(side: &Side) -> Vec<(Mid, &'static str)> {
    let fate = |event: &Event| match event {
        Event::Acknowledged(mid) => Some((mid.clone(), "acknowledged")),
        Event::Refused(mid, _) => Some((mid.clone(), "refused")),
        Event::Expired(mid) => Some((mid.clone(), "expired")),
        Event::Cancelled(mid) => Some((mid.clone(), "cancelled")),
        _ => None,
    };
    side.events.iter().filter_map(fate).collect()
}

/// Checks that each member has reported once, in order, that these frames are in the log, and no other fate.
pub(crate) fn are_acknowledged(room: &Room, sent: &[Vec<Mid>]) {
    for (side, mids) in room.members.iter().zip(sent) {
        let all = mids.iter().map(|mid| (mid.clone(), "acknowledged"));
        assert_eq!(fates(side), all.collect::<Vec<_>>());
    }
}

// ---- Questions about missed frames -------------------------------------------------

/// Returns the ids in a list of a hello.
fn listed(hello: &str, name: &str) -> Vec<Mid> {
    let message = DynamicFrame::decode(hello, &STANDARD).unwrap();
    let list = match message.payload.get(name) {
        Some(Value::Array(list)) => list.clone(),
        Some(other) => panic!("{other}"),
        None => Vec::new(),
    };
    list.iter()
        .map(|mid| Mid::parse(&mid.to_string()))
        .collect()
}

/// Returns the hellos from one side to another that ask about frames, or answer such a question.
fn asking(room: &Room, from: u16, to: u16) -> Vec<String> {
    let hellos = room.passed(from, to);
    let hellos = hellos.filter(|text| text.contains(">sync:registry{asks:["));
    hellos.map(str::to_owned).collect()
}

/// A host answers which frames it has accepted, and which frames took a number without being accepted.
#[test]
fn a_host_is_asked_about_frames() {
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let expired = frame("@dev>req:plan{}", 2, 2, ",ttl:5");
    host.ignores(101, &expired.replace("ts:1714", "ts:1713"), NOW);
    host.takes(101, &frame("@dev>cancel:task{}", 3, 3, ",cid:101000001001"));
    host.ignores(
        101,
        &frame("@dev>req:plan{}", 4, 4, ",cid:101000001001"),
        NOW,
    );
    host.refuses(101, &frame("@dev>req:plan{goal:$cold.k101_7}", 5, 5, ""));
    host.takes(102, "@qa>req:plan{}[mid:102000001001,seq:1]");
    let ids: Vec<_> = (1..=6).map(|n| format!("101000001{n:03}")).collect();
    let (ids, position) = (ids.join(","), host.session().position());
    let hello = format!(
        "@dev>sync:registry{{asks:[{ids},102000001001]|hash:a32838|pos:{position}|v:1}}\
         [mid:910100000001,seq:{position}]"
    );
    for _ in 0..2 {
        let heard = host.hears(101, &hello, NOW);
        let [answer] = &heard.sends[..] else {
            panic!("{heard:?}");
        };
        assert_eq!(listed(answer, "asks"), listed(&hello, "asks"));
        let ids = |ns: &[u32]| -> Vec<_> {
            let id = |n| Mid::parse(&format!("101000001{n:03}"));
            ns.iter().map(id).collect()
        };
        assert_eq!(listed(answer, "has"), ids(&[1, 3]));
        assert_eq!(listed(answer, "gone"), ids(&[2, 4]));
        assert_eq!(heard.entries, []);
        // In the second round the host has started again, and gives the same answers.
        host.restart_as(options("hub"));
    }
}

/// A member asks about its first frame if the host says nothing about the frame for long. The host may have dropped
/// the frame in a run that the member does not know of.
#[test]
fn a_host_is_silent_about_a_frame() {
    let mut room = room_of_one();
    let message = plan("dev", 1);
    let now = room.now;
    let dev = room.members[0].session_mut();
    let sent: Vec<_> = (0..2)
        .map(|_| dev.send(&Outbound::message(&message), now).unwrap())
        .collect();
    let first = sent[0].to_string();
    room.on_the_way(move |passed| {
        if passed.from != MemberId::HOST && passed.text.contains(&format!("mid:{first},")) {
            return Vec::new();
        }
        let (asks, gone) = (format!("{{asks:[{first}]|"), format!("|gone:[{first}]|"));
        let is_answer = passed.from == MemberId::HOST && passed.text.contains(&asks);
        let answer = passed.text.replacen('|', &gone, usize::from(is_answer));
        vec![answer]
    });
    room.pass_often(10, 40 * SECOND);
    let fates = fates(&room.members[0]);
    let wanted = [
        (sent[0].clone(), "expired"),
        (sent[1].clone(), "acknowledged"),
    ];
    assert_eq!(fates, wanted);
    assert_eq!(asking(&room, 101, 100).len(), 1);
    assert_eq!(logged(&mut room), sent[1..]);
}

/// Opens a room with `@dev`, whose host can discard its log soon.
pub(crate) fn room_of_one() -> Room {
    let mut hub = options("hub");
    hub.snapshot_entries = 10;
    Room::with(hub, rules(Scope::Sender), &["dev"])
}

/// Lets `@dev` send three frames. The last two are lost and have a time limit. Then `@dev` starts
/// again: its store still has these two in the outbox, so it may have missed their entries. Returns
/// their ids, and the store of the host.
pub(crate) fn say_unheard(room: &mut Room) -> (Vec<Mid>, MemoryStore) {
    let mut sent = vec![room.say(0, &Outbound::message(&plan("dev", 1)))];
    lose(room, |passed| passed.from == DEV);
    for n in 2..=3 {
        let message = plan("dev", n);
        sent.push(room.say(0, &Outbound::message(&message).expiring(600)));
    }
    room.restart(DEV).unwrap();
    (sent, copy(room))
}

/// From now on loses the frames for which `is_lost` is true.
pub(crate) fn lose(room: &mut Room, is_lost: impl Fn(&Passed) -> bool + 'static) {
    room.on_the_way(move |passed| {
        let is_left = !is_lost(passed);
        is_left.then(|| passed.text.clone()).into_iter().collect()
    });
}

/// Returns the ids of the frames of `@dev` in the log of the host.
pub(crate) fn logged(room: &mut Room) -> Vec<Mid> {
    let frames = room.host.frames().into_iter();
    let own = frames.filter(|entry| entry.sender == DEV);
    own.map(|entry| entry.mid).collect()
}

/// Lets `@dev` send frames that arrive a minute later, when the host has cancelled a chain. No entry
/// of the log reaches `@dev`. Returns the fate of each frame: accepted, dropped because its `ttl` is
/// over, or dropped with its chain.
fn send_and_miss(room: &mut Room, count: i64) -> Vec<(Mid, &'static str)> {
    let chain = room.say(0, &Outbound::message(&plan("dev", 0)));
    assert_eq!(fates(&room.members[0]), [(chain.clone(), "acknowledged")]);
    room.members[0].events.clear();
    lose(room, |passed| passed.from == DEV || is_relay(&passed.text));
    let mut sent = Vec::new();
    for n in 1..=count {
        let message = plan("dev", n);
        let outbound = Outbound::message(&message);
        let (outbound, fate) = match n % 3 {
            1 => (outbound, "acknowledged"),
            2 => (outbound.expiring(5), "expired"),
            _ => (outbound.in_chain(chain.to_string()), "cancelled"),
        };
        sent.push((room.say(0, &outbound), fate));
    }
    let stop = DynamicFrame::new("hub", "cancel", "task").unwrap();
    room.host_says(&Outbound::message(&stop).in_chain(chain.to_string()));
    lose(room, |passed| is_relay(&passed.text));
    room.pass(60 * SECOND);
    // The host has consumed all frames, and `@dev` does not know their fates.
    let accepted = sent.iter().filter(|(_, fate)| *fate == "acknowledged");
    let accepted = accepted.map(|(mid, _)| mid.clone());
    assert!(logged(room).into_iter().skip(1).eq(accepted));
    assert_eq!(fates(&room.members[0]), []);
    assert_eq!(room.members[0].session().outbox_len(), sent.len());
    sent
}

/// Makes the host send this many frames, and then discard the entries that `@dev` lacks.
pub(crate) fn discard(room: &mut Room, frames: i64) {
    let now = room.now;
    for n in 0..frames {
        let message = plan("hub", n);
        let host = room.host.session_mut();
        host.send(&Outbound::message(&message), now).unwrap();
    }
    room.settle();
    room.host.handle_all(now);
    room.settle();
    let log_before = room.host.session().position() - 10;
    let id = room.host.driver.side().clone();
    let retention = Retention { log_before };
    room.host.store.retain(&id, retention).unwrap();
    let held = room.members[0].session().position();
    assert!(room.host.log()[0].position > held + 1);
}

/// Checks that `@dev` has missed entries, that it has reported these fates of its frames, each once, and that the
/// host has not accepted any of the frames again.
fn are_told(room: &mut Room, sent: &[(Mid, &str)]) {
    let events = room.members[0].events.iter();
    let missed = events.filter(|event| matches!(event, Event::Missed(_)));
    assert_eq!(missed.count(), 1);
    let mut told = fates(&room.members[0]);
    told.sort();
    assert_eq!(told, sent);
    assert_eq!(logged(room), []);
    room.check_replicas();
}

/// A member that was killed, and that lacks entries which the host has discarded, asks what became
/// of its frames.
#[test]
fn a_member_asks_about_the_frames_of_its_store() {
    let mut room = room_of_one();
    let sent = send_and_miss(&mut room, 4);
    discard(&mut room, 50);
    room.restart(DEV).unwrap();
    room.restart(MemberId::HOST).unwrap();
    // The member sends these frames again. It also misses the replies that call them duplicates.
    lose(&mut room, |passed| passed.text.contains("code:E3002"));
    room.pass_often(4, 40 * SECOND);
    let ([asked], [told]) = (&asking(&room, 101, 100)[..], &asking(&room, 100, 101)[..]) else {
        panic!("it asks once");
    };
    let all = |fates: &[&str]| -> Vec<_> {
        let of = sent.iter().filter(|(_, fate)| fates.contains(fate));
        of.map(|(mid, _)| mid.clone()).collect()
    };
    let every = ["acknowledged", "expired", "cancelled"];
    assert_eq!(listed(asked, "asks"), all(&every));
    assert_eq!(listed(told, "has"), all(&every[..1]));
    assert_eq!(listed(told, "gone"), all(&every[1..]));
    are_told(&mut room, &sent);
}

/// A member asks about 32 frames in a hello, and about the others as soon as it has the answer.
#[test]
fn a_member_asks_about_forty_frames() {
    let mut room = room_of_one();
    let sent = send_and_miss(&mut room, 40);
    // The host keeps only the last 1,024 entries in memory.
    discard(&mut room, 1_100);
    room.heal();
    room.pass(40 * SECOND);
    let asked = asking(&room, 101, 100);
    let asked: Vec<_> = asked.iter().map(|text| listed(text, "asks")).collect();
    assert_eq!(asked.iter().map(Vec::len).collect::<Vec<_>>(), [32, 8]);
    assert!(asked.concat().iter().eq(sent.iter().map(|(mid, _)| mid)));
    are_told(&mut room, &sent);
}

/// A host drops frames because its clock is ahead, and is restored from a copy of its store that does not know of
/// them. The sender of the frames asks about them. The frames go out again and are accepted once, in their order,
/// even if the sender starts again before that.
#[test]
fn frames_that_the_host_has_never_taken() {
    for restarts in [false, true] {
        let mut room = room_of_one();
        let (mut sent, backup) = say_unheard(&mut room);
        room.host.ahead = 3_600_000;
        lose(&mut room, |passed| passed.text.contains("{asks:["));
        room.pass_often(20, SECOND);
        let dropped = |event: &Event| match event {
            Event::Dropped(mid) => Some(mid.clone()),
            _ => None,
        };
        let dropped: Vec<_> = room.host.events.iter().filter_map(dropped).collect();
        assert_eq!(dropped, sent[1..]);
        let asked = asking(&room, 101, 100);
        assert_eq!(listed(&asked[0], "asks"), sent[1..]);
        *room.host.store.lock().unwrap() = backup;
        room.host.ahead = 0;
        let now = room.now;
        room.host.restart(now).unwrap();
        if restarts {
            let is_plan = |passed: &Passed| passed.text.contains("@dev>req:plan{");
            lose(&mut room, is_plan);
            room.pass_often(20, SECOND);
            sent.push(room.say(0, &Outbound::message(&plan("dev", 4))));
            room.restart(DEV).unwrap();
        }
        room.heal();
        room.pass_often(20, SECOND);
        let answer = asking(&room, 100, 101).pop().unwrap();
        assert_eq!(
            (listed(&answer, "has"), listed(&answer, "gone")),
            (vec![], vec![])
        );
        assert_eq!(logged(&mut room), sent);
        are_acknowledged(&room, &[sent]);
        room.check_replicas();
    }
}

/// The host has reported that it has never taken a frame. This frame does not count as consumed,
/// even if the host has taken a frame with a later id. A restarted member asks about the frame once,
/// however long the answer takes.
#[test]
fn frames_behind_one_that_has_a_new_id() {
    for restarts in [false, true] {
        let mut room = room_of_one();
        lose(&mut room, |passed| passed.from == DEV);
        let plans = [1, 2, 3].map(|n| plan("dev", n));
        let mut sent = plans.map(|plan| room.say(0, &Outbound::message(&plan)));
        let refusal = format!(
            "@hub>fail:error{{code:E9999|msg:later|retry:true|schema:ER}}[mid:910000000099,seq:3,of:{}]",
            sent[0]
        );
        let now = room.now;
        let dev = room.members[0].session_mut();
        dev.receive(MemberId::HOST, refusal.as_bytes(), now);
        let is_late = |passed: &Passed| ["{n:2}", "{n:3}"].iter().any(|n| passed.text.contains(n));
        lose(&mut room, is_late);
        room.pass(4 * SECOND);
        let [first] = &logged(&mut room)[..] else {
            panic!("only the first frame arrives");
        };
        assert!(*first > sent[2]);
        sent[0] = first.clone();
        if restarts {
            room.restart(DEV).unwrap();
        }
        room.pass_often(10, 40 * SECOND);
        let asked = asking(&room, 101, 100);
        let asked: Vec<_> = asked.iter().map(|text| listed(text, "asks")).collect();
        // Later the member asks only about its first frame, because it has heard nothing of that
        // frame for long.
        let (silent, asked): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|asked| asked[..] == sent[1..2]);
        let expected = restarts.then_some(&sent[1..]);
        assert_eq!(asked, Vec::from_iter(expected));
        assert!(!silent.is_empty());
        room.heal();
        room.pass_often(4, 40 * SECOND);
        assert_eq!(logged(&mut room), sent);
        are_acknowledged(&room, &[sent.to_vec()]);
        room.check_replicas();
    }
}

// ---- Members that are let in again -------------------------------------------------

/// A member does not know that it has left. When the member may join again, the host greets it and sends the
/// entries that the member has missed. If the greeting is lost, the host repeats it.
#[test]
fn a_member_that_is_let_in_again_is_greeted() {
    for is_lost in [false, true] {
        let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
        room.say(0, &Outbound::message(&plan("dev", 1)));
        let now = room.now;
        room.host.leave(DEV, now);
        room.settle();
        room.passed.clear();
        for n in 2..5 {
            room.say(1, &Outbound::message(&plan("qa", n)));
        }
        room.pass(60 * SECOND);
        let is_dev_s = |passed: &&Passed| DEV == passed.from || DEV == passed.to;
        assert_eq!(room.passed.iter().find(is_dev_s), None);
        if is_lost {
            lose(&mut room, |passed| passed.to == DEV);
        }
        let agent = room.members[0].options.agent.clone();
        assert_eq!(room.let_in(&agent, false).unwrap(), DEV);
        room.settle();
        let first = room.passed.iter().find(is_dev_s).unwrap();
        assert_eq!(first.from, MemberId::HOST);
        assert!(first.text.starts_with("@hub>sync:registry{"), "{first:?}");
        if is_lost {
            assert_eq!(room.passed(101, 100).count(), 0);
            room.heal();
            room.pass(2 * SECOND);
        }
        let now = room.now;
        let heads: Vec<_> = (2..5).map(|n| format!("@qa>req:plan{{n:{n}}}")).collect();
        let handled = room.members[0].handle_all(now);
        assert!(handled.len() == 3 && handled.iter().zip(&heads).all(|(a, b)| a.starts_with(b)));
        room.check_replicas();
        let mid = room.say(0, &Outbound::message(&plan("dev", 5)));
        assert_eq!(fates(&room.members[0]).pop(), Some((mid, "acknowledged")));
    }
}

/// A member that has left still learns the fate of its frames in the log, but nothing about dropped frames. Its
/// other frames are refused. A host that has started again, and has got no hello since then, gives the same
/// replies.
#[test]
fn frames_of_who_has_left() {
    for starts_again in [false, true] {
        let mut host = open_host(options("hub"), rules(Scope::Sender));
        let frames = [1, 2, 3].map(|n| frame("@dev>req:plan{}", n, n.into(), ",ttl:5"));
        host.takes(101, &frames[0]);
        let late = NOW + 60 * SECOND;
        let heard = host.ignores(101, &frames[1], late);
        assert_eq!(heard.entries[0].kind, EntryKind::Dropped);
        if starts_again {
            host.restart(late).unwrap();
        }
        for leaver in [DEV, member(102)] {
            host.leave(leaver, late);
        }
        host.carries_out(late);
        for _ in 0..2 {
            let told = host.refuses(101, &frames[0]);
            let told = (told.code, told.holder, told.sequence);
            assert_eq!(told, (ErrorCode::DUPLICATE, Some(101), Some(1)));
            assert_eq!(host.ignores(101, &frames[1], late).entries, []);
            let told = host.refuses(101, &frames[2]);
            assert_eq!(told.code, ErrorCode::POLICY_DENIED);
        }
    }
}

/// A member did not hear that its frame was accepted, and has left since. Its frame comes again, and
/// the member is never told that it was refused.
#[test]
fn a_frame_comes_again_after_its_sender_has_left() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    lose(&mut room, |passed| passed.to == DEV);
    let mid = room.say(0, &Outbound::message(&plan("dev", 1)));
    assert_eq!(logged(&mut room), std::slice::from_ref(&mid));
    let now = room.now;
    room.host.leave(DEV, now);
    room.heal();
    room.pass_often(4, 40 * SECOND);
    let again = room.passed(101, 100).filter(|text| text.contains("{n:1}"));
    assert!(again.count() > 1);
    let errors = room.passed(100, 101).filter(|text| text.contains(">fail:"));
    let errors: Vec<_> = errors.collect();
    assert!(!errors.is_empty());
    assert!(
        errors.iter().all(|text| text.contains("code:E3002")),
        "{errors:?}"
    );
    assert_eq!(fates(&room.members[0]), []);
    let agent = room.members[0].options.agent.clone();
    room.let_in(&agent, false).unwrap();
    room.settle();
    assert_eq!(logged(&mut room), std::slice::from_ref(&mid));
    are_acknowledged(&room, &[vec![mid]]);
    room.check_replicas();
}
