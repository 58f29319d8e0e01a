//! Conformance of silent drops: frames of cancelled chains, DLV-04, and expired frames, DLV-05
//! (draft section 3.7). `docs/conformance.md` lists the tests of each requirement.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use accp_runtime::session::{Event, MemberId, Mid, Outbound, Scope, SendError};
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::EntryKind;

use crate::sessions::room::Room;
use crate::sessions::sides::{self, NOW, Node, Side, frame, open_host, options, plan, rules};

fn host(scope: Scope) -> Side {
    open_host(options("hub"), rules(scope))
}

// ---- DLV-04 ------------------------------------------------------------------------

#[test]
fn dlv_04_accepts_a_cancellation_and_stops_the_chain() {
    let mut room = Room::new(&["dev", "qa"]);
    let cid = room.say(0, &Outbound::message(&plan("dev", 1))).to_string();
    // `@qa` begins work for the request, in a chain of its own below the chain of the request.
    let below = DynamicFrame::new("qa", "req", "execute").unwrap();
    let below = Outbound::message(&below).caused_by(&Mid::parse(&cid));
    let below = room.say(1, &below).to_string();
    let tokens: Vec<_> = room
        .host
        .inbox
        .iter()
        .map(|i| i.cancel_token().clone())
        .collect();
    let other = room.say(0, &Outbound::message(&plan("dev", 2)));
    let mut waiting = pin!(tokens[0].cancelled());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());

    let cancel = DynamicFrame::new("dev", "cancel", "task").unwrap();
    room.say(0, &Outbound::message(&cancel).in_chain(cid.as_str()));
    // Handlers that poll the token and handlers that wait for it both see the cancellation.
    assert_eq!(waiting.as_mut().poll(&mut context), Poll::Ready(()));
    for node in [&room.host.inbox, &room.members[1].inbox] {
        let fired = |text: &str| {
            let found = node.iter().find(|inbound| inbound.text().contains(text));
            found.unwrap().cancel_token().is_cancelled()
        };
        assert!(fired("plan{n:1}") && !fired("plan{n:2}"));
    }
    assert!(
        tokens
            .iter()
            .all(accp_runtime::session::CancelToken::is_cancelled)
    );
    // Replies of a handler that ignores the cancellation are left out. Other replies are not.
    let inbound = room.members[1]
        .inbox
        .iter()
        .find(|i| i.text().contains("n:1"))
        .unwrap()
        .clone();
    let reply = DynamicFrame::new("qa", "done", "plan").unwrap();
    let late = Outbound::message(&reply).answering(&inbound).unwrap();
    let good = Outbound::message(&reply).in_chain(other.to_string());
    room.members[1]
        .session_mut()
        .handled(inbound.position(), &[late.clone(), good], NOW)
        .unwrap();
    room.settle();
    let done = room
        .host
        .frames()
        .into_iter()
        .filter(|entry| entry.text.contains(">done:"));
    assert_eq!(done.count(), 1);
    // Later frames of the chain, and of the chain below it, are not sent.
    for chain in [cid.as_str(), below.as_str()] {
        let late = late.clone().in_chain(chain);
        let error = room.members[1].session_mut().send(&late, NOW).unwrap_err();
        assert_eq!(error, SendError::Cancelled);
        assert!(room.host.state().is_cancelled(&Mid::parse(chain)));
    }
    assert!(!room.host.state().is_cancelled(&other));
    room.check_replicas();
}

#[test]
fn dlv_04_refuses_a_cancellation_by_others() {
    let mut host = host(Scope::Shared);
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    let cancel = "@qa>cancel:task{}[mid:102000001001,seq:2,cid:101000001001]";
    assert_eq!(host.refuses(102, cancel).code, ErrorCode::POLICY_DENIED);
    let nothing = "@dev>cancel:task{}[mid:101000001002,seq:2]";
    assert_eq!(host.refuses(101, nothing).code, ErrorCode::INVALID_TYPE);
    assert!(!host.state().is_cancelled(&Mid::parse("101000001001")));
    // A supervisor may cancel the chain, and so may the host.
    host.join_as(&["qa"], true, NOW).unwrap();
    host.takes(102, &cancel.replace("1001,seq", "1002,seq"));
    assert!(host.state().is_cancelled(&Mid::parse("101000001001")));
    host.takes(101, &frame("@dev>req:plan{}", 3, 3, ""));
    let message = DynamicFrame::new("hub", "cancel", "task").unwrap();
    let outbound = Outbound::message(&message).in_chain("101000001003");
    host.session_mut().send(&outbound, NOW).unwrap();
    assert!(host.state().is_cancelled(&Mid::parse("101000001003")));
}

/// The host says nothing about a frame of a cancelled chain, not even for a copy. The frame has its
/// place, and the next acknowledgement covers it.
#[test]
fn dlv_04_refuses_later_frames_of_the_chain_in_silence() {
    let mut host = host(Scope::Sender);
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    host.takes(101, &frame("@dev>req:plan{}", 2, 2, ",aid:101000001001"));
    host.takes(101, &frame("@dev>cancel:task{}", 3, 3, ",cid:101000001001"));
    for (n, more) in [
        (4, ",cid:101000001001"),
        (5, ",cid:101000001002"),
        (6, ",aid:101000001002"),
    ] {
        let text = frame("@dev>req:plan{}", n, u64::from(n), more);
        silence(&mut host, &text);
    }
    let heard = host.takes(101, &frame("@dev>req:plan{}", 7, 7, ",cid:c2"));
    assert!(
        heard.sends[0].ends_with(",at:7,up:11]"),
        "{:?}",
        heard.sends
    );
    let again = "@dev>req:plan{}[mid:101000001004,seq:8]";
    host.ignores(101, again, NOW);
}

