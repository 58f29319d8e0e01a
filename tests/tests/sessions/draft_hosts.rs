//! Hosts that know only the draft (REG-03), as a member meets them.

mod hostile;
mod signs;

use std::time::Duration;

use accp_runtime::session::{Event, MemberId, Mid, Outbound, Time};
use accp_runtime::{DynamicFrame, ErrorCode, Value};
use accp_testkit::Shared;
use proptest::prelude::*;

use crate::sessions::layers::LONG;
use crate::sessions::sides::{
    NOW, Node as _, STANDARD, Side, dynamic, envelope, member, options, plan,
};

const HELLO: &str = "@hub>sync:registry{v:1|hash:a7f2c1}";

/// The member `@qa`. The test plays the host by hand.
struct Guest {
    side: Side,
    now: Time,
}

impl Guest {
    fn new() -> Self {
        let mut options = options("qa");
        options.snapshot_entries = 1;
        let side = Side::open(member(101), Shared::default(), vec![], options, None, NOW);
        Self {
            side: side.unwrap(),
            now: NOW,
        }
    }

    /// Joins at a host whose last number is `number`.
    fn at(number: u64) -> Self {
        let mut guest = Self::new();
        assert!(guest.sent()[0].starts_with("@qa>sync:registry{"));
        assert!(
            guest
                .hears(&format!("{HELLO}[mid:a1,seq:{number},ts:1714000000]"))
                .is_empty()
        );
        guest.side.events.clear();
        guest
    }

    fn sent(&mut self) -> Vec<String> {
        let sent = self.side.carries_out(self.now);
        sent.into_iter().map(|sent| sent.text).collect()
    }

    fn hears(&mut self, text: &str) -> Vec<String> {
        let now = self.now;
        let session = self.side.session_mut();
        session.receive(MemberId::HOST, text.as_bytes(), now);
        self.sent()
    }

    fn says(&mut self, message: &DynamicFrame<'_>) -> (Mid, Vec<String>) {
        let now = self.now;
        let session = self.side.session_mut();
        let mid = session.send(&Outbound::message(message), now).unwrap();
        (mid, self.sent())
    }

    fn waits(&mut self, time: Duration) -> Vec<String> {
        self.now = self.now + time;
        self.sent()
    }

    /// Returns the texts of the frames that were delivered, and marks them handled.
    fn handled(&mut self) -> Vec<String> {
        let now = self.now;
        let texts = self.side.handle_all(now);
        self.sent();
        texts
            .iter()
            .map(|text| text.split_once('[').unwrap().0.to_owned())
            .collect()
    }

    fn restarts(&mut self) -> Vec<String> {
        self.side.restart(self.now).unwrap();
        self.sent()
    }
}

fn number(text: &str) -> u64 {
    envelope(text).unwrap().sequence.unwrap()
}

/// A refusal takes no number, and neither does a copy of an answer. A killed member reports what it
/// has missed.
#[test]
fn a_killed_member_goes_on_after_its_own_number() {
    let mut guest = Guest::at(1);
    let (mid, _) = guest.says(&plan("qa", 1));
    let next = "fail:error{code:E3003|msg:later|retry:true|exp:3|schema:ER}[mid:a2,seq:1";
    let copy = "done:plan{n:1}[mid:0a0000000002,seq:3";
    let no = "fail:error{code:E1004|msg:no|retry:false|schema:ER}[mid:a3,seq:1";
    for replies in [next, copy, no] {
        guest.hears(&format!("@hub>{replies},ts:1714000000,cid:{mid}]"));
    }
    let refused = guest.side.events.pop();
    assert!(matches!(refused, Some(Event::Refused(of, _)) if of == mid));
    guest.side.options.extensions = false;
    assert_eq!(number(&guest.restarts()[0]), 1);
    guest.hears(&format!("{HELLO}[mid:a2,seq:4,ts:1714000000]"));
    assert_eq!(guest.side.events.pop(), Some(Event::Missed(2..=4)));
}

