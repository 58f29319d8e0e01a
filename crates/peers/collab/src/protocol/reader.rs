//! Reads `protocol.json`, and reports every mistake in it.

use serde_json::{Map, Value as Json};

use super::{
    FORBIDDEN, Gate, GateSource, Mode, Primary, Protocol, Supporting, finding, is_participant,
};
use crate::finding::{Code, Finding};
use crate::kind::Kind;
use crate::path;
use crate::table::Phase;

/// Returns whether a value is true in Python. The original readers of the protocol are written in Python.
fn is_truthy(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(value) => *value,
        Json::Number(number) => number.as_f64() != Some(0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(members) => !members.is_empty(),
    }
}

#[derive(Default)]
pub(super) struct Reader {
    pub(super) findings: Vec<Finding>,
}

impl Reader {
    fn wrong(&mut self, code: Code, message: impl Into<String>) {
        self.findings.push(finding(code, message));
    }

    pub(super) fn protocol(&mut self, json: &Map<String, Json>) -> Option<Protocol> {
        let text = |key: &str| json.get(key).and_then(Json::as_str);
        if text("protocol") != Some("acp") {
            self.wrong(
                Code::ProtocolName,
                "protocol.json protocol must be 'acp'; name a folder of this protocol",
            );
        }
        if json.get("schemaVersion").and_then(Json::as_f64) != Some(2.0) {
            self.wrong(
                Code::SchemaVersion,
                "protocol.json schemaVersion must be 2, the version that is read here; begin a new folder with `accp collab init`",
            );
        }
        if text("objective").is_none_or(|text| text.trim().is_empty()) {
            self.wrong(
                Code::ObjectiveBlank,
                "`objective` is blank; say what is to be decided or made",
            );
        }
        if text("currentPhase")
            .and_then(Phase::named)
            .is_none_or(|phase| phase == Phase::New)
        {
            let phases: Vec<&str> = Phase::ALL
                .iter()
                .skip(1)
                .map(|phase| phase.as_str())
                .collect();
            let message = format!(
                "`currentPhase` is not one of {}; `accp collab repair` writes it from the log",
                phases.join(", ")
            );
            self.wrong(Code::PhaseUnknown, message);
        }
        let participants = self.participants(json);
        if text("proposalOwner").is_none() {
            self.wrong(
                Code::OwnerAbsent,
                "`proposalOwner` is not a text; `accp collab repair` writes it from the log",
            );
        }
        let is_name = |one: &Json| one.is_string();
        let waiting = json.get("waitingFor").and_then(Json::as_array);
        if !waiting.is_some_and(|waiting| waiting.iter().all(is_name)) {
            self.wrong(
                Code::WaitingAbsent,
                "`waitingFor` is not a list of participants; `accp collab repair` writes it from the log",
            );
        }
        let gates = self.gates(json);
        let Some(declared) = json.get("deliverables").and_then(Json::as_object) else {
            self.wrong(
                Code::DeliverablesMissing,
                "protocol.json deliverables.primary is required, in an object `deliverables`; restore the file from a copy",
            );
            return None;
        };
        let of_it = |key: &str| declared.get(key).and_then(Json::as_str);
        let mode = of_it("mode").and_then(Mode::named);
        if mode.is_none() {
            self.wrong(
                Code::Mode,
                "`deliverables.mode` is neither internal nor external; write one of them",
            );
        }
        let repo_root = text("repoRoot").map(str::to_owned);
        match mode {
            Some(Mode::Internal) if json.contains_key("repoRoot") => {
                let message = "`repoRoot` stands beside internal deliverables; remove it, or write the mode external";
                self.wrong(Code::RepoRoot, message);
            }
            Some(Mode::External) => self.repo_root(repo_root.as_deref()),
            _ => {}
        }
        let dir = of_it("dir").unwrap_or_default();
        if let Some(why) = path::fault(dir) {
            let message = format!("`deliverables.dir` {why}; write a path below its root");
            self.wrong(Code::Dir, message);
        }
        let Some(primary) = declared.get("primary").filter(|json| json.is_object()) else {
            let message =
                "protocol.json deliverables.primary is required; write its type and its file";
            self.wrong(Code::DeliverablesMissing, message);
            return None;
        };
        let primary = self.primary(primary);
        let supporting = self.supporting(declared.get("supporting"), &primary.file);
        let attachments = self.attachments(declared.get("attachments"));
        Some(Protocol {
            participants,
            gates,
            mode: mode?,
            repo_root,
            dir: dir.to_owned(),
            primary,
            supporting,
            attachments,
            json: Map::new(),
        })
    }

    fn repo_root(&mut self, root: Option<&str>) {
        let why = match root {
            None => "is not a text",
            Some(root) if root.trim().is_empty() => "is blank",
            Some(root) if root.starts_with('/') => "is absolute",
            Some(root) if root.contains(char::is_control) => "contains a control character",
            Some(_) => return,
        };
        let message = format!(
            "`repoRoot` {why}; write the path from the folder to the repository, such as ../.."
        );
        self.wrong(Code::RepoRoot, message);
    }

