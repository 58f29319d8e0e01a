//! Conformance of repeated frames, DLV-03 (draft section 3.7): each is processed once, and so is
//! each payment, PRO-TX (10.3). `docs/conformance.md` lists the tests of each requirement.

use std::time::Duration;

use accp_runtime::profiles::{TransactionDone, TransactionReq};
use accp_runtime::session::{Event, Input, MemberId, Outbound, Scope, Time};
use accp_runtime::{Decimal, ErrorCode};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{self, NOW, Node, envelope, options, plan, rules};

// ---- DLV-03 ------------------------------------------------------------------------

/// Longer than the longest wait before a resend.
const LONG: Duration = Duration::from_secs(32);

/// A side names the time of the next resend by the clock of its caller, and sends nothing before.
#[test]
fn dlv_03_accepts_a_resend_at_the_time_that_it_names() {
    let mut room = Room::new(&["dev"]);
    let now = room.now;
    let dev = &mut room.members[0];
    let message = plan("dev", 1);
    dev.session_mut()
        .send(&Outbound::message(&message), now)
        .unwrap();
    assert_eq!(dev.carries_out(now).len(), 1);
    let at = dev.session().next_timeout().unwrap().as_millis();
    assert!(at > now.as_millis());
    let hour = 3_600_000;
    for (time, is_due) in [(at - 1, false), (at - hour, false), (at - hour + 1, true)] {
        let time = Time::from_millis(time);
        dev.is_taken(Input::Timeout, time);
        assert_eq!(!dev.carries_out(time).is_empty(), is_due, "{time:?}");
        let next = dev.session().next_timeout().unwrap();
        assert!(
            is_due || next.as_millis() == time.as_millis() + 1,
            "{next:?}"
        );
    }
}

/// A fault of the link for one frame.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    Lost,
    Twice,
    /// The frame arrives after the next one.
    Late,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::None),
        2 => Just(Fault::Lost),
        1 => Just(Fault::Twice),
        1 => Just(Fault::Late),
    ]
}

