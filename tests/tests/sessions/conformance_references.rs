//! Conformance of references in a session: permission to follow them, SEC-02 (draft section 9),
//! their targets, SEC-05 (3.6), and the second step of decoding, API-03 (7.3).
//! `docs/conformance.md` lists the tests of each requirement.

use accp_runtime::session::{Outbound, ReadError, Reference, Rules};
use accp_runtime::{ErrorCode, Value};
use accp_session::{Codec, Located, read_value};
use proptest::prelude::*;

use crate::sessions::room::Room;
use crate::sessions::sides::{NOW, Node, Side, counting, dynamic, frame, open_host, options};

fn host() -> Side {
    open_host(counting("hub"), Rules::default())
}

fn lookup(key: &str) -> String {
    format!("@dev>qry:lookup{{of:${key}}}")
}

fn locate(host: &Side, key: &str) -> Result<Located, ReadError> {
    host.state().locate(&Reference::parse(key).unwrap())
}

/// Announces a value of `@dev` under `k101_1`, and sends a frame with it. Returns the position of
/// the frame.
fn with_value(host: &mut Side) -> u64 {
    let digest = "a32838af3ff6a9ed0a9614b88164be36798497e40a478e0cca3f7952aa6fa492";
    let put = format!("@dev>sync:put{{keys:[[k101_1,{digest},60]]}}");
    host.hears(101, &frame(&put, 1, 1, ""), NOW);
    host.takes(
        101,
        &frame("@dev>sync:state{v:1|delta:{owner:dev}}", 2, 2, ""),
    );
    host.takes(101, &frame("@dev>req:plan{goal:$cold.k101_1}", 3, 3, ""))
        .entries[0]
        .position
}

// ---- SEC-02 ------------------------------------------------------------------------

#[test]
fn sec_02_accepts_references_of_the_session_and_those_that_were_granted() {
    let mut host = host();
    let position = with_value(&mut host);
    for (n, key) in (4..).zip([
        "cold.k101_1".to_owned(),
        "cold.k101_1.rows.0".into(),
        format!("cold.p{position}.goal"),
    ]) {
        // An agent may use any agent's key, because cold state belongs to the session.
        host.takes(101, &frame(&lookup(&key), n, n.into(), ""));
    }
    let qa = "@qa>qry:lookup{of:$cold.k101_1}[mid:102000001001,seq:7]";
    host.takes(102, qa);

    host.grant("s2", "k101_4", NOW);
    host.grant("s3", "*", NOW);
    host.carries_out(NOW);
    for (n, key) in (8..).zip(["s2.k101_4", "s2.k101_4.rows.0", "s3.k101_1", "s3.p12"]) {
        host.takes(101, &frame(&lookup(&format!("ext.{key}")), n, n.into(), ""));
    }
    let located = locate(&host, "ext.s2.k101_4");
    let (session, key) = ("s2".to_owned(), "k101_4".to_owned());
    assert_eq!(located, Ok(Located::Foreign { session, key }));
}

proptest! {
    /// References that were not granted are refused, whatever else was granted.
    #[test]
    fn sec_02_refuses_cold_state_of_another_session(
        session in "[a-c]", key in "k10[01]_[1-3]|p[1-9]", granted in prop::collection::vec(("[a-c]", "k10[01]_[1-3]|p[1-9]|[*]"), 0..4),
    ) {
        let mut host = host();
        for (session, key) in &granted {
            host.grant(session.as_str(), key.as_str(), NOW);
        }
        host.carries_out(NOW);
        let may = granted.iter().any(|(sid, allowed)| *sid == session && (*allowed == key || allowed == "*"));
        let reference = format!("ext.{session}.{key}");
        let text = frame(&lookup(&reference), 1, 1, "");
        if may {
            host.takes(101, &text);
        } else {
            prop_assert_eq!(host.refuses(101, &text).code, ErrorCode::UNAUTHORIZED_REF);
            prop_assert_eq!(locate(&host, &reference), Err(ReadError::Unauthorized));
            prop_assert_eq!(host.session().resolve(&reference), None);
        }
    }
}