/// Frames of others are taken in the order of their numbers, and acknowledged by the last number.
#[test]
fn reg_03_a_member_joins_a_host_of_the_draft_alone() {
    let mut guest = Guest::new();
    let hello = guest.sent().remove(0);
    let hash = STANDARD.hash().short(6);
    assert!(
        hello.contains(&format!("hash:{hash}|")) && number(&hello) == 0,
        "{hello}"
    );
    // The host sends the frame of section 6.4, without metadata.
    assert!(guest.hears(HELLO).is_empty());
    assert_eq!(
        guest.side.events,
        [
            Event::Joined(MemberId::LAST),
            Event::AtLeastOnce(MemberId::HOST),
        ]
    );
    let acks = guest.hears("@dev>req:plan{n:1}[mid:0a0000000001,seq:1,ts:1714000000]");
    assert!(
        acks[0].starts_with("@qa>ack:frame{}") && number(&acks[0]) == 1,
        "{acks:?}"
    );
    assert_eq!(guest.handled(), ["@dev>req:plan{n:1}"]);
    let (mid, sent) = guest.says(&plan("qa", 2));
    assert!(
        sent[0].starts_with("@qa>req:plan{n:2}") && number(&sent[0]) == 2,
        "{sent:?}"
    );
    assert!(mid.is_hex() && sent[0].contains(&format!("mid:{mid}")));
    assert!(
        mid.to_string()
            .starts_with(|c: char| c.is_ascii_alphabetic())
    );
    guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000002,seq:2,ts:1714000000,cid:{mid},of:{mid}]"
    ));
    assert!(guest.side.events.contains(&Event::Acknowledged(mid)));
    assert!(guest.side.session().is_quiet());
    assert_eq!(guest.side.session().level(), 1);
}

/// A refusal that names the frame by `cid` takes it out of the outbox. An agent's failure does not.
#[test]
fn a_refusal_is_told_from_an_answer() {
    let mut guest = Guest::at(5);
    let (mid, _) = guest.says(&plan("qa", 1));
    let error = |seq: u64| {
        format!(
            "@hub>fail:error{{code:E1004|msg:a_number|retry:false|schema:ER}}[mid:0a0000000009,seq:{seq},ts:1714000000,cid:{mid}]"
        )
    };
    guest.hears(&error(5));
    assert!(
        matches!(&guest.side.events[..], [Event::Refused(of, error)] if *of == mid && error.code == ErrorCode::INVALID_TYPE)
    );
    assert!(guest.handled().is_empty());

    let mut guest = Guest::at(5);
    let (mid, _) = guest.says(&plan("qa", 1));
    let failure = format!(
        "@dev>fail:error{{code:E4001|msg:broken|retry:false|schema:ER}}[mid:0a0000000009,seq:7,ts:1714000000,cid:{mid}]"
    );
    guest.hears(&failure);
    assert_eq!(guest.side.events, [Event::Acknowledged(mid)]);
    assert_eq!(guest.handled().len(), 1);
}

/// A member answers a hello that it has not asked for, even if an answer to its own hello arrives
/// late. It does not answer an answer.
#[test]
fn an_answer_to_a_hello_needs_none() {
    let mut guest = Guest::at(5);
    guest.waits(LONG);
    let hello = format!("{HELLO}[mid:a1,seq:5,ts:1714000000]");
    let replies = guest.hears(&hello);
    assert!(
        replies.len() == 1 && replies[0].starts_with("@qa>sync:registry{"),
        "{replies:?}"
    );
    guest.now = guest.now + Duration::from_millis(900);
    assert!(guest.hears(&hello).is_empty());
}

