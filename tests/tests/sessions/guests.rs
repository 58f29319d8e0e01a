//! Guests: members whose agents live in the process of the host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use accp_runtime::session::{
    CancelToken, Inbound, MemberId, Mid, Outbound, Rules, Scope, SendError, Session, StateError,
    Time,
};
use accp_runtime::{AgentId, Decimal, DynamicFrame, ErrorCode, Intent, Value};
use accp_session::{EntryKind, Output};
use accp_testkit::Shared;
use proptest::prelude::*;

use crate::sessions::sides::{NOW, Node, Side, dynamic, member, mid_of, options, plan, rules};

const AGENTS: [&str; 3] = ["dev", "qa", "ops"];

/// Opens a host that only relays, as a hub is.
fn hub(rules: Rules) -> Side {
    let mut options = options("hub");
    options.handles = false;
    let store = Shared::default();
    Side::open(MemberId::HOST, store, Vec::new(), options, Some(rules), NOW).unwrap()
}

fn enters(hub: &mut Side, agent: &'static str) -> MemberId {
    let agent = AgentId::new(agent).unwrap();
    hub.session_mut().join_guest(&agent, NOW).unwrap()
}

fn says(hub: &mut Side, from: MemberId, message: &DynamicFrame<'static>) -> Result<Mid, SendError> {
    let outbound = Outbound::message(message);
    hub.session_mut().send_as(from, &outbound, NOW)
}

/// Returns the entries of the log that are for the handlers of a guest.
fn inbox(hub: &mut Side, guest: MemberId) -> Vec<Inbound> {
    let log = hub.log();
    let session = hub.session_mut();
    let inbound = |entry| session.inbound_for(guest, entry, false);
    log.iter().filter_map(inbound).collect()
}

#[test]
fn a_guest_gets_the_frames_of_others_and_nothing_is_relayed() {
    let mut hub = hub(rules(Scope::Sender));
    let (dev, qa) = (enters(&mut hub, "dev"), enters(&mut hub, "qa"));
    says(&mut hub, dev, &plan("dev", 1)).unwrap();
    says(&mut hub, qa, &plan("qa", 2)).unwrap();
    assert_eq!(hub.carries_out(NOW), []);
    let heard = inbox(&mut hub, dev);
    let [of_qa] = &heard[..] else {
        panic!("{heard:?}");
    };
    assert!(of_qa.text().starts_with("@qa>req:plan{n:2}["));
    assert_eq!(of_qa.sender(), qa);
    let session = hub.session();
    assert!(session.is_quiet());
    assert_eq!(session.next_timeout(), None);
    assert_eq!(session.replicated(), session.position());
}

/// A host that needs all members does not wait for a guest of an earlier run, and does not greet this guest.
#[test]
fn a_host_that_starts_again_waits_for_no_guest() {
    let mut hub = hub(rules(Scope::Sender));
    let dev = enters(&mut hub, "dev");
    hub.session_mut().handled_as(dev, "2", None, NOW).unwrap();
    hub.carries_out(NOW);
    hub.restart(NOW).unwrap();
    assert_eq!(hub.carries_out(NOW), []);
    assert_eq!(hub.session().inbox_of(dev), Some("2"));
    let (replicated, last) = (hub.session().replicated(), hub.session().position());
    assert_eq!(replicated, last);
    assert_eq!(hub.session().next_timeout(), None);
    // The hub answers the hello of this agent as it answers the hello of any other agent.
    let hello = crate::sessions::sides::hello("dev", 0);
    let heard = hub.hears(dev.number(), &hello, NOW);
    assert!(
        heard.sends[0].starts_with("@hub>sync:registry{"),
        "{heard:?}"
    );
}

