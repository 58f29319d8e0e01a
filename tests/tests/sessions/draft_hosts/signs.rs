//! The signs that a host has taken a frame.

use accp_runtime::Value;
use accp_runtime::session::Event;

use super::{Guest, number};
use crate::sessions::layers::LONG;
use crate::sessions::sides::{Node as _, plan};

/// The signs by which a host of the draft shows that it has taken a frame: an acknowledgement that takes no number
/// of its own, an acknowledgement that takes a number, E3002 when the frame arrives again, and an answer.
#[test]
fn each_sign_that_the_host_has_taken_a_frame() {
    let signs: [(&str, &str, u64); 4] = [
        (
            "@hub>ack:frame{}[mid:0a0000000009,seq:6,ts:1714000000,cid:MID,of:MID]",
            "named",
            7,
        ),
        (
            "@hub>ack:frame{}[mid:0a0000000009,seq:7,ts:1714000000,cid:MID]",
            "counted",
            8,
        ),
        (
            "@hub>fail:error{code:E3002|msg:again|retry:false|schema:ER}[mid:0a0000000009,seq:6,ts:1714000000,cid:MID]",
            "again",
            6,
        ),
        (
            "@dev>done:plan{}[mid:0a0000000009,seq:7,ts:1714000000,cid:MID]",
            "answered",
            8,
        ),
    ];
    for (sign, name, next) in signs {
        let mut guest = Guest::at(5);
        let (mid, sent) = guest.says(&plan("qa", 1));
        assert_eq!(number(&sent[0]), 6, "{name}");
        assert_eq!(
            guest
                .waits(LONG)
                .iter()
                .filter(|text| text.contains(&mid.to_string()))
                .count(),
            1
        );
        guest.hears(&sign.replace("MID", &mid.to_string()));
        assert_eq!(
            guest.side.events,
            [Event::Acknowledged(mid.clone())],
            "{name}"
        );
        assert_eq!(guest.side.session().outbox_len(), 0, "{name}");
        let heard = guest.hears(&format!(
            "@dev>req:plan{{n:9}}[mid:0a000000000a,seq:{next},ts:1714000000]"
        ));
        assert!(
            heard.iter().all(|text| !text.contains("E3003")),
            "{name}: {heard:?}"
        );
        assert_eq!(
            guest.handled().last().unwrap(),
            "@dev>req:plan{n:9}",
            "{name}"
        );
    }
}

/// If a host acknowledges frames, an answer does not show which number the frame has taken: the
/// number before the answer may belong to another frame.
#[test]
fn an_answer_counts_only_where_nothing_is_acknowledged() {
    let mut guest = Guest::at(5);
    let (first, _) = guest.says(&plan("qa", 1));
    guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000001,seq:6,ts:1714000000,cid:{first},of:{first}]"
    ));
    let (second, _) = guest.says(&plan("qa", 2));
    let answer = format!("@dev>done:plan{{}}[mid:0a0000000009,seq:8,ts:1714000000,cid:{second}]");
    let replies = guest.hears(&answer);
    assert!(
        replies.iter().any(|text| text.contains("|exp:7|")),
        "{replies:?}"
    );
    assert_eq!(guest.side.session().outbox_len(), 1);
    assert!(guest.handled().is_empty());
}

/// A frame that waits, because the member first asks for entries that it lacks, is not given up. The host has not
/// got the frame, so it cannot report on the frame.
#[test]
fn a_frame_that_waits_is_not_given_up() {
    let mut guest = Guest::at(0);
    let (first, _) = guest.says(&plan("qa", 1));
    guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000001,seq:1,ts:1714000000,cid:{first},of:{first}]"
    ));
    let (second, _) = guest.says(&plan("qa", 2));
    guest.side.events.clear();
    for _ in 0..20 {
        guest.hears("@dev>req:plan{n:9}[mid:0a0000000009,seq:9,ts:1714000000]");
        guest.waits(LONG);
        guest.hears("@hub>pong:link{}[mid:0a0000000002,seq:1,ts:1714000000]");
    }
    assert_eq!(guest.side.events, []);
    for _ in 0..20 {
        guest.hears("@hub>sync:registry{v:1|hash:a7f2c1}[mid:a2,seq:1,ts:1714000000]");
        guest.hears("@hub>pong:link{}[mid:0a0000000003,seq:1,ts:1714000000]");
        guest.waits(LONG);
    }
    assert_eq!(guest.side.events, [Event::Cancelled(second)]);
}