/// Checks that the text is dropped silently, and again when it is repeated.
fn silence(host: &mut Side, text: &str) {
    let heard = host.ignores(101, text, NOW);
    let kinds: Vec<_> = heard.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Dropped], "{text}");
    let mid = sides::mid_of(text).unwrap();
    assert_eq!(heard.events, [Event::Dropped(mid)]);
    for _ in 0..3 {
        let again = host.ignores(101, text, NOW + Duration::from_secs(1));
        assert!(
            again.entries.is_empty() && again.events.is_empty(),
            "{text}"
        );
    }
}

// ---- DLV-05 ------------------------------------------------------------------------

const EXPIRED: &str = ",ttl:5";

fn expired(n: u32, seq: u64) -> String {
    frame("@dev>req:plan{}", n, seq, EXPIRED).replace("ts:1714000000", "ts:1713999000")
}

#[test]
fn dlv_05_accepts_that_an_expired_frame_takes_its_place() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut host = host(scope);
        host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
        for n in 2..5 {
            silence(&mut host, &expired(n, u64::from(n)));
        }
        host.restart_as(options("hub"));
        // After a restart the host is still silent, and expects the next number.
        host.ignores(101, &expired(3, 3), NOW);
        let heard = host.takes(101, &frame("@dev>req:plan{}", 5, 5, ""));
        assert!(
            heard.sends[0].ends_with(",of:101000001005,at:5,up:9]"),
            "{:?}",
            heard.sends
        );
    }
}

/// The host never tells anyone about an expired frame, now or later.
#[test]
fn dlv_05_refuses_to_tell_of_an_expired_frame() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    room.on_the_way(|_| Vec::new());
    let lost = room.say(0, &Outbound::message(&plan("dev", 1)).expiring(5));
    room.now = room.now + Duration::from_secs(60);
    let (now, before) = (room.now, room.host.state().clone());
    let text = room.passed(101, 100).last().unwrap().to_owned();
    for _ in 0..3 {
        let heard = room.host.hears(101, &text, now);
        assert_eq!(heard.sends, Vec::<String>::new());
        assert!(heard.inbound.is_empty());
    }
    assert_eq!(room.host.state(), &before);
    assert_eq!(room.host.session().next_timeout(), None);
    // The sender goes on. It concludes from the log that the frame was dropped.
    room.heal();
    let next = room.say(0, &Outbound::message(&plan("dev", 2)));
    room.pass(Duration::from_secs(60));
    let is_fate = |event: &&Event| matches!(event, Event::Acknowledged(_) | Event::Expired(_));
    let fates: Vec<_> = room.members[0].events.iter().filter(is_fate).collect();
    assert_eq!(fates, [&Event::Expired(lost), &Event::Acknowledged(next)]);
    let delivered = room.members[1]
        .inbox
        .iter()
        .map(|i| i.text().contains("{n:2}"));
    assert!(delivered.eq([true]));
    assert!(
        room.passed
            .iter()
            .all(|passed| !passed.text.contains(">fail:error"))
    );
    room.check_replicas();
}

/// The log gets no entry after a dropped frame. When the sender of the frame asks, the host answers with the
/// position up to which the log explains the drop. The entry of the dropped frame itself is not relayed.
#[test]
fn dlv_05_accepts_that_the_sender_of_the_last_frame_asks_what_became_of_it() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut room = Room::with(options("hub"), rules(scope), &["dev", "qa"]);
        room.on_the_way(|_| Vec::new());
        let lost = room.say(0, &Outbound::message(&plan("dev", 1)).expiring(5));
        // While the link is broken, the member tries many times. So it asks as soon as the link works again.
        for whole in [false, true] {
            room.pass_often(10, Duration::from_secs(32));
            if !whole {
                room.heal();
            }
        }
        let is_fate = |event: &&Event| matches!(event, Event::Acknowledged(_) | Event::Expired(_));
        let fates: Vec<_> = room.members[0].events.iter().filter(is_fate).collect();
        assert_eq!(fates, [&Event::Expired(lost)], "{scope:?}");
        assert!(room.members[0].session().is_quiet(), "{scope:?}");
        room.check_replicas();
    }
}

/// The host has dropped frames. Their sender concludes that from the cancellation in the log.
#[test]
fn dlv_04_accepts_that_the_sender_concludes_why() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    let chain = room.say(0, &Outbound::message(&plan("dev", 1)));
    room.on_the_way(|passed| {
        let is_late = passed.from == MemberId::HOST;
        (!is_late)
            .then(|| passed.text.clone())
            .into_iter()
            .collect()
    });
    let stop = DynamicFrame::new("hub", "cancel", "task").unwrap();
    let chain = chain.to_string();
    room.host_says(&Outbound::message(&stop).in_chain(&chain));
    let late: Vec<_> = (2..22)
        .map(|n| room.say(0, &Outbound::message(&plan("dev", n)).in_chain(&chain)))
        .collect();
    let other = room.say(0, &Outbound::message(&plan("dev", 22)));
    let dropped = room
        .host
        .stored()
        .seen
        .iter()
        .filter(|seen| seen.dropped)
        .count();
    assert_eq!(dropped, 20);
    room.members[0].events.clear();
    room.heal();
    room.pass(Duration::from_secs(60));
    let mut wanted: Vec<_> = late.into_iter().map(Event::Cancelled).collect();
    wanted.push(Event::Acknowledged(other));
    assert_eq!(room.members[0].events, wanted);
    room.check_replicas();
}
