//! What a participant has to do now.

use std::fmt::Write as _;

use crate::event::EventName;
use crate::finding::{Code, Finding};
use crate::folder::Folder;
use crate::names::names;
use crate::protocol::Protocol;
use crate::state::State;
use crate::table::{Mark, Phase};
use crate::texts::{
    CONCLUSION_FILE, DECISIONS_FILE, READINESS_FILE, conclusion, decisions, readiness,
};
use crate::validate::validate;

names! {
    /// What a participant has to do.
    Action {
        /// Draft the primary deliverable.
        Draft = "draft",
        /// Submit the proposal.
        Submit = "submit",
        /// Review the proposal and the primary deliverable.
        Review = "review",
        /// Wait for the reviewers.
        WaitReviewers = "wait-reviewers",
        /// Revise the proposal.
        Revise = "revise",
        /// Classify the open questions.
        Classify = "classify",
        /// Wait for the owner of the proposal.
        WaitOwner = "wait-owner",
        /// Accept the decisions.
        Accept = "accept",
        /// Wait for the participants who have not accepted.
        WaitAcceptances = "wait-acceptances",
        /// Clear the questions that are open again.
        ClearReadiness = "clear-readiness",
        /// Freeze a deliverable.
        Freeze = "freeze",
        /// Check gates, the snapshot and `Ready to implement`.
        CheckGates = "check-gates",
        /// Append `readiness_passed`.
        PassReadiness = "pass-readiness",
        /// Write the conclusion.
        Conclude = "conclude",
        /// Append `completed`.
        Complete = "complete",
        /// Stop: the collaboration is completed.
        Stop = "stop",
        /// Stop: the collaboration is blocked.
        StopBlocked = "stop-blocked",
    }
}

impl Action {
    /// Returns whether the participant has nothing to do but to wait.
    pub const fn is_waiting(self) -> bool {
        matches!(
            self,
            Self::WaitReviewers | Self::WaitOwner | Self::WaitAcceptances
        )
    }
}

/// What a participant has to do, with the facts that its description needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Next {
    /// The action.
    pub action: Action,
    /// The participant.
    pub who: String,
    /// Whether the participant has the turn.
    pub is_asked: bool,
    /// The deliverable that the action is about: the one to freeze, or else the primary deliverable.
    doc: String,
    /// The role of that deliverable.
    role: &'static str,
    /// The number of the last event.
    last: u64,
    /// The participants that have the turn.
    waiting: Vec<String>,
    /// The missing things, in words.
    obstacles: Vec<String>,
}

/// Returns what a participant has to do now, from a folder of which all files were read.
///
/// # Errors
/// [`Code::ParticipantUnknown`], and why the folder is not valid ([`Folder::standing`]).
pub fn next(folder: &Folder, who: &str) -> Result<Next, Vec<Finding>> {
    let (protocol, state) = folder.begun()?;
    if !protocol.participants.iter().any(|one| one == who) {
        let known = protocol.participants.join(", ");
        let text = format!("the participant is unknown; name one of {known}");
        return Err(vec![Finding::new(Code::ParticipantUnknown, text)]);
    }
    let look = Look {
        folder,
        protocol,
        state,
        who,
    };
    let primary = protocol.reference(&protocol.primary.file);
    let (action, doc, obstacles) = look.action();
    let is_supporting = doc.as_ref().is_some_and(|doc| *doc != primary);
    Ok(Next {
        action,
        who: who.to_owned(),
        is_asked: look.is_asked(),
        doc: doc.unwrap_or(primary),
        role: if is_supporting {
            "supporting"
        } else {
            "primary"
        },
        last: state.last(),
        waiting: state.waiting_for().to_vec(),
        obstacles: obstacles.iter().map(ToString::to_string).collect(),
    })
}

struct Look<'f> {
    folder: &'f Folder,
    protocol: &'f Protocol,
    state: &'f State,
    who: &'f str,
}

/// An action, the deliverable to freeze, and what is missing.
type Found = (Action, Option<String>, Vec<Finding>);