#[test]
fn a_refused_frame_leaves_nothing_behind_not_even_its_values() {
    let mut hub = hub(rules(Scope::Sender));
    let dev = enters(&mut hub, "dev");
    hub.carries_out(NOW);
    let long = "rye and spelt, ".repeat(400);
    let state = DynamicFrame::new("dev", "sync", "state").unwrap();
    let delta = [("note", long.as_str().into())].into_iter().collect();
    let state = state
        .with("version", 7)
        .with("delta", Value::Map(delta))
        .into_owned();
    let refused = says(&mut hub, dev, &state).unwrap_err();
    let SendError::Denied(error) = &refused else {
        panic!("{refused:?}");
    };
    let held = StateError::Version {
        held: 0,
        offered: 7,
    };
    assert_eq!(
        (error.code, error.version),
        (held.code(), Some(0)),
        "{error:?}"
    );
    assert!(hub.session_mut().poll().is_none_or(|output| {
        matches!(output, Output::Batch(batch) if !batch.is_durable() && batch.sends.is_empty())
    }));
    // The session also refuses a reply, and the mark that comes with it.
    let mark = hub
        .session_mut()
        .handled_as(dev, "9", Some(&Outbound::message(&state)), NOW);
    assert_eq!(mark, Err(refused));
    assert_eq!(hub.session().inbox_of(dev), None);
    // The next frame gets the id that the refused one would have had.
    let mid = says(&mut hub, dev, &plan("dev", 1)).unwrap();
    assert_eq!(mid.to_string(), "101000001001");
}

/// The host puts a long value of a guest under a key of the host. One batch has the value and the frame.
#[test]
fn a_long_value_is_there_with_its_frame() {
    for scope in [Scope::Sender, Scope::Shared] {
        let mut hub = hub(rules(scope));
        let (dev, qa) = (enters(&mut hub, "dev"), enters(&mut hub, "qa"));
        hub.carries_out(NOW);
        let long = "x".repeat(1 << 20);
        let said = dynamic("dev", "req", "plan").with("text", long.clone());
        says(&mut hub, dev, &said).unwrap();
        let Some(Output::Batch(batch)) = hub.session_mut().poll() else {
            panic!("no batch");
        };
        let bytes = batch.cold[0].bytes.clone().unwrap();
        assert_eq!(bytes.len(), long.len());
        let texts: Vec<_> = batch.entries.iter().map(|entry| &*entry.text).collect();
        assert!(
            texts[0].starts_with("@hub>sync:put{keys:[[k100_1,"),
            "{texts:?}"
        );
        assert!(
            texts[1].starts_with("@dev>req:plan{text:$cold.k100_1}["),
            "{texts:?}"
        );
        let sequence = batch.entries[1].sequence;
        assert_eq!(sequence, if scope == Scope::Shared { 2 } else { 1 });
        let inbound = hub.session_mut().inbound_for(qa, &batch.entries[1], false);
        assert!(inbound.is_some());
    }
}

