//! Events, the lines of the log.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::finding::{Code, Finding};
use crate::names::names;

names! {
    /// The name of an event.
    EventName {
        /// The collaboration begins; the participant is the owner of the proposal.
        Initialized = "initialized",
        /// A deliverable has been drafted.
        DeliverableDrafted = "deliverable_drafted",
        /// A deliverable has been revised.
        DeliverableRevised = "deliverable_revised",
        /// A deliverable does not change any more.
        DeliverableFrozen = "deliverable_frozen",
        /// The proposal is ready for review.
        ProposalSubmitted = "proposal_submitted",
        /// A participant has reviewed the proposal.
        ReviewSubmitted = "review_submitted",
        /// The proposal has been revised.
        ProposalRevised = "proposal_revised",
        /// The open questions have been classified.
        QuestionClassified = "question_classified",
        /// Decisions are proposed.
        DecisionProposed = "decision_proposed",
        /// A participant accepts the decisions.
        DecisionAccepted = "decision_accepted",
        /// All gates are checked.
        ReadinessPassed = "readiness_passed",
        /// The collaboration is over, with a conclusion.
        Completed = "completed",
        /// The collaboration is over, without a conclusion.
        Blocked = "blocked",
    }
}

impl EventName {
    /// Returns whether the event is about a deliverable.
    pub const fn is_of_deliverable(self) -> bool {
        matches!(
            self,
            Self::DeliverableDrafted | Self::DeliverableRevised | Self::DeliverableFrozen
        )
    }
}

names! {
    /// The role of a deliverable.
    Role {
        /// The deliverable that the collaboration is about.
        Primary = "primary",
        /// A deliverable that goes with the primary one.
        Supporting = "supporting",
    }
}

/// An event: a line of `events.jsonl`.
///
/// ```
/// use accp_collab::{Event, EventName};
///
/// let line = r#"{"seq":2,"from":"ada","event":"blocked","at":"2026-01-01T00:00:00Z","summary":"No budget","reply_to":1}"#;
/// let event = Event::from_line(line).unwrap();
/// assert_eq!((event.seq, event.event), (2, EventName::Blocked));
/// assert_eq!(event.to_line(), format!("{line}\n"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The number, from 1 without a gap.
    pub seq: u64,
    /// The participant.
    pub from: String,
    /// The name.
    pub event: EventName,
    /// The time, in ISO 8601 and UTC.
    pub at: String,
    /// One short sentence.
    pub summary: String,
    /// The document that the event is about.
    pub doc: Option<String>,
    /// The number of the event that this event answers.
    pub reply_to: Option<u64>,
    /// The role of the deliverable.
    pub role: Option<Role>,
    /// The SHA-256 of the document.
    pub sha256: Option<String>,
}

impl Event {
    /// Reads a line, with or without its line feed.
    ///
    /// # Errors
    /// All that is wrong with it: [`Code::Unreadable`] if it is not a JSON object; [`Code::Seq`],
    /// [`Code::Time`], [`Code::EventUnknown`], [`Code::RoleMissing`] and [`Code::FieldMissing`] for
    /// its members.
    pub fn from_line(line: &str) -> Result<Self, Vec<Finding>> {
        if let Ok(line) = serde_json::from_str::<Line<'_>>(line.trim_end())
            && let Some(event) = line.into_event()
        {
            return Ok(event);
        }
        Self::explained(line)
    }

    /// Reads a line member by member, to report its mistakes.
    fn explained(line: &str) -> Result<Self, Vec<Finding>> {
        let object: Map<String, Json> = serde_json::from_str(line.trim_end()).map_err(|error| {
            let text = format!(
                "the line is not a JSON object (character {}); restore the log from a copy",
                error.column()
            );
            vec![Finding::new(Code::Unreadable, text)]
        })?;
        let mut reader = Members {
            object: &object,
            findings: Vec::new(),
        };
        let seq = reader.number("seq");
        let from = reader.text("from", true);
        let event = reader.text("event", true);
        let at = reader.text("at", true);
        let summary = reader.text("summary", true);
        let doc = reader.text("doc", false);
        let reply_to = reader.has("reply_to").then(|| reader.number("reply_to"));
        let role = reader.text("role", false);
        let sha256 = reader.text("sha256", false);
        let event = event.and_then(|name| {
            let known = EventName::named(&name);
            if known.is_none() {
                let names: Vec<&str> = EventName::ALL.iter().map(|name| name.as_str()).collect();
                let text = format!("the event is unknown; the events are {}", names.join(", "));
                reader.findings.push(Finding::new(Code::EventUnknown, text));
            }
            known
        });
        let role = role.map(|name| {
            let known = Role::named(&name);
            if known.is_none() {
                let text = "the role is unknown; write primary or supporting";
                reader.findings.push(Finding::new(Code::RoleMissing, text));
            }
            known
        });
        if let Some(at) = &at
            && instant(at).is_none()
        {
            let text = "`at` is not a time in UTC; write it as 2026-01-01T00:00:00Z";
            reader.findings.push(Finding::new(Code::Time, text));
        }
        match (seq, from, event, at, summary) {
            (Some(seq), Some(from), Some(event), Some(at), Some(summary))
                if reader.findings.is_empty() =>
            {
                Ok(Self {
                    seq,
                    from,
                    event,
                    at,
                    summary,
                    doc,
                    reply_to: reply_to.flatten(),
                    role: role.flatten(),
                    sha256,
                })
            }
            (seq, ..) => {
                let mut findings = reader.findings;
                for finding in &mut findings {
                    finding.seq = seq;
                }
                Err(findings)
            }
        }
    }

