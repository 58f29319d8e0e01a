//! Bad input to a session. The session answers with an error, or stays silent if the error would
//! answer an answer. Its state does not change.

use std::fmt::Write as _;
use std::time::Duration;

use accp_runtime::AgentId;
use accp_runtime::session::{Event, MemberId, Outbound, Rules, Session};
use accp_session::EntryKind;
use accp_store::Store as _;
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{
    HUB, NOW, Node, Side, counting, dynamic, frame, open_host, options, plan,
};

const DIGEST: &str = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";

/// Opens a host that counts tokens and has accepted three frames.
fn host() -> Side {
    let mut host = open_host(counting("hub"), Rules::default());
    host.takes(
        101,
        &frame("@dev>sync:state{v:1|delta:{owner:dev}}", 1, 1, ""),
    );
    host.takes(101, &frame("@dev>req:plan{goal:x}", 2, 2, ""));
    host.takes(102, "@qa>req:plan{}[mid:102000001001,seq:3]");
    host
}

/// Returns frames that a host refuses. Each has number 4, which is the next.
fn bad_frames() -> Vec<(&'static str, String)> {
    let with = |head: &str, more: &str| frame(head, 9, 4, more);
    let mut frames = vec![
        ("another session", with("@dev>req:plan{}", ",sid:s2")),
        (
            "a foreign reference",
            with("@dev>req:plan{of:$ext.s2.k101_1}", ""),
        ),
        ("a forged seq", frame("@dev>req:plan{}", 9, 40, "")),
        ("a seq that was taken", frame("@dev>req:plan{}", 9, 2, "")),
        (
            "a mid of the wrong shape",
            "@dev>req:plan{}[mid:abc,seq:4]".into(),
        ),
        ("no mid", "@dev>req:plan{}[seq:4]".into()),
        ("no seq", "@dev>req:plan{}[mid:101000001009]".into()),
        ("a mid that was used", frame("@dev>req:plan{}", 2, 4, "")),
        (
            "a delta for another version",
            with("@dev>sync:state{v:3|delta:{owner:qa}}", ""),
        ),
        ("a negative ttl", with("@dev>req:plan{}", ",ttl:-1")),
        (
            "a ttl without ts",
            "@dev>req:plan{}[mid:101000001009,seq:4,ttl:5]".into(),
        ),
        (
            "a ts in the future",
            "@dev>req:plan{}[mid:101000001009,seq:4,ts:1714000031]".into(),
        ),
        ("a foreign agent", with("@qa>req:plan{}", "")),
        ("an agent of nobody", with("@boss>req:plan{}", "")),
        ("the host", with("@hub>req:plan{}", "")),
        (
            "a key of another member",
            with(&format!("@dev>sync:put{{keys:[[k102_1,{DIGEST},9]]}}"), ""),
        ),
        (
            "a key out of turn",
            with(&format!("@dev>sync:put{{keys:[[k101_0,{DIGEST},9]]}}"), ""),
        ),
        (
            "a chain of another",
            with("@dev>cancel:task{}", ",cid:102000001001"),
        ),
        ("no chain", with("@dev>cancel:task{}", "")),
        (
            "a missing reference",
            with("@dev>req:plan{of:$ctx.budget}", ""),
        ),
        ("an unknown schema", with("@dev>req:plan{schema:XX}", "")),
        ("an unknown intent", with("@dev>nope:plan{}", "")),
        (
            "a missing field",
            with("@dev>req:chat{role:user|schema:CH}", ""),
        ),
        (
            "a part of nothing",
            with("@dev>req:plan{}", ",pt:2/1,of:101000001009"),
        ),
        ("no frame", "hello".into()),
        ("nothing", String::new()),
        ("two lines", format!("{}\n", with("@dev>req:plan{}", ""))),
        ("half a frame", "@dev>req:plan{goal:x".into()),
        (
            "letters beyond ASCII",
            "@dev>req:plan{goal:größe}[mid:101000001009,seq:4]".into(),
        ),
        (
            "too many levels",
            with("@dev>req:plan{x:[[[[[[1]]]]]]}", ""),
        ),
        (
            "too many bytes",
            with(&format!("@dev>req:plan{{x:{}}}", "x".repeat(64 * 1024)), ""),
        ),
    ];
    for operation in [
        "open",
        "join",
        "leave",
        "grant",
        "expire",
        "schemas",
        "veto",
        "checkpoint",
    ] {
        frames.push((operation, with(&format!("@dev>sync:{operation}{{}}"), "")));
    }
    for key in [
        "pos:7", "prev:1", "tok:9", "cut:true", "by:100", "sum:1", "proof:1",
    ] {
        frames.push((key, with("@dev>req:plan{}", &format!(",{key}"))));
    }
    frames
}

