//! The rules for the Markdown files, as the second judge checks them.

use crate::walks::declared::{Codes, Declared};
use crate::walks::line::Line;

/// Returns the mark and the text of each line `- [mark] text`.
fn marks(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().map(str::trim);
    let marked = lines.filter_map(|line| line.strip_prefix("- [")?.split_once(']'));
    marked.map(|(mark, rest)| (mark, rest.trim())).collect()
}

/// Returns titles and texts of the sections under headings such as `## Title`.
fn sections<'t>(text: &'t str, level: &str) -> Vec<(&'t str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in text.lines() {
        let title = line
            .strip_prefix(level)
            .and_then(|rest| rest.strip_prefix(' '));
        if let Some(title) = title {
            found.push((title.trim(), String::new()));
        } else if let Some((_, body)) = found.last_mut() {
            body.push_str(line);
            body.push('\n');
        }
    }
    found
}

/// Returns what is wrong with the questions of readiness.md.
pub(crate) fn questions(text: &str) -> Codes {
    let mut codes = Codes::new();
    for (mark, body) in marks(text) {
        if mark == "blocking" {
            codes.insert("blocking");
        }
        if mark == "unresolved" {
            codes.insert("unresolved");
        }
        let is_question = ["blocking", "resolved", "deferred_nonblocking"].contains(&mark);
        if is_question && body.contains("TBD") {
            codes.insert("unresolved");
        }
        if mark == "deferred_nonblocking" && !body.to_lowercase().contains("reason:") {
            codes.insert("reason-missing");
        }
    }
    codes
}

/// Returns what is not checked in readiness.md.
pub(crate) fn unchecked(text: &str, gates: &[String]) -> Codes {
    let mut codes = Codes::new();
    let all = marks(text);
    let checked = all.iter().filter(|(mark, _)| *mark == "x" || *mark == "X");
    let checked: Vec<&str> = checked.map(|(_, body)| *body).collect();
    if !checked
        .iter()
        .any(|body| body.starts_with("Ready to implement"))
    {
        codes.insert("ready-unchecked");
    }
    if !gates.iter().all(|gate| checked.contains(&gate.trim())) {
        codes.insert("gates-unchecked");
    }
    codes
}

/// Returns what is wrong with a deliverable.
pub(crate) fn deliverable(text: &str, titles: &[String], is_frozen: bool) -> Codes {
    let mut codes = Codes::new();
    let lines = text.lines().filter_map(|line| line.strip_prefix("Status:"));
    let mut known = lines
        .map(str::trim)
        .filter(|one| ["Draft", "In Review", "Frozen"].contains(one));
    match known.next() {
        None => {
            codes.insert("status-missing");
        }
        Some(status) if is_frozen && status != "Frozen" => {
            codes.insert("status-not-frozen");
        }
        Some(_) => {}
    }
    let found = sections(text, "##");
    for title in titles {
        match found.iter().find(|(found, _)| found == title) {
            None => {
                codes.insert("section-missing");
            }
            Some((_, body)) if is_frozen && body.trim().is_empty() => {
                codes.insert("section-empty");
            }
            Some(_) => {}
        }
    }
    codes
}

/// Returns whether decisions.md has a decision.
pub(crate) fn has_decision(text: &str) -> bool {
    !sections(text, "###").is_empty()
}

/// Returns what is wrong with the decisions. Only `decision-rationale` is a warning.
pub(crate) fn decisions(text: &str, declared: &Declared) -> Codes {
    let mut codes = Codes::new();
    let mut seen: Vec<u32> = Vec::new();
    for (index, (title, body)) in (1_u32..).zip(sections(text, "###")) {
        let id = title
            .split_once(". ")
            .filter(|(_, rest)| !rest.trim().is_empty());
        let id = id.and_then(|(id, _)| id.strip_prefix('D')?.parse::<u32>().ok());
        match id {
            None => {
                codes.insert("decision-id");
            }
            Some(id) if seen.contains(&id) => {
                codes.insert("decision-repeated");
            }
            Some(id) => {
                if id != index {
                    codes.insert("decision-order");
                }
                seen.push(id);
            }
        }
        if !body.contains("- Decision:") {
            codes.insert("decision-text");
        }
        if !body.contains("- Rationale:") {
            codes.insert("decision-rationale");
        }
        let mut targets = std::iter::once(&declared.primary).chain(&declared.supporting);
        if !body.contains("- Reflected in:") {
            codes.insert("decision-reflected");
        } else if !targets.any(|one| body.contains(&one.reference)) {
            codes.insert("decision-target");
        }
    }
    codes
}

/// A review: the participant and the event in its heading, and the text below it.
struct Review<'t> {
    from: &'t str,
    seq: u64,
    body: String,
}

