//! A line of the log, as the second judge reads it.

use serde_json::Value as Json;

use crate::walks::declared::{Codes, Declared, Doc};

pub(crate) const EVENTS: [&str; 13] = [
    "initialized",
    "deliverable_drafted",
    "deliverable_revised",
    "deliverable_frozen",
    "proposal_submitted",
    "review_submitted",
    "proposal_revised",
    "question_classified",
    "decision_proposed",
    "decision_accepted",
    "readiness_passed",
    "completed",
    "blocked",
];

/// A line that is an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub seq: u64,
    pub from: String,
    pub event: String,
    pub at: String,
    pub summary: String,
    pub doc: Option<String>,
    pub reply_to: Option<u64>,
    pub role: Option<String>,
    pub sha256: Option<String>,
}

impl Line {
    pub(crate) fn is_of_deliverable(&self) -> bool {
        self.event.starts_with("deliverable_")
    }

    pub(crate) fn is_supporting(&self) -> bool {
        self.is_of_deliverable() && self.role.as_deref() == Some("supporting")
    }

    pub(crate) fn has_sha256(&self) -> bool {
        let is_digit = |c: char| "0123456789abcdef".contains(c);
        let is_whole = |text: &String| text.len() == 64 && text.chars().all(is_digit);
        self.sha256.as_ref().is_some_and(is_whole)
    }

    /// Returns the deliverable that the event is about, if its role and its doc agree.
    pub(crate) fn doc_of<'d>(&self, declared: &'d Declared) -> Option<&'d Doc> {
        let doc = self.doc.as_ref()?;
        if self.is_supporting() {
            let mut all = declared.supporting.iter();
            return all.find(|one| one.reference == *doc);
        }
        Some(&declared.primary).filter(|one| one.reference == *doc && self.role.is_some())
    }

    /// Returns the codes for the event alone, without the state.
    pub(crate) fn lacks(&self, declared: Option<&Declared>, before: Option<&Self>) -> Codes {
        let mut codes = Codes::new();
        match self.reply_to {
            None if self.event != "initialized" => {
                codes.insert("reply-missing");
            }
            Some(reply) if reply == 0 || reply >= self.seq => {
                codes.insert("reply-unknown");
            }
            _ => {}
        }
        if before.is_some_and(|before| self.at < before.at) {
            codes.insert("time-order");
        }
        if self.event == "completed" && self.doc.as_deref() != Some("conclusion.md") {
            codes.insert("conclusion-doc");
        }
        if !self.is_of_deliverable() {
            return codes;
        }
        if self.role.is_none() {
            codes.insert("role-missing");
        }
        if self.doc.is_none() {
            codes.insert("doc-missing");
        }
        if self.event == "deliverable_frozen" && !self.has_sha256() {
            codes.insert("sha256-missing");
        }
        if let (Some(declared), Some(_), Some(_)) = (declared, &self.doc, &self.role)
            && self.doc_of(declared).is_none()
        {
            codes.insert(if self.is_supporting() {
                "doc-not-supporting"
            } else {
                "doc-not-primary"
            });
        }
        codes
    }
}

/// Returns whether a text is a time in the form that all events of a walk have.
fn is_time(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    text.len() == 20 && digits.len() == 14 && text.ends_with('Z')
}

/// Reads a line; the codes say why it is not an event.
pub(crate) fn read_line(text: &str) -> Result<Line, Codes> {
    let json: Json = serde_json::from_str(text).unwrap_or_default();
    if !json.is_object() {
        return Err(Codes::from(["unreadable"]));
    }
    let mut codes = Codes::new();
    let text = |key: &str| json[key].as_str().map(str::to_owned);
    for key in ["from", "event", "at", "summary"] {
        if text(key).is_none() {
            codes.insert("field-missing");
        }
    }
    for key in ["doc", "role", "sha256"] {
        if json.get(key).is_some_and(|one| !one.is_string()) {
            codes.insert("field-missing");
        }
    }
    if json.get("reply_to").is_some_and(|one| !one.is_u64()) {
        codes.insert("field-missing");
    }
    if !json["seq"].is_u64() {
        codes.insert("seq");
    }
    if text("event").is_some_and(|name| !EVENTS.contains(&&name[..])) {
        codes.insert("event-unknown");
    }
    if text("role").is_some_and(|role| role != "primary" && role != "supporting") {
        codes.insert("role-missing");
    }
    if text("at").is_some_and(|at| !is_time(&at)) {
        codes.insert("time");
    }
    if !codes.is_empty() {
        return Err(codes);
    }
    Ok(Line {
        seq: json["seq"].as_u64().unwrap_or(0),
        from: text("from").unwrap_or_default(),
        event: text("event").unwrap_or_default(),
        at: text("at").unwrap_or_default(),
        summary: text("summary").unwrap_or_default(),
        doc: text("doc"),
        reply_to: json["reply_to"].as_u64(),
        role: text("role"),
        sha256: text("sha256"),
    })
}