/// A whole state that the link has doubled does not take the number of a frame that was lost.
#[test]
fn a_doubled_state_hides_no_gap() {
    let mut guest = Guest::at(0);
    let state = "@hub>sync:state{v:1|state:{a:1}}[mid:0a0000000021,seq:1,ts:1714000000]";
    let asked = guest.hears(state);
    assert!(asked[0].contains("|exp:1|"), "{asked:?}");
    // Neither the acknowledgement of the state nor a hello takes a number.
    let replies = guest.hears(state);
    assert!(replies.iter().all(|text| number(text) == 0), "{replies:?}");
    guest.hears("@dev>req:plan{n:1}[mid:0a0000000011,seq:1,ts:1714000000]");
    assert_eq!(guest.handled().last().unwrap(), "@dev>req:plan{n:1}");
    // This state has a number of its own. The host sends it again when the guest asks for that
    // number.
    let state = "@dev>sync:state{v:2|state:{a:2}}[mid:0a0000000022,seq:2,ts:1714000000]";
    guest.hears(state);
    guest.waits(LONG);
    guest.hears(state);
    guest.hears("@dev>req:plan{n:3}[mid:0a0000000013,seq:3,ts:1714000000]");
    assert_eq!(guest.handled().last().unwrap(), "@dev>req:plan{n:3}");
}

/// A host that was restored from an older copy has an older shared state. The member takes the whole
/// state from this host, even if the version is not higher than its own, and keeps it after a
/// restart.
#[test]
fn the_state_of_a_host_that_has_gone_back() {
    let mut guest = Guest::at(0);
    for (number, value) in [(1, 1), (2, 2)] {
        let change = format!("@dev>sync:state{{v:{number}|delta:{{a:{value}}}}}");
        guest.hears(&format!(
            "{change}[mid:0a000000001{number},seq:{number},ts:1714000000]"
        ));
    }
    assert_eq!(guest.side.state().shared().version(), 2);
    let again = "@dev>sync:state{v:2|delta:{b:9}}[mid:0a0000000029,seq:3,ts:1714000000]";
    let replies = guest.hears(again);
    assert!(replies[0].contains("code:E2001"), "{replies:?}");
    let told = "@hub>sync:state{v:2|state:{a:1,b:9}}[mid:0a0000000021,seq:2,ts:1714000000]";
    let replies = guest.hears(told);
    assert!(replies[0].contains("cid:0a0000000021"), "{replies:?}");
    assert!(
        replies.iter().all(|text| !text.contains("E2001")),
        "{replies:?}"
    );
    guest.hears(again);
    for _ in 0..2 {
        let shared = guest.side.state().shared();
        assert_eq!(
            (shared.version(), shared.get("a")),
            (2, Some(&Value::from(1)))
        );
        assert_eq!(shared.get("b"), Some(&Value::from(9)));
        guest.restarts();
    }
    guest.hears(&format!("{}[mid:a1,seq:3,ts:1714000000]", super::HELLO));
    guest.hears("@dev>sync:state{v:3|delta:{a:3}}[mid:0a0000000013,seq:4,ts:1714000000]");
    assert_eq!(guest.side.state().shared().get("a"), Some(&Value::from(3)));
    assert!(
        !guest
            .side
            .events
            .iter()
            .any(|event| matches!(event, Event::Missed(_)))
    );
}

/// A host has gone back to a state that is older than the whole state that it sent before, and has sent frames
/// under new numbers since then. The old state of the member has a higher version. The member does not conclude
/// from this version that its old state contains the next change of the host.
#[test]
fn a_change_of_a_host_that_has_gone_back_is_not_in_its_old_state() {
    let mut guest = Guest::at(0);
    let old = "@hub>sync:state{v:3|state:{a:1}}[mid:0a0000000021,seq:0,ts:1714000000]";
    guest.hears(old);
    for n in 1..=2 {
        guest.hears(&format!(
            "@dev>req:plan{{n:{n}}}[mid:0a000000001{n},seq:{n},ts:1714000000]"
        ));
    }
    guest.hears(&format!("{}[mid:a1,seq:0,ts:1714000000]", super::HELLO));
    let change = "@dev>sync:state{v:1|delta:{b:9}}[mid:0a0000000031,seq:3,ts:1714000000]";
    let replies = guest.hears(change);
    assert!(
        replies.iter().any(|text| text.contains("E2001")),
        "{replies:?}"
    );
    // A full state from the log that arrives late does not replace the current state.
    guest.hears("@dev>sync:state{v:2|state:{c:7}}[mid:0a0000000033,seq:1,ts:1714000000]");
    assert_eq!(guest.side.state().shared().get("c"), None);
    guest.hears("@hub>sync:state{v:1|state:{b:9}}[mid:0a0000000032,seq:2,ts:1714000000]");
    guest.hears(change);
    let shared = guest.side.state().shared();
    assert_eq!((shared.version(), shared.get("a")), (1, None));
    guest.hears("@dev>req:plan{n:4}[mid:0a0000000014,seq:4,ts:1714000000]");
    assert_eq!(guest.handled().last().unwrap(), "@dev>req:plan{n:4}");
}
