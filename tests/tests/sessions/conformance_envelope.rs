//! Conformance of the envelope in a session: ENV (draft section 3.5), and the intents `ping` and
//! `pong`, INT-02 (11.2). `docs/conformance.md` lists the tests of each requirement.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::profiles::{ToolDone, ToolReq};
use accp_runtime::session::{MemberId, Mid, Outbound, Rules, Scope, Time};
use accp_runtime::{DynamicFrame, ErrorCode, Registry};
use accp_session::{Codec, EntryKind};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{
    self, NOW, Node, SESSION, Side, counting, dynamic, envelope, frame, member, numbers, open_host,
    options, rules,
};

fn host() -> Side {
    open_host(options("hub"), Rules::default())
}

// ---- ENV-01 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Every frame that a session sends has `mid`, `seq` and `ts`: long frames, parts, frames with
    /// values, relayed frames and link frames.
    #[test]
    fn env_01_accepts_mid_seq_and_ts_on_all_that_a_session_sends(
        said in prop::collection::vec((0..3_usize, "[a-z ]{0,90}", 0..60_usize), 1..6),
    ) {
        let mut room = Room::with(counting("hub"), Rules::default(), &["dev"]);
        room.enter(counting("qa"));
        for (who, text, many) in &said {
            let message = DynamicFrame::new(["hub", "dev", "qa"][*who], "req", "plan").unwrap()
                .with("goal", text.as_str())
                .with("steps", numbers(*many))
                .with("again", numbers(*many));
            match who {
                0 => room.host_says(&Outbound::message(&message)),
                who => room.say(who - 1, &Outbound::message(&message)),
            };
        }
        for passed in &room.passed {
            let envelope = envelope(&passed.text).unwrap();
            let mid = Mid::parse(envelope.msg_id.as_deref().unwrap());
            prop_assert!(mid.is_hex(), "{}", passed.text);
            prop_assert!(envelope.sequence.is_some(), "{}", passed.text);
            prop_assert_eq!(envelope.timestamp, Some(NOW.as_secs()), "{}", passed.text);
        }
        let frames = room.host.frames();
        prop_assert_eq!(frames.len(), said.len());
        let mids: BTreeSet<Mid> = frames.into_iter().map(|entry| entry.mid).collect();
        prop_assert_eq!(mids.len(), said.len());
        room.check_replicas();
    }
}

#[test]
fn env_01_refuses_a_mid_of_another_shape() {
    let mut host = host();
    for mid in [
        "1",
        "m1",
        "10100000100",
        "1010000010011",
        "10100000100g",
        "10100000-001",
    ] {
        let text = format!("@dev>req:plan{{}}[mid:{mid},seq:1,ts:{}]", NOW.as_secs());
        let refused = host.refuses(101, &text);
        assert_eq!(
            (refused.code, refused.of),
            (ErrorCode::PARSE_ERROR, Some(Mid::parse(mid)))
        );
        // A host can be set to accept ids of any shape, because some ids in the examples of the
        // draft have another shape.
        let any_mid = Rules {
            any_mid: true,
            ..Rules::default()
        };
        open_host(options("hub"), any_mid).takes(101, &text);
    }
    host.takes(101, "@dev>req:plan{}[mid:49679033E07c,seq:1,ts:1714000000]");
}

// ---- ENV-02 ------------------------------------------------------------------------

#[test]
fn env_02_accepts_a_frame_with_mid_and_seq_alone() {
    let mut host = host();
    let heard = host.takes(101, "@dev>req:plan{}[mid:101000001001,seq:1]");
    assert_eq!(heard.inbound.len(), 1);
    host.takes(101, "@dev>req:plan{}[sequence:2,msg_id:101000001002]");
}

#[test]
fn env_02_refuses_a_frame_without_mid_or_seq() {
    let mut host = host();
    for metadata in [
        "",
        "[mid:101000001001]",
        "[seq:1]",
        "[ts:1714000000,cid:a]",
        "[mid:101000001001,seq:-1]",
        "[mid:101000001001,seq:one]",
        "[mid:101000001001,seq:1.0]",
        "[mid:101000001001,seq:~]",
        "[mid:~,seq:1]",
        "[mid:101000001001,mid:101000001002,seq:1]",
        "[mid:101000001001,seq:1,sequence:1]",
    ] {
        let refused = host.refuses(101, &format!("@dev>req:plan{{}}{metadata}"));
        assert_eq!(refused.code, ErrorCode::PARSE_ERROR, "{metadata}");
    }
    host.takes(101, &frame("@dev>req:plan{}", 2, 1, ""));
}