/// Each frame is refused on its own, and a good frame is accepted after it.
#[test]
fn is_refused_with_its_code_and_changes_nothing() {
    let mut report = String::new();
    for (what, text) in bad_frames() {
        let mut host = host();
        let refused = host.refuses(101, &text);
        let (code, message) = (refused.code, &refused.message);
        writeln!(report, "{what}: {code} {message}").unwrap();
        let good = frame("@dev>req:plan{goal:next}", 10, 4, "");
        let heard = host.takes(101, &good);
        assert_eq!(heard.inbound[0].text(), good, "{what}");

        // The refused frame has not changed the state: the host has the same state after a restart
        // from its log.
        let state = host.state().clone();
        host.restart_as(counting("hub"));
        assert_eq!(host.state(), &state, "{what}");
        host.takes(101, &frame("@dev>req:plan{}", 11, 5, ""));
    }
    insta::assert_snapshot!(report, @r"
    another session: E5002 the session of this connection
    a foreign reference: E5002 a reference to this session, or to one that granted it
    a forged seq: E3003 the next sequence number
    a seq that was taken: E3003 the next sequence number
    a mid of the wrong shape: E1001 a mid of 12 hexadecimal digits
    no mid: E1001 a mid
    no seq: E1001 a seq, an integer from 1
    a mid that was used: E3002 a message id that was not used before
    a delta for another version: E2001 version 3 does not follow version 1, which is held; make the change again on that
    a negative ttl: E1004 a ttl of 0 or more seconds
    a ttl without ts: E1004 a ts beside the ttl
    a ts in the future: E3001 a ts that is not in the future
    a foreign agent: E5001 an agent that this member speaks for
    an agent of nobody: E5001 an agent that this member speaks for
    the host: E5001 an agent that this member speaks for
    a key of another member: E5001 the key k101_1, or one with a greater number
    a key out of turn: E5001 the key k101_1, or one with a greater number
    a chain of another: E5001 a cancellation by who started the chain, the host or a supervisor
    no chain: E1004 the cid of the chain to cancel
    a missing reference: E2001 a reference to something that the session holds
    an unknown schema: E1003 a schema of the registry: CH, ER, ST, TA, TC, TX
    an unknown intent: E1002 an intent of the draft (section 4.1)
    a missing field: E1004 the field `content`, which schema CH requires
    a part of nothing: E1004 the part as pt:1/3, at most 256 of them, and the id of the first as of
    no frame: E1001 '@' at the start of the frame
    nothing: E1001 '@' at the start of the frame
    two lines: E1001 the end of the frame
    half a frame: E1001 '|' or '}' after a value
    letters beyond ASCII: E1001 '|' or '}' after a value
    too many levels: E1001 at most 5 levels of nesting
    too many bytes: E1001 a frame of at most 65536 bytes
    open: E5001 an operation that is not the host's own
    join: E5001 an operation that is not the host's own
    leave: E5001 an operation that is not the host's own
    grant: E5001 an operation that is not the host's own
    expire: E5001 an operation that is not the host's own
    schemas: E5001 an operation that is not the host's own
    veto: E5001 an operation that is not the host's own
    checkpoint: E5001 an operation that is not the host's own
    pos:7: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    prev:1: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    tok:9: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    cut:true: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    by:100: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    sum:1: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    proof:1: E1001 none of pos, prev, tok, cut, rep, by, for, sum and proof, which a host adds
    ");
}

/// Many bad frames in a row, from both members, have the same effect as one bad frame.
#[test]
fn is_refused_as_often_as_it_comes() {
    let mut host = host();
    let before = host.state().clone();
    for _ in 0..3 {
        for (what, text) in bad_frames() {
            let other = text
                .replace("@dev>", "@qa>")
                .replace("mid:101000001009", "mid:102000001009");
            for (from, text) in [(101, &text), (102, &other)] {
                let heard = host.hears(from, text, NOW);
                let is_refusal = |kind| matches!(kind, EntryKind::Refused(_));
                let harmless = heard.entries.iter().all(|entry| is_refusal(entry.kind));
                assert!(harmless && heard.inbound.is_empty(), "{what}: {heard:?}");
            }
        }
    }
    assert_eq!(host.state(), &before);
    host.takes(101, &frame("@dev>req:plan{}", 10, 4, ""));
}

/// An agent that has not joined the session, or has left it, is refused.
#[test]
fn is_refused_of_strangers() {
    let mut host = host();
    let stranger = frame("@dev>req:plan{}", 9, 4, "");
    assert_eq!(host.refuses(103, &stranger).code.to_string(), "E5001");
    host.leave(crate::sessions::sides::member(101), NOW);
    host.carries_out(NOW);
    assert_eq!(host.refuses(101, &stranger).code.to_string(), "E5001");
    host.session_mut()
        .join(&AgentId::new("dev").unwrap(), NOW)
        .unwrap();
    host.greets(NOW);
    host.takes(101, &frame("@dev>req:plan{}", 10, 4, ""));
}

/// A bad link frame is never answered with an error, and it changes nothing.
#[test]
fn is_passed_over_in_link_frames() {
    let mut host = host();
    for text in [
        "@dev>ack:frame{}",
        "@dev>ack:frame{",
        "@dev>ack:frame{}[mid:1,mid:2]",
        "@dev>ack:frame{}[mid:910100000001,seq:99999999999]",
        "@dev>pong:link{}[seq:-1]",
        "@dev>pong:link{[[[[[[[",
        "@dev>ping:link{}[seq]",
        "@dev>fail:error{}[of:101000001002]",
        "@dev>fail:error{code:E9998|msg:x|retry:true|schema:ER}[of:~]",
        "@dev>fail:error{code:none}[of:101000001002]",
        "@dev>fail:error{code:E1001",
        "@dev>sync:registry{v:1|v:2}",
        "@dev>sync:bytes{}",
        "@dev>sync:bytes{key:k101_1|at:0|len:3|sha:abc|d:AAAA}",
        &format!("@dev>sync:bytes{{key:k101_1|at:0|len:3|sha:{DIGEST}|d:AAAA}}"),
        &format!("@dev>sync:bytes{{key:k101_1|at:0|len:3|sha:{DIGEST}|d:%%%}}"),
        "@dev>qry:bytes{}",
        "@dev>qry:bytes{key:k101_1|at:-1}",
        "@dev>qry:bytes{key:snap_999}[of:~]",
    ] {
        let before = host.state().clone();
        let heard = host.hears(101, text, NOW);
        let errors = heard.sends.iter().filter(|send| send.contains(">fail:"));
        assert_eq!(errors.count(), 0, "{text}: {:?}", heard.sends);
        assert_eq!(heard.entries, [], "{text}");
        assert_eq!(host.state(), &before, "{text}");
    }
    assert!(host.cold("k101_1").is_none());
    // One of these texts asked for a fold. So the host expects a hello before the next frame.
    host.greets(NOW);
    host.takes(101, &frame("@dev>req:plan{}", 10, 4, ""));
}

/// A member does not answer a text that it cannot read, and it goes on.
#[test]
fn is_passed_over_by_a_member() {
    let mut room = Room::new(&["dev"]);
    let before = room.members[0].state().clone();
    room.passed.clear();
    for (_, text) in bad_frames() {
        let text = text.replace("@dev>", "@hub>");
        room.members[0]
            .session_mut()
            .receive(MemberId::HOST, text.as_bytes(), NOW);
        room.settle();
        // A frame with a place in the log is acknowledged each time that it comes.
        assert!(
            room.passed(101, 100)
                .all(|text| text.starts_with("@dev>ack:frame{}")),
            "{text}"
        );
        assert_eq!(room.members[0].state(), &before, "{text}");
    }
    for text in [
        "@hub>fail:error{code:E1001|msg:x|retry:false|schema:ER}[of:101000001999]",
        "@hub>ack:frame{}[of:101000001999,at:77]",
        "@hub>sync:bytes{key:reg_all|at:0|len:1|sha:x|d:A}",
    ] {
        room.members[0]
            .session_mut()
            .receive(MemberId::HOST, text.as_bytes(), NOW);
        room.settle();
        assert_eq!(room.members[0].state(), &before, "{text}");
    }
    room.say(0, &Outbound::message(&plan("dev", 1)));
    room.check_replicas();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The input is any bytes, or good frames with some bytes replaced. A text that is not accepted
    /// changes nothing, and the next good frame is accepted when its turn has come.
    #[test]
    fn of_any_bytes_leaves_the_session_as_it_was(
        noise in prop::collection::vec(any::<u8>(), 0..40),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0x20..0x7f_u8), 0..4), n in 0..5_usize,
    ) {
        let mut host = host();
        let mut text = [
            frame("@dev>req:plan{goal:x}", 9, 4, ",ttl:5"),
            frame("@dev>sync:state{v:2|delta:{owner:~}}", 9, 4, ""),
            frame(&format!("@dev>sync:put{{keys:[[k101_1,{DIGEST},9]]}}"), 9, 4, ""),
            "@dev>sync:registry{v:1|hash:abcdef|pos:0|ext:[parts]}[mid:910100000001,seq:0]".into(),
            "@dev>ack:frame{}[mid:910100000001,seq:5]".into(),
        ][n].clone().into_bytes();
        for (index, byte) in changes {
            let at = index.index(text.len());
            text[at] = byte;
        }
        for bytes in [noise, text] {
            let (before, last) = (host.state().clone(), host.session().position());
            host.session_mut().receive(crate::sessions::sides::member(101), &bytes, NOW);
            host.carries_out(NOW);
            let entries = host.store.entries(&HUB, last + 1, usize::MAX).unwrap();
            let accepted = entries.iter().any(|entry| entry.kind.is_relayed());
            prop_assert!(accepted || host.state() == &before);
        }
        let next = 1 + host.log().iter().filter(|entry| entry.sequence > 0).count() as u64;
        let good = format!("@qa>req:plan{{}}[mid:102000001010,seq:{next}]");
        // The other member may have the turn. A minute later its turn is over.
        let heard = host.hears(102, &good, NOW + Duration::from_secs(60));
        prop_assert!(heard.entries.iter().any(|entry| entry.kind == EntryKind::Frame), "{:?}", heard);
    }
}

