//! The numbers under which a member sends its frames, and what it does when its host corrects them.

use accp_runtime::DynamicFrame;
use accp_runtime::session::{Event, MemberId, Mid, Outbound, Scope};
use accp_session::EntryKind;
use accp_testkit::Shared;

use crate::sessions::returns::{
    DEV, SECOND, are_acknowledged, logged, lose, room_of_one, say_unheard,
};
use crate::sessions::room::Room;
use crate::sessions::sides::{Node, envelope, keyless, options, plan, rules};

/// Opens a room in which all frames of the member are lost.
fn unheard(scope: Scope) -> Room {
    let mut room = Room::with(options("hub"), rules(scope), &["dev"]);
    room.on_the_way(|_| vec![]);
    room
}

/// Hands `@dev` a refusal of a frame.
fn refuse(room: &mut Room, mid: &Mid, error: &str) {
    let text =
        format!("@hub>fail:error{{{error}|msg:no|schema:ER}}[mid:910000000099,seq:3,of:{mid}]");
    hear(room, &text);
}

/// Hands `@dev` a frame of the host.
fn hear(room: &mut Room, text: &str) {
    let now = room.now;
    let dev = room.members[0].session_mut();
    dev.receive(MemberId::HOST, text.as_bytes(), now);
}

/// Returns the ids and numbers of the frames that `@dev` has sent after its first `before` texts.
fn sent_since(room: &Room, before: usize) -> Vec<(Mid, u64)> {
    let texts = room.passed(101, 100).skip(before);
    let frames = texts.filter(|text| text.contains(">req:plan{"));
    let envelopes = frames.filter_map(envelope);
    let numbers = envelopes.filter_map(|of| Some((Mid::parse(&of.msg_id?), of.sequence?)));
    numbers.collect()
}

/// If a host asks for the number of the first waiting frame, this frame was lost on the way, so all frames go out
/// again. If the host asks for another number, only the first frame goes out, under this other number.
#[test]
fn the_first_frame_has_another_number() {
    let mut room = unheard(Scope::Sender);
    let sent = [1, 2, 3].map(|n| room.say(0, &Outbound::message(&plan("dev", n))));
    let first = sent_since(&room, 0)[0].1;
    let all: Vec<_> = sent.iter().cloned().zip(first..).collect();
    assert_eq!(sent_since(&room, 0), all);
    let before = room.passed(101, 100).count();
    refuse(
        &mut room,
        &sent[0],
        &format!("code:E3003|retry:true|exp:{first}"),
    );
    room.settle();
    assert_eq!(sent_since(&room, before), all);
    let before = room.passed(101, 100).count();
    refuse(&mut room, &sent[0], "code:E3003|retry:true|exp:9");
    room.settle();
    assert_eq!(sent_since(&room, before), [(sent[0].clone(), 9)]);
}

/// A frame that waits behind a refused frame has never been sent. If the chain of the waiting frame is cancelled
/// then, its sender learns of that at once, and the host never gets the frame.
#[test]
fn a_frame_behind_a_refused_one_is_cancelled_unsent() {
    let mut room = Room::with(options("hub"), rules(Scope::Shared), &["dev"]);
    let chain = room.host_says(&Outbound::message(&plan("hub", 0)));
    room.on_the_way(|_| vec![]);
    let plans = [1, 2].map(|n| plan("dev", n));
    let first = room.say(0, &Outbound::message(&plans[0]));
    let second = Outbound::message(&plans[1]).in_chain(chain.to_string());
    let second = room.say(0, &second);
    let cancel = DynamicFrame::new("hub", "cancel", "task").unwrap();
    room.host_says(&Outbound::message(&cancel).in_chain(chain.to_string()));
    let relay = room.passed(100, 101).last().unwrap().to_owned();
    assert!(relay.contains(">cancel:task{"), "{relay}");
    // The member receives the refusal and the cancellation at once.
    refuse(&mut room, &first, "code:E2001|retry:false");
    hear(&mut room, &relay);
    room.settle();
    assert_eq!(room.members[0].session().outbox_len(), 0);
    let cancelled = |event: &Event| *event == Event::Cancelled(second.clone());
    assert!(room.members[0].events.iter().any(cancelled));
    assert!(!room.passed(101, 100).any(|text| text.contains("n:2")));
}

