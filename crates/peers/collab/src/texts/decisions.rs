//! `decisions.md`: the accepted decisions, D1, D2 and so on.

use std::collections::BTreeSet;

use super::DECISIONS_FILE;
use crate::finding::{Code, Finding, shortened};
use crate::markdown;
use crate::protocol::Protocol;

/// Returns what is wrong with the decisions. A decision without a rationale is a warning.
pub(crate) fn check(text: &str, protocol: &Protocol) -> Vec<Finding> {
    let supporting = protocol.supporting.iter().map(|one| &one.file);
    let files = std::iter::once(&protocol.primary.file).chain(supporting);
    let targets: Vec<String> = files.map(|file| protocol.reference(file)).collect();
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, section) in markdown::sections(text, "###").into_iter().enumerate() {
        let expected = format!("D{}", index + 1);
        let named = id_of(section.title);
        let id = named.unwrap_or(&expected);
        let mut add = |code, text: String| {
            let mut finding = Finding::new(code, text).within(DECISIONS_FILE, Some(section.line));
            finding.id = Some(id.to_owned());
            findings.push(finding);
        };
        if named.is_none() {
            let title = shortened(section.title);
            let text = format!(
                "accepted decision headings must use D<number>, and one is `{title}`; write `### {expected}. ` and a title"
            );
            add(Code::DecisionId, text);
        } else if !seen.insert(id.to_owned()) {
            add(
                Code::DecisionRepeated,
                format!("the id {id} stands twice; this decision is {expected}"),
            );
        } else if id != expected {
            let text = format!(
                "accepted decision ids must be sequential; {id} stands where {expected} is due, so write {expected}"
            );
            add(Code::DecisionOrder, text);
        }
        if !section.body.contains("- Decision:") {
            let text = format!(
                "accepted decision {id} requires Decision; add a line `- Decision: ` with the text"
            );
            add(Code::DecisionText, text);
        }
        if !section.body.contains("- Reflected in:") {
            let text = format!(
                "accepted decision {id} requires Reflected in; add a line `- Reflected in: ` with the deliverable"
            );
            add(Code::DecisionReflected, text);
        } else if !targets
            .iter()
            .any(|target| section.body.contains(&target[..]))
        {
            let text = format!(
                "accepted decision {id} is reflected in no declared deliverable; name one of {}",
                targets.join(", ")
            );
            add(Code::DecisionTarget, text);
        }
        if !section.body.contains("- Rationale:") {
            let text = format!(
                "accepted decision {id} has no rationale; add a line `- Rationale: ` with the reason"
            );
            add(Code::DecisionRationale, text);
            if let Some(last) = findings.last_mut() {
                last.is_warning = true;
            }
        }
    }
    findings
}

/// Returns a finding if there is no decision.
pub(crate) fn none(text: &str) -> Option<Finding> {
    let message = "there is no accepted decision; the owner writes `### D1. ` and a title into decisions.md first";
    markdown::sections(text, "###")
        .is_empty()
        .then(|| Finding::new(Code::DecisionNone, message).within(DECISIONS_FILE, None))
}

/// Returns the id of a title such as `D1. Use a queue`.
fn id_of(title: &str) -> Option<&str> {
    let (id, rest) = title.split_once('.')?;
    let number = id.strip_prefix('D')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let has_title = rest.starts_with(char::is_whitespace) && !rest.trim().is_empty();
    (is_number && has_title).then_some(id)
}
