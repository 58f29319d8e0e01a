//! Tests of the principles: CTX-01 to CTX-04.

use accp_memory::disk::ContextError;
use accp_memory::{Form, Indicator, MessageList, Summarizer, SummaryRequest, Tier};

use crate::requirements::behaviour::with_a_number;
use crate::requirements::session::{TestSession, raws, summary, text, tiers};
use crate::requirements::talk::{INTENT, Talk, rows};

#[test]
fn ctx_01_accepts_ten_summaries_in_a_row_with_the_intent_verbatim() {
    let session = TestSession::of(10_000);
    let mut talk = Talk::begun();
    for _ in 0..10 {
        let list = talk.up_to(7_600, &session.window).list();
        let done = session.compress(&list);
        assert_eq!(tiers(&done), [Tier::Three]);
        assert!(summary(&done.list).contains(INTENT));
        talk = Talk::after(&done.list).user("Go on.");
    }
    assert_eq!(session.open().begun().unwrap().intent(), [INTENT]);
}

/// A summarizer that changes the summary by rules.
struct Edits(fn(&str) -> String);

impl Summarizer for Edits {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        Some((self.0)(wanted.rules))
    }
}

#[test]
fn ctx_01_refuses_a_summary_that_lacks_the_intent() {
    for edits in [
        Edits(|rules| rules.replace(INTENT, "Plan a shed.")),
        Edits(|rules| rules.replace(INTENT, "")),
    ] {
        let session = TestSession::of(10_000);
        let list = Talk::begun().up_to(7_600, &session.window).list();
        let done = session.summed_up(&list, &edits);
        assert!(summary(&done.list).contains(INTENT));
    }
    // The session accepts a change of the summary that keeps the intent.
    let session = TestSession::of(10_000);
    let list = Talk::begun().up_to(7_600, &session.window).list();
    let done = session.summed_up(
        &list,
        &Edits(|rules| rules.replace("None found.", "Nothing.")),
    );
    assert!(summary(&done.list).contains("Nothing."));
}

#[test]
fn ctx_02_accepts_the_whole_conversation_back_to_the_byte() {
    let session = TestSession::of(10_000);
    let odd = r#"{ "content":"Caf\u00e9 \/ 1", "x": [1.50,1e2,  null], "role" : "user" }"#;
    let talk = Talk::begun()
        .wrote("a.md", &rows(1_100), "File written")
        .used("stock", serde_json::json!({ "of": "rye" }), &rows(2_600))
        .list();
    let given = [raws(&talk), vec![odd.to_owned()]].concat();
    let list = MessageList::of(Form::OpenAi, given.iter().map(String::as_str)).unwrap();
    let list = Talk::after(&list).up_to(12_500, &session.window).list();
    let given = [given, raws(&list)[6..].to_vec()].concat();
    let done =
        session.compress(&MessageList::of(Form::OpenAi, given.iter().map(String::as_str)).unwrap());
    assert!(tiers(&done).contains(&Tier::One) && tiers(&done).contains(&Tier::Three));
    // The session restores the conversation from its files, without the index.
    std::fs::remove_file(session.root().join("cache/index.db")).unwrap_or_default();
    let restored = session.open().begun().unwrap().restored().unwrap();
    assert_eq!(raws(&restored), given);
    let moved = done.events[0].files[0].clone();
    assert_eq!(session.read(&moved), rows(2_600));
}

#[test]
fn ctx_02_refuses_to_go_on_with_a_file_that_somebody_has_changed() {
    let session = TestSession::of(10_000);
    let list = Talk::begun().up_to(7_600, &session.window).list();
    session.compress(&list);
    let path = "cache/conversations/trip_full.md";
    let text = session.read(path);
    std::fs::write(session.root().join(path), text.replace("shed", "barn")).unwrap();
    let id = accp_memory::SessionId::new("trip").unwrap();
    let error = accp_memory::disk::Context::open(session.root(), id).unwrap_err();
    assert!(matches!(error, ContextError::Changed { path: found } if found == path));
}

/// Returns a conversation with a large old result, and with this many tokens in all.
fn with_result(session: &TestSession, tokens: u64) -> Talk {
    Talk::begun()
        .used("stock", serde_json::json!({ "of": "rye" }), &rows(2_400))
        .user("Thank you, and now the roof.")
        .up_to(tokens, &session.window)
}

#[test]
fn ctx_03_accepts_old_results_as_the_first_to_leave() {
    let session = TestSession::of(10_000);
    let list = with_result(&session, 6_000).list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One]);
    let (before, after) = (raws(&list), raws(&done.list));
    let changed: Vec<_> = (0..before.len())
        .filter(|at| before[*at] != after[*at])
        .collect();
    assert_eq!((changed, before.len()), (vec![2], after.len()));
}

#[test]
fn ctx_03_refuses_to_sum_up_words_while_results_are_enough() {
    let session = TestSession::of(10_000);
    let list = with_result(&session, 8_000).list();
    let done = session.compress(&list);
    assert_eq!(tiers(&done), [Tier::One]);
    assert_eq!(text(&done.list, 0), INTENT);
    // A list without results has nothing less important to move out, so its words are summed up.
    let words = TestSession::of(10_000);
    let list = Talk::begun().up_to(8_000, &words.window).list();
    assert_eq!(tiers(&words.compress(&list)), [Tier::Three]);
}

const QUESTION: &str = "What is your customer number?";

#[test]
fn ctx_04_accepts_a_look_for_signs_after_a_summary() {
    let session = TestSession::of(10_000);
    let done = session.compress(&with_a_number(&session, 7_600).list());
    assert_eq!(tiers(&done), [Tier::Three]);
    let done = session.compress(&Talk::after(&done.list).assistant(QUESTION).list());
    let found: Vec<_> = done.drift.iter().map(|sign| sign.indicator).collect();
    assert_eq!(found, [Indicator::Clarification]);
}

#[test]
fn ctx_04_refuses_to_see_signs_before_any_summary() {
    let session = TestSession::of(10_000);
    let done = session.compress(&with_a_number(&session, 5_000).list());
    assert_eq!(done.events, []);
    let done = session.compress(&Talk::after(&done.list).assistant(QUESTION).list());
    assert_eq!(done.drift, []);
}