/// A member finds its second frame in the log, but not its first frame, which the host refused in an earlier run. The
/// first frame goes out again. The third frame goes out again when the host has lost it. The frames keep their order.
#[test]
fn frames_that_a_host_had_consumed_go_out_in_their_order() {
    let rules = rules(Scope::Sender);
    let store = keyless(&options("hub"), &rules);
    let mut room = Room::of(store, options("hub"), rules);
    room.enter(options("dev"));
    room.on_the_way(|_| vec![]);
    let sent = [1, 2, 3].map(|n| room.say(0, &Outbound::message(&plan("dev", n))));
    refuse(
        &mut room,
        &sent[2],
        "code:E3002|retry:false|holder:101|seq:3",
    );
    let before = room.passed(101, 100).count();
    let held = room.members[0].session().position();
    let relay = format!(
        "@dev>req:plan{{n:2}}[mid:{},seq:1,ts:1714000000,pos:{},by:101]",
        sent[1],
        held + 1
    );
    hear(&mut room, &relay);
    room.settle();
    refuse(&mut room, &sent[0], "code:E3003|retry:true|exp:9");
    room.settle();
    let again = sent_since(&room, before);
    assert_eq!(again.last(), Some(&(sent[0].clone(), 9)), "{again:?}");
    let ack = format!(
        "@hub>ack:frame{{}}[mid:910000000098,seq:3,of:{},at:9]",
        sent[0]
    );
    hear(&mut room, &ack);
    room.settle();
    let again = sent_since(&room, before);
    assert_eq!(again.last(), Some(&(sent[2].clone(), 10)), "{again:?}");
}

/// A host has never taken some frames, so they go out again, and the host takes them. Then the host is restored
/// from its copy once more, before the sender of the frames gets the entries. The frames go out again, before the
/// frame that follows them.
#[test]
fn frames_that_were_never_taken_are_lost_again() {
    let mut room = room_of_one();
    let (mut sent, backup) = say_unheard(&mut room);
    let goes_back = |room: &mut Room| {
        *room.host.store.lock().unwrap() = backup.clone();
        room.host.ahead = 0;
        let now = room.now;
        room.host.restart(now).unwrap();
    };
    // The host drops the frames while its clock is ahead.
    room.host.ahead = 3_600_000;
    lose(&mut room, |passed| passed.text.contains("{asks:["));
    room.pass_often(20, SECOND);
    goes_back(&mut room);
    sent.push(room.say(0, &Outbound::message(&plan("dev", 4))));
    lose(&mut room, |passed| {
        passed.to == DEV && passed.text.contains(",by:")
    });
    room.pass_often(20, SECOND);
    assert_eq!(logged(&mut room), sent);
    goes_back(&mut room);
    room.heal();
    room.pass_often(20, SECOND);
    assert_eq!(logged(&mut room), sent);
    are_acknowledged(&room, &[sent]);
    room.check_replicas();
}

/// A member without a store that begins anew makes no id again, even if the host has refused all its frames so far.
#[test]
fn an_id_that_was_refused_is_not_made_again() {
    let mut room = Room::new(&["shop", "lab"]);
    let own = Outbound::owned_message(plan("shop", 1)).to("shop");
    let asked = room.say(0, &own);
    let done = DynamicFrame::new("lab", "done", "plan").unwrap();
    let forged = Outbound::owned_message(done).in_chain(asked.to_string());
    let refused = room.say(1, &forged);
    drop(room.members.remove(1));
    accp_testkit::Room::enter(&mut room, Shared::default(), options("lab")).unwrap();
    room.settle();
    let mid = room.say(1, &Outbound::owned_message(plan("lab", 2)));
    let log = room.host.log();
    let kind = |mid: &Mid| log.iter().rfind(|entry| entry.mid == *mid).unwrap().kind;
    assert!(matches!(kind(&refused), EntryKind::Refused(_)));
    assert_eq!(kind(&mid), EntryKind::Frame);
}