#[test]
fn sec_02_refuses_a_grant_that_is_not_the_host_s() {
    let mut host = host();
    let grant = frame("@dev>sync:grant{sid:s2|key:*}", 1, 1, "");
    assert_eq!(host.refuses(101, &grant).code, ErrorCode::POLICY_DENIED);
    let reference = frame(&lookup("ext.s2.k101_1"), 2, 1, "");
    assert_eq!(
        host.refuses(101, &reference).code,
        ErrorCode::UNAUTHORIZED_REF
    );
    // The host also checks a reference in a list, in a map, with a path, or among other params.
    for (n, payload) in (3..).zip([
        "[a,$ext.s2.p1]",
        "{a:[$ext.s2.p1.x]}",
        "$ext.s2.p1.goal.deep",
    ]) {
        let text = frame(&format!("@dev>req:plan{{x:$42.30|y:{payload}}}"), n, 1, "");
        assert_eq!(host.refuses(101, &text).code, ErrorCode::UNAUTHORIZED_REF);
    }
    // The host refuses its own frame for the same reason.
    let message = dynamic("hub", "req", "plan").with("of", Value::Ref("ext.s2.k101_1".into()));
    let error = host
        .session_mut()
        .send(&Outbound::message(&message), NOW)
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::UNAUTHORIZED_REF);
}

// ---- SEC-05 ------------------------------------------------------------------------

#[test]
fn sec_05_accepts_references_to_what_is_there() {
    let mut host = host();
    let position = with_value(&mut host);
    let hot_state = format!("hot.p{position}");
    for (n, key) in (4..).zip([
        hot_state.as_str(),
        "ctx.owner",
        "cold.k101_1",
        "42.30",
        "budget",
        "hotel.p1",
    ]) {
        host.takes(101, &frame(&lookup(key), n, n.into(), ""));
    }
    assert!(matches!(locate(&host, &hot_state), Ok(Located::Hot(_))));
    assert_eq!(
        locate(&host, "cold.k101_1"),
        Ok(Located::Cold("k101_1".into()))
    );
    assert_eq!(locate(&host, "ctx.owner"), Ok(Located::Here("dev".into())));
    // Frames that have left the context are in the log.
    host.phase(NOW).unwrap();
    host.takes(101, &frame("@dev>done:plan{}", 10, 10, ",cid:101000001003"));
    host.phase(NOW).unwrap();
    host.carries_out(NOW);
    assert_eq!(locate(&host, &hot_state), Ok(Located::Log(position)));
    host.takes(101, &frame(&lookup(&hot_state), 11, 11, ""));
}

#[test]
fn sec_05_refuses_a_missing_reference_and_an_expired_one() {
    let mut host = host();
    with_value(&mut host);
    for (n, key) in (4..).zip([
        "hot.p99",
        "hot.p0",
        "hot",
        "hot.",
        "hot.57",
        "warm.ckpt_1",
        "warm.notes",
        "cold.k101_2",
        "cold.k102_1",
        "cold.p99",
        "cold.notes",
        "cold",
        "ctx.other",
        "ctx.",
        "ext.s2",
        "ext",
    ]) {
        let refused = host.refuses(101, &frame(&lookup(key), n, 4, ""));
        assert_eq!(refused.code, ErrorCode::REF_NOT_FOUND, "{key}");
    }
    host.expire(&["k101_1", "k101_9"], NOW);
    host.carries_out(NOW);
    let refused = host.refuses(101, &frame(&lookup("cold.k101_1"), 30, 4, ""));
    assert_eq!(refused.code, ErrorCode::REF_EXPIRED);
    assert_eq!(locate(&host, "cold.k101_1"), Err(ReadError::Expired));
    // A key that was never put has not expired.
    assert_eq!(locate(&host, "cold.k101_9"), Err(ReadError::NotFound));
    // Earlier frames with the reference stay valid, and their handlers are not stopped.
    assert_eq!(host.frames().len(), 2);
    host.takes(101, &frame("@dev>req:plan{}", 31, 4, ""));
}

// ---- API-03 ------------------------------------------------------------------------

