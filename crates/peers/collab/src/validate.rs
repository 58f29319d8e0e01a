//! Validation of a folder.

use crate::event::{EventName, Role};
use crate::finding::{Code, Finding};
use crate::folder::{Folder, TEXTS, missing};
use crate::log::LOG_FILE;
use crate::protocol::Protocol;
use crate::texts::{
    CONCLUSION_FILE, DECISIONS_FILE, READINESS_FILE, REVIEW_FILE, conclusion, decisions,
    deliverable, readiness, reviews,
};

/// Returns all findings for a folder of which all files were read, with warnings.
///
/// See Validation in the specification.
pub fn validate(folder: &Folder) -> Vec<Finding> {
    let mut findings: Vec<Finding> = folder.wrong().cloned().collect();
    for name in TEXTS {
        findings.extend(folder.unreadable(name).cloned());
        if !folder.has(name) {
            findings.push(missing(name));
        }
    }
    for name in folder.forbidden() {
        let text = "the file is not part of the protocol; move its content to the log or to readiness.md, and remove it";
        findings.push(Finding::new(Code::FileForbidden, text).within(name, None));
    }
    if folder.log().torn().is_some() {
        let text = "the last line was cut, and is not an event; the next append puts it aside";
        let mut finding = Finding::new(Code::LogTorn, text).within(LOG_FILE, None);
        finding.is_warning = true;
        findings.push(finding);
    }
    let Some(protocol) = folder.protocol() else {
        return findings;
    };
    // A log with faults has no valid state.
    if let Some(state) = folder.state().filter(|_| folder.is_log_whole()) {
        findings.extend(protocol.compare(state));
    }
    findings.extend(reviews::check(
        folder.text(REVIEW_FILE),
        protocol,
        folder.log().events(),
    ));
    if folder.is_protocol_whole() {
        of_deliverables(folder, protocol, &mut findings);
        findings.extend(decisions::check(folder.text(DECISIONS_FILE), protocol));
    }
    of_readiness(folder, protocol, &mut findings);
    findings
}

/// A deliverable that is declared.
struct Declared<'p> {
    file: &'p str,
    sections: &'p [String],
    /// Whether it has to be frozen at the end.
    is_frozen: bool,
    role: Role,
}

fn of_deliverables(folder: &Folder, protocol: &Protocol, findings: &mut Vec<Finding>) {
    let is_passed = [EventName::ReadinessPassed, EventName::Completed]
        .into_iter()
        .any(|name| folder.has_event(name));
    let primary = Declared {
        file: &protocol.primary.file,
        sections: &protocol.primary.sections,
        is_frozen: is_passed,
        role: Role::Primary,
    };
    let supporting = protocol.supporting.iter().map(|one| Declared {
        file: &one.file,
        sections: &one.sections,
        is_frozen: one.is_frozen,
        role: Role::Supporting,
    });
    for one in std::iter::once(primary).chain(supporting) {
        let doc = protocol.reference(one.file);
        let events = folder.log().events().iter();
        let freezes = events.filter(|event| {
            event.event == EventName::DeliverableFrozen
                && event.role == Some(one.role)
                && event.doc.as_ref() == Some(&doc)
        });
        let freezes: Vec<_> = freezes.collect();
        let mut add =
            |code, text: String| findings.push(Finding::new(code, text).within(&doc, None));
        if one.role == Role::Supporting && one.is_frozen == freezes.is_empty() {
            if one.is_frozen {
                let text = "the supporting deliverable is declared frozen and has no deliverable_frozen; append it";
                add(Code::FreezeMissing, text.to_owned());
            } else {
                let text = "the supporting deliverable has deliverable_frozen and is not declared frozen; run `accp collab declare` with --frozen";
                add(Code::FreezeUnmarked, text.to_owned());
            }
        }
        if let Some(finding) = folder.unreadable(&doc) {
            findings.push(finding.clone());
            continue;
        }
        if !folder.has(&doc) {
            let text = "the deliverable is missing; write the file, or restore it from a copy";
            add(Code::DeliverableMissing, text.to_owned());
            continue;
        }
        let now = folder.sha256(&doc);
        for event in &freezes {
            if event.sha256 != now {
                let text = "deliverable_frozen sha256 does not match current file; restore the file as it was frozen, or begin a new round in a new folder";
                let finding = Finding::new(Code::Sha256Differs, text).within(&doc, None);
                findings.push(finding.at(event.seq));
            }
        }
        let is_frozen = one.is_frozen || !freezes.is_empty();
        findings.extend(deliverable::check(
            &doc,
            folder.text(&doc),
            one.sections,
            is_frozen,
        ));
    }
    for file in &protocol.attachments {
        let name = protocol.reference(file);
        if let Some(finding) = folder.unreadable(&name) {
            findings.push(finding.clone());
        } else if !folder.has(&name) {
            let text = "the attachment is missing; write the file, or remove its declaration from protocol.json";
            findings.push(Finding::new(Code::AttachmentMissing, text).within(&name, None));
        }
    }
}

fn of_readiness(folder: &Folder, protocol: &Protocol, findings: &mut Vec<Finding>) {
    let text = folder.text(READINESS_FILE);
    let is_completed = folder.has_event(EventName::Completed);
    let is_passed = is_completed || folder.has_event(EventName::ReadinessPassed);
    let is_accepted = folder.has_event(EventName::DecisionAccepted);
    for mut finding in readiness::questions(text) {
        if is_accepted || is_passed {
            findings.push(finding);
        } else if finding.code == Code::ReasonMissing {
            finding.is_warning = true;
            findings.push(finding);
        }
    }
    if is_completed {
        findings.extend(readiness::unchecked(text, &protocol.gates));
        findings.extend(conclusion::check(folder.text(CONCLUSION_FILE), protocol));
    } else if is_passed && !readiness::is_ready(text) {
        findings.extend(readiness::unchecked(text, &[]));
    }
}
