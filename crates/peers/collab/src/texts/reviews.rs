//! `review.md`: one review for each event `review_submitted`, under a heading with its number.

use std::collections::BTreeMap;

use super::REVIEW_FILE;
use crate::event::{Event, EventName};
use crate::finding::{Code, Finding, shortened};
use crate::protocol::Protocol;
use crate::space::{is_space, trim};

/// The text by which a review names its deliverable.
const PRIMARY: &str = "Reviewed primary deliverable:";
const SCOPE: &str = "Review Scope:";
const COMPLETENESS: &str = "Primary deliverable completeness";

/// A heading of a review.
struct Heading<'t> {
    from: &'t str,
    seq: u64,
    line: usize,
    /// The text up to the next heading of a review.
    body: String,
}

/// Returns the heading that an event `review_submitted` needs, without a line feed.
pub(crate) fn heading(at: &str, from: &str, seq: u64) -> String {
    format!("## {at} - {from} - seq {seq}")
}

/// Returns what is wrong with the reviews.
pub(crate) fn check(text: &str, protocol: &Protocol, events: &[Event]) -> Vec<Finding> {
    let finding =
        |code, message: String, line| Finding::new(code, message).within(REVIEW_FILE, line);
    let mut findings = Vec::new();
    let headings = headings(text);
    // Of two headings with the same number, only the last counts.
    let by_seq: BTreeMap<u64, &Heading<'_>> = headings.iter().map(|one| (one.seq, one)).collect();
    let reviews = || {
        let of_it = |event: &&Event| event.event == EventName::ReviewSubmitted;
        events.iter().filter(of_it)
    };
    for event in reviews().filter(|event| !by_seq.contains_key(&event.seq)) {
        let text = format!(
            "the review of event {} has no heading; add `{}`",
            event.seq,
            heading(&event.at, &event.from, event.seq)
        );
        findings.push(finding(Code::ReviewHeadingMissing, text, None).at(event.seq));
    }
    for one in by_seq.values() {
        let index = usize::try_from(one.seq).unwrap_or(usize::MAX);
        let event = index.checked_sub(1).and_then(|index| events.get(index));
        let event = event.filter(|event| event.seq == one.seq);
        let event = event.or_else(|| events.iter().find(|event| event.seq == one.seq));
        let (code, text) = match event {
            None => (
                Code::ReviewHeadingEvent,
                format!(
                    "the heading names event {}, which there is not; write the number of the review, or remove the heading",
                    one.seq
                ),
            ),
            Some(event) if event.event != EventName::ReviewSubmitted => (
                Code::ReviewHeadingEvent,
                format!(
                    "the heading names event {}, which is {} and no review; write the number of the review",
                    one.seq, event.event
                ),
            ),
            Some(event) if event.from != one.from => (
                Code::ReviewHeadingParticipant,
                format!(
                    "the heading names `{}`, and event {} is from `{}`; write that name",
                    shortened(one.from),
                    one.seq,
                    event.from
                ),
            ),
            Some(_) => continue,
        };
        findings.push(finding(code, text, Some(one.line)).at(one.seq));
    }
    if reviews().next().is_none() {
        return findings;
    }
    let primary = protocol.reference(&protocol.primary.file);
    for needed in [PRIMARY, SCOPE, COMPLETENESS] {
        if !text.contains(needed) {
            let text = format!("no review has `{needed}`; add it to the reviews");
            findings.push(finding(Code::ReviewDeclares, text, None));
        }
    }
    if !text.contains(&primary) {
        let text =
            format!("no review names the primary deliverable; add `- {PRIMARY} `{primary}``");
        findings.push(finding(Code::ReviewPrimary, text, None));
    }
    for one in &headings {
        let lacks = [PRIMARY, SCOPE, COMPLETENESS, &primary]
            .into_iter()
            .filter(|needed| !one.body.contains(needed));
        let lacks: Vec<&str> = lacks.collect();
        if !lacks.is_empty() {
            let text = format!("the review lacks `{}`; add it", lacks.join("`, `"));
            let mut finding = finding(Code::ReviewSection, text, Some(one.line)).at(one.seq);
            finding.is_warning = true;
            findings.push(finding);
        }
    }
    findings
}

/// Returns all headings of reviews. A line ends wherever Python's `splitlines` sees an end.
fn headings(text: &str) -> Vec<Heading<'_>> {
    let is_end = |c| {
        matches!(
            c,
            '\n' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut found: Vec<Heading<'_>> = Vec::new();
    let mut number = 1;
    for piece in text.split_inclusive(is_end) {
        let line = piece.trim_end_matches(is_end);
        if let Some((from, seq)) = named(line) {
            let body = String::new();
            found.push(Heading {
                from,
                seq,
                line: number,
                body,
            });
        } else if let Some(last) = found.last_mut() {
            last.body.push_str(piece);
        }
        number += usize::from(piece.ends_with('\n'));
    }
    found
}

/// Reads `## TIME - PARTICIPANT - seq NUMBER`.
fn named(line: &str) -> Option<(&str, u64)> {
    let rest = line.strip_prefix("##")?;
    let rest = rest.strip_prefix(is_space).map(trim)?;
    let head = rest.trim_end_matches(char::is_numeric);
    let seq = rest.get(head.len()..).filter(|digits| !digits.is_empty())?;
    let head = before_gap(head)?.strip_suffix("seq")?;
    let head = before_gap(before_gap(head)?.strip_suffix('-')?)?;
    let dashes = head.match_indices('-').find(|(at, _)| {
        let (before, after) = (&head[..*at], &head[at + 1..]);
        before_gap(before).is_some_and(|time| !time.is_empty()) && after.starts_with(is_space)
    });
    let from = head.get(dashes?.0 + 1..).map(trim)?;
    // A number that does not fit becomes the maximum, which no event in a log has.
    (!from.is_empty()).then(|| (from, seq.parse().unwrap_or(u64::MAX)))
}

/// Returns the text before the white space at its end; `None` if there is no white space.
fn before_gap(text: &str) -> Option<&str> {
    let trimmed = text.trim_end_matches(is_space);
    (trimmed.len() < text.len()).then_some(trimmed)
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn a_heading_has_a_time_a_participant_and_a_number() {
        assert_eq!(
            named("## 2026-01-01T00:00:00Z - cy d - seq 4"),
            Some(("cy d", 4))
        );
        assert_eq!(named("##  t  -  a - b  -  seq  07 "), Some(("a - b", 7)));
        for line in [
            "## <timestamp> - <participant_id> - seq <event seq>",
            "##t - a - seq 4",
            "## t - a - 4",
            "## a - seq 4",
            "### t - a - seq 4",
            "## t - a -seq 4",
        ] {
            assert_eq!(named(line), None, "{line}");
        }
    }
}
