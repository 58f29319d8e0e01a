//! Such hosts that mean harm, or count in a way of their own.

use super::{Guest, HELLO, number};
use crate::sides::plan;

/// An acknowledgement that names a frame may have a number of its own. What lies between is asked
/// for, and not lost.
#[test]
fn an_acknowledgement_does_not_hide_a_gap() {
    let mut guest = Guest::at(5);
    let (mid, sent) = guest.says(&plan("qa", 1));
    assert_eq!(number(&sent[0]), 6);
    let said = guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000009,seq:9,ts:1714000000,cid:{mid}]"
    ));
    assert_eq!(guest.side.session().outbox_len(), 0);
    assert!(
        said.iter()
            .any(|text| text.contains("code:E3003") && text.contains("|exp:7|")),
        "{said:?}"
    );
    for n in 7..=8 {
        guest.hears(&format!(
            "@dev>req:plan{{n:{n}}}[mid:0a000000000{n},seq:{n},ts:1714000000]"
        ));
    }
    assert_eq!(
        guest.handled(),
        ["@dev>req:plan{n:7}", "@dev>req:plan{n:8}"]
    );
}

/// A number after which there is none that a frame can have does not count.
#[test]
fn a_number_beyond_all_bounds_does_not_count() {
    let last = i64::MAX;
    let mut guest = Guest::new();
    guest.sent();
    guest.hears(&format!("{HELLO}[mid:a1,seq:{last},ts:1714000000]"));
    let (_, sent) = guest.says(&plan("qa", 1));
    assert_eq!(number(&sent[0]), 1);
    for said in [
        format!("{HELLO}[mid:a1,seq:{last},ts:1714000000]"),
        format!("@hub>ack:frame{{}}[mid:a1,seq:{last},ts:1714000000,cid:MID]"),
        format!("@dev>done:plan{{}}[mid:a1,seq:{last},ts:1714000000,cid:MID]"),
        format!("@hub>ping:link{{}}[mid:a1,seq:{last},ts:1714000000]"),
    ] {
        let mut guest = Guest::at(5);
        let (mid, _) = guest.says(&plan("qa", 1));
        guest.hears(&said.replace("MID", &mid.to_string()));
        assert_eq!(guest.side.events, [], "{said}");
        guest.hears(&format!(
            "@hub>ack:frame{{}}[mid:0a0000000009,seq:6,ts:1714000000,cid:{mid},of:{mid}]"
        ));
        let (_, sent) = guest.says(&plan("qa", 2));
        assert_eq!(number(&sent[0]), 7, "{said}");
    }
}
