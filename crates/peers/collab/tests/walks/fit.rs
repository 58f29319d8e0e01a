//! Valid texts, for the sensible steps of a walk.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::walks::declared::{Declared, Doc};
use crate::walks::judge::Judge;
use crate::walks::line::Line;

pub(crate) fn deliverable(doc: &Doc, status: &str, body: &str) -> String {
    let mut text = format!("# A deliverable\n\nStatus: {status}\n");
    for title in &doc.sections {
        let _ = write!(text, "\n## {title}\n\n{body}\n");
    }
    text
}

pub(crate) fn decisions(declared: &Declared, count: usize) -> String {
    let mut text = "# Decisions\n\n## Accepted Decisions\n".to_owned();
    for id in 1..=count {
        let _ = write!(
            text,
            "\n### D{id}. Decision {id}\n\n- Decision: We do it.\n- Rationale: It is good.\n\
             - Reflected in: `{}#part`\n",
            declared.primary.reference
        );
    }
    text
}

/// Returns the text under the heading of a review.
fn review(declared: &Declared) -> String {
    format!(
        "\nContext:\n- Reviewed primary deliverable: `{}`\n\nReview Scope:\n\
         - Primary deliverable completeness\n\nPosition:\n- Good.\n\n",
        declared.primary.reference
    )
}

pub(crate) fn heading(event: &Line, from: &str, seq: u64) -> String {
    format!("## {} - {from} - seq {seq}", event.at)
}

pub(crate) fn reviews(declared: &Declared, events: &[Line]) -> String {
    let mut text = "# Review\n\n".to_owned();
    for event in events
        .iter()
        .filter(|event| event.event == "review_submitted")
    {
        let heading = heading(event, &event.from, event.seq);
        let _ = write!(text, "{heading}\n{}", review(declared));
    }
    text
}

/// Writes readiness.md with all questions closed. `checked` is the mark of gates and of the last line.
pub(crate) fn readiness(declared: &Declared, sha256: Option<&str>, checked: &str) -> String {
    let mut text = "# Readiness\n\n- [resolved] Is it fast? Yes.\n\
                    - [deferred_nonblocking] Who pays? Reason: later.\n\n"
        .to_owned();
    for gate in &declared.gates {
        let _ = writeln!(text, "- [{checked}] {gate}");
    }
    let sha256 = sha256.unwrap_or_default();
    let _ = write!(
        text,
        "\n- SHA-256: {sha256}\n\n- [{checked}] Ready to implement\n"
    );
    text
}

pub(crate) fn conclusion(declared: &Declared, sha256: Option<&str>) -> String {
    let mut receipt = format!(
        "- Primary: `{}`\n- Type: `{}`\n- SHA-256: {}\n",
        declared.primary.reference,
        declared.kind,
        sha256.unwrap_or_default()
    );
    for one in &declared.supporting {
        let _ = writeln!(receipt, "- Supporting: `{}`", one.reference);
    }
    for (file, _) in &declared.attachments {
        let _ = writeln!(receipt, "- Attachment: `{file}`");
    }
    format!(
        "# Conclusion\n\n## Decision Outcome\n\n- [proceed] We do it.\n\n## Rationale\n\nGood.\n\n\
         ## Deliverable Receipt\n\n{receipt}\n## Accepted Decisions Summary\n\nD1.\n\n\
         ## Readiness Result\n\nPassed.\n\n## Assumptions\n\nNone.\n\n## Deferred Follow-ups\n\n\
         None.\n\n## Implementation Blockers\n\nNone.\n\n## Next Action\n\nBuild it.\n"
    )
}

/// Writes protocol.json with the state after the log.
pub(crate) fn protocol(judge: &Judge<'_>, bytes: &[u8]) -> Vec<u8> {
    let mut json: Json = serde_json::from_slice(bytes).unwrap_or_default();
    if let Some((_, story)) = judge.story()
        && json.is_object()
    {
        let (phase, owner, asked) = story.sum();
        json["currentPhase"] = json!(phase);
        json["proposalOwner"] = json!(owner);
        json["waitingFor"] = json!(asked);
    }
    serde_json::to_vec_pretty(&json).expect("JSON is written")
}

/// Writes the line of an event, with its line feed.
pub(crate) fn line(event: &Line) -> String {
    let mut text = format!("{{\"seq\":{}", event.seq);
    let mut member = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            let _ = write!(text, ",\"{key}\":{value}");
        }
    };
    let of = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    member("from", Some(json!(event.from)));
    member("event", Some(json!(event.event)));
    member("at", Some(json!(event.at)));
    member("summary", Some(json!(event.summary)));
    member("doc", of(&event.doc));
    member("reply_to", event.reply_to.map(|reply| json!(reply)));
    member("role", of(&event.role));
    member("sha256", of(&event.sha256));
    text.push_str("}\n");
    text
}
