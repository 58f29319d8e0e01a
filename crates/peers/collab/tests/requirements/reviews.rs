//! Reviews: COL-46 and COL-47.

use accp_collab::disk::Draft;
use accp_collab::{Action, Code, REVIEW_FILE};

use crate::requirements::round::{Round, codes};

/// Returns a folder with both reviews: event 4 by `bob`, and event 5 by `cy`.
fn reviewed() -> Round {
    let round = Round::at(Action::Revise);
    assert_eq!(round.errors(), []);
    assert_eq!(round.warnings(), []);
    round
}

#[test]
fn col_46_accepts_a_heading_for_each_review() {
    let round = reviewed();
    let text = round.read(REVIEW_FILE);
    for event in &round.log()[3..5] {
        let at = event["at"].as_str().unwrap();
        let from = event["from"].as_str().unwrap();
        let heading = format!("\n## {at} - {from} - seq {}\n\nContext:\n", event["seq"]);
        assert_eq!(text.matches(&heading).count(), 1, "{heading} in {text}");
    }
    // A person may write the review, too. Only in this case is the heading missing for a while.
    let round = Round::at(Action::Review);
    let review = round.draft("bob", "review_submitted").review.unwrap();
    let draft = Draft {
        review: None,
        ..round.draft("bob", "review_submitted")
    };
    let event = round.append_draft(&draft).event;
    assert!(round.errors().contains(&Code::ReviewHeadingMissing));
    let text = round.read(REVIEW_FILE);
    round.write(
        REVIEW_FILE,
        format!("{text}\n## {} - bob - seq 4\n\n{review}", event.at),
    );
    assert_eq!(round.errors(), []);
}

#[test]
fn col_46_refuses_a_review_without_its_heading_and_a_heading_without_its_event() {
    for (from, to, code, seq) in [
        (
            " - bob - seq 4",
            " - bob - number 4",
            Code::ReviewHeadingMissing,
            4,
        ),
        (
            " - cy - seq 5",
            " - bob - seq 5",
            Code::ReviewHeadingParticipant,
            5,
        ),
        (
            " - cy - seq 5",
            " - cy - seq 7",
            Code::ReviewHeadingEvent,
            7,
        ),
        (
            " - cy - seq 5",
            " - cy - seq 2",
            Code::ReviewHeadingEvent,
            2,
        ),
    ] {
        let round = reviewed();
        round.replace(REVIEW_FILE, from, to);
        let findings = round.findings();
        let found = findings.iter().find(|one| one.code == code);
        let found = found.unwrap_or_else(|| panic!("{to}: {findings:?}"));
        assert_eq!(
            (found.file.as_deref(), found.seq),
            (Some(REVIEW_FILE), Some(seq)),
            "{to}"
        );
        assert!(!found.is_warning);
    }
    // Only `review_submitted` adds a heading to review.md.
    let round = Round::at(Action::Revise);
    let review = Some("It is good.".to_owned());
    let draft = Draft {
        review,
        ..round.draft("ada", "proposal_revised")
    };
    assert_eq!(codes(&round.refuse_draft(&draft)), [Code::EventUnknown]);
}

#[test]
fn col_47_accepts_a_review_that_names_the_deliverable_and_its_scope() {
    let round = reviewed();
    let text = round.read(REVIEW_FILE);
    let (_, first) = text.split_once(" - seq 4\n").unwrap();
    for part in [
        "- Reviewed primary deliverable: `deliverables/adr.md`\n",
        "Review Scope:\n",
        "- Primary deliverable completeness\n",
    ] {
        assert_eq!(first.matches(part).count(), 2, "{part}");
    }
}

#[test]
fn col_47_refuses_reviews_without_them() {
    // If the whole file lacks the text, it is an error. If one review of several lacks it, it is a warning.
    for (part, code) in [
        ("Reviewed primary deliverable:", Code::ReviewDeclares),
        ("Review Scope:", Code::ReviewDeclares),
        ("Primary deliverable completeness", Code::ReviewDeclares),
        ("deliverables/adr.md", Code::ReviewPrimary),
    ] {
        let round = reviewed();
        round.replace(REVIEW_FILE, part, "Something");
        assert_eq!(round.errors(), [code], "{part}");
        assert_eq!(round.warnings(), [Code::ReviewSection; 2], "{part}");

        let round = reviewed();
        let text = round.read(REVIEW_FILE);
        let (before, last) = text.rsplit_once(part).unwrap();
        round.write(REVIEW_FILE, format!("{before}Something{last}"));
        let findings = round.findings();
        assert_eq!(codes(&findings), [Code::ReviewSection], "{part}");
        assert_eq!((findings[0].is_warning, findings[0].seq), (true, Some(5)));
    }
}
