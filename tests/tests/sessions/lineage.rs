//! A host or a member whose store is an old copy, and different logs under the same name.

use std::time::Duration;

use accp_runtime::ErrorCode;
use accp_runtime::session::{
    Event, Input, InputError, LogKey, MemberId, Outbound, Rules, Scope, SendError,
};
use accp_session::{Entry, Stored};
use accp_store::{MemoryStore, SideId, Store};

use crate::sessions::room::Room;
use crate::sessions::sides::{
    NOW, Node, counting, frame, member, numbers, open_host, options, plan, rules,
};

const SECOND: Duration = Duration::from_secs(1);
const HUB: MemberId = MemberId::HOST;

fn room() -> Room {
    Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"])
}

pub(crate) fn copy(room: &Room) -> MemoryStore {
    room.host.store.lock().unwrap().clone()
}

/// Restores the host from a copy of its store. Its members do not join again, because the host knows them.
pub(crate) fn restore(room: &mut Room, copy: MemoryStore) {
    *room.host.store.lock().unwrap() = copy;
    let now = room.now;
    room.host.restart(now).unwrap();
    room.settle();
}

/// The two members take turns to say the numbers of the range.
fn talk(room: &mut Room, ns: std::ops::Range<i64>) {
    for n in ns {
        let (who, agent) = [(0, "dev"), (1, "qa")][n as usize % 2];
        room.say(who, &Outbound::message(&plan(agent, n)));
    }
}

fn lost(room: &Room) -> Vec<(MemberId, u64)> {
    let events = room.host.events.iter();
    let lost = events.filter_map(|event| match event {
        Event::RolledBack { member, position } => Some((*member, *position)),
        _ => None,
    });
    lost.collect()
}

pub(crate) fn said(entries: &[Entry]) -> Vec<String> {
    let n = |entry: &Entry| {
        let (_, rest) = entry.text.split_once("n:")?;
        Some(rest.split(['|', '}']).next()?.to_owned())
    };
    entries.iter().filter_map(n).collect()
}

pub(crate) fn decide(room: &mut Room, input: Input<'_>) -> Result<(), InputError> {
    let now = room.now;
    room.host.session_mut().handle(input, now)?;
    room.settle();
    Ok(())
}

/// A host that was restored from an older backup stops and reports that. It goes on with all the
/// entries that its members have.
#[test]
fn a_host_takes_what_it_has_lost_from_a_member() {
    let mut room = Room::with(counting("hub"), rules(Scope::Sender), &[]);
    room.enter(counting("dev"));
    room.enter(counting("qa"));
    talk(&mut room, 0..6);
    let backup = copy(&room);
    talk(&mut room, 6..10);
    let long = plan("dev", 10)
        .with("a", numbers(60))
        .with("b", numbers(60));
    room.say(0, &Outbound::message(&long));
    let goal = "x".repeat(90);
    room.host_says(&Outbound::message(
        &plan("hub", 11).with("goal", goal.as_str()),
    ));
    let fetch = Input::Fetch {
        key: "k100_1",
        announced: None,
    };
    let now = room.now;
    room.members[0].is_taken(fetch, now);
    room.host.session_mut().handle(Input::Phase, now).unwrap();
    room.settle();
    talk(&mut room, 12..20);
    let (before, last) = (room.host.frames(), room.host.session().position());
    let state = room.host.state().clone();
    room.host.inbox.clear();

    restore(&mut room, backup.clone());
    assert!(room.host.session().position() < last);
    assert_eq!(
        lost(&room).last().map(|(_, position)| *position),
        Some(last)
    );
    assert!(!room.host.session().is_quiet());
    let message = plan("hub", 99);
    let sent = room
        .host
        .session_mut()
        .send(&Outbound::message(&message), now);
    assert_eq!(sent, Err(SendError::Stopped(last)));
    assert!(sent.unwrap_err().to_string().contains("old copy"));
    room.say(0, &Outbound::message(&plan("dev", 20)));
    // The host is still stopped after a restart, before a member sends a hello.
    room.on_the_way(|_| vec![]);
    room.host.restart(now).unwrap();
    let sent = room
        .host
        .session_mut()
        .send(&Outbound::message(&message), now);
    assert_eq!(sent, Err(SendError::Stopped(last)));
    let early = room.host.session_mut().handle(Input::Recover, now);
    let why = "no member that is ahead of this host has come back yet";
    assert_eq!(early, Err(InputError::Recover(why)));
    room.heal();
    room.pass_often(3, 40 * SECOND);

    decide(&mut room, Input::Recover).unwrap();
    let is_back = |event: &Event| matches!(event, Event::Recovered(range) if *range.end() == last);
    assert!(
        room.host.events.iter().any(is_back),
        "{:?}",
        room.host.events
    );
    room.pass_often(3, 40 * SECOND);
    let after = room.host.frames();
    assert_eq!(said(&after)[..said(&before).len()], said(&before));
    let facts = |entry: &Entry| {
        (
            entry.position,
            entry.mid.clone(),
            entry.text.clone(),
            entry.hash,
        )
    };
    assert!(
        after
            .iter()
            .map(facts)
            .zip(before.iter().map(facts))
            .all(|(a, b)| a == b)
    );
    assert_eq!(room.host.state().warm().last(), state.warm().last());
    // A frame that may have been handled before is marked as redelivered.
    let all = room.host.inbox.iter();
    assert!(
        all.clone()
            .all(|inbound| inbound.redelivered() == (inbound.position() <= last))
    );
    assert!(!room.host.inbox.is_empty());
    assert_eq!(room.host.cold_text("k100_1"), Some(goal));
    // All sides go on. The host uses ids and keys that it has not used before.
    talk(&mut room, 30..34);
    let goal = "y".repeat(90);
    room.host_says(&Outbound::message(
        &plan("hub", 34).with("goal", goal.as_str()),
    ));
    room.check_replicas();
    let mut all = said(&before);
    all.extend(["20", "30", "31", "32", "33", "34"].map(String::from));
    assert_eq!(said(&room.host.frames()), all);
    room.host.restart(now).unwrap();
    room.settle();
    room.check_replicas();
}

