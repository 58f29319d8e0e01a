//! Frames and their fates after a link that loses frames, and after kills: ENV, DLV, ERR-01, SIZE,
//! BUD-02, REG-03 and API-02.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use accp_runtime::session::{Event, Inbound, MemberId, Mid, Outbound, Rules, Scope, SendError};
use accp_runtime::{DynamicFrame, ErrorCode, Intent, Value};
use accp_session::EntryKind;
use proptest::prelude::*;

use super::{LONG, calm, kill, kill_all, spoil_link};
use crate::sessions::returns::lose;
use crate::sessions::room::Room;
use crate::sessions::sides::{
    self, NOW, Node, envelope, frame, frame_tokens, member, mid_of, numbers, open_host, options,
    plan, rules,
};

const DEV: MemberId = MemberId::new(101).unwrap();

/// Returns the frames of `@dev` that went to the host, without frames of the link.
fn of_dev(room: &Room) -> Vec<String> {
    let sent = room
        .passed(101, 100)
        .filter(|text| text.contains(">req:plan{"));
    sent.map(str::to_owned).collect()
}

/// Frames that a killed side had not sent yet have an id, a number and a time. No two frames have the same id.
#[test]
fn env_01_ids_numbers_and_times_after_a_kill() {
    let mut room = Room::new(&["dev"]);
    lose(&mut room, |_| true);
    for n in 1..=3 {
        room.say(0, &Outbound::message(&plan("dev", n)));
        room.restart(DEV).unwrap();
        room.pass(LONG);
    }
    room.heal();
    room.pass(LONG);
    room.say(0, &Outbound::message(&plan("dev", 4)));
    calm(&mut room);
    let mut said = BTreeMap::new();
    for text in of_dev(&room) {
        let envelope = envelope(&text).unwrap();
        let mid = Mid::parse(envelope.msg_id.as_deref().unwrap());
        assert!(mid.is_hex() && envelope.sequence.is_some(), "{text}");
        assert_eq!(
            envelope.timestamp.map(|ts| ts >= NOW.as_secs()),
            Some(true),
            "{text}"
        );
        let payload = text.split_once('[').unwrap().0.to_owned();
        let before = said.insert(mid, payload.clone());
        assert!(before.is_none_or(|before| before == payload), "{text}");
    }
    let contents: BTreeSet<_> = said.values().collect();
    assert_eq!(contents.len(), 4);
    let frames = room.host.frames();
    let mids: BTreeSet<_> = frames.iter().map(|entry| entry.mid.clone()).collect();
    assert_eq!((frames.len(), mids.len()), (4, 4));
}

/// An answer names its request and its chain, even if both sides were killed between the request and the answer.
#[test]
fn env_04_an_answer_finds_its_request_after_a_kill() {
    let mut room = Room::new(&["dev", "qa"]);
    let asked = plan("dev", 1);
    let request = room.say(0, &Outbound::message(&asked).in_chain("lunch"));
    kill_all(&mut room);
    room.pass(LONG);
    let inbound = room.members[1].inbox.remove(0);
    assert!(inbound.redelivered());
    let answer = DynamicFrame::new("qa", "done", "plan").unwrap();
    let reply = Outbound::message(&answer).answering(&inbound).unwrap();
    let now = room.now;
    let qa = room.members[1].session_mut();
    qa.handled(inbound.position(), &[reply], now).unwrap();
    room.settle();
    kill_all(&mut room);
    calm(&mut room);
    let done = room.host.frames().pop().unwrap();
    let envelope = envelope(&done.text).unwrap();
    assert_eq!(envelope.correlation_id.as_deref(), Some("lunch"));
    assert_eq!(envelope.causation_id, Some(request.to_string().into()));
    let heard = &room.members[0].inbox[0];
    let answers = |asked: &Mid| heard.answers(asked, &Mid::parse("lunch"));
    assert_eq!(answers(&request), Some(Intent::DONE));
    assert_eq!(answers(&Mid::parse("101000001999")), None);
}

