//! `readiness.md`: open questions, gates, and the snapshot of the frozen deliverable.

use super::READINESS_FILE;
use crate::finding::{Code, Finding, shortened};
use crate::markdown::{self, Item};
use crate::protocol::Gate;
use crate::space::trim;

fn finding(code: Code, message: impl Into<String>, line: Option<usize>) -> Finding {
    Finding::new(code, message).within(READINESS_FILE, line)
}

/// Returns findings for the questions that block, that are not resolved, or that are deferred without a reason.
pub(crate) fn questions(text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for Item {
        mark, body, line, ..
    } in markdown::items(text)
    {
        let mut add = |code, what: &str, cure: &str| {
            let text = format!("the question `{}` {what}; {cure}", shortened(body));
            findings.push(finding(code, text, Some(line)));
        };
        match mark {
            "blocking" => add(
                Code::Blocking,
                "is blocking",
                "settle it and mark it [resolved], or append blocked",
            ),
            "deferred_nonblocking" if !body.to_lowercase().contains("reason:") => add(
                Code::ReasonMissing,
                "is deferred without a reason",
                "add `Reason: ` and the reason to its line",
            ),
            _ => {}
        }
        let is_question = matches!(mark, "blocking" | "resolved" | "deferred_nonblocking");
        if mark == "unresolved" || is_question && body.contains("TBD") {
            add(
                Code::Unresolved,
                "is not resolved",
                "mark it [resolved], [deferred_nonblocking] or [blocking], without TBD",
            );
        }
    }
    findings
}

/// Returns what is not checked: `Ready to implement`, and gates.
pub(crate) fn unchecked(text: &str, gates: &[Gate]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_ready(text) {
        let text = "readiness.md must check 'Ready to implement'; write `- [x] Ready to implement`";
        findings.push(finding(Code::ReadyUnchecked, text, None));
    }
    findings.extend(unchecked_gates(text, gates));
    findings
}

/// Returns whether `Ready to implement` is checked.
pub(crate) fn is_ready(text: &str) -> bool {
    let items = markdown::items(text);
    items.iter().any(|item| {
        item.mark.eq_ignore_ascii_case("x") && item.body.starts_with("Ready to implement")
    })
}

/// Returns the gates that are not checked.
pub(crate) fn unchecked_gates(text: &str, gates: &[Gate]) -> Vec<Finding> {
    let items = markdown::items(text);
    let checked = items
        .iter()
        .filter(|item| item.mark.eq_ignore_ascii_case("x"));
    let checked: std::collections::BTreeSet<&str> = checked.map(|item| item.body).collect();
    let missing = gates
        .iter()
        .filter(|gate| !checked.contains(trim(&gate.text)));
    let missing = missing.map(|gate| {
        let gate = shortened(&gate.text);
        let text = format!("the gate `{gate}` is not checked; write `- [x] {gate}` when it holds");
        finding(Code::GatesUnchecked, text, None)
    });
    missing.collect()
}

/// Returns a finding if the text does not have the SHA-256 of the frozen deliverable.
pub(crate) fn snapshot(text: &str, sha256: &str) -> Option<Finding> {
    let message = format!(
        "the SHA-256 of the frozen deliverable is not recorded; write `- SHA-256: {sha256}`"
    );
    (!text.contains(sha256)).then(|| finding(Code::SnapshotMissing, message, None))
}
