//! Tests of each indicator with messages that were written by hand.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::summary::Content;
use crate::writes::Writes;

fn parsed(index: usize, role: Role, text: &str) -> Parsed {
    Parsed::said(index, role, text)
}

fn call(index: usize, tool: &str, arguments: serde_json::Value) -> Parsed {
    parsed(index, Role::Assistant, "").calling("c", tool, arguments)
}

/// Returns the archive of a conversation about a garden shed.
fn archive() -> Vec<Parsed> {
    vec![
        parsed(
            0,
            Role::User,
            "Plan a garden shed and write the plan to shed/plan.md.",
        ),
        parsed(1, Role::Assistant, "How high may it be?"),
        parsed(2, Role::User, "2.4 metres."),
        parsed(
            3,
            Role::User,
            "The timber must never touch the ground. My customer number is K-118.",
        ),
        parsed(
            4,
            Role::Assistant,
            "I'll use larch for the walls because it lasts longer.",
        ),
    ]
}

/// Judges a message after the archive. The list has the words of the archive.
fn signs(archive: &[Parsed], message: &Parsed) -> Vec<Sign> {
    let content = Content::of(archive, &BTreeSet::new(), &Writes::default());
    let case = Case {
        content: &content,
        archive,
        list: archive,
        message,
    };
    judged(LEXICAL, &case, usize::MAX)
}

fn says(text: &str) -> Vec<(Indicator, Vec<usize>)> {
    let signs = signs(&archive(), &parsed(5, Role::Assistant, text));
    signs
        .into_iter()
        .map(|sign| (sign.indicator, sign.messages))
        .collect()
}

#[test]
fn a_question_that_the_archive_answers_is_a_sign() {
    for (text, message) in [
        ("What is your customer number?", 3),
        ("Please provide your customer number.", 3),
        ("How high may it be?", 2),
    ] {
        assert_eq!(
            says(text),
            [(Indicator::Clarification, vec![message])],
            "{text}"
        );
    }
    for text in [
        "What is your postal code?",
        "Would you like a door for the shed?",
        "Your customer number is K-118.",
    ] {
        assert_eq!(says(text), [], "{text}");
    }
}

#[test]
fn an_end_without_the_deliverable_is_a_sign() {
    assert_eq!(says("The task is complete."), [(Indicator::Done, vec![0])]);
    assert_eq!(says("All done!"), [(Indicator::Done, vec![0])]);
    assert_eq!(says("The first part of the plan is complete."), []);
    let mut written = archive();
    written.push(call(
        5,
        "write_file",
        json!({ "path": "shed/plan.md", "content": "# Plan" }),
    ));
    let end = parsed(7, Role::Assistant, "The task is complete.");
    for (result, expected) in [("File written", 0), ("Error: disk full", 1), ("", 1)] {
        let mut archive = written.clone();
        archive.push(parsed(6, Role::Tool, "").answering("c", "write_file", result));
        assert_eq!(signs(&archive, &end).len(), expected, "{result}");
    }
}

#[test]
fn a_command_may_have_written_the_file() {
    let end = parsed(6, Role::Assistant, "The task is complete.");
    let mut by_call = archive();
    by_call.push(call(
        5,
        "bash",
        json!({ "command": "cp draft shed/plan.md" }),
    ));
    by_call.push(parsed(6, Role::Tool, "").answering("c", "bash", "exit code: 0"));
    assert_eq!(signs(&by_call, &end), []);
    let mut by_text = archive();
    by_text.push(parsed(
        5,
        Role::Assistant,
        "Now I write:\n```bash\ncp draft shed/plan.md\n```",
    ));
    assert_eq!(signs(&by_text, &end), []);
}

#[test]
fn an_action_without_a_word_of_the_task_is_a_sign() {
    assert_eq!(
        says("Let me compose a pop song."),
        [(Indicator::Unrelated, vec![0, 3])]
    );
    assert_eq!(says("Let me measure the walls of the shed."), []);
    let action = |query: &str| signs(&archive(), &call(5, "search", json!({ "q": query })));
    assert_eq!(action("pop song charts")[0].severity, Severity::High);
    assert_eq!(action("larch prices per metre"), []);
}

