//! What a peer that knows only the draft gets: values, the state, and the frames that it has
//! missed.

use std::time::Duration;

use accp_runtime::session::{Input, MemberId, Outbound, Rules, SharedState, StateUpdate};
use accp_runtime::{DynamicFrame, Frame, Map, Value};
use accp_session::references;
use accp_store::{Retention, Store as _};

use super::draft::{Draft, joined, short_forms};
use crate::sessions::layers::LONG;
use crate::sessions::returns::lose;
use crate::sessions::sides::{Node as _, STANDARD, dynamic, envelope, member, options, plan};

/// A value is written into the frame if it fits. A value that does not fit, one that has expired,
/// and one that does not arrive stay references, and nothing waits for them for ever.
#[test]
fn values_stand_in_the_frame() {
    let mut draft = joined();
    let long = |n: usize| Value::from(format!("a-text.{}", "that-goes-by-reference.".repeat(n)));
    let frame = |values: &[(&'static str, Value<'static>)]| {
        let message = DynamicFrame::new("dev", "req", "plan").unwrap();
        values.iter().fold(message, |message, (key, value)| {
            message.with(*key, value.clone())
        })
    };
    let payload = |texts: &[String]| {
        let last = texts.last().unwrap();
        DynamicFrame::decode(last, &STANDARD)
            .unwrap()
            .into_owned()
            .payload
    };
    let both = [("a", long(3)), ("b", long(4))];
    let told = payload(&draft.dev(&frame(&both)));
    assert_eq!(
        (told.get("a"), told.get("b")),
        (Some(&both[0].1), Some(&both[1].1))
    );

    // Together, the values exceed the limit of a frame. The last value fits by itself.
    let large = [("a", long(2_000)), ("b", long(2_500))];
    let told = payload(&draft.dev(&frame(&large)));
    assert!(
        matches!(told.get("a"), Some(Value::Ref(_))),
        "{:?}",
        told.get("a")
    );
    assert_eq!(told.get("b"), Some(&large[1].1));

    // The link loses the bytes for a long time.
    lose(&mut draft.room, |passed| {
        passed.text.contains(">sync:bytes{")
    });
    assert!(
        draft
            .dev(&frame(&[("a", long(5))]))
            .iter()
            .all(|text| text.contains(">ack:frame{}"))
    );
    draft.dev(&plan("dev", 1));
    let mut late = Vec::new();
    for _ in 0..8 {
        draft.room.now = draft.room.now + LONG;
        late.extend(draft.heard());
    }
    let late: Vec<_> = late
        .into_iter()
        .filter(|text| text.starts_with("@dev>"))
        .collect();
    assert!(
        matches!(payload(&late[..1]).get("a"), Some(Value::Ref(_))),
        "{late:?}"
    );
    assert!(late[1].starts_with("@dev>req:plan{n:1}"), "{late:?}");
    draft.room.heal();
    draft.room.pass_often(4, LONG);
    draft.heard();

    // The member sends a frame with a value that expires before the peer is back.
    let now = draft.room.now;
    let host = draft.room.host.session_mut();
    host.handle(Input::Disconnected(member(102)), now).unwrap();
    draft.dev(&frame(&[("a", long(6))]));
    let key = draft.room.host.frames().pop().unwrap();
    let key = references(&key.text)
        .next()
        .unwrap()
        .strip_prefix("cold.")
        .unwrap()
        .to_owned();
    draft.room.host.expire(&[&key], now);
    draft.room.settle();
    let last = draft.room.host.frames().pop().unwrap();
    let held = envelope(&last.text).unwrap().sequence.unwrap() - 2;
    let told = draft.says(&format!(
        "@qa>sync:registry{{v:1|hash:a32838}}[mid:5e1f00000009,seq:{held}]"
    ));
    assert!(
        matches!(payload(&told).get("a"), Some(Value::Ref(_))),
        "{told:?}"
    );
}

