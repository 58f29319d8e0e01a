//! `conclusion.md`: the receipt at the end.

use super::CONCLUSION_FILE;
use crate::finding::{Code, Finding};
use crate::markdown;
use crate::protocol::Protocol;

/// The sections of a conclusion.
pub(crate) const SECTIONS: [&str; 9] = [
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

/// The outcomes with which a collaboration can complete.
pub(crate) const OUTCOMES: [&str; 3] = ["proceed", "do_not_proceed", "defer"];

/// Placeholders for missing text. The last is Chinese for TBD.
const PLACEHOLDERS: [&str; 4] = ["TBD", "TODO", "unresolved", "待定"];

fn finding(code: Code, message: impl Into<String>, line: Option<usize>) -> Finding {
    Finding::new(code, message).within(CONCLUSION_FILE, line)
}

/// Returns what is wrong with a conclusion, apart from its receipt of the frozen deliverable.
pub(crate) fn check(text: &str, protocol: &Protocol) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |code, message: String, line| findings.push(finding(code, message, line));
    let sections = markdown::sections(text, "##");
    for title in SECTIONS {
        if !sections.iter().any(|section| section.title == title) {
            let text = format!("the section {title} is missing; add `## {title}`");
            add(Code::ConclusionSections, text, None);
        }
    }
    let items = markdown::items(text).into_iter();
    let outcomes = items.filter(|item| {
        let is_known = OUTCOMES.contains(&item.mark) || item.mark == "blocked";
        is_known && item.has_gap && !item.body.is_empty()
    });
    let outcomes: Vec<_> = outcomes.collect();
    let all = "`- [proceed] `, `- [do_not_proceed] ` or `- [defer] ` with a text";
    match outcomes[..] {
        [one] if one.mark == "blocked" => {
            let text = format!("the outcome is blocked, with which nothing completes; write {all}");
            add(Code::ConclusionBlocked, text, Some(one.line));
        }
        [_] => {}
        [] => add(
            Code::ConclusionOutcome,
            format!("there is no outcome; write {all}"),
            None,
        ),
        [_, second, ..] => {
            let text = "there are several outcomes; leave one of them";
            add(Code::ConclusionOutcome, text.to_owned(), Some(second.line));
        }
    }
    for word in PLACEHOLDERS {
        if let Some(line) = markdown::line_of_word(text, word) {
            let text = format!("`{word}` stands for a text that is still to come; write the text");
            add(Code::ConclusionPlaceholder, text, Some(line));
        }
    }
    let primary = protocol.reference(&protocol.primary.file);
    if !text.contains(&primary) {
        let text = format!("the primary deliverable is not named; write `- Primary: `{primary}``");
        add(Code::ConclusionPrimary, text, None);
    }
    findings
}

/// Returns whether a section has a name by itself, and not only as a part of a longer name or path.
fn is_named(body: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || "/_-.:".contains(c);
    body.match_indices(name).any(|(at, _)| {
        let before = body[..at].chars().next_back();
        let mut after = body[at + name.len()..].chars();
        // A full stop after the name may end the sentence, unless more of a name follows the full stop.
        let is_behind = match after.next() {
            Some('.') => after.next().is_some_and(is_part),
            next => next.is_some_and(is_part),
        };
        !before.is_some_and(|c| is_part(c) && c != ':') && !is_behind
    })
}

/// Returns what the receipt fails to name: the type and the SHA-256 of the frozen deliverable, and all other
/// declared deliverables and attachments.
pub(crate) fn receipt(text: &str, protocol: &Protocol, sha256: Option<&str>) -> Vec<Finding> {
    let sections = markdown::sections(text, "##");
    let of_it = sections
        .iter()
        .find(|one| one.title == "Deliverable Receipt");
    let (body, line) = of_it.map_or(("", None), |one| (one.body, Some(one.line)));
    let kind = protocol.primary.kind.map_or("custom", |kind| kind.as_str());
    let primary = protocol.reference(&protocol.primary.file);
    let mut needed = vec![
        ("the primary deliverable", primary),
        ("the type", kind.to_owned()),
    ];
    needed.extend(sha256.map(|sha256| ("the SHA-256", sha256.to_owned())));
    let supporting = protocol.supporting.iter();
    needed
        .extend(supporting.map(|one| ("a supporting deliverable", protocol.reference(&one.file))));
    // An attachment is named by its file or by its reference.
    let attachments = protocol.attachments.iter();
    let attachments = attachments.filter(|file| !is_named(body, &protocol.reference(file)));
    needed.extend(attachments.map(|file| ("an attachment", file.clone())));
    let missing = needed.into_iter().filter(|(_, text)| !is_named(body, text));
    let missing = missing.map(|(what, text)| {
        let text = format!("the section Deliverable Receipt does not name {what}; add `{text}`");
        finding(Code::ConclusionReceipt, text, line)
    });
    missing.collect()
}
