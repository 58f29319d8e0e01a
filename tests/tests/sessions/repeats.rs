//! Transactions that are asked for again (draft section 10.3).

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::profiles::{TransactionDone, TransactionReq};
use accp_runtime::session::{Event, Inbound, Input, MemberId, Mid, Outbound, Rules};
use accp_runtime::{Decimal, DynamicFrame, ErrorCode, Frame};
use accp_session::{Entry, EntryKind};
use accp_store::{Retention, Store as _};
use accp_testkit::{Faults, Wire};
use proptest::prelude::*;

use crate::sessions::lineage::{copy, decide, restore};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, envelope, frame, member, open_host, options};

fn payment(id: &str, cents: i64) -> TransactionReq<'static> {
    TransactionReq {
        transaction_id: id.to_owned().into(),
        amount: Decimal::from_millionths(i128::from(cents) * 10_000).unwrap(),
        currency: "EUR".into(),
        account: None,
        reference: None,
        status: "pending".into(),
        retryable: false,
    }
}

pub(crate) const BANK: usize = 2;

/// A room with `@hub`, `@shop` (101), `@dev` (102), and `@bank` (103), which answers the requests.
fn bank() -> Room {
    Room::new(&["shop", "dev", "bank"])
}

pub(crate) fn asks(room: &mut Room, index: usize, id: &str, cents: i64) -> Mid {
    room.say(index, &Outbound::owned(payment(id, cents)))
}

/// Takes the requests that the bank was given, and marks everything else handled at all sides.
/// Returns the requests, and the answers by the side that got them.
pub(crate) fn heard(room: &mut Room) -> (Vec<Inbound>, Vec<(MemberId, Inbound)>) {
    let (mut requests, mut answers) = (Vec::new(), Vec::new());
    let now = room.now;
    let sides = &mut **room;
    for side in std::iter::once(&mut sides.host).chain(&mut sides.members) {
        for inbound in std::mem::take(&mut side.inbox) {
            let is_request = inbound.text().contains(">req:");
            if is_request && side.id == member(103) {
                requests.push(inbound);
                continue;
            }
            let position = inbound.position();
            side.session_mut().handled(position, &[], now).unwrap();
            if !is_request {
                answers.push((side.id, inbound));
            }
        }
    }
    room.settle();
    (requests, answers)
}

fn settles(room: &mut Room, request: &Inbound, reply: Outbound<'_>) {
    let (now, reply) = (room.now, reply.answering(request).unwrap());
    let bank = room.members[BANK].session_mut();
    bank.handled(request.position(), &[reply], now).unwrap();
    room.settle();
}

pub(crate) fn settled(id: &str) -> Outbound<'static> {
    Outbound::owned(TransactionDone {
        transaction_id: id.to_owned().into(),
        reference: None,
        status: "settled".into(),
    })
}

pub(crate) fn chain(inbound: &Inbound) -> Mid {
    let cid = envelope(inbound.text()).unwrap().correlation_id.unwrap();
    Mid::parse(&cid)
}

fn kinds(room: &mut Room) -> Vec<EntryKind> {
    let log = room.host.log();
    let is_said = |entry: &&Entry| entry.text.contains(":transaction{");
    log.iter().filter(is_said).map(|entry| entry.kind).collect()
}

