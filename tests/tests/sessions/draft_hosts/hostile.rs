//! Hosts that know only the draft and are hostile, or number their frames in another way.

use accp_runtime::session::Event;

use super::{Guest, HELLO, number};
use crate::sessions::sides::plan;

/// An acknowledgement that names a frame may have a number of its own. The member asks for the
/// numbers in the gap before it.
#[test]
fn an_acknowledgement_does_not_hide_a_gap() {
    let mut guest = Guest::at(5);
    let (mid, sent) = guest.says(&plan("qa", 1));
    assert_eq!(number(&sent[0]), 6);
    let replies = guest.hears(&format!(
        "@hub>ack:frame{{}}[mid:0a0000000009,seq:9,ts:1714000000,cid:{mid}]"
    ));
    assert_eq!(guest.side.session().outbox_len(), 0);
    assert!(
        replies
            .iter()
            .any(|text| text.contains("code:E3003") && text.contains("|exp:7|")),
        "{replies:?}"
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

/// A number does not count if a frame cannot have the number after it.
#[test]
fn a_number_beyond_all_bounds_does_not_count() {
    let last = i64::MAX;
    let mut guest = Guest::new();
    guest.sent();
    guest.hears(&format!("{HELLO}[mid:a1,seq:{last},ts:1714000000]"));
    let (_, sent) = guest.says(&plan("qa", 1));
    assert_eq!(number(&sent[0]), 1);
    for replies in [
        format!("{HELLO}[mid:a1,seq:{last},ts:1714000000]"),
        format!("@hub>ack:frame{{}}[mid:a1,seq:{last},ts:1714000000,cid:MID]"),
        format!("@dev>done:plan{{}}[mid:a1,seq:{last},ts:1714000000,cid:MID]"),
        format!("@hub>ping:link{{}}[mid:a1,seq:{last},ts:1714000000]"),
    ] {
        let mut guest = Guest::at(5);
        let (mid, _) = guest.says(&plan("qa", 1));
        guest.hears(&replies.replace("MID", &mid.to_string()));
        assert_eq!(guest.side.events, [], "{replies}");
        guest.hears(&format!(
            "@hub>ack:frame{{}}[mid:0a0000000009,seq:6,ts:1714000000,cid:{mid},of:{mid}]"
        ));
        let (_, sent) = guest.says(&plan("qa", 2));
        assert_eq!(number(&sent[0]), 7, "{replies}");
    }
}

/// The schemas that a host sends again and again take no more memory than those of other peers.
#[test]
fn a_host_cannot_send_schemas_without_end() {
    let mut guest = Guest::at(5);
    let name = "a_long_name_of_a_field_".repeat(80);
    for n in 0..10 {
        let fields: Vec<_> = (0..20).map(|field| format!("{name}{field}")).collect();
        let fields = fields.join(",");
        let schemas = format!("{{parcel_{n}:{{code:P{n},version:1,fields:[{fields}]}}}}");
        guest.hears(&format!(
            "@hub>sync:registry{{v:1|hash:a7f2c1|schemas:{schemas}}}[mid:a1,seq:5,ts:1714000000]"
        ));
    }
    let known = |n: usize| {
        let registry = &guest.side.session().options().registry;
        registry.schema(&format!("P{n}")).is_some()
    };
    assert!(known(0) && !known(9));
    let is_told = |event: &Event| matches!(event, Event::SchemasUnavailable(_));
    assert!(guest.side.events.iter().any(is_told));
}

/// A member that was killed still knows the schemas of its host, because a frame under these schemas may wait for
/// its handler.
#[test]
fn the_schemas_of_the_host_outlive_a_kill() {
    let mut guest = Guest::at(5);
    for code in ["PC", "PD"] {
        guest.hears(&format!(
            "@hub>sync:registry{{v:1|hash:a7f2c1|schemas:{{parcel_{code}:{{code:{code},version:1,fields:[weight]}}}}}}[mid:a1,seq:5,ts:1714000000]"
        ));
    }
    guest.hears("@dev>req:plan{weight:3|schema:PC}[mid:0a0000000006,seq:6,ts:1714000000]");
    for _ in 0..2 {
        guest.restarts();
        let registry = &guest.side.session().options().registry;
        assert!(registry.schema("PC").is_some() && registry.schema("PD").is_some());
        let waiting = guest.side.inbox.first().unwrap();
        assert_eq!(
            waiting.message(registry).unwrap().schema.as_deref(),
            Some("PC")
        );
    }
}

/// A member had joined and had taken nothing before it was killed. It goes on at its old place.
#[test]
fn a_member_that_was_killed_at_once_hides_no_gap() {
    let mut guest = Guest::at(5);
    let hellos = guest.restarts();
    assert!(
        hellos[0].starts_with("@qa>sync:registry{hash:"),
        "{hellos:?}"
    );
    assert_eq!(number(&hellos[0]), 5);
    guest.side.events.clear();
    guest.hears(&format!("{HELLO}[mid:a1,seq:7,ts:1714000000]"));
    assert_eq!(guest.side.events, [Event::Missed(6..=7)]);
}

/// A killed member asks for what it lacks, also after a refusal of its own frame. The number under
/// which this frame went out does not tell which frames the member has taken.
#[test]
fn a_refusal_and_a_kill_hide_no_gap() {
    let mut guest = Guest::at(5);
    let (mid, _) = guest.says(&plan("qa", 1));
    let error = |code: &str| {
        format!(
            "@hub>fail:error{{{code}|msg:no|schema:ER}}[mid:0a0000000009,seq:5,ts:1714000000,cid:{mid}]"
        )
    };
    let sent = guest.hears(&error("code:E3003|retry:true|exp:9"));
    assert_eq!(number(&sent[0]), 9);
    guest.hears(&error("code:E1004|retry:false"));
    assert!(matches!(guest.side.events[..], [Event::Refused(..)]));
    let hellos = guest.restarts();
    assert!(
        hellos
            .iter()
            .any(|text| text.starts_with("@qa>sync:registry{") && number(text) == 5),
        "{hellos:?}"
    );
}
