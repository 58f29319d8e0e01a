//! Findings: mistakes in a folder or in an event.

use std::fmt;

use crate::names::names;

names! {
    /// The code of a finding.
    Code {
        /// There is no protocol.json.
        ProtocolMissing = "protocol-missing",
        /// protocol.json cannot be read.
        ProtocolInvalid = "protocol-invalid",
        /// The log has a line that is not an event.
        LogInvalid = "log-invalid",
        /// No event has this name.
        EventUnknown = "event-unknown",
        /// protocol.json does not have the participant.
        ParticipantUnknown = "participant-unknown",
        /// The summary has no words.
        SummaryBlank = "summary-blank",
        /// There is no `reply_to`.
        ReplyMissing = "reply-missing",
        /// `reply_to` is not the number of an earlier event.
        ReplyUnknown = "reply-unknown",
        /// There is no `role`.
        RoleMissing = "role-missing",
        /// There is no `doc`.
        DocMissing = "doc-missing",
        /// `doc` is not the primary deliverable.
        DocNotPrimary = "doc-not-primary",
        /// `doc` is not a supporting deliverable.
        DocNotSupporting = "doc-not-supporting",
        /// A path leads out of its folder.
        PathEscape = "path-escape",
        /// There is no SHA-256 of 64 small hexadecimal digits.
        Sha256Missing = "sha256-missing",
        /// The SHA-256 is not the SHA-256 of the file.
        Sha256Differs = "sha256-differs",
        /// The file is not there.
        FileMissing = "file-missing",
        /// The event is not allowed in this phase.
        Phase = "phase",
        /// Another participant has the turn.
        Turn = "turn",
        /// The first event is not `initialized`, or a later event is.
        First = "first",
        /// The primary deliverable has not been drafted.
        NotDrafted = "not-drafted",
        /// There is no participant besides the owner.
        ReviewerMissing = "reviewer-missing",
        /// The questions have not been classified.
        NotClassified = "not-classified",
        /// The deliverable is frozen.
        RevisedAfterFreeze = "revised-after-freeze",
        /// The deliverable was frozen before.
        FrozenOnce = "frozen-once",
        /// The primary deliverable is not frozen.
        NotFrozen = "not-frozen",
        /// The readiness has not been passed.
        NotReady = "not-ready",
        /// `completed` needs the document conclusion.md.
        ConclusionDoc = "conclusion-doc",
        /// The receipt of the conclusion does not name the frozen deliverable.
        ConclusionReceipt = "conclusion-receipt",
        /// There is no decision.
        DecisionNone = "decision-none",
        /// readiness.md does not have the SHA-256 of the frozen deliverable.
        SnapshotMissing = "snapshot-missing",
        /// A file cannot be written.
        Unwritable = "unwritable",
        /// Another participant appended at the same time.
        Busy = "busy",
        /// A question is marked as blocking.
        Blocking = "blocking",
        /// A question is not resolved.
        Unresolved = "unresolved",
        /// A deferred question has no reason.
        ReasonMissing = "reason-missing",
        /// `Ready to implement` is not checked.
        ReadyUnchecked = "ready-unchecked",
        /// A gate is not checked.
        GatesUnchecked = "gates-unchecked",
        /// The conclusion lacks a section.
        ConclusionSections = "conclusion-sections",
        /// The conclusion does not have exactly one outcome.
        ConclusionOutcome = "conclusion-outcome",
        /// The conclusion says blocked, which is not an outcome.
        ConclusionBlocked = "conclusion-blocked",
        /// A placeholder is left in the conclusion.
        ConclusionPlaceholder = "conclusion-placeholder",
        /// The conclusion does not name the primary deliverable.
        ConclusionPrimary = "conclusion-primary",
        /// A file of the protocol is not there.
        FileRequired = "file-required",
        /// The folder has a file that the protocol forbids.
        FileForbidden = "file-forbidden",
        /// A file or a line cannot be read.
        Unreadable = "unreadable",
        /// The last line of the log is not whole.
        LogTorn = "log-torn",
        /// `protocol` is not `acp`.
        ProtocolName = "protocol-name",
        /// `schemaVersion` is not 2.
        SchemaVersion = "schema-version",
        /// No phase has this name.
        PhaseUnknown = "phase-unknown",
        /// The objective has no words.
        ObjectiveBlank = "objective-blank",
        /// There are no participants.
        ParticipantsEmpty = "participants-empty",
        /// There are no gates.
        GatesEmpty = "gates-empty",
        /// A gate is not an object with source and text.
        GateShape = "gate-shape",
        /// A gate names a file that the protocol forbids.
        GateForbidden = "gate-forbidden",
        /// `waitingFor` is not a list of participants.
        WaitingAbsent = "waiting-absent",
        /// `proposalOwner` is not a participant.
        OwnerAbsent = "owner-absent",
        /// There are no declarations of deliverables.
        DeliverablesMissing = "deliverables-missing",
        /// The mode is neither internal nor external.
        Mode = "mode",
        /// `repoRoot` is missing or does not hold the folder.
        RepoRoot = "repo-root",
        /// The directory of deliverables is not a relative path below its root.
        Dir = "dir",
        /// The type of the primary deliverable is unknown.
        PrimaryType = "primary-type",
        /// The primary deliverable is not a Markdown file below its directory.
        PrimaryFile = "primary-file",
        /// The checklist is not a list of sections.
        Checklist = "checklist",
        /// The type of a supporting deliverable is unknown.
        SupportingType = "supporting-type",
        /// A supporting deliverable is not a Markdown file below the directory.
        SupportingFile = "supporting-file",
        /// A supporting deliverable stands twice.
        SupportingRepeated = "supporting-repeated",
        /// A supporting deliverable is the primary one.
        SupportingPrimary = "supporting-primary",
        /// An attachment is not an object with a file.
        AttachmentShape = "attachment-shape",
        /// An attachment is not below the directory.
        AttachmentFile = "attachment-file",
        /// An attachment is not there.
        AttachmentMissing = "attachment-missing",
        /// The number of an event is not the next one.
        Seq = "seq",
        /// A field of an event is missing or has the wrong type.
        FieldMissing = "field-missing",
        /// A time does not have the form of ISO 8601 in UTC.
        Time = "time",
        /// A time is earlier than the time of the event before.
        TimeOrder = "time-order",
        /// protocol.json has another state than the log.
        StateDiffers = "state-differs",
        /// A review has no heading.
        ReviewHeadingMissing = "review-heading-missing",
        /// The heading of a review has a number that is not the number of a `review_submitted`.
        ReviewHeadingEvent = "review-heading-event",
        /// A heading names another participant than its event.
        ReviewHeadingParticipant = "review-heading-participant",
        /// A review does not say which deliverable it is about.
        ReviewDeclares = "review-declares",
        /// A review does not name the primary deliverable.
        ReviewPrimary = "review-primary",
        /// A review lacks a section.
        ReviewSection = "review-section",
        /// A deliverable is not there.
        DeliverableMissing = "deliverable-missing",
        /// A deliverable says no status.
        StatusMissing = "status-missing",
        /// A frozen deliverable does not say Frozen.
        StatusNotFrozen = "status-not-frozen",
        /// A deliverable lacks a section.
        SectionMissing = "section-missing",
        /// A section of a deliverable is empty.
        SectionEmpty = "section-empty",
        /// A heading of a decision has no id.
        DecisionId = "decision-id",
        /// The ids of the decisions are not D1, D2 and so on.
        DecisionOrder = "decision-order",
        /// An id of a decision stands twice.
        DecisionRepeated = "decision-repeated",
        /// A decision has no text.
        DecisionText = "decision-text",
        /// A decision does not say where it is reflected.
        DecisionReflected = "decision-reflected",
        /// A decision is reflected in a file that is not declared.
        DecisionTarget = "decision-target",
        /// A decision has no rationale.
        DecisionRationale = "decision-rationale",
        /// A deliverable that is declared frozen has no event of its freeze.
        FreezeMissing = "freeze-missing",
        /// A deliverable with an event of its freeze is not declared frozen.
        FreezeUnmarked = "freeze-unmarked",
        /// The folder has a protocol.json.
        Exists = "exists",
        /// The folder was begun, but not all its files were made.
        HalfMade = "half-made",
        /// A file is there that was not made by this command.
        FileExists = "file-exists",
        /// A custom deliverable needs a file.
        PrimaryFileMissing = "primary-file-missing",
        /// A custom deliverable needs a checklist.
        ChecklistMissing = "checklist-missing",
        /// There are fewer than two participants.
        ParticipantsFew = "participants-few",
        /// A deliverable has the name of a file of the protocol.
        NameReserved = "name-reserved",
    }
}