/// Reads `## TIME - PARTICIPANT - seq NUMBER`.
fn heading(line: &str) -> Option<(&str, u64)> {
    let (rest, seq) = line.strip_prefix("## ")?.rsplit_once(" - seq ")?;
    let (_, from) = rest.split_once(" - ")?;
    Some((from.trim(), seq.trim().parse().ok()?))
}

/// Returns errors and warnings of review.md. If a number stands twice, the last heading counts.
pub(crate) fn reviews(text: &str, declared: &Declared, events: &[Line]) -> (Codes, Codes) {
    let mut errors = Codes::new();
    let mut warnings = Codes::new();
    let mut found: Vec<Review<'_>> = Vec::new();
    for line in text.lines() {
        if let Some((from, seq)) = heading(line) {
            let body = String::new();
            found.push(Review { from, seq, body });
        } else if let Some(last) = found.last_mut() {
            last.body.push_str(line);
            last.body.push('\n');
        }
    }
    for (at, one) in found.iter().enumerate() {
        if found[at + 1..].iter().any(|later| later.seq == one.seq) {
            continue;
        }
        match events.iter().find(|event| event.seq == one.seq) {
            Some(event) if event.event == "review_submitted" => {
                if event.from != one.from {
                    errors.insert("review-heading-participant");
                }
            }
            _ => {
                errors.insert("review-heading-event");
            }
        }
    }
    let mut submitted = events
        .iter()
        .filter(|event| event.event == "review_submitted");
    if !submitted
        .clone()
        .all(|event| found.iter().any(|one| one.seq == event.seq))
    {
        errors.insert("review-heading-missing");
    }
    if submitted.next().is_none() {
        return (errors, warnings);
    }
    let parts = [
        "Reviewed primary deliverable:",
        "Review Scope:",
        "Primary deliverable completeness",
    ];
    let primary = &declared.primary.reference;
    let is_whole = |text: &str| parts.iter().all(|part| text.contains(part));
    if !is_whole(text) {
        errors.insert("review-declares");
    }
    if !text.contains(primary) {
        errors.insert("review-primary");
    }
    if !found
        .iter()
        .all(|one| is_whole(&one.body) && one.body.contains(primary))
    {
        warnings.insert("review-section");
    }
    (errors, warnings)
}

/// Returns what is wrong with the conclusion, apart from its receipt of the frozen deliverable.
pub(crate) fn conclusion(text: &str, declared: &Declared) -> Codes {
    let mut codes = Codes::new();
    let titles = "Decision Outcome, Rationale, Deliverable Receipt, Accepted Decisions Summary, \
                  Readiness Result, Assumptions, Deferred Follow-ups, Implementation Blockers, \
                  Next Action";
    let found = sections(text, "##");
    for title in titles.split(", ") {
        if !found.iter().any(|(found, _)| *found == title) {
            codes.insert("conclusion-sections");
        }
    }
    let outcomes: Vec<&str> = marks(text)
        .into_iter()
        .map(|(mark, _)| mark)
        .filter(|mark| ["proceed", "do_not_proceed", "defer", "blocked"].contains(mark))
        .collect();
    match outcomes[..] {
        ["blocked"] => {
            codes.insert("conclusion-blocked");
        }
        [_] => {}
        _ => {
            codes.insert("conclusion-outcome");
        }
    }
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '_');
    if words.any(|word| ["tbd", "todo", "unresolved"].contains(&word)) {
        codes.insert("conclusion-placeholder");
    }
    if !text.contains(&declared.primary.reference) {
        codes.insert("conclusion-primary");
    }
    codes
}

/// Returns what is wrong with the receipt in the conclusion.
pub(crate) fn receipt(text: &str, declared: &Declared, sha256: Option<&str>) -> Codes {
    let found = sections(text, "##");
    let body = found
        .iter()
        .find(|(title, _)| *title == "Deliverable Receipt");
    let body = body.map_or("", |(_, body)| &body[..]);
    // Each character that cannot be a part of a name becomes `|`, so that a name is found only
    // whole.
    let plain = |text: &str| -> String {
        let is_of_name = |c: char| c.is_alphanumeric() || ['/', '_', '-', '.', ':'].contains(&c);
        text.chars()
            .map(|c| if is_of_name(c) { c } else { '|' })
            .collect()
    };
    let body = format!("|{}|", plain(body));
    let is_named = |name: &str| {
        let name = plain(name);
        [("|", "|"), ("|", ".|"), (":", "|"), (":", ".|")]
            .iter()
            .any(|(before, after)| body.contains(&format!("{before}{name}{after}")))
    };
    let supporting = declared.supporting.iter().map(|one| &one.reference[..]);
    let attachments = declared.attachments.iter().map(|(file, _)| &file[..]);
    let primary = [&declared.primary.reference[..], &declared.kind[..]];
    let mut needed = sha256
        .into_iter()
        .chain(primary)
        .chain(supporting)
        .chain(attachments);
    let names_all = needed.all(is_named);
    if names_all {
        Codes::new()
    } else {
        Codes::from(["conclusion-receipt"])
    }
}