/// A member asks once for a missing number. If the host does not send that number again, the member
/// reports it as missed. A frame that arrives twice is delivered once.
#[test]
fn a_gap_is_asked_for_and_then_told() {
    let mut guest = Guest::at(5);
    guest.hears("@dev>req:plan{n:6}[mid:0a0000000006,seq:6,ts:1714000000]");
    let asked = guest.hears("@dev>req:plan{n:8}[mid:0a0000000008,seq:8,ts:1714000000]");
    assert!(
        asked[0].contains("code:E3003") && asked[0].contains("|exp:7|"),
        "{asked:?}"
    );
    assert!(
        guest
            .hears("@dev>req:plan{n:9}[mid:0a0000000009,seq:9,ts:1714000000]")
            .is_empty()
    );
    // The host sends the missing frames again.
    for n in 6..=8 {
        guest.hears(&format!(
            "@dev>req:plan{{n:{n}}}[mid:0a000000000{n},seq:{n},ts:1714000000]"
        ));
    }
    assert_eq!(
        guest.handled(),
        [
            "@dev>req:plan{n:6}",
            "@dev>req:plan{n:7}",
            "@dev>req:plan{n:8}"
        ]
    );
    // This time the host does not send the missing frames again.
    guest.hears("@hub>ping:link{}[mid:0a00000000a0,seq:12,ts:1714000000]");
    let hellos = guest.waits(LONG);
    assert!(
        hellos
            .iter()
            .any(|text| text.starts_with("@qa>sync:registry{") && number(text) == 8),
        "{hellos:?}"
    );
    guest.hears(&format!("{HELLO}[mid:a1,seq:12,ts:1714000000]"));
    assert_eq!(guest.side.events, [Event::Missed(9..=12)]);
    guest.hears("@dev>req:plan{n:13}[mid:0a00000000b0,seq:13,ts:1714000000]");
    assert_eq!(guest.handled(), ["@dev>req:plan{n:13}"]);
}

/// A member follows a host that counts from 1 on each connection. It recognizes by their ids the
/// frames that it already has.
#[test]
fn a_host_that_begins_anew_is_followed() {
    let mut guest = Guest::at(5);
    guest.hears("@dev>req:plan{n:6}[mid:0a0000000006,seq:6,ts:1714000000]");
    let (mid, _) = guest.says(&plan("qa", 1));
    let hellos = guest.restarts();
    assert!(
        hellos
            .iter()
            .any(|text| number(text) == 6 && text.starts_with("@qa>sync:registry{")),
        "{hellos:?}"
    );
    let sent = guest.hears(&format!("{HELLO}[mid:a1,seq:0,ts:1714000000]"));
    assert_eq!(
        sent.iter().map(|text| number(text)).collect::<Vec<_>>(),
        [1]
    );
    assert!(sent[0].contains(&mid.to_string()));
    guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000002,seq:1,ts:1714000000,cid:{mid},of:{mid}]"
    ));
    guest.hears("@dev>req:plan{n:6}[mid:0a0000000006,seq:2,ts:1714000000]");
    guest.hears("@dev>req:plan{n:7}[mid:0a0000000007,seq:3,ts:1714000000]");
    assert_eq!(
        guest.handled(),
        ["@dev>req:plan{n:6}", "@dev>req:plan{n:7}"]
    );
    assert_eq!(guest.side.session().outbox_len(), 0);
}

