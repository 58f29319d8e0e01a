//! Tests of the requirements for the sections of a summary: CTX-25 to CTX-33.

use accp_memory::disk::ContextError;
use accp_memory::{Intent, PlanError, Summarizer, SummaryRequest};
use serde_json::json;

use crate::requirements::session::{TestSession, section, summary};
use crate::requirements::talk::{INTENT, Talk, rows};

const SECTIONS: [&str; 7] = [
    "Session Intent",
    "Artifacts Created",
    "Key Decisions",
    "Current Progress",
    "Critical Facts",
    "Next Steps",
    "Recovery References",
];

/// Returns the summary of a conversation.
fn of(talk: Talk) -> String {
    let session = TestSession::of(10_000);
    let list = talk.up_to(7_600, &session.window).list();
    summary(&session.compress(&list).list)
}

#[test]
fn ctx_25_accepts_a_head_with_session_time_and_saving() {
    for per_message in [0, 100] {
        let mut session = TestSession::of(10_000);
        session.window = session.window.with_per_message(per_message);
        let done = session.compress(&Talk::begun().up_to(7_600, &session.window).list());
        let summary = summary(&done.list);
        let lines: Vec<_> = summary.lines().collect();
        assert_eq!(lines[0], "## Session Summary");
        assert_eq!(lines[1], "**Session ID:** trip");
        assert_eq!(lines[2], "**Generated:** 2026-01-29T14:25:30+02:00");
        let saved = lines[3].strip_prefix("**Context Saved:** ").unwrap();
        let saved = saved.strip_suffix(" tokens").unwrap().replace(',', "");
        // The digits of the number itself may take a token more or less than those that were counted.
        let (saved, exact) = (saved.parse::<u64>().unwrap(), done.before - done.after);
        assert!(saved.abs_diff(exact) <= 2, "{saved} {exact}");
    }
}

#[test]
fn ctx_25_refuses_a_time_without_its_zone() {
    let summary = of(Talk::begun());
    let time = summary.split_once("**Generated:** ").unwrap().1;
    let time = time.lines().next().unwrap();
    let rfc = &time::format_description::well_known::Rfc3339;
    let read = time::OffsetDateTime::parse(time, rfc).unwrap();
    assert_eq!(read.offset().whole_hours(), 2);
}

#[test]
fn ctx_26_accepts_the_objective_verbatim() {
    let odd = "Plan a \"shed\".\n\n## Rules\n- no | nails\n  two  spaces";
    let summary = of(Talk::default().user(odd).user("New task: draw the roof."));
    let expected = "> Plan a \"shed\".\n>\n> ## Rules\n> - no | nails\n>   two  spaces\n\n\
        Later requests, each behind the number of its message, and answered if no note says otherwise; where two differ, the \
        later one counts:\n\n\
        1: New task: draw the roof.";
    assert_eq!(section(&summary, "Session Intent"), expected);
}

#[test]
fn ctx_26_refuses_to_shorten_an_objective_within_an_eighth_of_the_window() {
    let session = TestSession::of(10_000);
    let within = format!("Plan a shed. {}The end.", "more words ".repeat(400));
    let summary = of(Talk::default().user(&within));
    assert!(section(&summary, "Session Intent").contains(&within));
    assert!(!summary.contains("VERIFICATION_NEEDED"));
    // Longer requests are whole too, as long as they take at most half of the window.
    let within = format!("Plan a shed. {}The end.", "more words ".repeat(1_500));
    let summary = of(Talk::default().user(&within));
    assert!(section(&summary, "Session Intent").contains(&within));
    // Still longer requests are shortened, and the summary states this.
    let over = format!("Plan a shed. {}The end.", "more words ".repeat(2_000));
    let talk = Talk::default().user(&over).up_to(7_600, &session.window);
    let done = session.compress(&talk.list());
    let summary = self::summary(&done.list);
    let intent = section(&summary, "Session Intent");
    assert!(intent.contains("Plan a shed.") && intent.contains("The end."));
    assert!(intent.contains("VERIFICATION_NEEDED") && intent.contains("trip_full.md"));
    assert_eq!(done.events[0].intent, Intent::Referenced);
}