/// A frame that comes by POST may have an id of the form that the session makes.
#[test]
fn ids_are_unique_beside_frames_without_a_link_and_over_restarts() {
    let mut hub = hub(rules(Scope::Sender));
    let dev = enters(&mut hub, "dev");
    let mut mids = BTreeSet::new();
    for seq in [1, 4, 7] {
        let text = format!("@dev>req:plan{{}}[mid:10100000100{seq},seq:{seq},ts:1714000000]");
        hub.session_mut().post(dev, text.as_bytes(), NOW).unwrap();
        assert!(mids.insert(mid_of(&text).unwrap()));
        for _ in 0..2 {
            assert!(mids.insert(says(&mut hub, dev, &plan("dev", 1)).unwrap()));
        }
        hub.carries_out(NOW);
        hub.restart(NOW).unwrap();
        enters(&mut hub, "dev");
    }
    let sequences: Vec<_> = hub.frames().iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn the_token_of_a_frame_in_work_fires_when_its_chain_is_cancelled() {
    let mut hub = hub(rules(Scope::Sender));
    let (dev, qa) = (enters(&mut hub, "dev"), enters(&mut hub, "qa"));
    let mid = says(&mut hub, dev, &plan("dev", 1)).unwrap();
    hub.carries_out(NOW);
    let in_work = inbox(&mut hub, qa);
    assert!(!in_work[0].cancel_token().is_cancelled());
    let cancel = DynamicFrame::new("dev", "cancel", "task").unwrap();
    let cancel = Outbound::message(&cancel).in_chain(mid.to_string());
    hub.session_mut().send_as(dev, &cancel, NOW).unwrap();
    hub.carries_out(NOW);
    assert!(in_work[0].cancel_token().is_cancelled());
    // The session leaves out the reply, and keeps the mark.
    let reply = plan("qa", 2);
    let reply = Outbound::message(&reply).answering(&in_work[0]).unwrap();
    hub.session_mut()
        .handled_as(qa, "all", Some(&reply), NOW)
        .unwrap();
    hub.carries_out(NOW);
    assert_eq!(hub.session().inbox_of(qa), Some("all"));
    assert_eq!(hub.frames().len(), 2);
    assert_eq!(says(&mut hub, dev, &plan("dev", 3)).map(drop), Ok(()));
    let late = plan("dev", 4);
    let late = Outbound::message(&late).in_chain(mid.to_string());
    assert_eq!(
        hub.session_mut().send_as(dev, &late, NOW),
        Err(SendError::Cancelled)
    );
}

/// A guest that asks for a transaction again gets a copy of the answer.
#[test]
fn the_copy_of_an_answer_is_for_the_guest_that_asked_again() {
    let mut hub = hub(rules(Scope::Sender));
    let (shop, bank) = (enters(&mut hub, "dev"), enters(&mut hub, "qa"));
    let amount = Decimal::parse("12.5").unwrap();
    let pay = dynamic("dev", "req", "transaction")
        .with("transaction_id", "t1")
        .with("amount", amount)
        .under("TX");
    says(&mut hub, shop, &pay).unwrap();
    hub.carries_out(NOW);
    let asked = inbox(&mut hub, bank).pop().unwrap();
    let paid = dynamic("qa", "done", "transaction")
        .with("transaction_id", "t1")
        .with("status", "settled")
        .under("TX");
    let paid = Outbound::message(&paid).answering(&asked).unwrap();
    hub.session_mut()
        .handled_as(bank, "1", Some(&paid), NOW)
        .unwrap();
    hub.carries_out(NOW);
    let again = says(&mut hub, shop, &pay).unwrap();
    hub.carries_out(NOW);
    assert_eq!(inbox(&mut hub, bank).len(), 1);
    let heard = inbox(&mut hub, shop);
    let copy = heard.last().unwrap();
    assert_eq!(
        copy.answers(&again, &again),
        Some(Intent::DONE),
        "{}",
        copy.text()
    );
    let log = hub.log();
    assert_eq!(log.last().unwrap().kind, EntryKind::Repeat);
}

/// If all members share one numbering, a guest takes no number during the turn of another member. The guest gets a
/// turn, too.
#[test]
fn a_guest_waits_for_its_turn_to_take_a_number() {
    let mut host = crate::sessions::sides::open_host(options("hub"), rules(Scope::Shared));
    let ops = enters(&mut host, "ops");
    host.carries_out(NOW);
    let numbered = |from: u16, agent: &str, n: u32, seq: u64| {
        format!("@{agent}>req:plan{{}}[mid:{from}000001{n:03},seq:{seq},ts:1714000000]")
    };
    host.takes(101, &numbered(101, "dev", 1, 1));
    // It is the turn of `@qa`, because the refusal has just named the expected number to it.
    let refused = host.refuses(102, &numbered(102, "qa", 1, 1));
    assert_eq!(refused.code, ErrorCode::SEQUENCE_GAP);
    assert_eq!(says(&mut host, ops, &plan("ops", 1)), Err(SendError::Busy));
    let ends = host.session().next_timeout().unwrap();
    assert!(ends <= NOW + Duration::from_secs(1));
    let heard = host.takes(102, &numbered(102, "qa", 1, 2));
    assert!(heard.others.iter().all(|send| send.to != ops), "{heard:?}");
    // Now it is the turn of the guest, and the others wait for it.
    let heard = host.ignores(101, &numbered(101, "dev", 2, 3), NOW);
    assert_eq!(heard.entries, []);
    says(&mut host, ops, &plan("ops", 2)).unwrap();
    host.carries_out(NOW);
    let senders: Vec<_> = host.frames().iter().map(|entry| entry.sender).collect();
    assert_eq!(senders, [member(101), member(102), ops]);
}

/// A turn that nobody uses ends by itself.
#[test]
fn a_guest_goes_on_when_the_turn_of_another_is_over() {
    let mut host = crate::sessions::sides::open_host(options("hub"), rules(Scope::Shared));
    let ops = enters(&mut host, "ops");
    host.carries_out(NOW);
    host.takes(101, "@dev>req:plan{}[mid:101000001001,seq:1,ts:1714000000]");
    host.refuses(102, "@qa>req:plan{}[mid:102000001001,seq:1,ts:1714000000]");
    assert_eq!(says(&mut host, ops, &plan("ops", 1)), Err(SendError::Busy));
    let ends = host.session().next_timeout().unwrap();
    host.carries_out(ends);
    let outbound = plan("ops", 1);
    let sent = host
        .session_mut()
        .send_as(ops, &Outbound::message(&outbound), ends);
    assert!(sent.is_ok(), "{sent:?}");
}

#[derive(Debug, Clone)]
enum Act {
    /// A guest says something.
    Says(usize),
    /// A guest handles the first frame that it has not handled, and answers it if it is a request.
    Handles(usize),
    Commits,
    /// The process is killed, and starts again from its store.
    Dies,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..AGENTS.len()).prop_map(Act::Says),
        6 => (0..AGENTS.len()).prop_map(Act::Handles),
        4 => Just(Act::Commits),
        1 => Just(Act::Dies),
    ]
}