#[test]
fn another_choice_than_the_decided_one_is_a_sign() {
    for text in [
        "I'll use spruce for the walls.",
        "We won't use larch for the walls.",
        "Let's take spruce instead of larch.",
    ] {
        assert_eq!(says(text), [(Indicator::Contradiction, vec![4])], "{text}");
    }
    for text in [
        "I'll use larch for the walls.",
        "I'll use slate for the roof of the shed.",
        "Should the walls be spruce?",
    ] {
        assert_eq!(says(text), [], "{text}");
    }
    let mut changed = archive();
    changed.push(parsed(5, Role::User, "Please use spruce for the walls."));
    let text = parsed(6, Role::Assistant, "I'll use spruce for the walls.");
    assert_eq!(signs(&changed, &text), []);
}

#[test]
fn a_constraint_that_does_not_stand_in_the_list_is_a_sign() {
    let archive = archive();
    let content = Content::of(&archive, &BTreeSet::new(), &Writes::default());
    let message = parsed(5, Role::Assistant, "I'll draw the shed.");
    let missing = |text: &str| {
        let list = [parsed(0, Role::User, text)];
        let signs = Lexical(Indicator::Constraint).judge(&Case {
            content: &content,
            archive: &archive,
            list: &list,
            message: &message,
        });
        signs
            .iter()
            .any(|sign| sign.indicator == Indicator::Constraint && sign.messages == [3])
    };
    assert!(missing("Plan a garden shed."));
    assert!(!missing(
        "> Plan.\n> The timber must never touch the ground. Go on."
    ));
    assert!(!missing(
        "- The timber must never\n  touch the ground. (message 3)"
    ));
}

#[test]
fn a_message_in_another_language_is_no_sign() {
    for text in [
        "Die Aufgabe ist abgeschlossen. Was ist Ihre Kundennummer?",
        "Ich werde jetzt ein Lied komponieren.",
        "Wir nehmen Fichte statt larch. All done, wir sind fertig mit der Aufgabe!",
        "K-118? \u{304a}\u{5ba2}\u{69d8}\u{306e}\u{756a}\u{53f7}\u{306f}\u{4f55}\u{3067}\u{3059}\u{304b}\u{ff1f} done.",
        "\u{4efb}\u{52a1}\u{5168}\u{90e8}\u{5b8c}\u{6210}\u{4e86}\u{3002} All done! \u{6211}\u{4eec}\u{4e0d}\u{7528} larch \u{3002}",
    ] {
        assert_eq!(says(text), [], "{text}");
    }
    let action =
        |archive: &[Parsed], query: &str| signs(archive, &call(5, "search", json!({ "q": query })));
    let german = "Was kostet ein Lied im Radio und auf der Platte";
    assert_eq!(action(&archive(), german), []);
    let japanese = "\u{6d41}\u{884c}\u{6b4c} \u{66f2}\u{540d} \u{4e00}\u{89a7}";
    assert_eq!(action(&archive(), japanese), []);
    // The task is in German, and the action in English.
    let mut task = archive();
    task[0].text =
        "Plane bitte einen Schuppen f\u{fc}r den Garten und schreibe den Plan in shed/plan.md."
            .to_owned();
    task[3].text.clear();
    assert_eq!(action(&task, "pop song charts"), []);
    assert_eq!(action(&archive(), "pop song charts").len(), 1);
}

#[test]
fn names_and_severities_are_those_of_the_specification() {
    let all: Vec<_> = Indicator::ALL
        .iter()
        .map(|one| (one.name(), one.severity().name()))
        .collect();
    let expected = [
        ("clarification", "HIGH"),
        ("done", "CRITICAL"),
        ("unrelated", "HIGH"),
        ("contradiction", "MEDIUM"),
        ("constraint", "HIGH"),
    ];
    assert_eq!(all, expected);
}
