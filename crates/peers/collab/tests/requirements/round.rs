//! A collaboration in a temporary folder, which the test can advance to any point.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use accp_collab::disk::{Appended, Draft, Shared};
use accp_collab::table::Phase;
use accp_collab::{
    Action, CONCLUSION_FILE, Code, DECISIONS_FILE, Finding, Folder, FolderSettings, Kind, LOG_FILE,
    Mode, PROTOCOL_FILE, READINESS_FILE, REVIEW_FILE, Role, Scope, next, validate,
};
use serde_json::Value as Json;
use tempfile::TempDir;

/// The files that belong to the lock and not to the collaboration.
const LOCK: &str = ".acp.lock";

/// A collaboration of `ada`, who owns the proposal, `bob` and `cy`.
pub(crate) struct Round {
    dir: TempDir,
    pub(crate) shared: Shared,
}

/// Returns settings for an ADR in the folder.
pub(crate) fn settings() -> FolderSettings {
    FolderSettings {
        participants: ["ada", "bob", "cy"].map(str::to_owned).to_vec(),
        objective: "Choose a store".to_owned(),
        gates: vec!["It is fast".to_owned()],
        kind: Some(Kind::Adr),
        file: None,
        checklist: Vec::new(),
        mode: Mode::Internal,
        dir: "deliverables".to_owned(),
        repo_root: None,
    }
}

/// Returns settings for an ADR in the repository around the folder.
pub(crate) fn external() -> FolderSettings {
    FolderSettings {
        mode: Mode::External,
        dir: "docs".to_owned(),
        repo_root: Some("../..".to_owned()),
        ..settings()
    }
}

/// Returns settings for a deliverable with a checklist.
pub(crate) fn custom() -> FolderSettings {
    FolderSettings {
        kind: None,
        file: Some("memo.md".to_owned()),
        checklist: vec!["Question".to_owned(), "Answer".to_owned()],
        ..settings()
    }
}

/// Returns the codes of findings, in their order.
pub(crate) fn codes(findings: &[Finding]) -> Vec<Code> {
    findings.iter().map(|finding| finding.code).collect()
}

/// Returns all files below a path with their bytes, without the files of the lock.
pub(crate) fn files_below(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if !name.starts_with(LOCK) {
                let bytes = fs::read(&path).unwrap_or_default();
                found.insert(path, bytes);
            }
        }
    }
    found
}

impl Round {
    /// Makes a folder with [`settings`].
    pub(crate) fn new() -> Self {
        Self::of(settings())
    }

    /// Makes a folder with these settings. It is the folder `.acp/round` of a repository.
    pub(crate) fn of(settings: FolderSettings) -> Self {
        let round = Self::before();
        round.shared.init(settings, false).unwrap();
        round
    }