fn positions(text: &str) -> BTreeSet<u64> {
    text.split(',').filter_map(|at| at.parse().ok()).collect()
}

/// Handles the next frame of a guest. The test keeps the handled positions as the text of the guest's inbox.
fn handles(hub: &mut Side, guest: MemberId, agent: &'static str) {
    let kept = hub.session().inbox_of(guest).unwrap_or_default();
    let mut handled = positions(kept);
    let next = inbox(hub, guest).into_iter();
    let Some(next) = next
        .into_iter()
        .find(|next| !handled.contains(&next.position()))
    else {
        return;
    };
    handled.insert(next.position());
    let text: Vec<_> = handled.iter().map(u64::to_string).collect();
    let done = DynamicFrame::new(agent, "done", "plan").unwrap();
    let done = Outbound::message(&done).answering(&next).unwrap();
    let reply = next.text().contains(">req:").then_some(&done);
    let session = hub.session_mut();
    session
        .handled_as(guest, &text.join(","), reply, NOW)
        .unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whenever the process is killed: a request is marked as handled if and only if the log has its answer,
    /// and the log has the answer once.
    #[test]
    fn marks_and_replies_are_kept_together(
        acts in prop::collection::vec(act(), 1..60),
        shares in any::<bool>(),
    ) {
        let mut hub = hub(rules(if shares { Scope::Shared } else { Scope::Sender }));
        let guests = AGENTS.map(|agent| enters(&mut hub, agent));
        hub.carries_out(NOW);
        for (n, act) in (0..).zip(acts) {
            match act {
                Act::Says(at) => drop(says(&mut hub, guests[at], &plan(AGENTS[at], n)).unwrap()),
                Act::Handles(at) => handles(&mut hub, guests[at], AGENTS[at]),
                Act::Commits => drop(hub.carries_out(NOW)),
                Act::Dies => {
                    hub.restart(NOW).unwrap();
                    let again = AGENTS.map(|agent| enters(&mut hub, agent));
                    prop_assert_eq!(again, guests);
                    hub.carries_out(NOW);
                }
            }
        }
        hub.restart(NOW).unwrap();
        let frames = hub.frames();
        let mut next = BTreeMap::<MemberId, u64>::new();
        for frame in &frames {
            let next = next.entry(if shares { MemberId::HOST } else { frame.sender }).or_insert(1);
            prop_assert_eq!(frame.sequence, *next);
            *next += 1;
        }
        let mids: BTreeSet<_> = frames.iter().map(|frame| &frame.mid).collect();
        prop_assert_eq!(mids.len(), frames.len());
        for guest in guests {
            let handled = positions(hub.session().inbox_of(guest).unwrap_or_default());
            for asked in inbox(&mut hub, guest) {
                if !asked.text().contains(">req:") {
                    continue;
                }
                let mid = asked.mid().unwrap();
                let answers = frames.iter().filter(|frame| {
                    let inbound = Inbound::new(frame.position, frame.sender, frame.text.clone(), CancelToken::default());
                    frame.sender == guest && inbound.answers(&mid, &mid).is_some()
                });
                let expected = usize::from(handled.contains(&asked.position()));
                prop_assert_eq!(answers.count(), expected, "{}", asked.text());
            }
        }
    }
}

/// A side that is a member has no guests.
#[test]
fn a_member_has_no_guests() {
    let mut session = Session::member(options("dev"), Time::default());
    let agent = AgentId::new("qa").unwrap();
    let refused = session.join_guest(&agent, NOW).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "only the host of a session can let a guest in; this side is a member"
    );
    let sent = session.send_as(member(101), &Outbound::message(&plan("qa", 1)), NOW);
    assert_eq!(sent, Err(SendError::NotJoined));
}
