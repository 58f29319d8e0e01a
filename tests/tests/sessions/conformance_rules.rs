//! The rules of the profiles that a host enforces (draft sections 3.6, 10.2 and 10.4).

use std::sync::Arc;

use accp_runtime::session::{MemberId, Rules};
use accp_runtime::{ErrorCode, Registry};

use crate::sessions::room::Room;
use crate::sessions::sides::{Node, frame, open_host, options};

/// Sends these frames to a host, one after the other, with a restart before each if `restarts`.
/// Each is accepted, or refused with E1004 and the text in its `Err`.
fn says(restarts: bool, frames: &[(&str, Result<(), &str>)]) {
    let mut host = open_host(options("hub"), Rules::default());
    let mut next = 1;
    for (n, (head, expected)) in (1..).zip(frames) {
        if restarts {
            host.restart_as(options("hub"));
        }
        let (head, more) = head.split_once(' ').unwrap_or((head, ""));
        let text = frame(head, n, next, more);
        match expected {
            Ok(()) => {
                host.takes(101, &text);
                next += 1;
            }
            Err(expected) => {
                let refused = host.refuses(101, &text);
                assert_eq!(refused.code, ErrorCode::INVALID_TYPE, "{text}");
                assert!(
                    refused.message.contains(expected),
                    "{text}: {}",
                    refused.message
                );
            }
        }
    }
}

#[test]
fn err_01_refuses_codes_that_do_not_exist() {
    let fail = |code: &str| format!("@dev>fail:error{{code:{code}|msg:x|retry:false|schema:ER}}");
    for code in ["E1001", "E4002", "E9999"] {
        says(false, &[(&fail(code), Ok(()))]);
    }
    for code in ["E1234", "E0000", "oops", "e4002", "E40021"] {
        says(
            false,
            &[(&fail(code), Err("a code of the draft in `code`"))],
        );
    }
}

#[test]
fn pro_tc_refuses_a_failure_under_tc_and_an_answer_without_cid() {
    let expected = "`fail:error` under ER";
    says(
        false,
        &[
            ("@dev>req:tool{tool:find|schema:TC}", Ok(())),
            (
                "@dev>fail:tool{tool:find|stat:error|schema:TC} ,cid:m1",
                Err(expected),
            ),
            (
                "@dev>done:tool{tool:find|res:1|schema:TC}",
                Err("the envelope field cid"),
            ),
            ("@dev>done:tool{tool:find|res:1|schema:TC} ,cid:m1", Ok(())),
            (
                "@dev>fail:error{code:E4002|msg:x|retry:true|schema:ER} ,cid:m1",
                Ok(()),
            ),
        ],
    );
}

#[test]
fn pro_st_refuses_pieces_that_contradict_one_another() {
    for restarts in [false, true] {
        says(
            restarts,
            &[
                (
                    "@dev>stream:infer{idx:-1|d:x|schema:ST} ,cid:a",
                    Err("`chunk_index` from 0"),
                ),
                (
                    "@dev>stream:infer{idx:0|tot:3|d:x|schema:ST} ,cid:a",
                    Ok(()),
                ),
                (
                    "@dev>stream:infer{idx:0|tot:2|d:x|schema:ST} ,cid:b",
                    Ok(()),
                ),
                (
                    "@dev>stream:infer{idx:1|tot:2|d:x|schema:ST} ,cid:a",
                    Err("`total_chunks` 3"),
                ),
                (
                    "@dev>stream:infer{idx:3|d:x|schema:ST} ,cid:a",
                    Err("below `total_chunks`"),
                ),
                (
                    "@dev>end:infer{} ,cid:a",
                    Err("the last piece of the stream before its end"),
                ),
                (
                    "@dev>stream:infer{idx:1|d:x|done:true|schema:ST} ,cid:a",
                    Err("`is_final` in piece 2"),
                ),
                (
                    "@dev>stream:infer{idx:2|d:x|done:true|schema:ST} ,cid:a",
                    Ok(()),
                ),
                ("@dev>stream:infer{idx:1|d:x|schema:ST} ,cid:a", Ok(())),
                ("@dev>end:infer{} ,cid:a", Ok(())),
                ("@dev>end:infer{} ,cid:b", Err("the last piece")),
                // After the end of a stream, the chain may have another stream. A failure ends a
                // stream, too.
                (
                    "@dev>stream:infer{idx:0|tot:9|d:x|schema:ST} ,cid:a",
                    Ok(()),
                ),
                (
                    "@dev>fail:error{code:E9999|msg:x|retry:true|schema:ER} ,cid:a",
                    Ok(()),
                ),
                ("@dev>end:infer{} ,cid:a", Ok(())),
                (
                    "@dev>stream:infer{d:x|schema:ST} ,cid:c",
                    Err("chunk_index"),
                ),
                (
                    "@dev>stream:infer{idx:$cold.p9|d:x|schema:ST} ,cid:c",
                    Err("`chunk_index` in the frame"),
                ),
            ],
        );
    }
}

/// The schema of failures may be one of the program, with frames of its own.
#[test]
fn err_01_refuses_a_failure_under_another_schema_and_names_the_right_frames() {
    let registry = Registry::from_json(
        r#"{ "schemas": {
            "refund": { "code": "RF", "fields": ["order"], "rules": { "errors": "TR" },
                "frames": [{ "intent": "req", "operation": "refund" }] },
            "trouble": { "code": "TR", "fields": ["why"], "frames": [
                { "intent": "fail", "operation": "refund" },
                { "intent": "fail", "operation": "pay" },
                { "intent": "done", "operation": "check" }] } } }"#,
    );
    let mut options = options("hub");
    options.registry = Arc::new(registry.unwrap().with_profiles());
    let mut host = open_host(options, Rules::default());
    let text = frame("@dev>fail:refund{order:x|schema:RF}", 1, 1, "");
    assert_eq!(
        host.refuses(101, &text).message,
        "`fail:refund` or `fail:pay` under TR: failures of RF go there"
    );
    let text = frame("@dev>fail:pay{why:x|schema:TR}", 2, 1, "");
    host.takes(101, &text);
}

/// The pieces of one sender do not count for the stream of another sender in the same chain.
#[test]
fn str_02_accepts_streams_of_two_senders_in_one_chain() {
    let mut room = Room::new(&["dev", "qa"]);
    for (who, agent, total) in [(0, "dev", 2), (1, "qa", 3)] {
        for index in 0..total {
            let chunk = accp_runtime::DynamicFrame::new(agent, "stream", "infer")
                .unwrap()
                .under("ST");
            let chunk = chunk
                .with("chunk_index", index)
                .with("total_chunks", total)
                .with("is_final", index + 1 == total)
                .with("data", "x");
            room.say(
                who,
                &accp_runtime::session::Outbound::message(&chunk).in_chain("s"),
            );
        }
    }
    let of = |id: u16| MemberId::new(id);
    let accepted = room.host.frames();
    let count = |id| {
        accepted
            .iter()
            .filter(|entry| Some(entry.sender) == of(id))
            .count()
    };
    assert_eq!([count(101), count(102)], [2, 3]);
    room.check_replicas();
}