/// Makes the link fail with these faults, then work again.
fn bad_link(room: &mut Room, faults: Vec<Fault>) {
    let mut faults = faults.into_iter();
    let mut late = Vec::new();
    room.on_the_way(move |passed| {
        let mut texts = match faults.next().unwrap_or(Fault::None) {
            Fault::None => vec![passed.text.clone()],
            Fault::Lost => vec![],
            Fault::Twice => vec![passed.text.clone(); 2],
            Fault::Late => {
                late.push(passed.clone());
                return Vec::new();
            }
        };
        let way = (passed.from, passed.to);
        let due = late.extract_if(.., |late| (late.from, late.to) == way);
        texts.extend(due.map(|late| late.text));
        texts
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Lost, repeated and overtaken frames are sent again until their fate is known. Each is
    /// processed once and in order.
    #[test]
    fn dlv_03_accepts_what_is_sent_again_once(
        faults in prop::collection::vec(fault(), 0..60), sends in 1..8_i64, shared: bool,
    ) {
        let scope = if shared { Scope::Shared } else { Scope::Sender };
        let mut room = Room::with(options("hub"), rules(scope), &["dev", "qa"]);
        bad_link(&mut room, faults);
        for n in 1..=sends {
            for (index, agent) in [(0, "dev"), (1, "qa")] {
                let message = plan(agent, n);
                let now = room.now;
                room.members[index].session_mut().send(&Outbound::message(&message), now).unwrap();
            }
            room.settle();
        }
        room.pass_often(80, LONG);
        room.check_replicas();
        let expected = |agent: &str| (1..=sends).map(|n| format!("@{agent}>req:plan{{n:{n}}}")).collect::<Vec<_>>();
        let of = |texts: &[String], agent: &str| {
            let start = format!("@{agent}>");
            let mine = texts.iter().filter(|text| text.starts_with(&start));
            mine.map(|text| text.split('[').next().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (now, mut handled) = (room.now, Vec::new());
        handled.push(room.host.handle_all(now));
        for node in &mut room.members {
            handled.push(node.handle_all(now));
        }
        for (side, agents) in [(0, ["dev", "qa"]), (1, ["qa", "qa"]), (2, ["dev", "dev"])] {
            for agent in agents {
                prop_assert_eq!(of(&handled[side], agent), expected(agent), "at side {}", side);
            }
        }
        prop_assert!(of(&handled[1], "dev").is_empty(), "nobody hears himself");
    }
}

/// A frame that the host could not accept for now is sent again. It keeps its `cid`, has a new
/// `mid` and `seq`, and names the old id.
#[test]
fn dlv_03_accepts_a_retry_under_a_new_id_after_a_retryable_refusal() {
    let mut room = Room::new(&["dev"]);
    room.on_the_way(|passed| {
        let Some(old) = sides::mid_of(&passed.text).filter(|_| passed.text.contains("req:plan"))
        else {
            return vec![passed.text.clone()];
        };
        // The link replaces the frame by a ping, so the host never gets it. The test makes the
        // refusal itself.
        vec![format!("@dev>ping:link{{}}[mid:910100000001,seq:{old}]")]
    });
    let message = plan("dev", 1);
    let old = room.say(0, &Outbound::message(&message).in_chain("c1"));
    let refusal = format!(
        "@hub>fail:error{{code:E9999|msg:later|retry:true|schema:ER}}[mid:910000000099,seq:3,of:{old}]"
    );
    room.heal();
    room.members[0]
        .session_mut()
        .receive(MemberId::HOST, refusal.as_bytes(), NOW);
    room.settle();
    assert!(room.host.frames().is_empty(), "not at once");
    room.pass(LONG);
    let entry = room.host.frames().pop().unwrap();
    let envelope = envelope(&entry.text).unwrap();
    assert_ne!(entry.mid, old);
    assert_eq!(envelope.correlation_id.as_deref(), Some("c1"));
    assert_eq!(
        envelope.causation_id.as_deref(),
        Some(old.to_string().as_str())
    );
    assert_eq!(room.host.inbox.len(), 1);
    room.check_replicas();
}

/// A frame that can never be accepted leaves the outbox. Its sender learns the reason, and the
/// later frames go on. A late copy is refused again.
#[test]
fn dlv_03_refuses_to_send_again_what_was_refused_for_good() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut room = Room::with(options("hub"), rules(scope), &["dev"]);
        let dev = room.members[0].session_mut();
        let bad = plan("dev", 1).with("goal", accp_runtime::Value::Ref("cold.k101_7".into()));
        let refused = dev.send(&Outbound::message(&bad), NOW).unwrap();
        for n in 2..5 {
            dev.send(&Outbound::message(&plan("dev", n)), NOW).unwrap();
        }
        room.settle();
        let event = room.members[0].events.iter().find_map(|event| match event {
            Event::Refused(mid, error) => Some((mid.clone(), error.code, error.retry)),
            _ => None,
        });
        assert_eq!(
            event,
            Some((refused.clone(), ErrorCode::REF_NOT_FOUND, false))
        );
        let numbers: Vec<u64> = room
            .host
            .frames()
            .iter()
            .map(|entry| entry.sequence)
            .collect();
        assert_eq!(numbers, [1, 2, 3]);
        room.check_replicas();

        // The host refuses a copy of the frame, whatever its number, even if the reference now
        // leads to a value.
        let text = format!("@dev>req:plan{{}}[mid:{refused},seq:4]");
        let again = room.host.hears(101, &text, NOW);
        assert!(again.sends[0].contains("code:E2001"), "{:?}", again.sends);
        assert!(again.inbound.is_empty());
    }
}

// ---- PRO-TX ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Over a link that fails, to a receiver that restarts, a payment is made once and answered
    /// once.
    #[test]
    fn pro_tx_accepts_a_payment_once_whatever_the_link_does(
        faults in prop::collection::vec(fault(), 0..40), restart in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut room = Room::new(&["shop", "bank"]);
        bad_link(&mut room, faults);
        let payment = TransactionReq {
            transaction_id: "t-1".into(),
            amount: Decimal::parse("12.5").unwrap(),
            currency: "EUR".into(),
            account: None,
            reference: None,
            status: "pending".into(),
            retryable: true,
        };
        let now = room.now;
        room.members[0].session_mut().send(&Outbound::frame(&payment), now).unwrap();
        let mut made = 0;
        for restarts in restart.into_iter().chain([false; 60]) {
            room.pass(LONG);
            let now = room.now;
            let bank = &mut room.members[1];
            for inbound in std::mem::take(&mut bank.inbox) {
                let id = inbound.decode::<TransactionReq<'_>>().unwrap().frame.transaction_id;
                let done = TransactionDone { transaction_id: id, reference: None, status: "made".into() };
                let reply = Outbound::frame(&done).answering(&inbound).unwrap();
                bank.session_mut().handled(inbound.position(), &[reply], now).unwrap();
                made += 1;
            }
            room.settle();
            if restarts {
                let bank = &mut room.members[1];
                bank.reopen_as(options("bank"));
                bank.connected();
                room.settle();
            }
        }
        prop_assert_eq!(made, 1);
        let frames = room.host.frames();
        let of = |what: &str| frames.iter().filter(|entry| entry.text.contains(what)).count();
        prop_assert_eq!((of(">req:transaction{txn:t-1|"), of(">done:transaction{txn:t-1|")), (1, 1));
        room.check_replicas();
    }
}