// ---- ENV-03 ------------------------------------------------------------------------

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The numbers of a session are 1, 2, 3, across all senders. If each sender counts for itself,
    /// the numbers of each sender are 1, 2, 3.
    #[test]
    fn env_03_accepts_numbers_that_rise_by_one(
        said in prop::collection::vec(0..3_usize, 1..12), shared: bool, restart in any::<prop::sample::Index>(),
    ) {
        let scope = if shared { Scope::Shared } else { Scope::Sender };
        let mut room = Room::with(options("hub"), rules(scope), &["dev", "qa"]);
        for (at, who) in said.iter().enumerate() {
            if at == restart.index(said.len()) {
                room.settle();
                room.host.reopen_as(options("hub"));
                room.settle();
            }
            let message = DynamicFrame::new(["hub", "dev", "qa"][*who], "req", "plan").unwrap();
            // The sides do not wait for each other.
            match who {
                0 => room.host.session_mut().send(&Outbound::message(&message), NOW).unwrap(),
                who => room.members[who - 1].session_mut().send(&Outbound::message(&message), NOW).unwrap(),
            };
        }
        room.settle();
        let frames = room.host.frames();
        prop_assert_eq!(frames.len(), said.len());
        let senders: BTreeSet<_> = frames.iter().map(|entry| entry.sender).collect();
        let numbers = |of| frames.iter().filter(move |entry| shared || entry.sender == of).map(|entry| entry.sequence);
        for sender in senders {
            prop_assert!(numbers(sender).eq(1..=numbers(sender).count() as u64));
        }
        // The number in the log is the number in the frame.
        for entry in &frames {
            let number = envelope(&entry.text).unwrap().sequence;
            prop_assert_eq!(number, Some(entry.sequence));
        }
        room.check_replicas();
    }
}

#[test]
fn env_03_refuses_any_number_but_the_next() {
    for scope in [Scope::Shared, Scope::Sender] {
        let mut host = open_host(options("hub"), rules(scope));
        for n in 1..=3 {
            host.takes(101, &frame("@dev>req:plan{}", n, u64::from(n), ""));
        }
        for forged in [0, 1, 2, 3, 5, 6, 1_000_000, i64::MAX as u64] {
            let refused = host.refuses(101, &frame("@dev>req:plan{}", 9, forged, ""));
            assert_eq!(refused.code, ErrorCode::SEQUENCE_GAP, "{forged}");
            assert_eq!(refused.expected_sequence, Some(4), "{forged}");
        }
        // The refused frame did not use up the id.
        host.takes(101, &frame("@dev>req:plan{}", 9, 4, ""));
        let next = if scope == Scope::Shared { 5 } else { 1 };
        let text = format!("@qa>req:plan{{}}[mid:102000001001,seq:{next}]");
        host.takes(102, &text);
    }
}

// ---- ENV-04 ------------------------------------------------------------------------

#[test]
fn env_04_accepts_cid_aid_and_sid_as_links() {
    let mut room = Room::new(&["dev", "qa"]);
    let call = ToolReq {
        tool_name: "search".into(),
        arguments: None,
    };
    let request = room.say(0, &Outbound::frame(&call));
    let inbound = room.members[1].inbox.remove(0);

    // The answer is in the chain of the request, and names its cause.
    let result = ToolDone {
        tool_name: "search".into(),
        arguments: None,
        result: None,
        status: "ok".into(),
        error_code: None,
    };
    let reply = Outbound::frame(&result)
        .answering(&inbound)
        .unwrap()
        .caused_by(&request);
    let qa = room.members[1].session_mut();
    qa.handled(inbound.position(), &[reply], NOW).unwrap();
    room.settle();
    let answer = room.host.frames().pop().unwrap();
    let envelope = envelope(&answer.text).unwrap();
    assert_eq!(
        envelope.correlation_id.as_deref(),
        Some(request.to_string().as_str())
    );
    assert_eq!(
        envelope.causation_id.as_deref(),
        Some(request.to_string().as_str())
    );

    // An answer to the answer is in the same chain.
    let inbound = room.members[0].inbox.pop().unwrap();
    let thanks = DynamicFrame::new("dev", "ack", "plan").unwrap();
    let outbound = Outbound::message(&thanks).answering(&inbound).unwrap();
    assert!(format!("{outbound:?}").contains(&format!("cid: Some(\"{request}\")")));

    // A frame may name its session. A frame without a name belongs to the connection's session.
    let mut host = host();
    host.takes(
        101,
        &frame("@dev>req:plan{}", 1, 1, &format!(",sid:{SESSION}")),
    );
    host.takes(101, &frame("@dev>req:plan{}", 2, 2, ""));
}