impl Look<'_> {
    fn is_asked(&self) -> bool {
        self.state.waiting_for().iter().any(|one| one == self.who)
    }

    fn action(&self) -> Found {
        let of = |action| (action, None, Vec::new());
        let is_owner = self.state.owner() == Some(self.who);
        match self.state.phase() {
            Phase::Completed => of(Action::Stop),
            Phase::Blocked => of(Action::StopBlocked),
            Phase::Reviewing if self.is_asked() => of(Action::Review),
            Phase::Reviewing => of(Action::WaitReviewers),
            Phase::DecisionReview => self.in_decision_review(is_owner),
            _ if !is_owner => of(Action::WaitOwner),
            Phase::Revising => of(Action::Revise),
            Phase::ReadinessCheck => self.in_readiness_check(),
            Phase::Drafting if self.state.has(Mark::Drafted) => of(Action::Submit),
            Phase::New | Phase::Drafting => of(Action::Draft),
        }
    }

    fn questions(&self) -> Vec<Finding> {
        readiness::questions(self.folder.text(READINESS_FILE))
    }

    fn in_decision_review(&self, is_owner: bool) -> Found {
        let questions = self.questions();
        let action = if !self.state.has(Mark::Classified) || !questions.is_empty() {
            if is_owner {
                Action::Classify
            } else {
                Action::WaitOwner
            }
        } else if self.is_asked() {
            Action::Accept
        } else {
            Action::WaitAcceptances
        };
        let mut obstacles = questions;
        if action == Action::Accept {
            let text = self.folder.text(DECISIONS_FILE);
            obstacles.extend(decisions::none(text));
            let wrong = decisions::check(text, self.protocol).into_iter();
            obstacles.extend(wrong.filter(|one| !one.is_warning));
        }
        (action, None, obstacles)
    }

    /// Returns what is missing to pass the readiness and to complete.
    fn faults(&self) -> Vec<Finding> {
        let found = validate(self.folder).into_iter();
        let found = found.filter(|one| !one.is_warning && !one.code.is_of_state());
        found.collect()
    }

    fn in_readiness_check(&self) -> Found {
        let questions = self.questions();
        if !questions.is_empty() {
            return (Action::ClearReadiness, None, questions);
        }
        let frozen: Vec<&str> = self.state.frozen().map(|(doc, _)| doc).collect();
        let primary = self.protocol.reference(&self.protocol.primary.file);
        let supporting = self.protocol.supporting.iter().filter(|one| one.is_frozen);
        let supporting = supporting.map(|one| self.protocol.reference(&one.file));
        let mut needed = std::iter::once(primary.clone()).chain(supporting);
        if let Some(doc) = needed.find(|doc| !frozen.contains(&&doc[..])) {
            return (Action::Freeze, Some(doc), Vec::new());
        }
        let text = self.folder.text(READINESS_FILE);
        let mut unchecked = readiness::unchecked(text, &self.protocol.gates);
        let sha256 = self.state.frozen().find(|(doc, _)| *doc == primary);
        let sha256 = sha256.map(|(_, sha256)| sha256);
        unchecked.extend(sha256.and_then(|sha256| readiness::snapshot(text, sha256)));
        if !unchecked.is_empty() {
            return (Action::CheckGates, None, unchecked);
        }
        if !self.state.has(Mark::Ready) {
            return (Action::PassReadiness, None, self.faults());
        }
        let text = self.folder.text(CONCLUSION_FILE);
        let mut unfit = conclusion::check(text, self.protocol);
        unfit.extend(conclusion::receipt(text, self.protocol, sha256));
        if unfit.is_empty() {
            (Action::Complete, None, self.faults())
        } else {
            (Action::Conclude, None, unfit)
        }
    }
}