impl Code {
    /// Returns whether the code is about the copy of the state in protocol.json, which the next append
    /// repairs.
    pub const fn is_of_state(self) -> bool {
        matches!(
            self,
            Self::PhaseUnknown | Self::WaitingAbsent | Self::OwnerAbsent | Self::StateDiffers
        )
    }
}

/// A mistake: its code, a text with the cure, and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The code.
    pub code: Code,
    /// What is wrong, and what helps.
    pub message: String,
    /// The id of the decision, such as `D1`.
    pub id: Option<String>,
    /// The file, relative to the folder.
    pub file: Option<String>,
    /// The line in the file, from 1.
    pub line: Option<usize>,
    /// The number of the event.
    pub seq: Option<u64>,
    /// Whether the finding is only a warning.
    pub is_warning: bool,
}

impl Finding {
    /// Makes a finding without a place.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            id: None,
            file: None,
            line: None,
            seq: None,
            is_warning: false,
        }
    }

    /// Adds the number of the event.
    #[must_use]
    pub fn at(mut self, seq: u64) -> Self {
        self.seq = Some(seq);
        self
    }

    /// Adds the file and the line.
    #[must_use]
    pub fn within(mut self, file: &str, line: Option<usize>) -> Self {
        self.file = Some(file.to_owned());
        self.line = line;
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// Shortens and escapes a text for a message.
pub(crate) fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let cut: String = text
        .chars()
        .take(MOST)
        .flat_map(char::escape_debug)
        .collect();
    let rest = if text.chars().nth(MOST).is_some() {
        "…"
    } else {
        ""
    };
    format!("{cut}{rest}")
}
