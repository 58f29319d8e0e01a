//! Checks whether an event may be appended.

use crate::event::{Event, EventName};
use crate::finding::{Code, Finding};
use crate::folder::Folder;
use crate::protocol::Protocol;
use crate::shape;
use crate::space::is_blank;
use crate::texts::{
    CONCLUSION_FILE, DECISIONS_FILE, READINESS_FILE, conclusion, decisions, deliverable, readiness,
};
use crate::validate::validate;

/// Returns every reason to refuse an event, in a folder of which all files were read; nothing if the event may be
/// appended.
///
/// See Events, Phases, Readiness Gate and Final Conclusion in the specification.
pub fn check(event: &Event, folder: &Folder) -> Vec<Finding> {
    let mut findings = Vec::new();
    if is_blank(&event.summary) {
        let text = "the summary is blank; say in one short sentence what was done";
        findings.push(Finding::new(Code::SummaryBlank, text).at(event.seq));
    }
    let (protocol, state) = match folder.standing() {
        Ok(standing) => standing,
        Err(wrong) => {
            findings.extend(wrong);
            return findings;
        }
    };
    findings.extend(shape::check(event, Some(protocol), folder.last()));
    findings.extend(shape::escape(event));
    findings.extend(state.check(event));
    findings.extend(of_files(event, folder, protocol));
    findings
}

/// Returns the reasons in the files of the folder to refuse the event.
fn of_files(event: &Event, folder: &Folder, protocol: &Protocol) -> Vec<Finding> {
    let mut findings = Vec::new();
    let name = event.event;
    let is_last = matches!(name, EventName::ReadinessPassed | EventName::Completed);
    // After an acceptance, no event may be appended while a question is open.
    let is_accepted =
        name == EventName::DecisionAccepted || folder.has_event(EventName::DecisionAccepted);
    // A file that cannot be read may have an open question, so it is a reason to refuse.
    findings.extend(folder.unreadable(READINESS_FILE).cloned());
    if is_last || is_accepted {
        findings.extend(readiness::questions(folder.text(READINESS_FILE)));
    }
    if name.is_of_deliverable() {
        findings.extend(of_deliverable(event, folder, protocol));
    }
    if name == EventName::DecisionAccepted {
        let text = folder.text(DECISIONS_FILE);
        findings.extend(folder.unreadable(DECISIONS_FILE).cloned());
        findings.extend(decisions::none(text));
        let wrong = decisions::check(text, protocol).into_iter();
        findings.extend(wrong.filter(|one| !one.is_warning));
    }
    if !is_last {
        return findings;
    }
    findings.extend(readiness::unchecked(
        folder.text(READINESS_FILE),
        &protocol.gates,
    ));
    let primary = protocol.reference(&protocol.primary.file);
    let state = folder.state();
    let sha256 = state.and_then(|state| state.frozen().find(|(doc, _)| *doc == primary));
    let sha256 = sha256.map(|(_, sha256)| sha256);
    if let Some(sha256) = sha256 {
        findings.extend(readiness::snapshot(folder.text(READINESS_FILE), sha256));
    }
    if name == EventName::Completed {
        let text = folder.text(CONCLUSION_FILE);
        findings.extend(conclusion::check(text, protocol));
        findings.extend(conclusion::receipt(text, protocol, sha256));
    }
    // Nothing is appended to an invalid folder. A wrong copy of the state is not an obstacle,
    // because the append itself repairs the copy.
    let is_obstacle = |one: &Finding| !one.is_warning && !one.code.is_of_state();
    for wrong in validate(folder).into_iter().filter(is_obstacle) {
        if !findings.contains(&wrong) {
            findings.push(wrong);
        }
    }
    findings
}

fn of_deliverable(event: &Event, folder: &Folder, protocol: &Protocol) -> Vec<Finding> {
    let (Some(doc), Some(role)) = (&event.doc, event.role) else {
        return Vec::new();
    };
    if shape::file_of(protocol, doc, role).is_none() {
        return Vec::new();
    }
    if let Some(finding) = folder.unreadable(doc) {
        return vec![finding.clone()];
    }
    if !folder.has(doc) {
        let text = "the deliverable is not there; write the file first";
        return vec![Finding::new(Code::FileMissing, text).within(doc, None)];
    }
    if event.event != EventName::DeliverableFrozen {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let (now, given) = (folder.sha256(doc), event.sha256.as_ref());
    if let (Some(now), Some(given)) = (now, given)
        && now != *given
    {
        let text = format!(
            "deliverable_frozen sha256 does not match current file, whose SHA-256 is {now}; add --hash to compute it"
        );
        findings.push(Finding::new(Code::Sha256Differs, text).within(doc, None));
    }
    let declared = protocol.supporting.iter();
    let mut declared = declared.filter(|one| protocol.reference(&one.file) == *doc);
    let sections = declared
        .next()
        .map_or(&protocol.primary.sections, |one| &one.sections);
    findings.extend(deliverable::check(doc, folder.text(doc), sections, true));
    findings
}