/// While the first request waits, and after it was answered, a second request of the same transaction reaches no
/// handler. Only the sender of the second request gets the answer, in the chain of that request.
#[test]
fn pro_tx_accepts_a_second_request_and_repeats_the_answer() {
    let mut room = bank();
    let first = asks(&mut room, 0, "t-1", 500);
    let second = asks(&mut room, 0, "t-1", 500);
    let (requests, answers) = heard(&mut room);
    assert_eq!((requests.len(), answers.len()), (1, 0));

    settles(&mut room, &requests[0], settled("t-1"));
    let third = asks(&mut room, 0, "t-1", 500);
    let (requests, answers) = heard(&mut room);
    assert!(requests.is_empty());
    let got = |who: u16| -> Vec<Mid> {
        let of = |(id, inbound): &(MemberId, Inbound)| (*id == member(who)).then(|| chain(inbound));
        answers.iter().filter_map(of).collect()
    };
    assert_eq!(got(101), [first.clone(), second, third]);
    assert_eq!(got(102), [first]);
    for (_, answer) in &answers {
        let done = answer.decode::<TransactionDone<'_>>().unwrap();
        assert_eq!(
            (done.agent.as_str(), &*done.frame.status),
            ("bank", "settled")
        );
    }

    // The same id from another sender is another transaction.
    asks(&mut room, 1, "t-1", 500);
    assert_eq!(heard(&mut room).0.len(), 1);
    room.check_replicas();
}

/// The fields count too: if a request has the same id with other fields, nobody gets the answer to another payment.
#[test]
fn pro_tx_refuses_other_fields_under_the_same_id() {
    let mut host = open_host(options("hub"), Rules::default());
    let pay = |fields: &str| format!("@dev>req:transaction{{txn:t1|{fields}|schema:TX}}");
    host.takes(101, &frame(&pay("amt:5.0|acc:a"), 1, 1, ""));
    // Defaults and the order of fields do not matter.
    host.takes(101, &frame(&pay("acc:a|amt:5.0|currency:USD"), 2, 2, ""));
    let others = ["amt:5.5|acc:a", "amt:5.0", "amt:5.0|acc:a|currency:EUR"];
    for (n, fields) in (90..).zip(others) {
        let refused = host.refuses(101, &frame(&pay(fields), n, 3, ""));
        assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{fields}");
        assert!(
            refused.message.contains("the first request"),
            "{}",
            refused.message
        );
    }
    let named = pay("amt:5.0").replace("t1", "$cold.p1");
    let refused = host.refuses(101, &frame(&named, 99, 3, ""));
    assert!(
        refused.message.contains("`transaction_id` in the frame"),
        "{}",
        refused.message
    );
    // At most 16 requests can wait for one answer.
    for n in 3..=17 {
        host.takes(101, &frame(&pay("amt:5.0|acc:a"), n, u64::from(n), ""));
    }
    let refused = host.refuses(101, &frame(&pay("amt:5.0|acc:a"), 18, 18, ""));
    assert_eq!(refused.code, ErrorCode::BUDGET_EXCEEDED);
}

/// After a failure that says `retry`, after a cancellation and after a drop, the next request is
/// handled again.
#[test]
fn pro_tx_accepts_another_attempt_after_a_failure_that_allows_it() {
    let mut room = bank();
    asks(&mut room, 0, "t-1", 500);
    let waits = asks(&mut room, 0, "t-1", 500);
    let (requests, _) = heard(&mut room);
    settles(
        &mut room,
        &requests[0],
        Outbound::error(ErrorCode::TIMEOUT, "try later"),
    );
    let (_, answers) = heard(&mut room);
    let is_for_it =
        |(id, inbound): &&(MemberId, Inbound)| *id == member(101) && chain(inbound) == waits;
    assert_eq!(
        answers.iter().filter(is_for_it).count(),
        1,
        "who waits learns of the failure"
    );

    let second = asks(&mut room, 0, "t-1", 500);
    assert_eq!(heard(&mut room).0.len(), 1);
    let cancel = DynamicFrame::new("shop", "cancel", "task").unwrap();
    let cancel = Outbound::message(&cancel).in_chain(second.to_string());
    room.say(0, &cancel);
    heard(&mut room);
    asks(&mut room, 0, "t-1", 500);
    let (requests, _) = heard(&mut room);
    assert_eq!(requests.len(), 1);

    settles(
        &mut room,
        &requests[0],
        Outbound::error(ErrorCode::TOOL_SCHEMA_MISMATCH, "never"),
    );
    asks(&mut room, 0, "t-1", 500);
    assert!(
        heard(&mut room).0.is_empty(),
        "a failure without `retry` is final"
    );

    // An expired request is dropped, so it does not count as the first request of the
    // transaction.
    let late = frame(
        "@dev>req:transaction{txn:t2|amt:1.0|schema:TX}",
        1,
        1,
        ",ttl:1",
    );
    let mut host = open_host(options("hub"), Rules::default());
    host.hears(101, &late, NOW + Duration::from_secs(100));
    host.takes(
        101,
        &frame("@dev>req:transaction{txn:t2|amt:1.0|schema:TX}", 2, 2, ""),
    );
    let kinds: Vec<_> = host.log().iter().map(|entry| entry.kind).collect();
    assert!(
        kinds.ends_with(&[EntryKind::Dropped, EntryKind::Frame]),
        "{kinds:?}"
    );
}