    /// Returns a folder that does not exist yet.
    pub(crate) fn before() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::new(dir.path().join(".acp/round"));
        Self { dir, shared }
    }

    /// Makes a folder with [`settings`], and advances until this is the next action of a participant.
    pub(crate) fn at(action: Action) -> Self {
        let round = Self::new();
        round.walk(action);
        round
    }

    /// Makes a folder with [`settings`], and advances to the end.
    pub(crate) fn completed() -> Self {
        Self::at(Action::Stop)
    }

    /// Returns the repository around the folder.
    pub(crate) fn repository(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.shared.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a text that has to be there.
    pub(crate) fn replace(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no `{from}`: {text}");
        self.write(name, text.replace(from, to));
    }

    pub(crate) fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Returns protocol.json.
    pub(crate) fn protocol(&self) -> Json {
        serde_json::from_str(&self.read(PROTOCOL_FILE)).unwrap()
    }

    /// Changes protocol.json as an editor does.
    pub(crate) fn edit_protocol(&self, change: impl FnOnce(&mut Json)) {
        let mut json = self.protocol();
        change(&mut json);
        self.write(PROTOCOL_FILE, format!("{json:#}\n"));
    }

    /// Returns the lines of the log as JSON.
    pub(crate) fn log(&self) -> Vec<Json> {
        let log = self.read(LOG_FILE);
        let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    /// Returns all files of the repository, the folder and deliverables outside of it, with their bytes.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        files_below(self.repository())
    }

    pub(crate) fn folder(&self) -> Folder {
        self.shared.read(Scope::All)
    }

    pub(crate) fn phase(&self) -> Phase {
        self.folder().state().unwrap().phase()
    }

    pub(crate) fn waiting_for(&self) -> Vec<String> {
        self.folder().state().unwrap().waiting_for().to_vec()
    }

    /// Returns the reference of the primary deliverable.
    pub(crate) fn doc(&self) -> String {
        let folder = self.folder();
        let protocol = folder.protocol().unwrap();
        protocol.reference(&protocol.primary.file)
    }

    /// Returns the primary deliverable as a path from the folder.
    pub(crate) fn primary(&self) -> String {
        let folder = self.folder();
        let protocol = folder.protocol().unwrap();
        let root = match protocol.mode {
            Mode::Internal => String::new(),
            Mode::External => format!("{}/", protocol.repo_root.as_deref().unwrap()),
        };
        root + &protocol.path_of(&protocol.primary.file)
    }

    /// Returns what a participant has to do.
    pub(crate) fn action(&self, who: &str) -> Action {
        next(&self.folder(), who).unwrap().action
    }

    /// Returns a draft with everything that its event needs.
    pub(crate) fn draft(&self, who: &str, event: &str) -> Draft {
        let mut draft = Draft {
            reply_to: self.folder().last().map(|event| event.seq),
            ..Draft::new(who, event, "Done")
        };
        if event.starts_with("deliverable_") {
            draft.doc = Some(self.doc());
            draft.role = Some(Role::Primary);
            draft.has_hash = event == "deliverable_frozen";
        }
        if event == "completed" {
            draft.doc = Some(CONCLUSION_FILE.to_owned());
        }
        if event == "review_submitted" {
            let doc = self.doc();
            draft.doc = Some(REVIEW_FILE.to_owned());
            draft.review = Some(format!(
                "Context:\n- Reviewed primary deliverable: `{doc}`\n\nReview Scope:\n\
                 - Primary deliverable completeness\n\nPosition:\n- It is good.\n"
            ));
        }
        draft
    }

    /// Appends an event that must be accepted.
    pub(crate) fn append(&self, who: &str, event: &str) -> Appended {
        self.append_draft(&self.draft(who, event))
    }

    pub(crate) fn append_draft(&self, draft: &Draft) -> Appended {
        let appended = self.shared.append(draft);
        appended.unwrap_or_else(|wrong| panic!("{draft:?}: {wrong:?}"))
    }

    /// Appends an event that has to be refused, and returns the codes. No file changes.
    pub(crate) fn refuse(&self, who: &str, event: &str) -> Vec<Code> {
        codes(&self.refuse_draft(&self.draft(who, event)))
    }

    /// Checks that an event is refused with these codes.
    #[track_caller]
    pub(crate) fn refuses(&self, who: &str, event: &str, expected: &[Code]) {
        assert_eq!(self.refuse(who, event), expected);
    }

    pub(crate) fn refuse_draft(&self, draft: &Draft) -> Vec<Finding> {
        let before = self.files();
        let wrong = self.shared.append(draft).map(|appended| appended.event);
        let wrong = wrong.expect_err("the event is refused");
        assert!(self.files() == before, "a refused event changed a file");
        wrong
    }

    /// Returns the findings of the validator.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        validate(&self.folder())
    }

    /// Returns the codes of the errors that the validator finds.
    pub(crate) fn errors(&self) -> Vec<Code> {
        self.codes(false)
    }

    /// Returns the codes of the warnings that the validator finds.
    pub(crate) fn warnings(&self) -> Vec<Code> {
        self.codes(true)
    }

    fn codes(&self, is_warning: bool) -> Vec<Code> {
        let findings = self.findings().into_iter();
        let findings = findings.filter(|one| one.is_warning == is_warning);
        findings.map(|one| one.code).collect()
    }

    /// Lets all participants do their next actions, with valid texts, until this is the next action of
    /// one of them.
    pub(crate) fn walk(&self, until: Action) {
        for _ in 0..50 {
            let folder = self.folder();
            let participants = folder.protocol().unwrap().participants.iter();
            let actions = participants.map(|who| (who, next(&folder, who).unwrap().action));
            let actions: Vec<_> = actions.collect();
            if actions.iter().any(|(_, action)| *action == until) {
                return;
            }
            let mut busy = actions.iter().filter(|(_, action)| !action.is_waiting());
            let (who, action) = busy.next().expect("somebody has the turn");
            self.act(who, *action);
        }
        panic!("nobody comes to {until}");
    }

    /// Does what a participant has to do now.
    pub(crate) fn act(&self, who: &str, action: Action) {
        let event = match action {
            Action::Draft => {
                self.fill(&self.primary());
                "deliverable_drafted"
            }
            Action::Submit => "proposal_submitted",
            Action::Review => "review_submitted",
            Action::Revise => "proposal_revised",
            Action::Classify => {
                let text = self.read(READINESS_FILE);
                self.write(
                    READINESS_FILE,
                    text.replace("- [unresolved]", "- [resolved]"),
                );
                "question_classified"
            }
            Action::Accept => "decision_accepted",
            Action::Freeze => {
                let text = self.read(&self.primary());
                self.write(
                    &self.primary(),
                    text.replace("Status: Draft", "Status: Frozen"),
                );
                "deliverable_frozen"
            }
            Action::CheckGates => return self.check_gates(),
            Action::PassReadiness => "readiness_passed",
            Action::Conclude => return self.conclude(),
            Action::Complete => "completed",
            _ => panic!("{action} has no event"),
        };
        self.append(who, event);
    }

    /// Writes a text into each section of a deliverable.
    pub(crate) fn fill(&self, name: &str) {
        let text = self.read(name);
        let lines = text.lines().map(|line| match line.strip_prefix("## ") {
            Some(_) => format!("{line}\n\nSomething is said here.\n"),
            None => format!("{line}\n"),
        });
        self.write(name, lines.collect::<String>());
    }

    /// Checks all gates, and records the SHA-256.
    fn check_gates(&self) {
        let sha256 = self.sha256();
        let text = self.read(READINESS_FILE).replace("- [ ]", "- [x]");
        let text = text.replace("- SHA-256:\n", &format!("- SHA-256: {sha256}\n"));
        self.write(READINESS_FILE, text);
    }

    /// Returns the SHA-256 of the primary deliverable.
    pub(crate) fn sha256(&self) -> String {
        self.folder().sha256(&self.doc()).unwrap()
    }

    /// Writes the receipt at the end.
    fn conclude(&self) {
        let folder = self.folder();
        let protocol = folder.protocol().unwrap();
        let supporting = protocol.supporting.iter();
        let supporting =
            supporting.map(|one| format!("- Supporting: `{}`\n", protocol.reference(&one.file)));
        let attachments = protocol.attachments.iter();
        let attachments = attachments.map(|file| format!("- Attachment: `{file}`\n"));
        let more: String = supporting.chain(attachments).collect();
        let receipt = format!("- SHA-256: {}\n{more}", self.sha256());
        let text = self.read(CONCLUSION_FILE);
        let text = text.replace("- SHA-256:\n", &receipt);
        let text = text.replace("[blocked] It goes on.", "[proceed] We build it.");
        self.write(CONCLUSION_FILE, text);
    }

    /// Replaces the decisions.
    pub(crate) fn decide(&self, decisions: &str) {
        self.write(DECISIONS_FILE, format!("# Decisions\n\n{decisions}"));
    }
}