/// A frame with the bytes of a value has the last number that the peer has got, as every link frame
/// has. It does not have a position of the log.
#[test]
fn bytes_come_under_a_number_of_the_peer() {
    let mut draft = joined();
    let request = DynamicFrame::new("dev", "req", "plan").unwrap();
    let told = draft.dev(&request.with("why", "a text that is sent by reference ".repeat(2)));
    let number = envelope(told.last().unwrap()).unwrap().sequence;
    let ask = "@qa>qry:bytes{key:k101_1|at:0}[mid:5e1f00000001,seq:2,ts:1714000000]";
    let bytes = draft.says(ask);
    assert!(bytes[0].starts_with("@hub>sync:bytes{"), "{bytes:?}");
    assert_eq!(envelope(&bytes[0]).unwrap().sequence, number);
}

/// A killed host goes on after the number that the peer names. If this number is impossible, or
/// higher than the host has sent, the peer begins with the state.
#[test]
fn reg_03_a_killed_host_goes_on_where_the_peer_is() {
    for snapshots in [1_000, 1] {
        let mut draft = joined();
        let state = DynamicFrame::new("dev", "sync", "state").unwrap();
        let changes: Map<'_> = [("order_7", Value::from("open"))].into_iter().collect();
        draft.dev(&state.with("version", 1).with("delta", changes));
        draft.says("@qa>req:plan{}[mid:5e1f00000001,seq:2,ts:1714000000]");
        draft.dev(&plan("dev", 1));
        draft.room.host.options.snapshot_entries = snapshots;
        draft.room.restart(MemberId::HOST).unwrap();
        draft.room.settle();
        draft.dev(&plan("dev", 2));
        draft.room.restart(MemberId::HOST).unwrap();
        draft.room.settle();
        draft.heard();
        for (seq, wanted) in [
            (
                3,
                &[
                    "@hub>sync:registry{hash:a32838|v:1} 3",
                    "@dev>req:plan{n:2} 4",
                ][..],
            ),
            (
                1,
                &[
                    "@hub>sync:registry{hash:a32838|v:1} 1",
                    "@hub>ack:frame{} 2",
                    "@dev>req:plan{n:1} 3",
                    "@dev>req:plan{n:2} 4",
                ],
            ),
            (
                77,
                &[
                    "@hub>sync:registry{hash:a32838|v:1} 0",
                    "@hub>sync:state{state:{order_7:open}|v:1} 0",
                    "@hub>ack:frame{} 1",
                    "@hub>ack:frame{} 2",
                    "@dev>req:plan{n:1} 3",
                    "@dev>req:plan{n:2} 4",
                ],
            ),
        ] {
            draft.room.now = draft.room.now + LONG;
            draft.heard();
            let hello = format!("@qa>sync:registry{{v:1|hash:a32838}}[mid:5e1f00000002,seq:{seq}]");
            assert_eq!(
                short_forms(&draft.says(&hello)),
                wanted,
                "{snapshots} {seq}"
            );
        }
        // The host still recognises a frame that the peer has sent.
        let again = draft.says("@qa>req:plan{}[mid:5e1f00000001,seq:2,ts:1714000000]");
        assert!(
            again[0].contains("code:E3002") && again[0].contains("|seq:2|"),
            "{again:?}"
        );
    }
}

/// A peer that lacks entries which the host has discarded begins with the present state.
#[test]
fn a_peer_that_was_away_for_too_long_begins_anew() {
    let mut hub = options("hub");
    hub.snapshot_entries = 10;
    let mut draft = Draft::new(hub, Rules::default());
    draft.enters();
    draft.says("@qa>sync:registry{v:1|hash:a32838}");
    let now = draft.room.now;
    let host = draft.room.host.session_mut();
    host.handle(Input::Disconnected(member(102)), now).unwrap();
    for n in 0..50 {
        draft.dev(&plan("dev", n));
    }
    draft.room.host.handle_all(now);
    draft.room.settle();
    let log_before = draft.room.host.session().position() - 10;
    let id = draft.room.host.driver.side().clone();
    draft
        .room
        .host
        .store
        .retain(&id, Retention { log_before })
        .unwrap();
    draft.heard();
    let told = draft.says("@qa>sync:registry{v:1|hash:a32838}[mid:5e1f00000002,seq:3]");
    let told = short_forms(&told);
    assert_eq!(
        told.last().unwrap(),
        "@hub>sync:registry{hash:a32838|v:1} 50",
        "{told:?}"
    );
    assert_eq!(
        short_forms(&draft.dev(&plan("dev", 51))),
        ["@dev>req:plan{n:51} 51"]
    );
}