/// A host takes back the entry which says that a value has expired. From then on the host asks nobody for the bytes
/// of the value.
#[test]
fn a_host_takes_back_that_a_value_has_expired() {
    let mut room = room();
    room.on_the_way(|passed| {
        let is_lost = passed.text.contains(">sync:bytes{");
        Vec::from_iter((!is_lost).then(|| passed.text.clone()))
    });
    let goal = plan("dev", 1).with("goal", "x".repeat(90));
    room.say(0, &Outbound::message(&goal));
    assert_eq!(room.host.cold_text("k101_1"), None);
    let backup = copy(&room);
    room.heal();
    let now = room.now;
    let expire = Input::Expire(&["k101_1"]);
    room.host.session_mut().handle(expire, now).unwrap();
    room.settle();
    talk(&mut room, 2..4);
    restore(&mut room, backup);
    room.pass_often(3, 40 * SECOND);
    decide(&mut room, Input::Recover).unwrap();
    room.pass_often(3, 40 * SECOND);
    room.check_replicas();
    assert_eq!(room.host.session().next_timeout(), None);
}

/// A restored host that has accepted other frames since then cannot take back the entries that it has lost. Its log
/// goes on without these entries. The host removes the members that have them, and the members get the reason.
#[test]
fn a_host_goes_its_own_way() {
    let mut room = room();
    talk(&mut room, 0..4);
    let backup = copy(&room);
    talk(&mut room, 4..6);
    // `@qa` does not get the later frames.
    room.on_the_way(|passed| {
        let is_for_qa = passed.to == member(102);
        (!is_for_qa)
            .then(|| passed.text.clone())
            .into_iter()
            .collect()
    });
    for n in [6, 8] {
        room.say(0, &Outbound::message(&plan("dev", n)));
    }
    let last = room.host.session().position();
    // The link drops every frame to the restored host. The host does not learn that it lost
    // entries, and accepts new frames.
    room.on_the_way(|_| vec![]);
    restore(&mut room, backup);
    for n in 50..60 {
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    room.heal();
    room.pass_often(4, 40 * SECOND);
    assert!(
        room.host.session().position() > last,
        "the claims are not beyond its log"
    );
    assert!(lost(&room).iter().any(|(id, _)| *id == member(101)));
    decide(&mut room, Input::Recover).unwrap();
    room.pass_often(3, 40 * SECOND);
    let failed = |event: &Event| matches!(event, Event::NotRecovered(_));
    assert!(room.host.events.iter().any(failed));
    assert!(!room.host.session().is_quiet());

    decide(&mut room, Input::Fork(LogKey::new([9; 32]))).unwrap();
    room.pass_often(4, 40 * SECOND);
    // Both members hold entries that the host does not have.
    for id in [101, 102] {
        assert!(
            room.host.events.contains(&Event::Removed(member(id))),
            "{id}"
        );
        let told = room.members[usize::from(id) - 101]
            .events
            .iter()
            .any(|event| {
                matches!(event, Event::PeerError(HUB, error)
                if error.code == ErrorCode::POLICY_DENIED && error.message.contains("another log"))
            });
        assert!(told, "{id}");
        assert!(
            !room.members[usize::from(id) - 101].session().is_quiet(),
            "{id}"
        );
    }
    let sides = [SideId::new("s1", "dev"), SideId::new("s1", "qa")];
    for (side, at) in sides.iter().zip(0..) {
        room.members[at].store.lock().unwrap().delete(side).unwrap();
        let id = room.members[at].id;
        room.restart(id).unwrap();
    }
    room.pass(40 * SECOND);
    talk(&mut room, 70..72);
    room.check_replicas();
}

/// A member that only lags behind goes on after a fork, under the new identity.
#[test]
fn a_fork_keeps_the_members_that_are_not_ahead() {
    let mut room = room();
    talk(&mut room, 0..4);
    let identity = |stored: &Stored| stored.voucher.map(|voucher| voucher.log());
    let before = identity(&room.members[0].stored());
    assert_eq!(before, room.host.stored().key.map(|key| key.identity()));
    decide(&mut room, Input::Fork(LogKey::new([9; 32]))).unwrap();
    talk(&mut room, 4..8);
    room.check_replicas();
    let after = identity(&room.members[0].stored());
    assert_eq!(after, Some(LogKey::new([9; 32]).identity()));
    assert_ne!(after, before);
    for id in [100, 101, 102] {
        room.restart(member(id)).unwrap();
    }
    talk(&mut room, 8..12);
    room.check_replicas();
    assert!(
        room.host
            .events
            .iter()
            .all(|event| !matches!(event, Event::Removed(_)))
    );
}

/// A host stops only for a proof that it made itself. A member that makes any other claim has to
/// leave, and a peer that does not know the extension stops nobody.
#[test]
fn a_member_that_claims_what_is_not_true() {
    let claim = |position: u64, proof: &str| {
        format!(
            "@dev>sync:registry{{ext:[log,proof]|hash:ffffff|pos:{position}|proof:{proof}|v:1}}\
             [mid:910100000001,seq:{position}]"
        )
    };
    let key = LogKey::new([7; 32]);
    let identity = key.identity().to_string();
    for log in [identity, "b".repeat(32)] {
        for position in [4, 1_000, i64::MAX as u64] {
            let at = position.to_le_bytes().map(|byte| format!("{byte:02x}"));
            let proof = format!("{log}{}{}", at.concat(), "a".repeat(96));
            let with_key = Rules {
                key: Some(key.clone()),
                ..rules(Scope::Sender)
            };
            let mut host = open_host(options("hub"), with_key);
            host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
            let mut events = vec![];
            for _ in 0..3 {
                assert!(host.state().members().all(|(_, party)| party.present));
                events.extend(host.hears(101, &claim(position, &proof), NOW).events);
            }
            assert!(
                events.contains(&Event::Removed(member(101))),
                "{position} {events:?}"
            );
            let gone: Vec<_> = host.state().members().filter(|(_, p)| !p.present).collect();
            assert_eq!(gone.len(), 1);
            host.takes(
                102,
                &frame("@qa>req:plan{}", 1, 1, "").replace("mid:101", "mid:102"),
            );
            host.session_mut()
                .send(&Outbound::message(&plan("hub", 1)), NOW)
                .unwrap();
        }
    }
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    for proof in ["", "a", "~", "[a]", &"0".repeat(144)] {
        let hello = claim(1_000, proof)
            .replace("log,proof", "log")
            .replace("|proof:|", "|");
        host.hears(101, &hello, NOW);
        host.session_mut()
            .send(&Outbound::message(&plan("hub", 1)), NOW)
            .unwrap();
    }
}

/// A host that was opened anew with an empty store removes its earlier members, because they hold another log.
#[test]
fn the_host_was_opened_anew() {
    let mut room = room();
    talk(&mut room, 0..4);
    restore(&mut room, MemoryStore::new());
    let now = room.now;
    for agent in ["dev", "qa"] {
        let agent = accp_runtime::AgentId::new(agent).unwrap();
        room.host.driver.join(&agent, now).unwrap();
    }
    for member in &mut room.members {
        member.connected();
    }
    for n in 0..9 {
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    room.pass_often(4, 40 * SECOND);
    for (at, id) in [(0, 101), (1, 102)] {
        assert!(room.host.events.contains(&Event::Removed(member(id))));
        // Nothing of the other log is in the store of the member.
        let texts: Vec<_> = room.members[at]
            .log()
            .into_iter()
            .map(|entry| entry.text)
            .collect();
        assert!(
            texts.iter().all(|text| !text.contains("@hub>req:plan")),
            "{texts:?}"
        );
    }
}

/// A member does not take a frame of the log that was changed on its way. The frame comes again, unchanged.
#[test]
fn a_relay_that_was_changed_on_its_way() {
    let mut room = room();
    let mut damaged = 0;
    room.on_the_way(move |passed| {
        let text = &passed.text;
        if text.contains("{n:2}") && passed.to == member(102) && damaged < 2 {
            damaged += 1;
            return vec![text.replace("{n:2}", "{n:7}")];
        }
        vec![text.clone()]
    });
    talk(&mut room, 0..6);
    room.pass_often(4, 40 * SECOND);
    assert_eq!(said(&room.members[1].log()), ["0", "1", "2", "3", "4", "5"]);
    room.check_replicas();
}

/// A member whose store is an old copy gets its frames again. Each frame is marked as delivered again.
#[test]
fn a_member_has_its_frames_again() {
    let mut room = room();
    talk(&mut room, 0..4);
    let now = room.now;
    room.members[0].handle_all(now);
    room.settle();
    let backup = room.members[0].store.lock().unwrap().clone();
    talk(&mut room, 4..8);
    let now = room.now;
    room.members[0].handle_all(now);
    *room.members[0].store.lock().unwrap() = backup;
    let now = room.now;
    room.members[0].restart(now).unwrap();
    room.settle();
    let again: Vec<_> = room.members[0]
        .inbox
        .iter()
        .map(|i| (i.position(), i.redelivered()))
        .collect();
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|(_, redelivered)| *redelivered));
    room.say(1, &Outbound::message(&plan("qa", 9)));
    let last = room.members[0].inbox.last().unwrap();
    assert!(!last.redelivered());
    room.check_replicas();
}

