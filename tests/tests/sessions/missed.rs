//! What a side learns of entries that it has missed.

use accp_runtime::Message;
use accp_runtime::session::{CancelToken, Event, Mid, Outbound};

use crate::returns::{SECOND, discard, lose, room_of_one};
use crate::sides::is_relay;

/// A member lacks the entry of a cancellation, because the host has discarded it. Its handlers hear of it nevertheless, be
/// their request in the chain itself or in one below it.
#[test]
fn a_handler_hears_of_a_cancellation_that_its_side_has_missed() {
    let mut room = room_of_one();
    let request = |n, aid: Option<&Mid>| {
        let mut message = Message::new("hub", "req", "plan").unwrap().with("n", n);
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
    let stop = Message::new("hub", "cancel", "task").unwrap();
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
