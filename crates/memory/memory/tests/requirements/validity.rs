//! Tests of the requirements for valid lists: CTX-71 to CTX-74.

use accp_memory::disk::ContextError;
use accp_memory::{Code, Form, MessageList, PlanError, RepairKind, repair};
use serde_json::json;

use crate::requirements::messages::{chat_call, chat_result, list, user};
use crate::requirements::session::{Quarters, TestSession, raws};
use crate::requirements::talk::{INTENT, Talk, rows};

#[test]
fn ctx_71_accepts_a_repair_that_is_asked_for() {
    let broken = [
        user("Rye?"),
        chat_call(&["a"]),
        user("Well?"),
        chat_result("z", "4"),
    ];
    let (mended, repairs) = repair(&list(Form::OpenAi, &broken)).unwrap();
    let made: Vec<_> = repairs
        .iter()
        .map(|repair| (repair.kind, repair.message, &*repair.id))
        .collect();
    let expected = [
        (RepairKind::Answered, 1, "a"),
        (RepairKind::Dropped, 3, "z"),
    ];
    assert_eq!(made, expected);
    let session = TestSession::of(10_000);
    assert_eq!(raws(&session.compress(&mended).list), raws(&mended));
}

#[test]
fn ctx_71_refuses_an_invalid_list_with_message_and_reason() {
    let session = TestSession::of(10_000);
    let broken = list(
        Form::OpenAi,
        &[user("Rye?"), chat_call(&["a"]), user("Well?")],
    );
    let refused = session.attempt(&broken).unwrap_err().to_string();
    assert!(
        refused.starts_with("result-missing: message 1: "),
        "{refused}"
    );
    assert!(session.open().session().is_none());
    for text in ["", "{", "7", "[7]", "{\"model\":\"m\"}"] {
        let refused = MessageList::read(text, Some(Form::OpenAi)).unwrap_err();
        assert_eq!(refused.code, Code::NotAList, "{text}");
    }
}

#[test]
fn ctx_72_accepts_a_list_over_the_window_and_gives_one_inside() {
    for over in [10_001, 20_000, 60_000] {
        let session = TestSession::of(10_000);
        let done = session.compress(&Talk::begun().up_to(over, &session.window).list());
        assert_eq!(done.before, over);
        assert!(done.after <= 10_000);
    }
    // Results of the newest turn are moved out if the list does not fit otherwise.
    let session = TestSession::of(2_000);
    let many: Vec<_> = (0..6).map(|n| format!("c{n}")).collect();
    let ids: Vec<_> = many.iter().map(String::as_str).collect();
    let mut all = vec![user(INTENT), chat_call(&ids)];
    all.extend(ids.iter().map(|id| chat_result(id, &rows(400))));
    let done = session.compress(&list(Form::OpenAi, &all));
    assert!(done.before > 2_000 && done.after <= 2_000);
}

#[test]
fn ctx_72_refuses_a_list_that_cannot_fit_and_says_what_does_not() {
    let session = TestSession::of(10_000);
    let given = Talk::begun()
        .system("You plan.")
        .user(&"rye ".repeat(10_100))
        .list();
    assert!(session.window.count(&given, &Quarters) > 10_000);
    let refused = session.attempt(&given);
    let Err(ContextError::Plan(PlanError::OverWindow(finding))) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(finding.code, Code::OverWindow);
    assert!(
        finding.text.contains("of the newest turn (message 2)"),
        "{finding}"
    );
    assert!(finding.text.contains("of the system message"), "{finding}");
    assert!(session.open().session().is_none());
    assert_eq!(session.files().len(), 0);
}

#[test]
fn ctx_73_accepts_the_same_list_again_without_a_change() {
    let session = TestSession::of(10_000);
    let given = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(2_600))
        .up_to(11_000, &session.window)
        .list();
    let done = session.compress(&given);
    let files = session.files();
    // The caller gives first the list that the session returned, and then the whole conversation.
    for list in [&done.list, &given] {
        let again = session.compress(list);
        assert_eq!(raws(&again.list), raws(&done.list));
        assert_eq!((again.events, again.drift), (vec![], vec![]));
        assert_eq!(session.files(), files);
    }
}

#[test]
fn ctx_73_refuses_to_begin_a_list_anew_for_one_message_more() {
    let session = TestSession::of(10_000);
    let done = session.compress(&Talk::begun().up_to(7_600, &session.window).list());
    let files = session.files();
    let more = Talk::after(&done.list).user("Go on.").list();
    let grown = session.compress(&more);
    assert_eq!(raws(&grown.list), raws(&more));
    assert_eq!(session.files(), files);
    assert_eq!(session.open().begun().unwrap().events().len(), 1);
}

#[test]
fn ctx_74_accepts_files_that_a_crash_has_left_out_or_cut() {
    let session = TestSession::of(10_000);
    let given = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(2_600))
        .up_to(11_000, &session.window)
        .list();
    let done = session.compress(&given);
    let whole = session.files();
    assert_eq!(whole.len(), 3);
    for (path, bytes) in &whole {
        for keep in [
            None,
            Some(0),
            Some(1),
            Some(bytes.len() / 2),
            Some(bytes.len() - 1),
        ] {
            let file = session.root().join(path);
            match keep {
                None => std::fs::remove_file(file).unwrap(),
                Some(keep) => std::fs::write(file, &bytes[..keep]).unwrap(),
            }
            let again = session.compress(&given);
            assert_eq!(raws(&again.list), raws(&done.list), "{path}");
            assert_eq!(session.files(), whole, "{path}");
        }
    }
}

#[test]
fn ctx_74_refuses_a_list_with_a_reference_to_a_file_that_is_not_whole() {
    let session = TestSession::of(10_000);
    let given = Talk::begun().used("stock", json!({}), &rows(2_600)).list();
    let done = session.compress(&given);
    let path = done.events[0].files[0].clone();
    let torn = session.read(&path).replacen("row 1:", "row 2:", 1);
    std::fs::write(session.root().join(&path), &torn[..torn.len() / 2]).unwrap();
    let id = accp_memory::SessionId::new("trip").unwrap();
    let refused = accp_memory::disk::Context::open(session.root(), id).unwrap_err();
    assert!(matches!(&refused, ContextError::Changed { path: found } if *found == path));
}