    fn participants(&mut self, json: &Map<String, Json>) -> Vec<String> {
        let list = json.get("participants").and_then(Json::as_array);
        let ids = list.into_iter().flatten().map(|one| {
            let id = one.get("id").unwrap_or(one).as_str();
            id.filter(|id| is_participant(id)).map(str::to_owned)
        });
        let ids: Option<Vec<String>> = ids.collect();
        let ids = ids.unwrap_or_default();
        if ids.is_empty() {
            let message = "`participants` is not a list of objects with `id`, a name without control characters, back-quotes and white space around it; mend the file";
            self.wrong(Code::ParticipantsEmpty, message);
        }
        ids
    }

    fn gates(&mut self, json: &Map<String, Json>) -> Vec<Gate> {
        let list = json.get("completionGates").and_then(Json::as_array);
        let list = list.map(Vec::as_slice).unwrap_or_default();
        if list.is_empty() {
            self.wrong(Code::GatesEmpty, "`completionGates` has no gates; write them as {\"source\": \"objective\", \"text\": ..}");
        }
        let mut gates = Vec::with_capacity(list.len());
        for gate in list {
            let member = |key: &str| gate.get(key).and_then(Json::as_str);
            let text = member("text").filter(|text| !text.trim().is_empty());
            match (member("source").and_then(GateSource::named), text) {
                (Some(source), Some(text)) => {
                    if let Some(file) = FORBIDDEN.iter().find(|file| text.contains(**file)) {
                        let message = format!(
                            "a gate names {file}, which is not a file of the protocol; name another file"
                        );
                        self.wrong(Code::GateForbidden, message);
                    }
                    let text = text.to_owned();
                    gates.push(Gate { source, text });
                }
                _ => self.wrong(
                    Code::GateShape,
                    "a gate is not {\"source\": \"objective\" or \"generated\", \"text\": ..}",
                ),
            }
        }
        gates
    }

    fn kind(&mut self, json: Option<&Json>, code: Code) -> Option<Kind> {
        let name = json.and_then(Json::as_str).unwrap_or_default();
        Kind::read(name).unwrap_or_else(|known| {
            let message =
                format!("the type of a deliverable is not one of {known}; write one of them");
            self.wrong(code, message);
            None
        })
    }

    fn primary(&mut self, json: &Json) -> Primary {
        let kind = self.kind(json.get("type"), Code::PrimaryType);
        let file = json.get("file").and_then(Json::as_str).unwrap_or_default();
        if let Some(why) = path::markdown_fault(file) {
            let message = format!(
                "the file of the primary deliverable {why}; write a path below the directory that ends in .md"
            );
            self.wrong(Code::PrimaryFile, message);
        }
        let sections = sections(kind, json);
        if kind.is_none() && sections.is_empty() {
            self.wrong(
                Code::Checklist,
                "`checklist` is not a list of at least one section, which a custom deliverable needs; write the titles",
            );
        }
        Primary {
            kind,
            file: file.to_owned(),
            sections,
        }
    }

    fn supporting(&mut self, json: Option<&Json>, primary: &str) -> Vec<Supporting> {
        if json.is_some_and(|json| !json.is_array()) {
            self.wrong(
                Code::SupportingFile,
                "`supporting` is not a list; write one",
            );
        }
        let mut found: Vec<Supporting> = Vec::new();
        for one in json.and_then(Json::as_array).into_iter().flatten() {
            let file = one.get("file").and_then(Json::as_str).unwrap_or_default();
            if let Some(why) = path::markdown_fault(file) {
                let message = format!(
                    "the file of a supporting deliverable {why}; write a path below the directory that ends in .md"
                );
                self.wrong(Code::SupportingFile, message);
            } else if file == primary {
                let message = format!("{file} is the primary deliverable; name another file");
                self.wrong(Code::SupportingPrimary, message);
            } else if found.iter().any(|other| other.file == file) {
                let message = format!("{file} stands twice; remove one of the two");
                self.wrong(Code::SupportingRepeated, message);
            }
            let kind = self.kind(one.get("type"), Code::SupportingType);
            found.push(Supporting {
                file: file.to_owned(),
                kind,
                sections: sections(kind, one),
                is_frozen: one.get("frozen").is_some_and(is_truthy),
            });
        }
        found
    }

    fn attachments(&mut self, json: Option<&Json>) -> Vec<String> {
        if json.is_some_and(|json| !json.is_array()) {
            self.wrong(
                Code::AttachmentShape,
                "`attachments` is not a list; write one",
            );
        }
        let mut found = Vec::new();
        for one in json.and_then(Json::as_array).into_iter().flatten() {
            if !one.is_object() {
                let message = "an attachment is not an object; write {\"file\": ..}";
                self.wrong(Code::AttachmentShape, message);
                continue;
            }
            let file = one.get("file").and_then(Json::as_str).unwrap_or_default();
            if let Some(why) = path::fault(file) {
                let message = format!(
                    "the file of an attachment {why}; write a path below the directory of deliverables"
                );
                self.wrong(Code::AttachmentFile, message);
                continue;
            }
            found.push(file.to_owned());
        }
        found
    }
}

/// Returns the sections that a deliverable needs: those of its type, or those of its checklist.
fn sections(kind: Option<Kind>, json: &Json) -> Vec<String> {
    if let Some(kind) = kind {
        let sections = kind.sections().iter();
        return sections.map(|title| (*title).to_owned()).collect();
    }
    let list = json.get("checklist").and_then(Json::as_array);
    let titles = list.into_iter().flatten().filter_map(Json::as_str);
    let titles = titles.map(str::trim).filter(|title| !title.is_empty());
    titles.map(str::to_owned).collect()
}