/// A registry may require `sid` in a frame. The session writes its own name into such a frame, and into no other
/// frame.
#[test]
fn env_04_accepts_a_frame_that_must_name_its_session() {
    let registry = r#"{ "schemas": { "note": { "code": "NT", "fields": ["text"], "frames": [
        { "intent": "req", "operation": "named", "envelope": ["sid"] },
        { "intent": "req", "operation": "bare" } ] } } }"#;
    let mut options = options("hub");
    options.registry = Arc::new(Registry::from_json(registry).unwrap().with_profiles());
    let mut host = open_host(options, Rules::default());
    for (operation, named) in [("named", Some(SESSION)), ("bare", None)] {
        let message = dynamic("hub", "req", operation).under("NT");
        let outbound = Outbound::message(&message);
        let encoded = Codec::new(host.session_mut()).encode(&outbound, NOW);
        let envelope = envelope(&encoded.unwrap().frames[0]).unwrap();
        assert_eq!(envelope.session_id.as_deref(), named, "{operation}");
    }
}

#[test]
fn env_04_refuses_the_name_of_another_session_and_links_that_are_none() {
    let mut host = host();
    for sid in ["s2", "S1", "s", "s11", "hub"] {
        let refused = host.refuses(101, &frame("@dev>req:plan{}", 1, 1, &format!(",sid:{sid}")));
        assert_eq!(refused.code, ErrorCode::UNAUTHORIZED_REF, "{sid}");
    }
    for more in [
        ",cid:[a]",
        ",cid:~",
        ",aid:{a:1}",
        ",sid:$hot.p1",
        ",cid:a,cid:b",
    ] {
        let refused = host.refuses(101, &frame("@dev>req:plan{}", 2, 1, more));
        assert!(
            matches!(
                refused.code,
                ErrorCode::INVALID_TYPE | ErrorCode::PARSE_ERROR
            ),
            "{more}: {refused:?}"
        );
    }
    // The host enforces a profile that requires `cid`.
    let done = "@dev>done:tool{tool:search|schema:TC}";
    assert_eq!(
        host.refuses(101, &frame(done, 3, 1, "")).code,
        ErrorCode::INVALID_TYPE
    );
    host.takes(101, &frame(done, 4, 1, ",cid:a"));
}

// ---- ENV-05 ------------------------------------------------------------------------