/// A killed member goes on at the place where it was killed, from its log and from a snapshot. It
/// sends nothing under a new id, and delivers nothing again that was handled.
#[test]
fn reg_03_a_killed_member_goes_on_where_it_was() {
    let mut guest = Guest::at(5);
    for n in 6..=8 {
        guest.hears(&format!(
            "@dev>req:plan{{n:{n}}}[mid:0a000000000{n},seq:{n},ts:1714000000]"
        ));
    }
    assert_eq!(guest.handled().len(), 3);
    let (first, _) = guest.says(&plan("qa", 1));
    let (second, _) = guest.says(&plan("qa", 2));
    for _ in 0..2 {
        let hellos = guest.restarts();
        assert!(hellos.iter().any(|text| number(text) == 8), "{hellos:?}");
        assert!(
            guest.hears("@hub>ping:link{}[mid:0a00000000a0,seq:8,ts:1714000000]")[0]
                .contains(">pong:link{}")
        );
    }
    let sent = guest.hears(&format!("{HELLO}[mid:a1,seq:8,ts:1714000000]"));
    assert!(
        sent.len() == 1 && sent[0].contains(&first.to_string()) && number(&sent[0]) == 9,
        "{sent:?}"
    );
    let sent = guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000002,seq:9,ts:1714000000,cid:{first},of:{first}]"
    ));
    assert!(
        sent.iter()
            .any(|text| text.contains(&second.to_string()) && number(text) == 10),
        "{sent:?}"
    );
    guest.hears("@dev>req:plan{n:8}[mid:0a0000000008,seq:10,ts:1714000000]");
    assert!(guest.handled().is_empty());
    // The ids of this run differ from those of the last run.
    let (third, _) = guest.says(&plan("qa", 3));
    assert!(![first, second].contains(&third));
}

/// A member refuses frames that would change the session itself, and frames that do not fit the
/// shared state. Each refusal has its reason and uses up the number of the frame.
#[test]
fn what_a_member_does_not_take_is_refused() {
    let mut guest = Guest::at(0);
    let cases = [
        ("@dev>sync:leave{n:101}", "code:E5001"),
        ("@dev>sync:put{keys:[[k101_1,00,1]]}", "code:E5001"),
        ("@dev>sync:state{v:x|delta:{a:1}}", "code:E1004"),
        (
            "@dev>req:plan{}[mid:0a0000000001,ts:1714000000]",
            "code:E1001",
        ),
    ];
    let mut seq = 0;
    for (n, (text, code)) in (1..).zip(cases) {
        let text = if text.ends_with(']') {
            text.to_owned()
        } else {
            seq += 1;
            format!("{text}[mid:0a000000001{n},seq:{seq},ts:1714000000]")
        };
        let replies = guest.hears(&text);
        assert!(
            replies[0].starts_with("@qa>fail:error{") && replies[0].contains(code),
            "{text}: {replies:?}"
        );
    }
    assert!(guest.handled().is_empty());
    guest.hears("@dev>sync:state{v:7|state:{a:1}}[mid:0a0000000021,seq:4,ts:1714000000]");
    assert_eq!(guest.side.state().shared().get("a"), Some(&Value::from(1)));
}

/// A change waits if the member lacks the state that it applies to. The member asks for the whole
/// state again. If the host never sends it, the member does not wait for ever.
#[test]
fn a_change_waits_for_the_state_that_it_changes() {
    let change = "@dev>sync:state{v:7|delta:{a:1}}[mid:0a0000000011,seq:1,ts:1714000000]";
    let is_refusal = |replies: &[String]| replies[0].contains("code:E2001");
    for is_told in [true, false] {
        let mut guest = Guest::at(0);
        assert!(is_refusal(&guest.hears(change)));
        if is_told {
            let replies =
                guest.hears("@hub>sync:state{v:7|state:{a:1,b:2}}[mid:0a0000000021,seq:0]");
            assert!(replies[0].contains("cid:0a0000000021"), "{replies:?}");
        } else {
            for _ in 0..3 {
                assert!(is_refusal(&guest.hears(change)));
            }
        }
        guest.hears(change);
        guest.hears("@dev>req:plan{n:1}[mid:0a0000000012,seq:2,ts:1714000000]");
        let (shared, missed) = (guest.side.state().shared(), &guest.side.events);
        if is_told {
            assert_eq!(shared.get("b"), Some(&Value::from(2)));
            assert_eq!(*missed, []);
        } else {
            assert_eq!(shared.version(), 0);
            assert_eq!(*missed, [Event::Missed(1..=1)]);
        }
        assert_eq!(guest.handled().last().unwrap(), "@dev>req:plan{n:1}");
    }
}