/// A side does not keep bytes that differ from the announced bytes. After a restart a host asks for
/// the bytes again.
#[test]
fn of_values_is_thrown_away() {
    type Change = fn(&str) -> String;
    let changes: [Change; 4] = [
        |text| text.replace("|d:eHh4eHh4", "|d:eHh4eHh5"),
        |text| text.replace("|d:", "|d:AAAA"),
        |text| text.replace("|len:60|", "|len:61|"),
        |text| text.replace("|sha:", "|sha:0").replacen("0|", "|", 1),
    ];
    for change in changes {
        let mut room = Room::new(&["dev"]);
        room.on_the_way(move |passed| {
            let is_value = passed.to == MemberId::HOST && passed.text.contains(">sync:bytes{");
            vec![if is_value {
                change(&passed.text)
            } else {
                passed.text.clone()
            }]
        });
        let long = dynamic("dev", "req", "plan").with("goal", "x".repeat(60));
        room.say(0, &Outbound::message(&long));
        assert!(room.host.cold("k101_1").unwrap().bytes.is_none());
        room.heal();
        room.say(0, &Outbound::message(&plan("dev", 1)));
        assert_eq!(room.host.frames().len(), 2);
        room.host.restart_as(options("hub"));
        room.pass_often(8, Duration::from_secs(32));
        assert_eq!(room.host.cold_text("k101_1"), Some("x".repeat(60)));
        room.check_replicas();
    }
}

