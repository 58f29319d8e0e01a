//! Tests of the requirements for tier 2: CTX-17 to CTX-21.

use accp_memory::disk::Compressed;
use accp_memory::{MessageList, Tier};
use serde_json::{Value as Json, json};

use crate::requirements::session::{TestSession, raws, tiers};
use crate::requirements::talk::{Talk, rows};

/// Returns a conversation with one write of `input` tokens and its result, and with `total` tokens in all.
fn written(session: &TestSession, input: usize, result: &str, total: u64) -> MessageList {
    let talk = Talk::begun().wrote("out/report.md", &rows(input), result);
    talk.up_to(total, &session.window).list()
}

/// Returns the arguments of the call in a message.
fn arguments(list: &MessageList, message: usize) -> Json {
    let call = &list.messages()[message].json()["tool_calls"][0]["function"]["arguments"];
    serde_json::from_str(call.as_str().unwrap()).unwrap()
}

fn is_cut(done: &Compressed, message: usize) -> bool {
    let content = arguments(&done.list, message)["content"].to_string();
    content.contains("## Truncated Tool Call")
}

#[test]
fn ctx_17_accepts_a_large_old_input_from_half_on() {
    let session = TestSession::of(10_000);
    let done = session.compress(&written(&session, 3_000, "File written", 5_000));
    assert_eq!(tiers(&done), [Tier::Two]);
    assert!(is_cut(&done, 1));
    assert_eq!(done.events[0].before, 5_000);
}

#[test]
fn ctx_17_refuses_to_cut_under_half_and_where_no_input_is_large_and_old() {
    let session = TestSession::of(10_000);
    let list = written(&session, 3_000, "File written", 4_999);
    assert_eq!(raws(&session.compress(&list).list), raws(&list));
    let small = TestSession::of(10_000);
    let list = written(&small, 900, "File written", 6_000);
    assert_eq!(raws(&small.compress(&list).list), raws(&list));
    // The call is in the last turn of one list, and in the turn before it in the other.
    for later in ["", "Go on."] {
        let new = TestSession::of(10_000);
        let mut talk = Talk::begun().up_to(3_000, &new.window);
        talk = talk.wrote("out/report.md", &rows(3_000), "File written");
        if !later.is_empty() {
            talk = talk.user(later);
        }
        let list = talk.list();
        assert_eq!(raws(&new.compress(&list).list), raws(&list), "{later}");
    }
}

#[test]
fn ctx_18_accepts_success_that_is_reported_and_files_that_have_the_content() {
    let session = TestSession::of(10_000);
    assert!(is_cut(
        &session.compress(&written(&session, 3_000, "File written", 6_000)),
        1
    ));
    let seen = TestSession::of(10_000);
    seen.put("out/report.md", &rows(3_000));
    assert!(is_cut(
        &seen.compress(&written(&seen, 3_000, "7", 6_000)),
        1
    ));
    let file = std::fs::read_to_string(seen.work().join("out/report.md")).unwrap();
    assert_eq!(file, rows(3_000));
}

#[test]
fn ctx_18_refuses_to_cut_what_failed_and_what_the_disk_does_not_have() {
    for (result, file) in [
        ("Error: disk full", None),
        ("Error: disk full", Some(rows(3_000))),
        ("7", None),
        ("7", Some(rows(3_000).replace("row 7:", "row 8:"))),
        ("File written", Some("changed since".to_owned())),
    ] {
        let session = TestSession::of(10_000);
        if let Some(file) = &file {
            session.put("out/report.md", file);
        }
        let list = written(&session, 3_000, result, 6_000);
        let done = session.compress(&list);
        assert_eq!(
            (tiers(&done), raws(&done.list)),
            (vec![], raws(&list)),
            "{result}"
        );
    }
}

#[test]
fn ctx_19_accepts_the_path_an_account_and_that_the_content_is_on_disk() {
    let session = TestSession::of(10_000);
    let done = session.compress(&written(&session, 3_000, "File written", 6_000));
    let arguments = arguments(&done.list, 1);
    let content = arguments["content"].as_str().unwrap();
    for part in [
        "out/report.md",
        "Wrote out/report.md; the text begins: row 1: 1 bags of rye",
        "Content persisted to disk",
    ] {
        assert!(content.contains(part), "{content}");
    }
}