/// A host that was killed refuses the same numbers and the same ids as before.
#[test]
fn dlv_02_a_gap_is_a_gap_after_a_kill() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut host = open_host(options("hub"), rules(scope));
        for n in 1..=3 {
            host.takes(101, &frame("@dev>req:plan{}", n, n.into(), ""));
            kill(&mut host);
            let next = i64::from(n) + 1;
            for (id, seq) in [(20, next + 1), (21, next - 1), (22, 100)] {
                let refused = host.refuses(101, &frame("@dev>req:plan{}", id, seq as u64, ""));
                assert_eq!(refused.code, ErrorCode::SEQUENCE_GAP, "{scope:?} {seq}");
                assert_eq!(refused.expected_sequence, Some(next), "{scope:?} {seq}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The link fails, and sides are killed at any time. Each side processes each frame once, in the
    /// order of its sender.
    #[test]
    fn dlv_03_each_frame_is_processed_once_whoever_is_killed(
        kills in prop::collection::vec(prop::collection::vec(0..3_u16, 0..3), 8), shared: bool,
    ) {
        let scope = if shared { Scope::Shared } else { Scope::Sender };
        let mut room = Room::with(options("hub"), rules(scope), &["dev", "qa"]);
        spoil_link(&mut room);
        let mut handled: [Vec<String>; 3] = Default::default();
        let handle = |room: &mut Room, handled: &mut [Vec<String>; 3]| {
            let now = room.now;
            handled[0].extend(room.host.handle_all(now));
            for (side, texts) in room.members.iter_mut().zip(&mut handled[1..]) {
                texts.extend(side.handle_all(now));
            }
            room.settle();
        };
        for (n, kills) in (1..).zip(kills) {
            for (index, agent) in [(0, "dev"), (1, "qa")] {
                let now = room.now;
                let message = plan(agent, n);
                let session = room.members[index].session_mut();
                // A side that was just opened waits for the host, so it may refuse to send.
                let _: Result<Mid, SendError> = session.send(&Outbound::message(&message), now);
            }
            room.settle();
            for side in kills {
                room.restart(member(100 + side)).unwrap();
            }
            room.pass(LONG);
            handle(&mut room, &mut handled);
        }
        calm(&mut room);
        handle(&mut room, &mut handled);
        let frames = room.host.frames();
        for (side, texts) in (100..).zip(handled) {
            let of_others = frames.iter().filter(|entry| entry.sender != member(side));
            let expected: Vec<&str> = of_others.map(|entry| &*entry.text).collect();
            prop_assert_eq!(texts, expected);
        }
        for sender in [101, 102] {
            let of = frames.iter().filter(|entry| entry.sender == member(sender));
            let said: Vec<i64> = of.map(|entry| {
                let message = DynamicFrame::decode(&entry.text, &sides::STANDARD).unwrap();
                message.payload.get("n").unwrap().to_string().parse().unwrap()
            }).collect();
            prop_assert!(said.is_sorted_by(|a, b| a < b), "{:?}", said);
        }
    }
}

/// A side sends a frame again at longer and longer intervals if its peer cannot take the frame for now, each time
/// under a new id. In the end the peer has the frame once.
#[test]
fn dlv_03_a_frame_that_is_refused_again_and_again_waits_longer_each_time() {
    let mut room = Room::new(&["dev"]);
    lose(&mut room, |passed| passed.text.contains(">req:plan{"));
    let mut mid = room.say(0, &Outbound::message(&plan("dev", 1)).in_chain("c1"));
    let (mut waits, mut mids) = (Vec::new(), BTreeSet::from([mid.clone()]));
    for n in 0..8 {
        let refusal = format!(
            "@hub>fail:error{{code:E9999|msg:later|retry:true|schema:ER}}[mid:91000000990{n},seq:3,of:{mid}]"
        );
        let now = room.now;
        let dev = room.members[0].session_mut();
        dev.receive(MemberId::HOST, refusal.as_bytes(), now);
        room.passed.clear();
        room.settle();
        assert_eq!(of_dev(&room), [""; 0]);
        while of_dev(&room).is_empty() {
            room.pass(Duration::from_millis(500));
        }
        waits.push((room.now.as_millis() - now.as_millis()) / 500);
        mid = mid_of(&of_dev(&room)[0]).unwrap();
        assert!(mids.insert(mid.clone()), "{mid} again");
    }
    assert!(
        waits.is_sorted() && waits[0] < 8 && waits[7] > 32,
        "{waits:?}"
    );
    calm(&mut room);
    let [only] = &room.host.frames()[..] else {
        panic!("{:?}", room.host.frames());
    };
    assert_eq!(
        envelope(&only.text).unwrap().correlation_id.as_deref(),
        Some("c1")
    );
}

/// A chain stays cancelled for its frames and its handlers after all sides were killed.
#[test]
fn dlv_04_a_cancelled_chain_stays_cancelled_after_a_kill() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev", "qa"]);
    let chain = room.say(0, &Outbound::message(&plan("dev", 1)));
    let other = room.say(0, &Outbound::message(&plan("dev", 2)));
    // The cancellation is lost on its way to the handler, and then all sides are killed.
    lose(&mut room, |passed| passed.to == member(102));
    let cancel = DynamicFrame::new("dev", "cancel", "plan").unwrap();
    room.say(0, &Outbound::message(&cancel).in_chain(chain.to_string()));
    kill_all(&mut room);
    calm(&mut room);
    // Now the handler's side has the cancellation. That side is killed before the handler sees the cancellation.
    kill_all(&mut room);
    calm(&mut room);
    for (mid, is_cancelled) in [(&chain, true), (&other, false)] {
        for inbox in [&room.host.inbox, &room.members[1].inbox] {
            let due = inbox
                .iter()
                .find(|it| it.mid().as_ref() == Ok(mid))
                .unwrap();
            assert!(due.redelivered());
            assert_eq!(due.cancel_token().is_cancelled(), is_cancelled);
        }
        assert_eq!(room.host.state().is_cancelled(mid), is_cancelled);
    }
    // A handler that goes on cannot send in the chain. If a peer has not received the cancellation,
    // the host ignores its frames in the chain.
    let late = DynamicFrame::new("qa", "done", "plan").unwrap();
    let late = Outbound::message(&late).in_chain(chain.to_string());
    let now = room.now;
    let refused = room.members[1].session_mut().send(&late, now);
    assert_eq!(refused.unwrap_err(), SendError::Cancelled);
    let next = room
        .host
        .frames()
        .iter()
        .filter(|entry| entry.sender == member(102))
        .count()
        + 1;
    let text = format!("@qa>done:plan{{}}[mid:102000009001,seq:{next},cid:{chain}]");
    let heard = room.host.ignores(102, &text, now);
    let kinds: Vec<_> = heard.entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Dropped]);
}