/// A host has lost frames that nobody holds, because they were dropped. It goes on with the number
/// that their sender names next.
#[test]
fn the_numbers_of_a_member_go_on() {
    let mut host = open_host(options("hub"), rules(Scope::Sender));
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let position = host.session().position();
    let mut hello = |next: u64| {
        let text = format!(
            "@dev>sync:registry{{hash:ffffff|next:{next}|pos:{position}|v:1}}[mid:910100000001,seq:0]"
        );
        host.hears(101, &text, NOW);
    };
    hello(5);
    // A number that is already taken, or that is impossible, changes nothing.
    hello(2);
    hello(1 << 47);
    host.takes(101, &frame("@dev>req:plan{}", 2, 5, ""));
}

/// All sides compute the same running hash.
#[test]
fn one_hash_on_all_sides() {
    let mut room = room();
    talk(&mut room, 0..8);
    room.restart(HUB).unwrap();
    room.restart(member(101)).unwrap();
    talk(&mut room, 8..16);
    let of = |log: Vec<Entry>| -> Vec<_> {
        let relayed = log.into_iter().filter(|entry| entry.kind.is_relayed());
        relayed
            .map(|entry| (entry.position, entry.hash.unwrap()))
            .collect()
    };
    let host = of(room.host.log());
    for at in [0, 1] {
        let copy = of(room.members[at].log());
        assert!(copy.len() >= 16 && host.ends_with(&copy), "{at}");
    }
    let voids = room.host.log().into_iter();
    let mut voids = voids.filter(|entry| !entry.kind.is_relayed());
    assert!(voids.all(|entry| entry.hash.is_none()));
}
