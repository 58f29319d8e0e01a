//! A deliverable: its status and its sections.

use crate::finding::{Code, Finding};
use crate::markdown;
use crate::space::is_blank;

/// Returns what is wrong with a deliverable. With `is_frozen`, the status must be Frozen, and each section must have
/// text.
pub(crate) fn check(name: &str, text: &str, sections: &[String], is_frozen: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add =
        |code, text: String, line| findings.push(Finding::new(code, text).within(name, line));
    match markdown::status(text) {
        None => add(
            Code::StatusMissing,
            "there is no status; write a line `Status: Draft`, `Status: In Review` or `Status: Frozen`".to_owned(),
            None,
        ),
        Some(status) if is_frozen && status != "Frozen" => add(
            Code::StatusNotFrozen,
            format!("the status is {status}, and the deliverable is to be frozen; write `Status: Frozen`"),
            None,
        ),
        Some(_) => {}
    }
    let found = markdown::sections(text, "##");
    for title in sections {
        match found.iter().find(|section| section.title == title) {
            None => add(
                Code::SectionMissing,
                format!("the section {title} is missing; add `## {title}`"),
                None,
            ),
            Some(section) if is_frozen && is_blank(section.body) => add(
                Code::SectionEmpty,
                format!("the section {title} is empty; write its text before the freeze"),
                Some(section.line),
            ),
            Some(_) => {}
        }
    }
    findings
}