/// References into hot, warm and shared state are followed. A reference into the store stays a reference, and a
/// value that only looks like a reference stays a value.
#[test]
fn api_03_accepts_references_and_resolves_those_into_the_state() {
    let mut room = Room::counting(&["dev"]);
    let long = "so ".repeat(20);
    let task = dynamic("dev", "req", "schedule")
        .under("TA")
        .with("assignee", "dev")
        .with("task", "T1")
        .with("priority", "high");
    let request = room.say(0, &Outbound::message(&task));
    let done = dynamic("dev", "done", "schedule")
        .under("TA")
        .with("task", "T1");
    room.say(0, &Outbound::message(&done).in_chain(request.to_string()));
    room.host.phase(NOW).unwrap();
    let shared = dynamic("dev", "sync", "state").with("version", 1).with(
        "delta",
        Value::Map(
            [("owner", "dev".into()), ("note", long.as_str().into())]
                .into_iter()
                .collect(),
        ),
    );
    room.say(0, &Outbound::message(&shared));
    let plan = dynamic("dev", "req", "plan").with("rows", vec![7.into(), 8.into()]);
    room.say(0, &Outbound::message(&plan));
    let position = room.host.session().position();
    let text = format!(
        "@dev>qry:lookup{{a:$warm.ckpt_2.priority|b:$ctx.owner|e:[$hot.p{position}.rows.1,$42.30]|\
         g:{{x:$cold.p{position}.rows}}|h:$ctx.nothing|i:$ctx.note|j:$hot.p{position}.rows.2}}"
    );
    // Both sides have the same state, so both read the same.
    let of_host = Codec::new(room.host.session_mut()).decode(&text).unwrap();
    let of_member = Codec::new(room.members[0].session_mut())
        .decode(&text)
        .unwrap();
    assert_eq!(of_host, of_member);
    let get = |key: &str| of_host.payload.get(key).unwrap().to_string();
    assert_eq!(get("a"), "high");
    assert_eq!(get("b"), "dev");
    assert_eq!(get("e"), "[8,$42.30]");
    assert_eq!(get("g"), format!("{{x:$cold.p{position}.rows}}"));
    assert_eq!(get("h"), "$ctx.nothing");
    assert_eq!(get("j"), format!("$hot.p{position}.rows.2"));
    // If a reference leads to another reference, the side does not follow the second one.
    let Value::Ref(key) = of_host.payload.get("i").unwrap() else {
        panic!("{of_host:?}");
    };
    let kept = room
        .host
        .cold_text(key.strip_prefix("cold.").unwrap())
        .unwrap();
    assert_eq!(
        read_value(kept.as_bytes()).unwrap(),
        Value::from(long.as_str())
    );
}

#[test]
fn api_03_refuses_a_reference_to_a_value_of_another_type() {
    let mut room = Room::new(&["dev"]);
    let delta: accp_runtime::Map<'_> = [("owner", "dev".into()), ("much", 7.into())]
        .into_iter()
        .collect();
    let shared = dynamic("dev", "sync", "state")
        .with("version", 1)
        .with("delta", Value::Map(delta));
    room.say(0, &Outbound::message(&shared));
    let codec = Codec::new(room.host.session_mut());
    let report = |key: &str| format!("@dev>done:schedule{{task:x|prog:$ctx.{key}|schema:TA}}");
    let text = report("much");
    let progress = codec
        .decode(&text)
        .unwrap()
        .payload
        .get("progress")
        .cloned();
    assert_eq!(progress, Some(Value::Integer(7)));
    let text = report("owner");
    let error = codec.decode(&text).unwrap_err();
    assert_eq!(
        (error.code(), error.at()),
        (ErrorCode::INVALID_TYPE, text.find('$').unwrap())
    );
}

#[test]
fn api_03_refuses_a_frame_before_any_reference_is_followed() {
    let mut node = open_host(options("hub"), Rules::default());
    let codec = Codec::new(node.session_mut());
    for (text, code) in [
        ("@dev>qry:lookup{a:$ctx.x|b}", ErrorCode::PARSE_ERROR),
        ("@dev>nope:lookup{a:$ctx.x}", ErrorCode::INVALID_INTENT),
        (
            "@dev>req:chat{a:$ctx.x|schema:XX}",
            ErrorCode::UNKNOWN_SCHEMA,
        ),
        ("@dev>req:chat{a:$ctx.x|schema:CH}", ErrorCode::INVALID_TYPE),
        ("@dev>qry:lookup{a:$ctx.x}[seq:one]", ErrorCode::PARSE_ERROR),
    ] {
        assert_eq!(codec.decode(text).unwrap_err().code(), code, "{text}");
    }
}
