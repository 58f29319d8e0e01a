//! The settings of a new collaboration, and the files that are made from them.

use std::fmt::Write as _;

use serde_json::json;

use crate::event::{Event, EventName};
use crate::finding::{Code, Finding};
use crate::folder::TEXTS;
use crate::kind::Kind;
use crate::log::LOG_FILE;
use crate::path;
use crate::protocol::{FORBIDDEN, Mode, PROTOCOL_FILE, Protocol, is_participant};
use crate::state::State;
use crate::texts::{
    CONCLUSION_FILE, DECISIONS_FILE, PROPOSAL_FILE, READINESS_FILE, REVIEW_FILE, conclusion,
};

/// Reserved names in the folder, besides those that begin with [`HIDDEN`].
const RESERVED: [&str; 3] = ["README.md", "events.jsonl.torn", "accp"];

/// The prefix of the names of temporary files, and of the lock.
const HIDDEN: &str = ".acp.";

/// Returns the reserved name that a path in the folder takes, if it takes one.
pub(crate) fn reserved(path: &str) -> Option<&str> {
    let first = path.split('/').next().unwrap_or_default();
    let own = TEXTS.iter().chain(&FORBIDDEN).chain(&RESERVED).copied();
    let mut own = own.chain([PROTOCOL_FILE, LOG_FILE]);
    (own.any(|own| own == first) || first.starts_with(HIDDEN)).then_some(first)
}

/// The settings of a new folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderSettings {
    /// The participants; the first is the owner.
    pub participants: Vec<String>,
    /// What the participants decide or make.
    pub objective: String,
    /// The gates of the objective.
    pub gates: Vec<String>,
    /// The type of the primary deliverable; `None` for `custom`.
    pub kind: Option<Kind>,
    /// The file of the primary deliverable, relative to the directory of deliverables; `None` for the usual file of
    /// its type.
    pub file: Option<String>,
    /// The sections of a custom deliverable.
    pub checklist: Vec<String>,
    /// Where the deliverables are.
    pub mode: Mode,
    /// The directory of deliverables.
    pub dir: String,
    /// The relative path from the folder to the repository, in external mode.
    pub repo_root: Option<String>,
}

/// A file of a new folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// True for a deliverable, whose path is below the root of the deliverables.
    pub is_deliverable: bool,
    /// The path: of a deliverable, below the root of the deliverables; of any other file, below the folder.
    pub path: String,
    /// The content.
    pub text: String,
}

impl FolderSettings {
    /// Returns the settings without white space around the texts, and without blank and repeated texts.
    #[must_use]
    pub fn trimmed(self) -> Self {
        let texts = |texts: Vec<String>| {
            let texts = texts.into_iter().map(|text| text.trim().to_owned());
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>()
        };
        let mut participants: Vec<String> = Vec::new();
        for one in texts(self.participants) {
            if !participants.contains(&one) {
                participants.push(one);
            }
        }
        Self {
            participants,
            objective: self.objective.trim().to_owned(),
            gates: texts(self.gates),
            checklist: texts(self.checklist),
            ..self
        }
    }

    /// Takes the settings from an existing folder: the objective, the participants, the gates and the primary
    /// deliverable.
    pub fn of(protocol: &Protocol) -> Self {
        let gates = protocol.gates.iter();
        let gates = gates.filter(|gate| gate.source == crate::protocol::GateSource::Objective);
        let checklist = match protocol.primary.kind {
            Some(_) => Vec::new(),
            None => protocol.primary.sections.clone(),
        };
        let mut participants = protocol.participants.clone();
        if let Some(owner) = protocol
            .json()
            .get("proposalOwner")
            .and_then(|one| one.as_str())
        {
            participants.sort_by_key(|one| one != owner);
        }
        Self {
            participants,
            objective: protocol.objective().to_owned(),
            gates: gates.map(|gate| gate.text.clone()).collect(),
            kind: protocol.primary.kind,
            file: Some(protocol.primary.file.clone()),
            checklist,
            mode: protocol.mode,
            dir: protocol.dir.clone(),
            repo_root: protocol.repo_root.clone(),
        }
    }

