//! Values that are larger than a frame may be, and values that are gone when a side asks for them.

use std::time::Duration;

use accp_runtime::context::{Checkpoint, CheckpointHooks, Frozen, Verdict};
use accp_runtime::session::{Event, Input, Outbound, Reference, Rules};
use accp_session::{Output, Read};
use accp_store::{Retention, Store};

use crate::sessions::room::Room;
use crate::sessions::sides::{
    HUB, NOW, Node, counting, dynamic, frame, is_relay, member, mid_of, of, open_host, options,
};

/// The host writes a grant into a frame of its own. The limits of frames do not apply to this frame, because a side
/// could not read the frame again if they did.
#[test]
fn a_grant_longer_than_a_frame() {
    let long = "k".repeat(70_000);
    let mut room = Room::new(&["dev"]);
    room.host.grant("other", &long, NOW);
    room.settle();
    room.check_replicas();
    let state = room.host.state().clone();
    room.host.restart_as(options("hub"));
    assert_eq!(*room.host.state(), state);
    room.pass(Duration::from_secs(40));
    room.check_replicas();
}

/// A value goes from its sender over the host to its reader. No timer delays the value: it needs only the time of
/// the link.
#[test]
fn a_long_value_waits_for_no_timer() {
    for length in [20_000, 25_000, 100_000, 1_000_000] {
        let mut room = Room::new(&["dev", "lab"]);
        let plan = dynamic("dev", "req", "plan").with("goal", "x".repeat(length));
        let dev = room.members[0].session_mut();
        dev.send(&Outbound::message(&plan), NOW).unwrap();
        // The reader asks for the value as soon as it knows the reference, before the host has the
        // value.
        let reference = Reference::parse("cold.k101_1").unwrap();
        let (mut read, mut at_rest) = (None, 0);
        while read.is_none() {
            let left = room.step(Duration::ZERO).unwrap();
            read = room.members[1].driver.read(&reference).ok().flatten();
            // A step without frames may still lead to frames: the next step sends what the reader has just asked for.
            at_rest = if left.is_empty() { at_rest + 1 } else { 0 };
            assert!(at_rest < 3, "{length} bytes wait");
        }
    }
}

struct Chatty;

impl CheckpointHooks for Chatty {
    fn before(&mut self, _: &Frozen<'_>) -> Verdict {
        Verdict::Veto("no ".repeat(30_000))
    }

    fn after(&mut self, _: &Checkpoint) {}
}

#[test]
fn a_veto_longer_than_a_frame() {
    let mut host = open_host(counting("hub"), Rules::default());
    host.hooks(Chatty);
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    assert_eq!(host.phase(NOW), None);
    host.carries_out(NOW);
    let state = host.state().clone();
    host.restart_as(counting("hub"));
    assert_eq!(*host.state(), state);
}

/// An answer repeats the id of the answered frame, and has to fit into a frame. So the host bounds the length of
/// ids.
#[test]
fn a_mid_that_no_answer_could_repeat() {
    let rules = Rules {
        any_mid: true,
        ..Rules::default()
    };
    let mut host = open_host(options("hub"), rules);
    for (length, is_taken) in [(128, true), (129, false), (65_000, false)] {
        let mid = "m".repeat(length);
        let seq = 1 + host.frames().len();
        let text = format!("@dev>req:plan{{}}[mid:{mid},seq:{seq}]");
        let heard = host.hears(101, &text, NOW);
        let unwritten = |event: &Event| matches!(event, Event::NotWritten(_));
        assert!(!heard.events.iter().any(unwritten), "{length}");
        let answers: Vec<_> = heard.sends.iter().filter(|text| !is_relay(text)).collect();
        let [answer] = &answers[..] else {
            panic!("{length}: {heard:?}");
        };
        assert_eq!(answer.contains(">ack:"), is_taken, "{length}");
        assert_eq!(
            answer.contains("a_mid_of_at_most_128_characters"),
            !is_taken,
            "{length}: {answer}"
        );
        let repeated = is_taken.then(|| mid_of(&text).unwrap());
        assert_eq!(of(answer), repeated, "{length}");
    }
}

/// A member asks for entries that the store has released, all of them or the first ones. For each retry the host
/// reads the store once, not without end. It does not send the entries after the gap: the member could not see that
/// entries are missing.
#[test]
fn a_log_that_was_let_go_of() {
    for kept in [0, 20] {
        let mut host = open_host(options("hub"), Rules::default());
        for n in 0..1_200 {
            host.grant("other", &format!("p{n}"), NOW);
        }
        host.carries_out(NOW);
        let log_before = host.session().position() + 1 - kept;
        let retention = Retention { log_before };
        host.store.retain(&HUB, retention).unwrap();
        host.restart_as(options("hub"));
        let hello = "@dev>sync:registry{v:1|hash:000000000000|pos:3|ext:[log]}[mid:910100000001]";
        host.session_mut()
            .receive(member(101), hello.as_bytes(), NOW);
        let (mut reads, mut offers) = (0, 0);
        while let Some(output) = host.session_mut().poll() {
            match output {
                Output::Read(Read::Entries { from, limit }) => {
                    reads += 1;
                    assert!(reads < 10, "it reads without end");
                    let entries = &host.store.entries(&HUB, from, limit).unwrap()[..];
                    assert_eq!(entries.is_empty(), kept == 0);
                    host.session_mut()
                        .handle(Input::Entries { from, entries }, NOW)
                        .unwrap();
                }
                Output::Batch(batch) => {
                    host.store.commit(&[(&HUB, &batch)]).unwrap();
                    let sends = batch.sends.iter();
                    assert!(
                        !sends
                            .map(|send| &send.text)
                            .any(|text| text.contains(",pos:"))
                    );
                    offers += batch
                        .sends
                        .iter()
                        .filter(|send| send.text.contains("|snap:"))
                        .count();
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((reads, offers), (1, 1));
    }
}
