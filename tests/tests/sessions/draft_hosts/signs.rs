//! The signs that a host has taken a frame.

use accp_runtime::session::Event;

use super::{Guest, number};
use crate::layers::LONG;
use crate::sides::plan;

/// What a host of the draft may say of a frame that it has taken: it counts its acknowledgement, or
/// not; it says E3002 when the frame comes again; or somebody answers.
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

/// At a host that acknowledges, an answer does not say which number the frame has taken: the number
/// before it may be that of another.
#[test]
fn an_answer_counts_only_where_nothing_is_acknowledged() {
    let mut guest = Guest::at(5);
    let (first, _) = guest.says(&plan("qa", 1));
    guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000001,seq:6,ts:1714000000,cid:{first},of:{first}]"
    ));
    let (second, _) = guest.says(&plan("qa", 2));
    let answer = format!("@dev>done:plan{{}}[mid:0a0000000009,seq:8,ts:1714000000,cid:{second}]");
    let said = guest.hears(&answer);
    assert!(said.iter().any(|text| text.contains("|exp:7|")), "{said:?}");
    assert_eq!(guest.side.session().outbox_len(), 1);
    assert!(guest.handled().is_empty());
}
