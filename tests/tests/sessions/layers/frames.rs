//! The grammar, the vocabulary and the limits at the gate of a host: FRAME-01 to FRAME-05, OPT-01,
//! OPT-05, KEY-01, INT-01 and SEC-04.

use std::collections::BTreeSet;

use accp_grammar::testing::value;
use accp_runtime::profiles::ScheduleReq;
use accp_runtime::session::{Inbound, MemberId, Outbound, Rules};
use accp_runtime::{ErrorCode, Intent};
use accp_session::EntryKind;
use proptest::prelude::*;

use super::{LONG, kill, verdict};
use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, frame, open_host, options, plan};

fn host() -> Side {
    let mut host = open_host(options("hub"), Rules::default());
    host.greets(NOW);
    host
}

/// Checks that a host takes the good texts and hands them on unchanged. Checks that it refuses the bad texts with
/// E1001 and keeps nothing of them. The texts have no metadata.
fn at_the_gate(good: &[&str], bad: &[&str]) {
    let mut host = host();
    host.join_as(&["dev", "d-E_9"], false, NOW).unwrap();
    host.carries_out(NOW);
    for (head, n) in good.iter().zip(1..) {
        let text = frame(head, n, n.into(), "");
        assert_eq!(verdict(&text), Ok(()), "{text}");
        let heard = host.takes(101, &text);
        assert_eq!(heard.inbound[0].text(), text);
        assert_eq!(&*heard.entries[0].text, text);
        let relays = heard.others.iter().filter(|sent| sent.text.contains(head));
        assert_eq!(relays.count(), 1, "{text}: {:?}", heard.others);
    }
    let next = good.len() as u32 + 1;
    for head in bad {
        let text = frame(head, next, next.into(), "");
        assert_eq!(verdict(&text), Err(ErrorCode::PARSE_ERROR), "{text}");
        let refused = host.refuses(101, &text);
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR, "{text}");
    }
    // The refused frames have used up neither the id nor the number.
    host.takes(101, &frame("@dev>req:plan{}", next, next.into(), ""));
}

proptest! {
    /// A host takes exactly the payloads that the judges of the codec take. It refuses a payload with the same code
    /// as the judges, and the payload leaves no trace.
    #[test]
    fn frame_01_is_judged_alike_by_the_codec_and_the_host(
        values in prop::collection::vec(value(), 0..4),
        change in prop::option::of((any::<prop::sample::Index>(), 1..0x80_u8)),
    ) {
        let params: Vec<String> = values.iter().zip(0..).map(|(value, n)| format!("k{n}:{value}")).collect();
        let mut payload = format!("{{{}}}", params.join("|"));
        if let Some((at, byte)) = change {
            let at = at.index(payload.len());
            payload.replace_range(at..=at, &char::from(byte).to_string());
        }
        let text = frame(&format!("@dev>req:plan{payload}"), 1, 1, "");
        let mut host = host();
        let before = host.state().clone();
        let heard = host.hears(101, &text, NOW);
        let kinds: Vec<EntryKind> = heard.entries.iter().map(|entry| entry.kind).collect();
        match verdict(&text) {
            Ok(()) => {
                // A reference in the payload may lead nowhere, and then the host refuses the
                // frame.
                let is_open = kinds != [EntryKind::Frame] && !payload.contains('$');
                prop_assert!(!is_open, "{}: {:?}", text, heard.sends);
                prop_assert!(!heard.sends[0].contains("code:E1"), "{}: {:?}", text, heard.sends);
            }
            Err(code) => {
                prop_assert!(heard.sends[0].contains(&format!("code:{code}|")), "{}: {:?}", text, heard.sends);
                prop_assert!(kinds.iter().all(|kind| *kind == EntryKind::Refused(code)), "{:?}", kinds);
                prop_assert!(heard.inbound.is_empty());
                prop_assert_eq!(host.state(), &before);
            }
        }
    }

    /// A frame that is damaged on its way to the host, and again on its way to a member, arrives
    /// whole in the end, and once, whether or not the sides are killed in between.
    #[test]
    fn frame_01_damaged_on_its_way_arrives_whole(at: prop::sample::Index, byte in 0x20..0x7f_u8, kills: bool) {
        let mut room = Room::new(&["dev", "qa"]);
        let mut spoilt = BTreeSet::new();
        room.on_the_way(move |passed| {
            let mut text = passed.text.clone();
            if text.contains(">req:plan{") && spoilt.insert((passed.from, passed.to)) {
                let at = at.index(text.len());
                text.replace_range(at..=at, &char::from(byte).to_string());
            }
            // If the damage results in another valid frame, no side can detect it.
            let is_seen = verdict(&text) == Err(ErrorCode::PARSE_ERROR);
            vec![if is_seen { text } else { passed.text.clone() }]
        });
        let message = plan("dev", 1).with("goal", "a|b, {c}").with("list", vec![1.into(), "x".into()]);
        room.say(0, &Outbound::message(&message));
        for side in [MemberId::HOST, room.members[1].id].into_iter().filter(|_| kills) {
            room.restart(side).unwrap();
        }
        room.pass_often(10, LONG);
        room.check_replicas();
        let sent = room.passed(101, 100).find(|text| text.contains(">req:plan{")).unwrap().to_owned();
        for inbox in [&room.host.inbox, &room.members[1].inbox] {
            let texts: Vec<&str> = inbox.iter().map(Inbound::text).collect();
            prop_assert_eq!(&texts, &[&sent]);
        }
    }
}

