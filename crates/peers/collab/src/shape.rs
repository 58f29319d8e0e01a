//! Checks of the members of an event, which do not depend on the phase.

use crate::event::{Event, EventName, Role};
use crate::finding::{Code, Finding, shortened};
use crate::path;
use crate::protocol::Protocol;
use crate::texts::CONCLUSION_FILE;

/// Returns what is wrong with the members of an event. `before` is the event before it.
pub(crate) fn check(
    event: &Event,
    protocol: Option<&Protocol>,
    before: Option<&Event>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |code, text: String| findings.push(Finding::new(code, text).at(event.seq));
    match event.reply_to {
        None if event.event != EventName::Initialized => add(
            Code::ReplyMissing,
            "reply_to is required after initialized; add the number of the event that this one answers".to_owned(),
        ),
        Some(reply) if reply == 0 || reply >= event.seq => add(
            Code::ReplyUnknown,
            format!("reply_to must point to an earlier event, and {reply} is none; write the number of one"),
        ),
        _ => {}
    }
    if before.is_some_and(|before| event.is_before(before)) {
        let text = format!(
            "`at` is {}, which is earlier than the event before; restore the log from a copy",
            event.at
        );
        add(Code::TimeOrder, text);
    }
    if event.event == EventName::Completed && event.doc.as_deref() != Some(CONCLUSION_FILE) {
        let text = "completed must reference conclusion.md; add --doc conclusion.md";
        add(Code::ConclusionDoc, text.to_owned());
    }
    if !event.event.is_of_deliverable() {
        return findings;
    }
    if event.role.is_none() {
        let text = "deliverable events require role; add --role primary or --role supporting";
        add(Code::RoleMissing, text.to_owned());
    }
    let is_sha256 = |text: &String| {
        let is_digit = |c| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        text.len() == 64 && text.bytes().all(is_digit)
    };
    if event.event == EventName::DeliverableFrozen && !event.sha256.as_ref().is_some_and(is_sha256)
    {
        let text = "deliverable_frozen requires sha256, 64 small hexadecimal digits; add --sha256, or --hash to compute it";
        add(Code::Sha256Missing, text.to_owned());
    }
    let Some(doc) = &event.doc else {
        let text = "deliverable events require doc; add --doc with the deliverable";
        add(Code::DocMissing, text.to_owned());
        return findings;
    };
    let (Some(protocol), Some(role)) = (protocol, event.role) else {
        return findings;
    };
    if file_of(protocol, doc, role).is_none() {
        match role {
            Role::Primary => add(
                Code::DocNotPrimary,
                format!(
                    "doc must reference the primary deliverable; add --doc {}",
                    protocol.reference(&protocol.primary.file)
                ),
            ),
            Role::Supporting => {
                let declared = protocol.supporting.iter();
                let declared: Vec<String> =
                    declared.map(|one| protocol.reference(&one.file)).collect();
                let declared = if declared.is_empty() {
                    "none is; `accp collab declare` adds one".to_owned()
                } else {
                    declared.join(", ")
                };
                let text = format!(
                    "doc must reference a declared supporting deliverable; declared: {declared}"
                );
                add(Code::DocNotSupporting, text);
            }
        }
    }
    findings
}

/// Returns a finding if the document of an event is outside its root. Only new events are checked: the document of an
/// event in the log is never read, and the line cannot be changed.
pub(crate) fn escape(event: &Event) -> Option<Finding> {
    let doc = event.doc.as_ref()?;
    let path = doc.strip_prefix("external:").unwrap_or(doc);
    let why = path::fault(path)?;
    let doc = shortened(doc);
    let text = format!("the document `{doc}` {why}; name a file below the folder");
    Some(Finding::new(Code::PathEscape, text).at(event.seq))
}

/// Returns the file of the deliverable that a document of an event names, relative to the directory.
pub(crate) fn file_of<'p>(protocol: &'p Protocol, doc: &str, role: Role) -> Option<&'p str> {
    let names = |file: &&str| protocol.is_reference(doc, file);
    match role {
        Role::Primary => Some(&protocol.primary.file[..]).filter(names),
        Role::Supporting => {
            let files = protocol.supporting.iter().map(|one| &one.file[..]);
            files.into_iter().find(names)
        }
    }
}