/// Two requests of one transaction that the host sends at once are refused before either counts.
#[test]
fn pro_tx_refuses_two_requests_in_one_reply_of_the_host() {
    let mut room = bank();
    let ask = DynamicFrame::new("shop", "req", "plan").unwrap();
    room.say(0, &Outbound::message(&ask));
    let inbound = room.host.inbox.remove(0);
    let pay = || Outbound::owned(payment("t-9", 1));
    let now = room.now;
    let both = room
        .host
        .session_mut()
        .handled(inbound.position(), &[pay(), pay()], now);
    assert!(
        both.unwrap_err()
            .to_string()
            .contains("one request of a transaction")
    );
    assert!(kinds(&mut room).is_empty());
}

/// The text of the answer may be gone from the log when somebody asks again.
#[test]
fn pro_tx_accepts_a_request_whose_answer_was_discarded() {
    let mut hub = options("hub");
    hub.snapshot_entries = 10;
    let mut room = Room::with(hub, Rules::default(), &["shop", "dev", "bank"]);
    asks(&mut room, 0, "t-1", 500);
    let (requests, _) = heard(&mut room);
    settles(&mut room, &requests[0], settled("t-1"));
    heard(&mut room);
    let ask = DynamicFrame::new("dev", "req", "plan").unwrap();
    for _ in 0..20 {
        room.say(1, &Outbound::message(&ask));
        heard(&mut room);
        for inbound in std::mem::take(&mut room.members[BANK].inbox) {
            let now = room.now;
            room.members[BANK]
                .session_mut()
                .handled(inbound.position(), &[], now)
                .unwrap();
        }
    }
    let id = room.host.driver.side().clone();
    let log_before = room.host.session().position() - 10;
    room.host
        .store
        .retain(&id, Retention { log_before })
        .unwrap();
    assert!(
        room.host
            .log()
            .iter()
            .all(|entry| !entry.text.contains(":transaction{"))
    );
    let again = asks(&mut room, 0, "t-1", 500);
    let (requests, answers) = heard(&mut room);
    assert!(requests.is_empty());
    let (who, answer) = &answers[0];
    assert_eq!(
        (*who, chain(answer), answers.len()),
        (member(101), again, 1)
    );
    assert!(answer.text().contains("{code:E2002|"), "{}", answer.text());
}

#[derive(Debug, Clone)]
enum Step {
    Ask(usize, u8),
    Settle(bool),
    Cancel(usize),
    Restart(u16),
    Pass,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..2_usize, 0..2_u8).prop_map(|(who, id)| Step::Ask(who, id)),
        4 => any::<bool>().prop_map(Step::Settle),
        1 => (0..2_usize).prop_map(Step::Cancel),
        2 => (100..=103_u16).prop_map(Step::Restart),
        2 => Just(Step::Pass),
    ]
}

/// The state of one transaction, found by reading only the log.
enum Known {
    Open(Mid),
    Ended,
}