#[test]
fn ctx_27_accepts_a_table_of_name_path_and_status() {
    let summary = of(Talk::begun()
        .wrote("shed/plan.md", "# Plan", "File written")
        .wrote("shed/roof.md", "# Roof", "7"));
    let expected = "| Artifact | Path | Status |\n|----------|------|--------|\n\
        | plan.md | shed/plan.md | Complete |\n| roof.md | shed/roof.md | Partial |";
    assert_eq!(section(&summary, "Artifacts Created"), expected);
}

#[test]
fn ctx_27_refuses_complete_for_a_write_that_failed_and_rows_for_what_was_read() {
    let summary = of(Talk::begun()
        .wrote("shed/plan.md", "# Plan", "Error: disk full")
        .used(
            "read_file",
            json!({ "path": "shed/old.md" }),
            "File written",
        ));
    let artifacts = section(&summary, "Artifacts Created");
    assert!(
        artifacts.contains("| shed/plan.md | Partial |"),
        "{artifacts}"
    );
    assert!(!artifacts.contains("Complete") && !artifacts.contains("old.md"));
}

#[test]
fn ctx_28_accepts_numbered_decisions_with_their_rationale() {
    let summary = of(Talk::begun()
        .assistant("I'll use larch for the walls because it lasts longer.")
        .assistant("Let's go with slate. This is because tin is loud."));
    let expected = "1. I'll use larch for the walls because it lasts longer. (message 1)\n\
        2. Let's go with slate. This is because tin is loud. (message 2)";
    assert_eq!(section(&summary, "Key Decisions"), expected);
}

#[test]
fn ctx_28_refuses_questions_as_decisions() {
    let summary = of(Talk::begun()
        .assistant("Shall we go with larch?")
        .assistant("Which roof do you like?"));
    assert_eq!(section(&summary, "Key Decisions"), "None found.");
}

/// Returns a conversation with a completed step, a remaining step, a promise and a question.
fn at_work() -> Talk {
    Talk::begun()
        .wrote("shed/plan.md", "# Plan", "File written")
        .assistant("I've fixed the walls. The roof still needs to be drawn.")
        .assistant("Next I will draw the door. Which colour do you like?")
}

/// Returns the summary of a conversation that goes on in a fresh session.
fn resumed(talk: &Talk) -> String {
    let session = TestSession::of(10_000);
    session.compress(&talk.list());
    summary(&session.with(&(), |options| session.open().resume(options).unwrap()))
}

#[test]
fn ctx_29_accepts_phase_completed_and_remaining() {
    let summary = resumed(&at_work());
    let progress = section(&summary, "Current Progress");
    assert!(progress.starts_with("- **Phase:** "), "{progress}");
    let (_, rest) = progress.split_once("- **Completed:**").unwrap();
    let (completed, rest) = rest.split_once("- **Remaining:**").unwrap();
    assert!(completed.contains("I've fixed the walls."), "{progress}");
    let remaining = rest.split_once("- **Current request:**").unwrap().0;
    assert!(
        remaining.contains("The roof still needs to be drawn."),
        "{progress}"
    );
}

#[test]
fn ctx_29_refuses_to_call_what_is_left_completed() {
    let summary = resumed(&at_work());
    let progress = section(&summary, "Current Progress");
    let (_, rest) = progress.split_once("- **Completed:**").unwrap();
    let completed = rest.split_once("- **Remaining:**").unwrap().0;
    assert!(
        !completed.contains("roof") && !completed.contains("door"),
        "{progress}"
    );
    let nothing = of(Talk::begun());
    assert!(section(&nothing, "Current Progress").contains("- **Completed:** None found.\n"));
}

#[test]
fn ctx_30_accepts_constraints_and_facts_verbatim() {
    let summary = of(Talk::begun()
        .user("The timber must never touch the ground. My customer number is K-118.")
        .user("The budget is at most 900 euros.")
        .user("Go on.")
        .agent("Never paint the door.")
        .user("Thanks."));
    // The summary has the user's words whole. Constraints in the words of others stand among the facts.
    let intent = section(&summary, "Session Intent");
    for words in [
        "\n1 (no answer): The timber must never touch the ground. My customer number is K-118.",
        "\n2 (no answer): The budget is at most 900 euros.",
    ] {
        assert!(intent.contains(words), "{intent}");
    }
    let facts = section(&summary, "Critical Facts");
    assert!(
        facts.contains("- Never paint the door. (message 5)"),
        "{facts}"
    );
}

