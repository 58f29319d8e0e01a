//! Tests of the requirements for tier 3, the history and its archive: CTX-22 to CTX-24.

use accp_memory::Tier;
use accp_memory::disk::ContextError;
use serde_json::json;

use crate::requirements::session::{Quarters, TestSession, raws, section, summary, text, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

#[test]
fn ctx_22_accepts_a_structured_summary_when_tiers_1_and_2_are_not_enough() {
    let session = TestSession::of(10_000);
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(1_300))
        .up_to(9_500, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Three]);
    assert!(done.events[1].before >= 7_500);
    assert!(text(&done.list, 0).starts_with("## Session Summary\n"));
}

#[test]
fn ctx_22_refuses_to_cut_within_a_turn() {
    // The padding moves the cut to many places. `compress` checks that calls and results stay together.
    for pad in 0..12 {
        let session = TestSession::of(6_000);
        let mut talk = Talk::begun().system("You plan.");
        for number in 0..12 {
            let words = "rye ".repeat(100 + 17 * pad);
            talk = talk.used("look", json!({ "n": number }), &words);
        }
        let list = talk.up_to(5_200, &session.window).list();
        let done = session.compress(&list);
        assert_eq!(tiers(&done), [Tier::Three]);
        // The messages that stay are the unchanged end of the list.
        let (before, after) = (raws(&list), raws(&done.list));
        assert!(before.ends_with(&after[2..]), "{pad}");
        assert_eq!(after[0], before[1]);
    }
}

#[test]
fn ctx_23_accepts_the_whole_conversation_in_the_archive() {
    let session = TestSession::of(10_000);
    let fences = "````\nfenced\n`````\n## 1 · user · - · -";
    let talk = Talk::begun().system("You plan.").user(fences);
    let list = talk.up_to(7_600, &session.window).list();
    let done = session.compress(&list);
    let path = "cache/conversations/trip_full.md";
    assert!(done.events[0].files.contains(&path.to_owned()));
    let archive = session.read(path);
    for (at, said) in [INTENT, "You plan.", fences].into_iter().enumerate() {
        assert!(archive.contains(&format!("\n{said}\n")), "{said}");
        assert!(archive.contains(&format!("## {at} · ")));
    }
    let headings = archive
        .lines()
        .filter(|line| line.ends_with("2026-01-29T14:25:30+02:00"));
    assert_eq!(headings.count(), list.messages().len());
    // The archive grows at its end.
    let more = Talk::after(&done.list).up_to(7_600, &session.window);
    session.compress(&more.list());
    let grown = session.read(path);
    assert!(grown.starts_with(&archive) && grown.len() > archive.len());
}

#[test]
fn ctx_23_refuses_a_summary_without_an_archive() {
    let session = TestSession::of(10_000);
    session.compress(&Talk::begun().list());
    let mut context = session.open();
    std::fs::remove_dir(session.root().join("cache/conversations")).unwrap();
    let list = Talk::begun().up_to(7_600, &session.window).list();
    let refused = session.with(&(), |options| context.compress(&list, options, &mut ()));
    assert!(matches!(refused, Err(ContextError::Files { .. })));
    drop(context);
    assert!(summary(&session.compress(&list).list).contains(INTENT));
    assert!(
        session
            .read("cache/conversations/trip_full.md")
            .contains(INTENT)
    );
}

#[test]
fn ctx_24_accepts_a_summary_in_the_place_of_the_history_with_references() {
    let session = TestSession::of(10_000);
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(2_600))
        .up_to(11_000, &session.window)
        .list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One, Tier::Three]);
    let (before, after) = (raws(&list), raws(&done.list));
    assert!(before.ends_with(&after[1..]) && after.len() > 1);
    let summary = summary(&done.list);
    let references = section(&summary, "Recovery References");
    assert!(references.contains("cache/offloaded/"), "{references}");
    assert_eq!(session.read(&done.events[0].files[0]), rows(2_600));
}

#[test]
fn ctx_24_refuses_a_second_summary_beside_the_first() {
    let session = TestSession::of(10_000);
    let talk = Talk::begun().user("My customer number is K-118.");
    let mut list = talk.up_to(7_600, &session.window).list();
    for _ in 0..3 {
        let done = session.compress(&list);
        assert_eq!(tiers(&done), [Tier::Three]);
        // The list has one summary, which has the content of the first one.
        assert!(summary(&done.list).contains("K-118"));
        list = Talk::after(&done.list).up_to(7_600, &session.window).list();
    }
}

#[test]
fn ctx_22_accepts_a_list_that_fits_without_room_for_a_summary() {
    let session = TestSession::of(1_000);
    let list = Talk::default()
        .system(&"rye ".repeat(650))
        .user(INTENT)
        .user(&"oats ".repeat(235))
        .list();
    let tokens = session.window.count(&list, &Quarters);
    assert!((950..=1_000).contains(&tokens), "{tokens}");
    let done = session.compress(&list);
    assert_eq!((tiers(&done), raws(&done.list)), (vec![], raws(&list)));
}