/// Checks that no transaction in the host's log is handled twice. Returns the copies of answers that the host owes:
/// for each the id of the request, and its sender.
fn check_log(log: &[Entry]) -> BTreeMap<Mid, MemberId> {
    let mut known: BTreeMap<(MemberId, String), Known> = BTreeMap::new();
    let mut waiting: BTreeMap<Mid, (Mid, MemberId)> = BTreeMap::new();
    let mut owed = BTreeMap::new();
    for entry in log {
        let parsed = Frame::parse(&entry.text).unwrap();
        let cid = envelope(&entry.text).unwrap().correlation_id;
        let cid = cid.map(|cid| Mid::parse(&cid));
        let id = parsed.value("txn").map(|id| format!("{id:?}"));
        let key = (entry.sender, id.unwrap_or_default());
        match (entry.kind, &*parsed.intent) {
            (EntryKind::Frame, "req") => {
                assert!(!known.contains_key(&key), "handled twice: {}", entry.text);
                known.insert(key, Known::Open(entry.mid.clone()));
            }
            (EntryKind::Repeat, "req") => match &known[&key] {
                Known::Open(first) => {
                    waiting.insert(entry.mid.clone(), (first.clone(), entry.sender));
                }
                Known::Ended => drop(owed.insert(entry.mid.clone(), entry.sender)),
            },
            (EntryKind::Frame, "done" | "fail") => {
                let chain = cid.unwrap();
                let is_it = |known: &Known| matches!(known, Known::Open(first) if *first == chain);
                let ended: Vec<_> = known.iter().filter(|(_, known)| is_it(known)).collect();
                let ended: Vec<_> = ended.into_iter().map(|(key, _)| key.clone()).collect();
                let retry = parsed.intent == "fail";
                for key in ended {
                    known.remove(&key);
                    if !retry {
                        known.insert(key, Known::Ended);
                    }
                }
                let due = waiting.iter().filter(|(_, (first, _))| *first == chain);
                owed.extend(due.map(|(mid, (_, sender))| (mid.clone(), *sender)));
                waiting.retain(|_, (first, _)| *first != chain);
            }
            (EntryKind::Frame, "cancel") => {
                let chain = cid.unwrap();
                known.retain(|_, known| !matches!(known, Known::Open(first) if *first == chain));
                waiting.retain(|_, (first, _)| *first != chain);
            }
            _ => {}
        }
    }
    owed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever fails and in whatever order: each attempt of a transaction is handled once, and
    /// every asker gets one answer in the chain of its question.
    #[test]
    fn pro_tx_accepts_any_order_of_requests_answers_and_restarts(
        steps in prop::collection::vec(step(), 1..24), seed: u64, loss in 0..300_u64, folds: bool,
    ) {
        let mut hub = options("hub");
        // With a limit of two entries, the host often stores a fold, and starts again from a fold.
        // With the usual limit, it starts again from its log.
        hub.snapshot_entries = if folds { 2 } else { hub.snapshot_entries };
        let mut room = Room::with(hub, Rules::default(), &["shop", "dev", "bank"]);
        let faults = Faults {
            loss, duplication: 100, delay: 200,
            latency: Duration::from_millis(20), jitter: Duration::from_millis(50), delayed_by: Duration::from_secs(1),
        };
        room.wire = Wire::new(seed, faults);
        let mut requests: Vec<Inbound> = Vec::new();
        let mut answers = Vec::new();
        let mut last = [None, None];
        for step in steps {
            let now = room.now;
            match step {
                Step::Ask(who, id) => {
                    let pay = Outbound::owned(payment(&format!("t-{id}"), 100));
                    last[who] = Some(room.members[who].session_mut().send(&pay, now).unwrap());
                }
                Step::Settle(is_final) if !requests.is_empty() => {
                    let request = requests.remove(0);
                    let asked = request.decode::<TransactionReq<'_>>().unwrap().frame;
                    let reply = if is_final {
                        settled(&asked.transaction_id)
                    } else {
                        Outbound::error(ErrorCode::TIMEOUT, "later")
                    };
                    let reply = reply.answering(&request).unwrap();
                    let bank = room.members[BANK].session_mut();
                    bank.handled(request.position(), &[reply], now).unwrap();
                }
                Step::Cancel(who) => {
                    if let Some(mid) = &last[who] {
                        let cancel = DynamicFrame::new(["shop", "dev"][who], "cancel", "task").unwrap();
                        let cancel = Outbound::message(&cancel).in_chain(mid.to_string());
                        // The chain may be cancelled already, and then the session refuses to
                        // send.
                        drop(room.members[who].session_mut().send(&cancel, now));
                    }
                }
                Step::Restart(who) => {
                    room.restart(member(who)).unwrap();
                    if who == 103 {
                        requests.clear();
                    }
                }
                Step::Settle(_) | Step::Pass => {}
            }
            for _ in 0..3 {
                room.step(Duration::from_millis(200)).unwrap();
            }
            let (new, got) = heard(&mut room);
            requests.extend(new);
            answers.extend(got);
        }
        // In the end every request is answered.
        room.wire.set_faults(Faults::default());
        for _ in 0..64 {
            for _ in 0..80 {
                room.step(Duration::from_millis(500)).unwrap();
            }
            let (new, got) = heard(&mut room);
            requests.extend(new);
            let is_last = requests.is_empty() && got.is_empty();
            answers.extend(got);
            for request in requests.drain(..) {
                let asked = request.decode::<TransactionReq<'_>>().unwrap().frame;
                let reply = settled(&asked.transaction_id).answering(&request).unwrap();
                let now = room.now;
                room.members[BANK].session_mut().handled(request.position(), &[reply], now).unwrap();
            }
            if is_last {
                break;
            }
        }
        let log = room.host.log();
        let owed = check_log(&log);
        let copies: BTreeMap<_, _> = log
            .iter()
            .filter(|entry| entry.kind == EntryKind::Repeat && !entry.text.contains(">req:"))
            .map(|entry| (Mid::parse(&envelope(&entry.text).unwrap().causation_id.unwrap()), entry.sender))
            .collect();
        prop_assert_eq!(&copies, &owed);
        let all = log.iter().filter(|entry| entry.kind == EntryKind::Repeat && !entry.text.contains(">req:"));
        prop_assert_eq!(all.count(), copies.len(), "no copy twice");
        // Each copy has reached only the member that asked.
        for (who, inbound) in &answers {
            let entry = log.iter().find(|entry| entry.position == inbound.position()).unwrap();
            prop_assert!(entry.kind != EntryKind::Repeat || entry.sender == *who);
        }
        for entry in log.iter().filter(|entry| entry.kind == EntryKind::Repeat && !entry.text.contains(">req:")) {
            let got = answers.iter().filter(|(who, inbound)| *who == entry.sender && inbound.position() == entry.position);
            prop_assert!(got.count() >= 1, "{}", entry.text);
        }
        let is_lost = |event: &Event| matches!(event, Event::NotWritten(_) | Event::Tampered(_));
        prop_assert!(!room.sides().any(|side| side.events.iter().any(is_lost)));
        room.check_replicas();
    }
}

/// A host that has lost the end of its log takes the transactions in it back from a member.
#[test]
fn pro_tx_accepts_what_a_member_gives_back_to_a_host_from_a_backup() {
    let mut room = bank();
    let backup = copy(&room);
    asks(&mut room, 0, "t-1", 500);
    asks(&mut room, 0, "t-1", 500);
    let (requests, _) = heard(&mut room);
    settles(&mut room, &requests[0], settled("t-1"));
    heard(&mut room);
    restore(&mut room, backup);
    assert!(room.host.session().rolled_back().is_some());
    decide(&mut room, Input::Recover).unwrap();
    heard(&mut room);
    let again = asks(&mut room, 0, "t-1", 500);
    room.pass(Duration::from_secs(5));
    let (requests, answers) = heard(&mut room);
    assert!(requests.is_empty(), "it was handled");
    let got: Vec<_> = answers
        .iter()
        .map(|(who, inbound)| (*who, chain(inbound)))
        .collect();
    assert_eq!(got, [(member(101), again)]);
    room.check_replicas();
}