#[test]
fn ctx_30_refuses_to_drop_what_is_marked() {
    let code = "The door code is 4711.\nRing twice.";
    let session = TestSession::of(10_000);
    let list = Talk::begun().user(code).user("Go on.").list();
    session.compress(&list);
    let now = time::OffsetDateTime::UNIX_EPOCH;
    session.open().mark(1, now).unwrap();
    let done = session.compress(&Talk::after(&list).up_to(7_600, &session.window).list());
    let summary = summary(&done.list);
    let facts = section(&summary, "Critical Facts");
    assert!(
        facts.contains("> The door code is 4711.\n  > Ring twice."),
        "{facts}"
    );
    // If a marked message does not fit, no list is returned.
    let small = TestSession::of(10_000);
    let list = Talk::begun()
        .user(&"door ".repeat(2_000))
        .user("Go on.")
        .list();
    small.compress(&list);
    small.open().mark(1, now).unwrap();
    let refused = small.attempt(&Talk::after(&list).up_to(7_600, &small.window).list());
    let Err(ContextError::Plan(PlanError::NoRoom(error))) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.to_string().contains("message 1"), "{error}");
}

#[test]
fn ctx_31_accepts_numbered_steps() {
    let summary = resumed(&at_work());
    let steps = section(&summary, "Next Steps");
    let expected = "1. Next I will draw the door.\n2. Unanswered: Which colour do you like?";
    assert_eq!(steps, expected);
}

#[test]
fn ctx_31_refuses_to_invent_a_step() {
    let summary = of(Talk::begun());
    assert_eq!(section(&summary, "Next Steps"), "None found.");
}

#[test]
fn ctx_32_accepts_references_with_paths_that_exist() {
    let session = TestSession::of(10_000);
    let list = Talk::begun()
        .used("stock", json!({ "of": "rye" }), &rows(2_600))
        .up_to(11_000, &session.window)
        .list();
    let summary = summary(&session.compress(&list).list);
    let expected = "- **Full conversation:** cache/conversations/trip_full.md\n\
        - **Offloaded content:** cache/offloaded/\n- **Checkpoints:** cache/checkpoints/\n\
        - **Search:** `accp context recover --session trip WORDS`";
    assert_eq!(section(&summary, "Recovery References"), expected);
    assert!(
        session
            .read("cache/conversations/trip_full.md")
            .contains(INTENT)
    );
    let files = session.files();
    for folder in ["cache/offloaded/", "cache/checkpoints/"] {
        assert!(
            files.keys().any(|path| path.starts_with(folder)),
            "{folder}"
        );
    }
}

#[test]
fn ctx_32_refuses_to_name_offloaded_content_where_there_is_none() {
    let summary = of(Talk::begun());
    let references = section(&summary, "Recovery References");
    assert!(
        references.contains("- **Offloaded content:** None.\n"),
        "{references}"
    );
}

#[test]
fn ctx_33_accepts_all_seven_sections_of_a_talk_that_says_nothing() {
    let summary = of(Talk::begun());
    let found: Vec<_> = summary
        .lines()
        .filter_map(|line| line.strip_prefix("### "))
        .collect();
    assert_eq!(found, SECTIONS);
    for name in [
        "Artifacts Created",
        "Key Decisions",
        "Critical Facts",
        "Next Steps",
    ] {
        assert_eq!(section(&summary, name), "None found.", "{name}");
    }
}

/// A summarizer that leaves out the section with this name.
struct Without(&'static str);

impl Summarizer for Without {
    fn summarize(&self, wanted: &SummaryRequest<'_>) -> Option<String> {
        Some(wanted.rules.replace(&format!("### {}\n", self.0), ""))
    }
}

#[test]
fn ctx_33_refuses_a_summary_that_leaves_a_section_out() {
    for name in SECTIONS {
        let session = TestSession::of(10_000);
        let list = Talk::begun().up_to(7_600, &session.window).list();
        let summary = summary(&session.summed_up(&list, &Without(name)).list);
        assert!(summary.contains(&format!("### {name}\n")), "{name}");
    }
}