/// If the time of a frame passes while its sender and its host are down, the frame is dropped silently. The sender
/// finds out once, and its later frames are accepted.
#[test]
fn dlv_05_an_expired_frame_is_dropped_in_silence_after_a_kill() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut room = Room::with(options("hub"), rules(scope), &["dev", "qa"]);
        lose(&mut room, |_| true);
        let late = room.say(0, &Outbound::message(&plan("dev", 1)).expiring(5));
        room.say(0, &Outbound::message(&plan("dev", 2)));
        room.now = room.now + 4 * LONG;
        kill_all(&mut room);
        lose(&mut room, |passed| passed.from == MemberId::HOST);
        room.pass(LONG);
        kill_all(&mut room);
        calm(&mut room);
        let errors = room
            .passed(100, 101)
            .filter(|text| text.contains(">fail:error{"));
        // The host may correct a number, but does not answer the frame itself.
        let about = errors.filter(|text| sides::of(text).as_ref() == Some(&late));
        let codes: Vec<&str> = about.filter(|text| !text.contains("code:E3003|")).collect();
        assert_eq!(codes, [""; 0], "{scope:?}");
        let is_over = |event: &&Event| **event == Event::Expired(late.clone());
        let events = &room.members[0].events;
        assert_eq!(
            events.iter().filter(is_over).count(),
            1,
            "{scope:?}: {events:?}"
        );
        for inbox in [&room.host.inbox, &room.members[1].inbox] {
            let texts: Vec<&str> = inbox.iter().map(Inbound::text).collect();
            assert!(
                matches!(&texts[..], [only] if only.contains("{n:2}")),
                "{texts:?}"
            );
        }
    }
}