    /// Returns the name of the type.
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("custom", Kind::as_str)
    }

    /// Returns the file of the primary deliverable.
    pub fn primary_file(&self) -> String {
        let file = self
            .file
            .clone()
            .or_else(|| self.kind.map(|kind| format!("{kind}.md")));
        file.unwrap_or_default()
    }

    /// Returns all that is wrong with the settings; nothing if a folder can be made from them.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |code, text: String| findings.push(Finding::new(code, text));
        let has_breaks = |text: &str| text.contains(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        if self.objective.is_empty() {
            let text = "--objective must not be blank; say what is to be decided or made";
            add(Code::ObjectiveBlank, text.to_owned());
        }
        if self.participants.len() < 2 {
            let text = "at least two --participant values are required, which are not blank and not equal; name the owner first";
            add(Code::ParticipantsFew, text.to_owned());
        }
        for one in self.participants.iter().filter(|one| !is_participant(one)) {
            let text = format!(
                "the participant `{}` has a control character, a line break or a back-quote; choose another name",
                crate::finding::shortened(one)
            );
            add(Code::ParticipantsEmpty, text);
        }
        if self.gates.is_empty() {
            let text = "at least one --completion is required, which is not blank; say when the objective is reached";
            add(Code::GatesEmpty, text.to_owned());
        }
        for gate in &self.gates {
            if has_breaks(gate) {
                add(
                    Code::GateShape,
                    "a --completion has a line break; write it in one line".to_owned(),
                );
            }
            if let Some(file) = FORBIDDEN.iter().find(|file| gate.contains(**file)) {
                add(
                    Code::GateForbidden,
                    format!(
                        "a --completion names {file}, which is not a file of the protocol; name another file"
                    ),
                );
            }
        }
        if self.kind.is_none() && self.file.is_none() {
            let text = "custom deliverables require --primary-deliverable-file; add it";
            add(Code::PrimaryFileMissing, text.to_owned());
        }
        if self.kind.is_none() && self.checklist.is_empty() {
            let text = "custom deliverables require at least one --primary-deliverable-check; add the title of a section";
            add(Code::ChecklistMissing, text.to_owned());
        }
        if self.checklist.iter().any(|title| has_breaks(title)) {
            let text = "a --primary-deliverable-check has a line break; write it in one line";
            add(Code::Checklist, text.to_owned());
        }
        if let Some(file) = &self.file
            && let Some(why) = path::markdown_fault(file)
        {
            let text = format!(
                "--primary-deliverable-file {why}; write a path below the directory that ends in .md"
            );
            add(Code::PrimaryFile, text);
        }
        if let Some(why) = path::fault(&self.dir) {
            add(
                Code::Dir,
                format!("--deliverables-dir {why}; write a path below its root"),
            );
        }
        match (self.mode, &self.repo_root) {
            (Mode::External, None) => {
                let text = "--repo-root is required when --deliverables-mode is external; write the path from the folder, such as ../..";
                add(Code::RepoRoot, text.to_owned());
            }
            (Mode::External, Some(root)) if root.starts_with('/') || root.trim().is_empty() => {
                let text = "--repo-root must be relative to the folder; write the path from the folder, such as ../..";
                add(Code::RepoRoot, text.to_owned());
            }
            (Mode::Internal, Some(_)) => {
                let text = "--repo-root is only for --deliverables-mode external; leave it out";
                add(Code::RepoRoot, text.to_owned());
            }
            _ => {}
        }
        let path = path::joined(&self.dir, &self.primary_file());
        if self.mode == Mode::Internal
            && let Some(name) = reserved(&path)
        {
            findings.push(name_reserved(name));
        }
        findings
    }

    /// Returns the files of the new folder, `protocol.json` last: with this file, the folder counts as made.
    pub fn files(&self, at: &str) -> Vec<NewFile> {
        let file = self.primary_file();
        let primary = match self.mode {
            Mode::Internal => path::joined(&self.dir, &file),
            Mode::External => format!("external:{file}"),
        };
        let kind = self.kind_name();
        let generated = [
            format!("Primary deliverable exists: `{primary}`"),
            format!("Primary deliverable has required `{kind}` sections"),
            "Every accepted decision has `Reflected in`".to_owned(),
            "Every accepted decision is reflected in the primary deliverable".to_owned(),
            "Primary deliverable status is `Frozen`".to_owned(),
            "Primary deliverable SHA-256 snapshot recorded".to_owned(),
        ];
        let own = |path: &str, text: String| NewFile {
            is_deliverable: false,
            path: path.to_owned(),
            text,
        };
        let deliverable = NewFile {
            is_deliverable: true,
            path: path::joined(&self.dir, &file),
            text: self.deliverable(),
        };
        vec![
            deliverable,
            own("README.md", self.readme(&primary)),
            own(PROPOSAL_FILE, self.proposal(&primary)),
            own(REVIEW_FILE, review(&primary)),
            own(DECISIONS_FILE, decisions(&primary)),
            own(READINESS_FILE, self.readiness(&primary, &generated)),
            own(CONCLUSION_FILE, self.conclusion(&primary)),
            own(LOG_FILE, self.first(at).to_line()),
            own(PROTOCOL_FILE, self.protocol(&file, &generated, at)),
        ]
    }

    fn first(&self, at: &str) -> Event {
        Event {
            seq: 1,
            from: self.participants.first().cloned().unwrap_or_default(),
            event: EventName::Initialized,
            at: at.to_owned(),
            summary: "The collaboration begins.".to_owned(),
            doc: Some(PROTOCOL_FILE.to_owned()),
            reply_to: None,
            role: None,
            sha256: None,
        }
    }

    fn protocol(&self, file: &str, generated: &[String], at: &str) -> String {
        let owner = self.participants.first();
        let participants = self.participants.iter().map(|id| json!({ "id": id }));
        let objective = self
            .gates
            .iter()
            .map(|text| json!({ "source": "objective", "text": text }));
        let generated = generated
            .iter()
            .map(|text| json!({ "source": "generated", "text": text }));
        let mut json = json!({
            "protocol": "acp",
            "schemaVersion": 2,
            "objective": self.objective,
            "objectiveGates": self.gates,
            "participants": participants.collect::<Vec<_>>(),
            "completionGates": objective.chain(generated).collect::<Vec<_>>(),
            "deliverables": {
                "mode": self.mode.as_str(),
                "dir": self.dir,
                "owner": owner,
                "coAuthors": [],
                "primary": { "type": self.kind_name(), "file": file, "checklist": self.checklist },
                "supporting": [],
                "attachments": [],
            },
            "currentPhase": "drafting",
            "proposalOwner": owner,
            "waitingFor": [owner],
            "createdAt": at,
            "updatedAt": at,
        });
        if let Some(root) = &self.repo_root {
            json["repoRoot"] = root.clone().into();
        }
        let mut state = State::new(self.participants.clone());
        // The first event of valid settings is never refused.
        let _ = state.apply(&self.first(at));
        let protocol = Protocol::from_json(json.to_string().as_bytes());
        protocol.map_or_else(
            |_| json.to_string(),
            |protocol| protocol.to_text(&state, at),
        )
    }

    fn deliverable(&self) -> String {
        let title = self.kind.map_or("Custom Deliverable", Kind::title);
        let kind = self.kind_name();
        template(
            title,
            kind,
            &match self.kind {
                Some(kind) => kind
                    .sections()
                    .iter()
                    .map(|one| (*one).to_owned())
                    .collect(),
                None => self.checklist.clone(),
            },
        )
    }

    fn readme(&self, primary: &str) -> String {
        let participants = listed(&self.participants, "- `", "`");
        let gates = listed(&self.gates, "- ", "");
        let (objective, kind) = (&self.objective, self.kind_name());
        format!(
            "# Collaboration\n\n{objective}\n\n## Participants\n\n{participants}\n## Gates\n\n{gates}\n\
             ## Deliverable\n\n- `{primary}`, of the type `{kind}`\n\n## Files\n\n\
             - `protocol.json`: what is declared, and a copy of the state\n\
             - `events.jsonl`: the log, a line for each event; only `accp collab append` writes to it\n\
             - `proposal.md`: what is proposed now\n\
             - `review.md`: the reviews, each under a heading with the number of its event\n\
             - `decisions.md`: the accepted decisions, D1, D2 and so on\n\
             - `readiness.md`: open questions, gates, and the snapshot of the frozen deliverable\n\
             - `conclusion.md`: the receipt at the end\n\n\
             `accp collab next` says what a participant has to do, and `accp collab wait` waits for the turn.\n"
        )
    }

    fn proposal(&self, primary: &str) -> String {
        let objective = &self.objective;
        format!(
            "# Proposal\n\n## Purpose\n\n{objective}\n\n## Current Proposal\n\nNothing is proposed yet.\n\n\
             ## Deliverable Draft\n\n- Primary: `{primary}`\n"
        )
    }

    fn readiness(&self, primary: &str, generated: &[String]) -> String {
        let objective = listed(&self.gates, "- [ ] ", "");
        let generated = listed(generated, "- [ ] ", "");
        format!(
            "# Readiness\n\n## Open Question Classification\n\n\
             - [unresolved] The primary deliverable has not been reviewed.\n\n\
             A question is `[resolved]`, `[deferred_nonblocking]` with its `Reason:`, or `[blocking]`.\n\n\
             ## Blocking Issues\n\n- None.\n\n## Objective Gates\n\n{objective}\n\
             ## Generated Deliverable Gates\n\n{generated}\n\
             ## Deliverable Snapshot\n\n- Primary: `{primary}`\n- SHA-256:\n\n\
             ## Supporting Deliverables\n\n- None.\n\n## Attachments\n\n- None.\n\n\
             ## Deferred Follow-ups\n\n- None.\n\n## Implementation Blockers\n\n- None.\n\n\
             ## Ready to Implement\n\n- [ ] Ready to implement\n"
        )
    }

    fn conclusion(&self, primary: &str) -> String {
        let kind = self.kind_name();
        let mut text =
            "# Conclusion\n\nThe receipt at the end. It is not the deliverable.\n".to_owned();
        for title in conclusion::SECTIONS {
            let body = match title {
                "Decision Outcome" => {
                    let outcomes: Vec<String> = conclusion::OUTCOMES
                        .iter()
                        .map(|one| format!("`[{one}]`"))
                        .collect();
                    format!(
                        "- [blocked] It goes on.\n\nAt the end it is one of {}.",
                        outcomes.join(", ")
                    )
                }
                "Deliverable Receipt" => format!(
                    "- Primary: `{primary}`\n- Type: `{kind}`\n- SHA-256:\n- Supporting: none\n- Attachments: none"
                ),
                "Readiness Result" => {
                    "- Objective gates: open\n- Generated deliverable gates: open".to_owned()
                }
                "Rationale" | "Next Action" => "It goes on.".to_owned(),
                _ => "- None.".to_owned(),
            };
            let _ = write!(text, "\n## {title}\n\n{body}\n");
        }
        text
    }
}

