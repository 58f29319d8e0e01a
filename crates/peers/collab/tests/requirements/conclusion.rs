//! The receipt at the end: COL-55 to COL-58.

use accp_collab::disk::Declaration;
use accp_collab::{Action, CONCLUSION_FILE, Code, FolderSettings, Kind};

use crate::requirements::round::{Round, codes, settings};

const SECTIONS: [&str; 9] = [
    "Decision Outcome",
    "Rationale",
    "Deliverable Receipt",
    "Accepted Decisions Summary",
    "Readiness Result",
    "Assumptions",
    "Deferred Follow-ups",
    "Implementation Blockers",
    "Next Action",
];

/// Returns the codes with which `completed` is refused after this change of a valid conclusion.
fn refuse(from: &str, to: &str) -> Vec<Code> {
    let round = Round::at(Action::Complete);
    round.replace(CONCLUSION_FILE, from, to);
    let wrong = round.refuse_draft(&round.draft("ada", "completed"));
    assert!(
        wrong
            .iter()
            .all(|one| one.file.as_deref() == Some(CONCLUSION_FILE)),
        "{wrong:?}"
    );
    assert_eq!(round.action("ada"), Action::Conclude);
    codes(&wrong)
}

#[test]
fn col_55_accepts_the_nine_sections() {
    let round = Round::new();
    let text = round.read(CONCLUSION_FILE);
    let titles = text.lines().filter_map(|line| line.strip_prefix("## "));
    assert_eq!(titles.collect::<Vec<_>>(), SECTIONS);
    round.walk(Action::Complete);
    round.append("ada", "completed");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_55_refuses_a_conclusion_that_lacks_a_section() {
    for title in SECTIONS {
        let codes = refuse(&format!("## {title}\n"), "## Another\n");
        assert!(
            codes.contains(&Code::ConclusionSections),
            "{title}: {codes:?}"
        );
        // A missing section is an error of a completed folder as well.
        let round = Round::completed();
        round.replace(CONCLUSION_FILE, &format!("## {title}\n"), "## Another\n");
        assert_eq!(round.errors(), [Code::ConclusionSections], "{title}");
    }
}

#[test]
fn col_56_accepts_each_outcome() {
    for outcome in ["proceed", "do_not_proceed", "defer"] {
        let round = Round::at(Action::Complete);
        round.replace(CONCLUSION_FILE, "- [proceed] ", &format!("- [{outcome}] "));
        round.append("ada", "completed");
        assert_eq!(round.errors(), [], "{outcome}");
    }
}

#[test]
fn col_56_refuses_no_outcome_two_of_them_and_blocked() {
    let line = "- [proceed] We build it.";
    for (to, code) in [
        ("We build it.", Code::ConclusionOutcome),
        ("- [proceed]We build it.", Code::ConclusionOutcome),
        ("- [go] We build it.", Code::ConclusionOutcome),
        (
            "- [proceed] We build it.\n- [defer] Not now.",
            Code::ConclusionOutcome,
        ),
        (
            "- [proceed] We build it.\n- [proceed] Soon.",
            Code::ConclusionOutcome,
        ),
        ("- [blocked] We cannot build it.", Code::ConclusionBlocked),
    ] {
        assert_eq!(refuse(line, to), [code], "{to}");
    }
}

/// Returns a folder with a supporting deliverable and an attachment, shortly before its end.
fn with_more() -> Round {
    let round = Round::of(FolderSettings {
        kind: Some(Kind::DecisionMemo),
        file: Some("store.md".to_owned()),
        ..settings()
    });
    let one = Declaration::Supporting {
        file: "tests.md".to_owned(),
        kind: Some(Kind::TestPlan),
        is_frozen: false,
    };
    round.shared.declare(&one).unwrap();
    round.write("deliverables/load.png", [0xff]);
    let figure = Declaration::Attachment("load.png".to_owned());
    round.shared.declare(&figure).unwrap();
    round.walk(Action::Complete);
    round
}

#[test]
fn col_57_accepts_a_receipt_of_all_that_was_delivered() {
    let round = with_more();
    let text = round.read(CONCLUSION_FILE);
    for part in [
        "- Primary: `deliverables/store.md`\n".to_owned(),
        "- Type: `decision-memo`\n".to_owned(),
        format!("- SHA-256: {}\n", round.sha256()),
        "- Supporting: `deliverables/tests.md`\n".to_owned(),
        "- Attachment: `load.png`\n".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}: {text}");
    }
    round.append("ada", "completed");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_57_refuses_a_receipt_that_leaves_something_out() {
    let sha256 = with_more().sha256();
    for (part, code) in [
        ("`deliverables/store.md`", Code::ConclusionPrimary),
        ("`decision-memo`", Code::ConclusionReceipt),
        (&sha256[..], Code::ConclusionReceipt),
        ("`deliverables/tests.md`", Code::ConclusionReceipt),
        ("`load.png`", Code::ConclusionReceipt),
    ] {
        let round = with_more();
        round.replace(CONCLUSION_FILE, part, "something");
        let wrong = round.refuse("ada", "completed");
        assert!(wrong.contains(&code), "{part}: {wrong:?}");
    }
    // The hash has to stand in the receipt. Another place does not count.
    let round = with_more();
    round.replace(CONCLUSION_FILE, &format!("- SHA-256: {sha256}\n"), "");
    let text = round.read(CONCLUSION_FILE);
    round.write(CONCLUSION_FILE, format!("{text}\nThe file has {sha256}.\n"));
    round.refuses("ada", "completed", &[Code::ConclusionReceipt]);
}

#[test]
fn col_58_accepts_a_text_without_placeholders() {
    let round = Round::at(Action::Complete);
    // A word that only begins like a placeholder is allowed.
    round.replace(
        CONCLUSION_FILE,
        "We build it.",
        "We build todos and the tbdb.",
    );
    round.append("ada", "completed");
    assert_eq!(round.errors(), []);
}

#[test]
fn col_58_refuses_placeholders_in_any_case() {
    for word in ["TBD", "tbd", "TODO", "Todo:", "(unresolved)", "UNRESOLVED"] {
        let wrong = refuse("We build it.", &format!("We build it, {word} soon."));
        assert_eq!(wrong, [Code::ConclusionPlaceholder], "{word}");
    }
}