#[test]
fn frame_02_names_are_checked_at_the_gate() {
    at_the_gate(
        &["@dev>req:pl_4n{K_9:v}", "@d-E_9>req:plan{k:$42.a_B}"],
        &[
            "@d.v>req:plan{}",
            "@>req:plan{}",
            "@dev>r3q:plan{}",
            "@dev>:plan{}",
            "@dev>req:pl-an{}",
            "@dev>req:{}",
            "@dev>req:plan{k-y:1}",
            "@dev>req:plan{:1}",
            "@dev>req:plan{k:$a-b}",
            "@dev>req:plan{k:$}",
        ],
    );
}

#[test]
fn frame_03_separators_are_checked_at_the_gate() {
    at_the_gate(
        &["@dev>req:plan{}", "@dev>req:plan{a:1|b:2|c:3}"],
        &[
            "@dev>req:plan{a:1,b:2}",
            "@dev>req:plan{a:1||b:2}",
            "@dev>req:plan{|a:1}",
            "@dev>req:plan{a:1|}",
            "@dev>req:plan{a}",
            "@dev>req:plan",
        ],
    );
    let mut host = host();
    for metadata in ["mid:101000001001|seq:1", "mid:101000001001,,seq:1", ""] {
        let refused = host.refuses(101, &format!("@dev>req:plan{{}}[{metadata}]"));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR, "{metadata}");
    }
}

#[test]
fn frame_04_escapes_are_checked_at_the_gate() {
    at_the_gate(
        &[
            r"@dev>req:plan{a:\@\>\:\{\}\[\]\|\$\,\~\\}",
            "@dev>req:plan{a:!#%()*+-./;<=?^_`}",
        ],
        &[
            r"@dev>req:plan{a:\n}",
            r"@dev>req:plan{a:x\}",
            "@dev>req:plan{a:x@y}",
            "@dev>req:plan{a:x:y}",
            "@dev>req:plan{a:x~}",
            "@dev>req:plan{a:größe}",
            "@dev>req:plan{a:}",
        ],
    );
}

#[test]
fn frame_05_values_are_checked_at_the_gate() {
    at_the_gate(
        &["@dev>req:plan{a:~|b:[]|c:{}|d:[1,[~]]|e:{x:{y:$42.30}}|f:$42.30}"],
        &[
            "@dev>req:plan{a:[1}",
            "@dev>req:plan{a:[1}]}",
            "@dev>req:plan{a:{x}}",
            "@dev>req:plan{a:{x:1]}",
            "@dev>req:plan{a:~x}",
            "@dev>req:plan{a:[1,]}",
        ],
    );
}

#[test]
fn opt_01_white_space_is_refused_at_the_gate() {
    at_the_gate(
        &["@dev>req:plan{a:x_y}"],
        &[
            "@dev>req:plan{a:x y}",
            "@dev>req:plan{a: x}",
            "@dev>req:plan{a:x |b:1}",
            "@dev>req:plan{a:\tx}",
            " @dev>req:plan{}",
            "@dev> req:plan{}",
            "@dev>req:plan{} ",
            "@dev>req:plan{a:\n1}",
        ],
    );
}

#[test]
fn opt_05_spaces_in_arrays_are_refused_at_the_gate() {
    at_the_gate(
        &["@dev>req:plan{a:[1,2,[3,4]]}"],
        &[
            "@dev>req:plan{a:[1, 2]}",
            "@dev>req:plan{a:[ 1]}",
            "@dev>req:plan{a:[1 ]}",
        ],
    );
}