proptest! {
    /// A frame is accepted while `ts + ttl` is not before now, within the skew. Most of the cases
    /// lie near the two ends of that range.
    #[test]
    fn env_05_accepts_a_frame_until_its_ttl_has_elapsed(
        ttl in prop_oneof![8 => 0..120_i64, 1 => Just(i64::MAX)], skew in 0..60_u64,
        end in 0..3_u8, near in -2..3_i64, far in -100..300_i64,
    ) {
        let age = match end {
            0 => ttl.saturating_add(skew as i64).saturating_add(near).min(i64::MAX / 4),
            1 => near - skew as i64,
            _ => far,
        };
        let ts = NOW.as_secs() - age;
        let rules = Rules { skew: Duration::from_secs(skew), ..Rules::default() };
        let mut host = open_host(options("hub"), rules);
        let text = format!("@dev>req:plan{{}}[mid:101000001001,seq:1,ts:{ts},ttl:{ttl}]");
        let heard = host.hears(101, &text, NOW);
        let is_in_future = -age > skew as i64;
        let has_expired = ttl > 0 && age > ttl.saturating_add(skew as i64);
        let kinds: Vec<_> = heard.entries.iter().map(|entry| entry.kind).collect();
        let expected = if ts.checked_add(ttl).is_none() {
            Some(EntryKind::Refused(ErrorCode::INVALID_TYPE))
        } else if is_in_future {
            // The same frame may be accepted later, so the log gets no entry.
            None
        } else if has_expired {
            Some(EntryKind::Dropped)
        } else {
            Some(EntryKind::Frame)
        };
        prop_assert_eq!(kinds, expected.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(heard.inbound.is_empty(), expected != Some(EntryKind::Frame));
        prop_assert_eq!(heard.sends.is_empty(), expected == Some(EntryKind::Dropped));
    }
}

#[test]
fn env_05_refuses_a_ttl_that_cannot_be_kept() {
    let mut host = host();
    let now = NOW.as_secs();
    for more in [
        format!("ts:{now},ttl:-1"),
        format!("ts:{now},ttl:{}", i64::MIN),
        "ttl:60".into(),
        format!("ts:{},ttl:60", now + 31),
        format!("ts:{},ttl:60", i64::MAX),
        format!("ts:{now},ttl:one"),
        format!("ts:{now},ttl:1.5"),
        format!("ts:{now},ttl:~"),
    ] {
        let refused = host.refuses(
            101,
            &format!("@dev>req:plan{{}}[mid:101000001001,seq:1,{more}]"),
        );
        assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{more}");
    }
    host.takes(101, &frame("@dev>req:plan{}", 2, 1, ",ttl:60"));
    // A frame without a ttl never expires, however old it is.
    host.takes(101, "@dev>req:plan{}[mid:101000001003,seq:2,ts:0,ttl:0]");
    host.takes(101, "@dev>req:plan{}[mid:101000001004,seq:3,ts:0]");
}

/// The envelope is sent as the application sets it.
#[test]
fn env_05_accepts_a_ttl_that_the_application_gives() {
    let mut room = Room::new(&["dev"]);
    let message = DynamicFrame::new("dev", "req", "plan").unwrap();
    room.on_the_way(|_| Vec::new());
    room.say(0, &Outbound::message(&message).expiring(60));
    assert!(room.passed(101, 100).last().unwrap().ends_with(",ttl:60]"));
    // The frame arrives too late. The host logs it, and does not relay it to any member.
    room.now = Time::from_secs(NOW.as_secs() + 91);
    room.heal();
    room.pass(Duration::from_secs(0));
    assert!(room.host.inbox.is_empty());
    let kinds: Vec<_> = room
        .host
        .log()
        .into_iter()
        .map(|entry| entry.kind)
        .collect();
    assert_eq!(kinds.last(), Some(&EntryKind::Dropped));
}

// ---- INT-02 ------------------------------------------------------------------------

#[test]
fn int_02_accepts_ping_and_answers_pong() {
    let mut host = host();
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
    for operation in ["link", "anything"] {
        let text = format!("@dev>ping:{operation}{{}}[mid:910100000001,seq:0,ts:1714000000]");
        let heard = host.hears(101, &text, NOW);
        // The host also repeats its last acknowledgement, which may have been lost.
        let [pong, ack] = &heard.sends[..] else {
            panic!("{heard:?}");
        };
        assert!(pong.starts_with("@hub>pong:link{}[mid:9100"), "{pong}");
        assert_eq!(sides::of(ack), Some(Mid::parse("101000001001")));
        assert!(heard.entries.is_empty());
    }
    let mut room = Room::new(&["dev"]);
    let dev = room.members[0].session_mut();
    dev.receive(
        MemberId::HOST,
        b"@hub>ping:link{}[mid:910000000001,seq:1,ts:1714000000]",
        NOW,
    );
    room.settle();
    assert!(
        room.passed(101, 100)
            .last()
            .unwrap()
            .starts_with("@dev>pong:link{}[")
    );
    room.check_replicas();
}

/// Pings are not frames of the session: they have no number, they are not logged, and no error
/// answers them.
#[test]
fn int_02_refuses_to_count_or_to_answer_pings_by_errors() {
    let mut host = host();
    let held = host.session().position();
    let text = format!("@dev>ack:frame{{}}[mid:910100000001,seq:{held}]");
    host.ignores(101, &text, NOW);
    for text in [
        "@dev>pong:link{}[mid:910100000001,seq:0]",
        "@dev>pong:link{}[mid:910100000001,seq:99999999]",
        "@dev>pong:link{}",
        "@dev>ping:link{",
        "@dev>ping:link{}[mid",
        "@dev>pong:link{}[mid:1,mid:2]",
        "@dev>ack:frame{}[mid:910100000001,seq:0]",
        "@dev>ack:frame{[",
        "@dev>ack:frame{}[of:[]]",
    ] {
        let heard = host.ignores(101, text, NOW);
        assert!(heard.entries.is_empty(), "{text}");
    }
    assert_eq!(host.session().state().member_of("dev"), Some(member(101)));
    host.takes(101, &frame("@dev>req:plan{}", 1, 1, ""));
}