impl Next {
    /// Returns in plain words what to do, with the commands to run. `folder` is the folder as the commands name it.
    pub fn text(&self, folder: &str) -> String {
        let doc = &self.doc;
        let append = |event: EventName, more: &str| {
            format!(
                "accp collab append{}{} --event {event} --reply-to {}{more} --summary \"..\"",
                option("folder", folder),
                option("participant", &self.who),
                self.last
            )
        };
        let of_doc = format!(" --role {}{}", self.role, option("doc", doc));
        let waiting = self.waiting.join(", ");
        let (what, command) = match self.action {
            Action::Draft => (
                format!("draft the primary deliverable {doc}"),
                append(EventName::DeliverableDrafted, &of_doc),
            ),
            Action::Submit => (
                "write what you propose into proposal.md, and submit it".to_owned(),
                append(EventName::ProposalSubmitted, " --doc proposal.md"),
            ),
            Action::Review => (
                format!("review proposal.md and {doc}, and write the review into a file, with its lines `Reviewed primary deliverable:` and `Review Scope:`"),
                append(EventName::ReviewSubmitted, " --doc review.md --review FILE"),
            ),
            Action::WaitReviewers => (
                format!("wait for the listed reviewers ({waiting}); do not edit proposal.md or deliverables meanwhile"),
                String::new(),
            ),
            Action::Revise => (
                format!("revise proposal.md and {doc} as the reviews in review.md ask, write the decisions into decisions.md, append deliverable_revised if the deliverable has changed, and then proposal_revised"),
                append(EventName::ProposalRevised, " --doc proposal.md"),
            ),
            Action::Classify => (
                "mark each open question in readiness.md as [resolved], [deferred_nonblocking] with its `Reason:`, or [blocking]".to_owned(),
                append(EventName::QuestionClassified, " --doc readiness.md"),
            ),
            Action::WaitOwner => ("wait for the proposal owner".to_owned(), String::new()),
            Action::Accept => (
                "read decisions.md, and accept if all of it is said and right".to_owned(),
                append(EventName::DecisionAccepted, " --doc decisions.md"),
            ),
            Action::WaitAcceptances => (
                format!("wait for those who have not accepted the decisions ({waiting})"),
                String::new(),
            ),
            Action::ClearReadiness => (
                "settle the questions in readiness.md that are open again".to_owned(),
                String::new(),
            ),
            Action::Freeze => (
                format!("write `Status: Frozen` into {doc}, with a text in each section, and freeze it; there is no way back"),
                append(EventName::DeliverableFrozen, &format!("{of_doc} --hash")),
            ),
            Action::CheckGates => (
                "check each gate in readiness.md that holds, record the SHA-256, and check `Ready to implement`".to_owned(),
                String::new(),
            ),
            Action::PassReadiness => (
                "pass the readiness".to_owned(),
                append(EventName::ReadinessPassed, " --doc readiness.md"),
            ),
            Action::Conclude => (
                "write conclusion.md: the outcome, the receipt of the deliverable, and what follows".to_owned(),
                String::new(),
            ),
            Action::Complete => (
                "complete the collaboration".to_owned(),
                append(EventName::Completed, " --doc conclusion.md"),
            ),
            Action::Stop => ("stop; collaboration is complete".to_owned(), String::new()),
            Action::StopBlocked => (
                "stop; collaboration is blocked, and a new round begins in a new folder: accp collab init --from".to_owned(),
                String::new(),
            ),
        };
        let mut text = format!("next action: {what}.");
        for obstacle in &self.obstacles {
            let _ = write!(text, "\n- {obstacle}");
        }
        let wait = format!(
            "accp collab wait{}{}",
            option("folder", folder),
            option("participant", &self.who)
        );
        match self.action {
            action if action.is_waiting() => {
                let _ = write!(text, "\n{wait}");
            }
            _ if !command.is_empty() => {
                let _ = write!(text, "\n{command}");
            }
            _ => {}
        }
        text
    }
}

/// Writes an option of a command with its value, after a space. A value that begins with `-` would be read as another
/// option, so it stands behind a `=`.
fn option(name: &str, value: &str) -> String {
    let gap = if value.starts_with('-') { '=' } else { ' ' };
    format!(" --{name}{gap}{}", quoted(value))
}

/// Quotes a word for a shell, if necessary.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=@+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