/// A frame with full names is read like the frame with abbreviations. If both have the same id, the second is a
/// duplicate.
#[test]
fn key_01_full_names_are_read_at_the_gate() {
    let mut host = host();
    let short = "@dev>req:schedule{asgn:hub|task:T1|pri:high|schema:TA}[mid:101000001001,seq:1,ts:1714000000]";
    let full = "@dev>req:schedule{assignee:hub|task:T1|priority:high|schema:TA}\
                [msg_id:101000001001,sequence:1,timestamp:1714000000]";
    let heard = host.takes(101, full);
    let task = heard.inbound[0].decode::<ScheduleReq<'_>>().unwrap().frame;
    assert_eq!((task.assignee.as_str(), &*task.priority), ("hub", "high"));
    assert_eq!(host.refuses(101, short).code, ErrorCode::DUPLICATE);
    let both = full.replace("|schema", "|pri:low|schema");
    let both = both.replace("1001,sequence:1", "1002,sequence:2");
    assert_eq!(host.refuses(101, &both).code, ErrorCode::PARSE_ERROR);

    // A session sends the abbreviated names.
    let mut room = Room::new(&["dev"]);
    room.say(0, &Outbound::frame(&task).in_chain("c").expiring(60));
    let sent = room.host.frames().pop().unwrap().text;
    let (payload, metadata) = sent.split_once('[').unwrap();
    assert_eq!(
        payload,
        "@dev>req:schedule{asgn:hub|task:T1|pri:high|schema:TA}"
    );
    let names = metadata
        .split(',')
        .map(|pair| pair.split(':').next().unwrap());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["mid", "seq", "ts", "cid", "ttl"]
    );
}

/// The intents of applications go to the log and to the handlers. `ack`, `ping` and `pong` belong to the link. Any
/// other word is refused with E1002, in every spelling.
#[test]
fn int_01_intents_are_checked_at_the_gate() {
    let mut host = host();
    let mut seq = 1;
    for intent in Intent::ALL {
        let (text, more) = match *intent {
            Intent::CANCEL => (format!("@dev>{intent}:plan{{}}"), ",cid:none"),
            intent => (format!("@dev>{intent}:plan{{}}"), ""),
        };
        let text = frame(&text, seq, seq.into(), more);
        if matches!(*intent, Intent::ACK | Intent::PING | Intent::PONG) {
            let heard = host.hears(101, &text, NOW);
            assert_eq!(heard.entries, [], "{text}");
            assert!(
                !heard.sends.iter().any(|sent| sent.contains(">fail:")),
                "{text}"
            );
        } else {
            assert_eq!(host.takes(101, &text).inbound[0].text(), text);
            seq += 1;
        }
    }
    assert_eq!(seq, 12);
    for (n, unknown) in (50..).zip(["fly", "REQ", "Req", "reqs", "re"]) {
        let text = frame(&format!("@dev>{unknown}:plan{{}}"), n, seq.into(), "");
        assert_eq!(
            host.refuses(101, &text).code,
            ErrorCode::INVALID_INTENT,
            "{unknown}"
        );
    }
}

/// The limits hold for each frame, and for a frame that arrives in parts.
#[test]
fn sec_04_limits_hold_at_the_gate_and_for_frames_in_parts() {
    let params = |count: usize| {
        let params: Vec<String> = (0..count).map(|at| format!("k{at}:v")).collect();
        params.join("|")
    };
    let elements = |count: usize| format!("k:[{}]", vec!["v"; count].join(","));
    let levels = |count: usize| format!("k:{}v{}", "[".repeat(count), "]".repeat(count));
    let rest = frame("@dev>req:plan{k:}", 1, 1, "").len();
    let bytes = |count: usize| format!("k:{}", "x".repeat(count - rest));
    for (fits, over) in [
        (params(256), params(257)),
        (elements(4092), elements(4093)),
        (levels(5), levels(6)),
        (bytes(64 * 1024), bytes(64 * 1024 + 1)),
    ] {
        let mut host = host();
        let text = frame(&format!("@dev>req:plan{{{over}}}"), 1, 1, "");
        assert_eq!(verdict(&text), Err(ErrorCode::PARSE_ERROR));
        assert_eq!(host.refuses(101, &text).code, ErrorCode::PARSE_ERROR);
        let text = frame(&format!("@dev>req:plan{{{fits}}}"), 1, 1, "");
        assert_eq!(verdict(&text), Ok(()));
        host.takes(101, &text);
    }
    // Each part is within the limits, and the whole is not. The host is killed between the parts.
    let mut host = host();
    let part = |n: u32, place: &str| {
        let params = (0..200).map(|at| format!("k{n}_{at}:v"));
        let head = format!("@dev>req:plan{{{}}}", params.collect::<Vec<_>>().join("|"));
        frame(&head, n, n.into(), &format!(",pt:{place},of:101000001001"))
    };
    assert!(host.takes(101, &part(1, "1/2")).inbound.is_empty());
    kill(&mut host);
    let refused = host.refuses(101, &part(2, "2/2"));
    assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
}