/// A state that is too large for one frame is sent in several frames. A receiver that applies them in order has
/// the current state.
#[test]
fn a_large_state_goes_in_several_frames() {
    let mut draft = Draft::new(options("hub"), Rules::default());
    let mut shared = SharedState::default();
    for version in 1..=3 {
        let entries = (0..2_000).map(|n| (format!("k{version}_{n}"), Value::from(n)));
        let state = DynamicFrame::new("dev", "sync", "state").unwrap();
        let delta: Map<'_> = entries.collect();
        let update = state.with("version", version).with("delta", delta);
        let text = update.encode(&STANDARD).unwrap();
        shared
            .apply(StateUpdate::decode(&text).unwrap(), usize::MAX)
            .unwrap();
        draft.dev(&update);
    }
    draft.enters();
    let told = draft.says("@qa>sync:registry{v:1|hash:a32838}");
    assert!(told.len() > 2);
    let mut read = SharedState::default();
    for text in &told[1..] {
        assert!(Frame::parse(text).is_ok(), "{}", text.len());
        read.apply(StateUpdate::decode(text).unwrap(), usize::MAX)
            .unwrap();
    }
    assert_eq!(read, shared);
    assert_eq!(&read, draft.room.host.state().shared());
}

/// A peer that asks again for a transaction gets a copy of the answer.
#[test]
fn a_transaction_is_processed_once_for_such_a_peer() {
    let mut draft = joined();
    let pay = |mid: u64, seq: u64| {
        format!(
            "@qa>req:transaction{{txn:t1|amt:1.0|cur:EUR|schema:TX}}[mid:5e1f0000000{mid},seq:{seq},ts:1714000000]"
        )
    };
    assert_eq!(short_forms(&draft.says(&pay(1, 1))), ["@hub>ack:frame{} 1"]);
    let request = draft.room.members[0].inbox.remove(0);
    let done = DynamicFrame::decode(
        "@dev>done:transaction{txn:t1|amt:1.0|cur:EUR|status:settled|schema:TX}",
        &STANDARD,
    )
    .unwrap();
    let reply = Outbound::message(&done).answering(&request).unwrap();
    let now = draft.room.now;
    draft.room.members[0]
        .session_mut()
        .handled(request.position(), &[reply], now)
        .unwrap();
    let answer = draft.heard();
    let again = draft.says(&pay(2, 3));
    assert_eq!(again.len(), 2, "{again:?}");
    assert!(
        again[0].contains("ack:frame{}") && again[0].contains("cid:5e1f00000002"),
        "{again:?}"
    );
    let payload = |text: &str| text.split_once('[').unwrap().0.to_owned();
    assert_eq!(payload(&again[1]), payload(answer.last().unwrap()));
    assert_eq!(envelope(&again[1]).unwrap().sequence, Some(3));
    assert!(draft.room.members[0].inbox.is_empty());
}

/// If a change is for another version than the version in force, the host answers with the version in force and the
/// state.
#[test]
fn a_stale_change_of_the_state_is_answered_with_the_state() {
    let mut draft = joined();
    let state = DynamicFrame::new("dev", "sync", "state").unwrap();
    let changes: Map<'_> = [("order_7", Value::from("open"))].into_iter().collect();
    draft.dev(&state.with("version", 1).with("delta", changes));
    let late = "@qa>sync:state{v:1|delta:{order_7:sent}}[mid:5e1f00000001,seq:2,ts:1714000000]";
    let told = draft.says(late);
    assert!(
        told[0].contains("code:E2001") && told[0].contains("|v:1"),
        "{told:?}"
    );
    assert_eq!(
        short_forms(&told[1..]),
        ["@hub>sync:state{state:{order_7:open}|v:1} 1"]
    );
    let next = "@qa>sync:state{v:2|delta:{order_7:sent}}[mid:5e1f00000002,seq:2,ts:1714000000]";
    assert_eq!(short_forms(&draft.says(next)), ["@hub>ack:frame{} 2"]);
    assert_eq!(
        draft.room.host.state().shared().get("order_7"),
        Some(&Value::from("sent"))
    );
}

