//! What a side learns about entries that it did not get.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use accp_runtime::session::{CancelToken, Event, Input, MemberId, Mid, Outbound, Scope};
use accp_runtime::{AgentId, DynamicFrame};

use crate::sessions::lineage::{copy, restore, said};
use crate::sessions::returns::{SECOND, discard, lose, room_of_one};
use crate::sessions::room::Room;
use crate::sessions::sides::{Node, dynamic, is_relay, options, plan, rules};

/// A member lacks the entry of a cancellation, because the host has discarded it. The member's handlers are told of the
/// cancellation nevertheless, both for a request in the chain itself and for one in a chain below.
#[test]
fn a_handler_hears_of_a_cancellation_that_its_side_has_missed() {
    let mut room = room_of_one();
    let request = |n, aid: Option<&Mid>| {
        let mut message = dynamic("hub", "req", "plan").with("n", n);
        message.envelope.causation_id = aid.map(|aid| aid.to_string().into());
        Outbound::owned_message(message)
    };
    let first = room.host_says(&request(1, None));
    room.host_says(&request(2, Some(&first)));
    room.host_says(&request(3, None));
    room.settle();
    let tokens: Vec<_> = {
        let in_work = room.members[0].inbox.iter();
        in_work
            .map(|inbound| inbound.cancel_token().clone())
            .collect()
    };
    assert_eq!(tokens.len(), 3);
    lose(&mut room, |passed| is_relay(&passed.text));
    let stop = DynamicFrame::new("hub", "cancel", "task").unwrap();
    room.host_says(&Outbound::message(&stop).in_chain(first.to_string()));
    discard(&mut room, 1_100);
    assert!(tokens.iter().all(|token| !token.is_cancelled()));
    room.heal();
    room.pass(40 * SECOND);
    let missed = |event: &Event| matches!(event, Event::Missed(_));
    assert!(room.members[0].events.iter().any(missed));
    let told: Vec<_> = tokens.iter().map(CancelToken::is_cancelled).collect();
    assert_eq!(told, [true, true, false]);
}

/// A host is restored while a member fetches a fold from it. The member gets the fold before the restored host has sent
/// anything else.
#[test]
fn a_fold_of_a_log_that_began_later() {
    let mut room = Room::open(options("hub"), rules(Scope::Sender));
    let before = copy(&room);
    let stage = Arc::new(AtomicU8::new(0));
    let at = Arc::clone(&stage);
    room.on_the_way(move |passed| {
        let says = |what: &str| passed.from == MemberId::HOST && passed.text.contains(what);
        let is_lost = match at.load(Ordering::Relaxed) {
            0 => says("key:snap_"),
            1 => says(">sync:registry{"),
            _ => false,
        };
        if is_lost {
            Vec::new()
        } else {
            vec![passed.text.clone()]
        }
    });
    room.enter(options("dev"));
    assert!(room.passed(101, 100).any(|text| text.contains("key:snap_")));
    room.now = room.now + 13 * SECOND;
    stage.store(1, Ordering::Relaxed);
    let now = room.now;
    *room.host.store.lock().unwrap() = before;
    room.host.restart(now).unwrap();
    let dev = AgentId::new("dev").unwrap();
    room.host.driver.join(&dev, now).unwrap();
    room.pass(40 * SECOND);
    stage.store(2, Ordering::Relaxed);
    for n in 0..3 {
        room.host_says(&Outbound::message(&plan("hub", n)));
    }
    room.pass_often(4, 40 * SECOND);
    assert_eq!(said(&room.members[0].log()), ["0", "1", "2"]);
    room.check_replicas();
}

/// A member asks for a value that its log does not know yet. The host is restored from an older copy, and puts
/// another value under the same key, which the member takes.
#[test]
fn a_value_that_is_asked_for_before_its_entry() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &["dev"]);
    let backup = copy(&room);
    lose(&mut room, |passed| is_relay(&passed.text));
    let long = |letter: &str| plan("hub", 1).with("goal", letter.repeat(90));
    room.host_says(&Outbound::message(&long("x")));
    let fetch = Input::Fetch {
        key: "k100_1",
        announced: None,
    };
    let now = room.now;
    room.members[0].is_taken(fetch, now);
    room.settle();
    let unavailable = Event::Unavailable("k100_1".into());
    assert!(room.members[0].events.contains(&unavailable));
    restore(&mut room, backup);
    room.host_says(&Outbound::message(&long("y")));
    room.heal();
    room.pass(40 * SECOND);
    assert_eq!(room.members[0].frames().len(), 1);
    let fetch = Input::Fetch {
        key: "k100_1",
        announced: None,
    };
    let now = room.now;
    room.members[0].is_taken(fetch, now);
    room.settle();
    let value = room.members[0].cold_text("k100_1");
    assert_eq!(value, Some("y".repeat(90)));
}

/// The fold that a member starts from is damaged on its way, and by then the host offers another fold. The member
/// no longer asks for the first fold.
#[test]
fn a_fold_that_is_damaged_on_its_way() {
    let mut room = Room::with(options("hub"), rules(Scope::Sender), &[]);
    room.host_says(&Outbound::message(&plan("hub", 1)));
    let damages = Arc::new(AtomicU8::new(1));
    let left = Arc::clone(&damages);
    room.on_the_way(move |passed| {
        let is_fold = passed.text.contains(">sync:bytes{") && passed.text.contains("|key:snap_");
        if is_fold && left.swap(0, Ordering::Relaxed) == 1 {
            return vec![passed.text.replace("|d:e", "|d:f")];
        }
        vec![passed.text.clone()]
    });
    room.enter(options("dev"));
    let is_tampered = |event: &Event| matches!(event, Event::Tampered(_));
    for n in 2..6 {
        room.host_says(&Outbound::message(&plan("hub", n)));
        room.pass(SECOND);
    }
    room.pass(40 * SECOND);
    assert!(room.members[0].events.iter().any(is_tampered));
    assert_eq!(room.members[0].session().next_timeout(), None);
    let folds = |events: &[Event]| {
        let is_fold =
            |event: &&Event| matches!(event, Event::Supplied(key) if key.starts_with("snap_"));
        events.iter().filter(is_fold).count()
    };
    assert_eq!(folds(&room.members[0].events), 0);
    room.check_replicas();
}