/// A joiner checks its first state against the digest, and asks for the state again until the state is right.
#[test]
fn of_the_state_to_start_from_is_asked_for_again() {
    let mut room = Room::new(&["dev"]);
    room.say(0, &Outbound::message(&plan("dev", 1)));
    let mut times = 0;
    room.on_the_way(move |passed| {
        let is_fold = passed.text.contains("|key:snap_") && passed.text.contains(">sync:bytes{");
        times += usize::from(is_fold);
        vec![if is_fold && times < 3 {
            passed.text.replace("|d:", "|d:AAAA")
        } else {
            passed.text.clone()
        }]
    });
    room.enter(options("qa"));
    room.pass_often(8, Duration::from_secs(32));
    let tampered =
        |event: &Event| matches!(event, Event::Tampered(key) if key.starts_with("snap_"));
    assert!(room.members[1].events.iter().any(tampered));
    room.check_replicas();
}

/// If a store returns other data than was put into it, the error names the place of the fault.
#[test]
fn of_a_store_is_an_error_that_names_its_place() {
    let mut host = host();
    let stored = host.stored();
    let mut broken = stored.clone();
    broken.entries[2].text = "@hub>sync:join{".into();
    let error = Session::restore_host(counting("hub"), Rules::default(), &broken, NOW).unwrap_err();
    insta::assert_snapshot!(error, @"position 3 of the log cannot be read: E1001 at byte 15: expected a key or '}' after '{', found the end");
    assert_eq!(error.position(), 3);
    let mut broken = stored;
    broken.snapshot = Some(accp_session::Snapshot {
        position: 2,
        text: "{}".into(),
    });
    let error = Session::restore_host(counting("hub"), Rules::default(), &broken, NOW).unwrap_err();
    insta::assert_snapshot!(error, @"position 2 of the log cannot be read: missing field `version` at line 1 column 2");
}