/// Makes the finding for a deliverable with a reserved name.
pub(crate) fn name_reserved(name: &str) -> Finding {
    let text = format!(
        "{name} is the name of a file of the protocol; choose another directory or file for the deliverable"
    );
    Finding::new(Code::NameReserved, text)
}

/// Returns the template of a deliverable.
pub(crate) fn template(title: &str, kind: &str, sections: &[String]) -> String {
    let mut text = format!("# {title}\n\nDeliverable type: `{kind}`\nStatus: Draft\n");
    for section in sections {
        let _ = write!(text, "\n## {section}\n\n");
    }
    text
}

fn listed(items: &[String], before: &str, after: &str) -> String {
    let lines = items.iter().map(|item| format!("{before}{item}{after}\n"));
    lines.collect()
}

fn review(primary: &str) -> String {
    format!(
        "# Review\n\nEach review stands under a heading with the time, the participant and the number of its event:\n\
         `## <time> - <participant> - seq <number>`. `accp collab append --review FILE` writes the heading.\n\n\
         A review has these parts:\n\n\
         Context:\n- Read `proposal.md` after event seq `<number>`.\n\
         - Reviewed primary deliverable: `{primary}`\n- Reviewed supporting deliverables: none\n\n\
         Review Scope:\n- Proposal coherence\n- Primary deliverable completeness\n\
         - Accepted decision traceability\n- Implementation readiness\n\n\
         Position:\n- ...\n\nConcerns:\n- ...\n\nRequired Changes:\n- ...\n\nQuestions:\n- ...\n"
    )
}

fn decisions(primary: &str) -> String {
    format!(
        "# Decisions\n\nOnly accepted decisions stand here, as D1, D2 and so on.\n\n## Accepted Decisions\n\n\
         ### D1. The deliverable\n\n- Decision: The result of this collaboration is `{primary}`.\n\
         - Rationale: A collaboration has one primary deliverable.\n- Reflected in: `{primary}`\n"
    )
}