#[test]
fn ctx_19_refuses_to_change_short_arguments_ids_and_the_shape() {
    let session = TestSession::of(10_000);
    let arguments_of =
        json!({ "path": "out/report.md", "content": rows(3_000), "mode": "w", "tries": 2 });
    let talk = Talk::begun().used("create_file", arguments_of, "File written");
    let list = talk.up_to(6_000, &session.window).list();
    let done = session.compress(&list);
    let mut kept = arguments(&done.list, 1);
    assert_ne!(kept["content"].take(), arguments(&list, 1)["content"]);
    let expected = json!({ "path": "out/report.md", "content": null, "mode": "w", "tries": 2 });
    assert_eq!(kept, expected);
    let call = |list: &MessageList| list.messages()[1].json()["tool_calls"][0]["id"].clone();
    assert_eq!(call(&done.list), call(&list));
}

/// Returns a conversation with an old write and a newer one that is larger.
fn two(session: &TestSession) -> MessageList {
    let talk = Talk::begun()
        .wrote("old.md", &rows(1_500), "File written")
        .wrote("new.md", &rows(2_500), "File written");
    talk.up_to(6_000, &session.window).list()
}

#[test]
fn ctx_20_accepts_the_oldest_first_and_then_the_largest() {
    let session = TestSession::of(10_000);
    let done = session.compress(&two(&session));
    assert!(is_cut(&done, 1));
    // Of several inputs in one message, the largest is cut first.
    let parallel = TestSession::of(10_000);
    let call = |id, path: &str, tokens| {
        (
            id,
            "create_file",
            json!({ "path": path, "content": rows(tokens) }),
        )
    };
    let talk = Talk::begun()
        .calls(&[call("a", "a.md", 1_500), call("b", "b.md", 2_500)])
        .result("a", "File written")
        .result("b", "File written");
    let done = parallel.compress(&talk.up_to(6_000, &parallel.window).list());
    let calls = done.list.messages()[1].json()["tool_calls"].to_string();
    assert_eq!(calls.matches("## Truncated Tool Call").count(), 1);
    assert!(calls.contains("**Path:** b.md"), "{calls}");
    // Of two inputs of the same size, the one whose file was seen is cut first.
    let seen = TestSession::of(10_000);
    seen.put("b.md", &rows(2_000));
    let talk = Talk::begun()
        .calls(&[call("a", "a.md", 2_000), call("b", "b.md", 2_000)])
        .result("a", "File written")
        .result("b", "File written");
    let done = seen.compress(&talk.up_to(6_000, &seen.window).list());
    let calls = done.list.messages()[1].json()["tool_calls"].to_string();
    assert_eq!(calls.matches("## Truncated Tool Call").count(), 1);
    assert!(calls.contains("**Path:** b.md"), "{calls}");
}

#[test]
fn ctx_20_refuses_to_cut_a_newer_input_while_an_older_one_is_enough() {
    let session = TestSession::of(10_000);
    let list = two(&session);
    let done = session.compress(&list);
    let (before, after) = (raws(&list), raws(&done.list));
    let changed: Vec<_> = (0..before.len())
        .filter(|at| before[*at] != after[*at])
        .collect();
    assert_eq!(changed, [1]);
    assert!(done.after < 5_000);
}

#[test]
fn ctx_21_accepts_the_form_of_the_example() {
    let session = TestSession::of(10_000);
    let content = format!("# Rye\n\n{}", rows(3_000));
    let lines = content.lines().count();
    let talk = Talk::begun().wrote("out/report.md", &content, "File written");
    let done = session.compress(&talk.up_to(6_000, &session.window).list());
    let expected = format!(
        "## Truncated Tool Call\n\
         **Original:** create_file with {lines} lines\n\
         **Path:** out/report.md\n\
         **Summary:** Wrote out/report.md; the text begins: # Rye\n\
         **Status:** Content persisted to disk\n\
         **Read:** `accp context restore --session trip --message 1` gives the call; `accp context recover --session trip \
         WORDS` searches"
    );
    assert_eq!(arguments(&done.list, 1)["content"], expected);
}

#[test]
fn ctx_21_refuses_to_cut_what_is_cut() {
    let session = TestSession::of(10_000);
    let done = session.compress(&written(&session, 3_000, "File written", 6_000));
    let cut = raws(&done.list)[1].clone();
    let more = Talk::after(&done.list).user("Go on.");
    let again = session.compress(&more.up_to(6_000, &session.window).list());
    assert_eq!((tiers(&again), raws(&again.list)[1].clone()), (vec![], cut));
}