/// If a refusal was lost, the host sends it again with its code, and the caller gets one event.
#[test]
fn err_01_a_lost_refusal_is_said_again() {
    let mut room = Room::new(&["dev"]);
    lose(&mut room, |passed| passed.text.contains(">fail:error{"));
    let bad = plan("dev", 1).with("of", Value::Ref("cold.k101_9".into()));
    let refused = room.say(0, &Outbound::message(&bad));
    kill_all(&mut room);
    calm(&mut room);
    let heard: Vec<_> = room.members[0]
        .events
        .iter()
        .filter_map(|event| match event {
            Event::Refused(mid, error) => Some((mid.clone(), error.code, error.retry)),
            _ => None,
        })
        .collect();
    assert_eq!(heard, [(refused.clone(), ErrorCode::REF_NOT_FOUND, false)]);
    let errors = room
        .passed(100, 101)
        .filter(|text| text.contains(">fail:error{"));
    let errors: Vec<&str> = errors.collect();
    assert!(errors.len() > 1, "{errors:?}");
    for error in errors {
        assert!(
            error.starts_with("@hub>fail:error{code:E2001|msg:"),
            "{error}"
        );
        assert!(error.contains("|retry:false|schema:ER}["), "{error}");
        assert!(error.contains(&format!(",of:{refused}")), "{error}");
    }
}

/// A frame in parts arrives whole when both sides are killed between any two of its parts. Parts that
/// are sent again are within the limits, too.
#[test]
fn size_02_a_frame_in_parts_arrives_whole_after_a_kill() {
    let mut message = plan("dev", 1);
    for name in ["w", "x", "y", "z"] {
        message = message.with(name, numbers(60));
    }
    for kept in 0..4 {
        let mut room = Room::pair();
        room.enter(options("qa"));
        let mut passed_on = 0;
        room.on_the_way(move |passed| {
            let is_part = passed.to == MemberId::HOST && passed.text.contains(",pt:");
            passed_on += usize::from(is_part);
            let is_lost = is_part && passed_on > kept;
            Vec::from_iter((!is_lost).then(|| passed.text.clone()))
        });
        room.say(0, &Outbound::message(&message));
        for _ in 0..2 {
            assert!(room.host.frames().is_empty(), "{kept}");
            kill_all(&mut room);
            room.pass(LONG);
        }
        calm(&mut room);
        let [whole] = &room.host.frames()[..] else {
            panic!("{kept}: {:?}", room.host.frames());
        };
        assert_eq!(room.host.payload(&whole.text), message.payload);
        for inbox in [&room.host.inbox, &room.members[1].inbox] {
            let texts: Vec<&str> = inbox.iter().map(Inbound::text).collect();
            assert_eq!(texts, [&*whole.text]);
        }
        let parts = of_dev(&room);
        assert!(parts.len() > 4, "{parts:?}");
        for text in parts {
            let counted = frame_tokens(&text);
            assert!(counted.body <= 200 && counted.total <= 240, "{text}");
        }
    }
}