    /// Writes the line: compact, with its line feed, the members in the order of the protocol.
    pub fn to_line(&self) -> String {
        let mut line = format!("{{\"seq\":{}", self.seq);
        let mut text = |key: &str, value: &str| {
            let _ = write!(line, ",\"{key}\":{}", quoted(value));
        };
        text("from", &self.from);
        text("event", self.event.as_str());
        text("at", &self.at);
        text("summary", &self.summary);
        if let Some(doc) = &self.doc {
            text("doc", doc);
        }
        if let Some(reply_to) = self.reply_to {
            let _ = write!(line, ",\"reply_to\":{reply_to}");
        }
        let mut text = |key: &str, value: &str| {
            let _ = write!(line, ",\"{key}\":{}", quoted(value));
        };
        if let Some(role) = self.role {
            text("role", role.as_str());
        }
        if let Some(sha256) = &self.sha256 {
            text("sha256", sha256);
        }
        line.push_str("}\n");
        line
    }

    /// Returns whether the event is earlier than another one.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        // Times of this form sort as their texts do.
        let is_usual =
            |at: &str| at.len() == 20 && at.as_bytes().get(10) == Some(&b'T') && at.ends_with('Z');
        if is_usual(&self.at) && is_usual(&other.at) {
            return self.at < other.at;
        }
        self.instant() < other.instant()
    }

    /// Returns the time of the event, in nanoseconds since 1970.
    pub fn instant(&self) -> Option<i128> {
        instant(&self.at)
    }
}

/// The members of a valid line. Most lines are valid, and this type reads them fast.
#[derive(Deserialize)]
struct Line<'l> {
    seq: u64,
    #[serde(borrow)]
    from: Cow<'l, str>,
    #[serde(borrow)]
    event: Cow<'l, str>,
    #[serde(borrow)]
    at: Cow<'l, str>,
    #[serde(borrow)]
    summary: Cow<'l, str>,
    doc: Option<String>,
    reply_to: Option<u64>,
    role: Option<String>,
    sha256: Option<String>,
}

impl Line<'_> {
    fn into_event(self) -> Option<Event> {
        let role = match self.role {
            Some(name) => Some(Role::named(&name)?),
            None => None,
        };
        instant(&self.at)?;
        Some(Event {
            seq: self.seq,
            from: self.from.into_owned(),
            event: EventName::named(&self.event)?,
            at: self.at.into_owned(),
            summary: self.summary.into_owned(),
            doc: self.doc,
            reply_to: self.reply_to,
            role,
            sha256: self.sha256,
        })
    }
}

/// Reads a time of ISO 8601 in UTC, in nanoseconds since 1970. RFC 3339 allows a space between date and time, and the
/// parser takes any other character there, too.
fn instant(text: &str) -> Option<i128> {
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    time.offset().is_utc().then(|| time.unix_timestamp_nanos())
}

/// Writes a text as JSON. Python's `splitlines` takes U+0085, U+2028 and U+2029 for the end of a line,
/// so they are escaped.
fn quoted(text: &str) -> String {
    let quoted = Json::from(text).to_string();
    let mut found = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        match c {
            '\u{85}' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(found, "\\u{:04x}", u32::from(c));
            }
            c => found.push(c),
        }
    }
    found
}

/// Reads the members of an event, and keeps what is wrong with them.
struct Members<'o> {
    object: &'o Map<String, Json>,
    findings: Vec<Finding>,
}

impl Members<'_> {
    fn wrong(&mut self, code: Code, key: &str, cure: &str) {
        let text = if self.object.contains_key(key) {
            format!("`{key}` has the wrong type; write {cure}")
        } else {
            format!("`{key}` is missing; add {cure}")
        };
        self.findings.push(Finding::new(code, text));
    }

    /// Returns whether there is a value. `null` does not count as a value.
    fn has(&self, key: &str) -> bool {
        self.object.get(key).is_some_and(|value| !value.is_null())
    }

    fn text(&mut self, key: &str, is_needed: bool) -> Option<String> {
        let text = self
            .object
            .get(key)
            .and_then(Json::as_str)
            .map(str::to_owned);
        if text.is_none() && (is_needed || self.has(key)) {
            self.wrong(Code::FieldMissing, key, "a string");
        }
        text
    }

    fn number(&mut self, key: &str) -> Option<u64> {
        let number = self.object.get(key).and_then(Json::as_u64);
        if number.is_none() {
            let code = if key == "seq" {
                Code::Seq
            } else {
                Code::FieldMissing
            };
            self.wrong(code, key, "a whole number from 1");
        }
        number
    }
}