/// A peer has not acknowledged the whole state, and its hello names a later number. The peer gets the state again.
#[test]
fn a_state_that_was_lost_comes_after_the_next_hello() {
    let mut draft = Draft::new(options("hub"), Rules::default());
    let state = DynamicFrame::new("dev", "sync", "state").unwrap();
    let changes: Map<'_> = [("order_7", Value::from("open"))].into_iter().collect();
    draft.dev(&plan("dev", 1));
    draft.enters();
    draft.dev(&state.with("version", 1).with("delta", changes));
    let whole = "@hub>sync:state{state:{order_7:open}|v:1} 2";
    let told = draft.says("@qa>sync:registry{v:1|hash:a32838}[mid:5e1f00000000,seq:0]");
    assert!(
        short_forms(&told)
            .iter()
            .any(|text| text.contains("sync:state{state:"))
    );
    for (number, is_told) in [(2, true), (2, false)] {
        draft.room.now = draft.room.now + LONG;
        draft.heard();
        let told = draft.says(&format!(
            "@qa>sync:registry{{v:1|hash:a32838}}[mid:5e1f0000000{number},seq:2]"
        ));
        assert_eq!(
            short_forms(&told).contains(&whole.to_owned()),
            is_told,
            "{told:?}"
        );
        let state = told.iter().find(|text| text.contains("sync:state{state:"));
        if let Some(mid) = state.and_then(|text| envelope(text).unwrap().msg_id.clone()) {
            draft.says(&format!(
                "@qa>ack:frame{{}}[mid:5e1f0000000a,seq:2,cid:{mid}]"
            ));
        }
    }
}

/// A peer that refuses a change gets the whole state under the number that it holds, and then the
/// change and the frames after it again.
#[test]
fn a_refused_change_comes_again_after_the_state() {
    let mut draft = joined();
    let state = DynamicFrame::new("dev", "sync", "state").unwrap();
    let changes: Map<'_> = [("order_7", Value::from("open"))].into_iter().collect();
    draft.dev(&state.with("version", 1).with("delta", changes));
    let told = draft.dev(&plan("dev", 1));
    assert_eq!(short_forms(&told), ["@dev>req:plan{n:1} 2"]);
    let refusal = "@qa>fail:error{code:E2001|msg:no|retry:false|v:0|schema:ER}[mid:5e1f00000001,seq:0,ts:1714000000,cid:101000001001,of:101000001001]";
    assert_eq!(
        short_forms(&draft.says(refusal)),
        [
            "@hub>sync:state{state:{order_7:open}|v:1} 0",
            "@dev>sync:state{delta:{order_7:open}|v:1} 1",
            "@dev>req:plan{n:1} 2",
        ]
    );
}

/// A frame waits for a value for a fixed number of timeouts, even if the peer sends its hello
/// often.
#[test]
fn a_peer_that_greets_often_gets_the_frame_without_its_value() {
    let mut draft = joined();
    lose(&mut draft.room, |passed| {
        passed.text.contains(">sync:bytes{")
    });
    let long = "a text that goes by reference ".repeat(3);
    draft.dev(&dynamic("dev", "req", "plan").with("a", long));
    for n in 0..60 {
        draft.room.now = draft.room.now + Duration::from_secs(2);
        let mut told = draft.heard();
        told.extend(draft.says(&format!(
            "@qa>sync:registry{{v:1|hash:a32838}}[mid:5e1f000000{n:02},seq:1]"
        )));
        if told.iter().any(|text| text.contains("$cold.")) {
            return;
        }
    }
    panic!("{}", draft.script);
}