/// An outbox that was full is full after a kill, and everything in it arrives.
#[test]
fn bud_02_a_full_outbox_loses_nothing_in_a_kill() {
    let mut small = options("dev");
    small.outbox = 3;
    let mut room = Room::open(options("hub"), Rules::default());
    room.enter(small);
    lose(&mut room, |passed| passed.text.contains(">req:plan{"));
    for n in 1..=3 {
        room.say(0, &Outbound::message(&plan("dev", n)));
    }
    kill_all(&mut room);
    room.pass(LONG);
    let now = room.now;
    let one_more = plan("dev", 4);
    let full = room.members[0]
        .session_mut()
        .send(&Outbound::message(&one_more), now);
    assert_eq!(full.unwrap_err().code(), ErrorCode::BUDGET_EXCEEDED);
    calm(&mut room);
    room.say(0, &Outbound::message(&one_more));
    let said: Vec<_> = room
        .host
        .frames()
        .iter()
        .map(|entry| entry.text.clone())
        .collect();
    assert_eq!(said.len(), 4);
    for (text, n) in said.iter().zip(1..) {
        assert!(
            text.starts_with(&format!("@dev>req:plan{{n:{n}}}")),
            "{text}"
        );
    }
}

/// Each run of a side begins with the exchange about registries, however often a hello is lost. Until
/// the host has answered, no frame leaves.
#[test]
fn reg_03_each_run_begins_with_a_hello() {
    let mut room = Room::new(&["dev"]);
    lose(&mut room, |passed| passed.text.contains(">req:plan{"));
    room.say(0, &Outbound::message(&plan("dev", 1)));
    room.restart(DEV).unwrap();
    room.passed.clear();
    lose(&mut room, |passed| passed.text.contains(">sync:registry{"));
    room.pass_often(4, LONG);
    assert!(of_dev(&room).is_empty());
    let hellos = room
        .passed(101, 100)
        .filter(|text| text.starts_with("@dev>sync:registry{"));
    assert!(hellos.count() >= 4);
    let hash = sides::STANDARD.hash().short(6);
    let hello = room.passed(101, 100).next().unwrap();
    assert!(
        hello.contains(&format!("hash:{hash}|")) && hello.contains("|v:1}"),
        "{hello}"
    );
    calm(&mut room);
    assert_eq!(room.host.frames().len(), 1);
}

/// The value of a frame is announced before the frame, even if the sender was killed before it had sent anything. A
/// later value has another key.
#[test]
fn api_02_values_go_before_their_frame_after_a_kill() {
    let mut room = Room::new(&["dev"]);
    let long = |n| plan("dev", n).with("goal", format!("{n} so ").repeat(30));
    lose(&mut room, |passed| {
        [">sync:put{", ">req:plan{"]
            .iter()
            .any(|of| passed.text.contains(of))
    });
    room.say(0, &Outbound::message(&long(1)));
    room.restart(DEV).unwrap();
    room.pass(LONG);
    room.say(0, &Outbound::message(&long(2)));
    room.passed.clear();
    calm(&mut room);
    let is_of_it = |text: &&str| text.contains(">sync:put{") || text.contains(">req:plan{");
    let sent = room.passed(101, 100).filter(is_of_it);
    let sent: Vec<String> = sent.map(str::to_owned).collect();
    let entries = room.host.log();
    let mids: Vec<_> = entries.into_iter().map(|entry| entry.mid).collect();
    let place = |what: &str| {
        let text = sent.iter().find(|text| text.contains(what)).unwrap();
        mids.iter()
            .position(|mid| Some(mid) == mid_of(text).as_ref())
            .unwrap()
    };
    for n in 1..=2 {
        let announced = place(&format!("sync:put{{keys:[[k101_{n},"));
        assert!(
            announced < place(&format!("goal:$cold.k101_{n}|n:{n}}}")),
            "{sent:?}"
        );
        assert!(
            room.host
                .cold(&format!("k101_{n}"))
                .unwrap()
                .bytes
                .is_some()
        );
    }
    for (entry, n) in room.host.frames().iter().zip(1..) {
        assert_eq!(room.host.payload(&entry.text), long(n).payload);
    }
}