/// A text of more than 50 characters stays in the frame, because a host of the draft cannot fetch values.
#[test]
fn long_values_stand_in_the_frame() {
    let mut guest = Guest::at(0);
    let long = "a text that other hosts would get by reference, because it is too long";
    let message = dynamic("qa", "req", "plan").with("text", long);
    let (_, sent) = guest.says(&message);
    assert_eq!(sent.len(), 1);
    let read = DynamicFrame::decode(&sent[0], &STANDARD).unwrap();
    assert_eq!(read.payload.get("text"), Some(&Value::from(long)));
    let huge = dynamic("qa", "req", "plan").with("text", "x".repeat(70_000));
    let now = guest.now;
    let error = guest
        .side
        .session_mut()
        .send(&Outbound::message(&huge), now)
        .unwrap_err();
    assert!(error.to_string().contains("65536"), "{error}");
}

/// The host answers, but sends nothing about a frame whose time is over. The other frames do not
/// wait for that frame.
#[test]
fn a_dropped_frame_holds_up_nobody() {
    let mut guest = Guest::at(0);
    let now = guest.now;
    let message = plan("qa", 1);
    let expiring = Outbound::message(&message).expiring(5);
    let first = guest.side.session_mut().send(&expiring, now).unwrap();
    let (second, _) = guest.says(&plan("qa", 2));
    let mut last = Vec::new();
    for _ in 0..8 {
        last = guest.waits(LONG);
        guest.hears("@hub>pong:link{}[mid:0a0000000001,seq:0,ts:1714000000]");
    }
    assert!(
        last.iter().any(|text| text.contains(&second.to_string())),
        "{last:?}"
    );
    assert_eq!(guest.side.events, [Event::Expired(first)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a host of the draft sends, nothing panics, no frame is delivered twice, and a restart changes
    /// nothing.
    #[test]
    fn nothing_that_a_host_says_breaks_a_member(
        replies in prop::collection::vec((0..14_u8, 0..9_u64, 0..9_u64), 1..40),
    ) {
        let mut guest = Guest::new();
        let mut handled = Vec::new();
        let mut own = Mid::parse("0c00000000ff");
        for (what, mid, seq) in replies {
            // The log does not keep the ids of frames that took no number. So frames with `seq:0`
            // get ids that no numbered frame has.
            let kind = if seq == 0 { 'b' } else { 'a' };
            let text = |head: &str| {
                format!("{head}[mid:0{kind}000000000{mid},seq:{seq},ts:1714000000,cid:{own}]")
            };
            match what {
                0 => {
                    let now = guest.now;
                    let sent = guest.side.session_mut().send(&Outbound::message(&plan("qa", 0)), now);
                    own = sent.unwrap_or(own);
                    guest.sent();
                }
                1 => drop(guest.waits(Duration::from_secs(2))),
                2 => {
                    let before = guest.side.session().position();
                    guest.restarts();
                    prop_assert_eq!(guest.side.session().position(), before);
                }
                3 => {
                    handled.extend(guest.side.handle_all(guest.now));
                    guest.sent();
                }
                _ => {
                    let head = match what {
                        4 | 5 => HELLO,
                        6 => "@hub>ack:frame{}",
                        7 => "@hub>ping:link{}",
                        8 => "@hub>fail:error{code:E3003|msg:x|retry:true|exp:3|schema:ER}",
                        9 => "@hub>fail:error{code:E3002|msg:x|retry:true|schema:ER}",
                        10 => "@dev>sync:state{v:1|state:{a:1}}",
                        11 => "@hub>sync:registry{n:101|scope:shared|pos:3|ext:[log]}",
                        _ => "@dev>req:plan{}",
                    };
                    guest.hears(&text(head));
                }
            }
        }
        handled.extend(guest.side.handle_all(guest.now));
        let mut mids: Vec<_> = handled.iter().map(|text| envelope(text).unwrap().msg_id.unwrap().into_owned()).collect();
        mids.sort();
        let count = mids.len();
        mids.dedup();
        prop_assert_eq!(mids.len(), count);
    }
}
