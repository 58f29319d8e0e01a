//! The state of a collaboration: a fold of its log.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Event, EventName, Role};
use crate::finding::{Code, Finding};
use crate::table::{self, Asks, By, Mark, Need, Phase, Row};

/// The phase of a collaboration, the participants that have the turn, and the facts that the conditions of the table
/// need.
///
/// ```
/// use accp_collab::table::Phase;
/// use accp_collab::{Event, State};
///
/// let mut state = State::new(["ada".to_owned(), "bob".to_owned()]);
/// let line = r#"{"seq":1,"from":"bob","event":"initialized","at":"2026-01-01T00:00:00Z","summary":"Go"}"#;
/// state.apply(&Event::from_line(line).unwrap()).unwrap();
/// assert_eq!((state.phase(), state.owner()), (Phase::Drafting, Some("bob")));
/// assert_eq!(state.waiting_for(), ["bob"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// All participants, in ascending order.
    participants: Vec<String>,
    phase: Phase,
    owner: Option<String>,
    waiting: Vec<String>,
    /// The marks that events have left.
    marks: BTreeSet<Mark>,
    /// The documents that are frozen, with their SHA-256.
    frozen: BTreeMap<String, String>,
    /// The number of the last event.
    last: u64,
}

impl State {
    /// Makes the state of an empty log.
    pub fn new(participants: impl IntoIterator<Item = String>) -> Self {
        let mut participants: Vec<String> = participants.into_iter().collect();
        participants.sort_unstable();
        participants.dedup();
        Self {
            participants,
            phase: Phase::New,
            owner: None,
            waiting: Vec::new(),
            marks: BTreeSet::new(),
            frozen: BTreeMap::new(),
            last: 0,
        }
    }

    /// Returns the phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the owner of the proposal; `None` before the first event.
    pub fn owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// Returns the participants that have the turn, in ascending order.
    pub fn waiting_for(&self) -> &[String] {
        &self.waiting
    }

    /// Returns the number of the last event; 0 before the first.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns whether an event has left this mark, and none has removed it.
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains(&mark)
    }

    /// Returns the documents that are frozen, with their SHA-256.
    pub fn frozen(&self) -> impl Iterator<Item = (&str, &str)> {
        self.frozen
            .iter()
            .map(|(doc, sha256)| (&doc[..], &sha256[..]))
    }

    /// Adds an event.
    ///
    /// # Errors
    /// Every reason to refuse the event. The state does not change then.
    pub fn apply(&mut self, event: &Event) -> Result<(), Vec<Finding>> {
        let findings = self.check(event);
        if !findings.is_empty() {
            return Err(findings);
        }
        if let (EventName::DeliverableFrozen, Some(doc)) = (event.event, &event.doc) {
            let sha256 = event.sha256.clone().unwrap_or_default();
            self.frozen.insert(doc.clone(), sha256);
        }
        if let Some(row) = self.row(event) {
            self.follow(row, &event.from);
        }
        self.last = event.seq;
        Ok(())
    }

    /// Returns every reason of the state machine to refuse an event: its number, its participant, the phase, the
    /// turn, and the conditions of the table.
    pub fn check(&self, event: &Event) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut add = |code, text: String| findings.push(Finding::new(code, text).at(event.seq));
        let name = event.event;
        if event.seq != self.last + 1 {
            let text = format!(
                "the event has the number {}; the next is {}; write that",
                event.seq,
                self.last + 1
            );
            add(Code::Seq, text);
        }
        if !self.participants.contains(&event.from) {
            let known = self.participants.join(", ");
            add(
                Code::ParticipantUnknown,
                format!("the participant is unknown; name one of {known}"),
            );
        }
        if (name == EventName::Initialized) != (self.phase == Phase::New) {
            let text =
                "initialized must be seq 1, and no other event is; `accp collab init` appends it";
            add(Code::First, text.to_owned());
        }
        let is_supporting = Self::is_supporting(event);
        if is_supporting && event.event != EventName::DeliverableDrafted
            || name == EventName::DeliverableRevised
        {
            let doc = event.doc.as_deref().unwrap_or_default();
            if self.frozen.contains_key(doc) {
                let code = if name == EventName::DeliverableFrozen {
                    Code::FrozenOnce
                } else {
                    Code::RevisedAfterFreeze
                };
                let text = "the deliverable is frozen, and there is no way back; begin a new round in a new folder";
                add(code, text.to_owned());
            }
        }
        if self.phase.is_over() {
            let text = format!(
                "the collaboration is {}, and takes no event; begin a new round in a new folder",
                self.phase
            );
            add(Code::Phase, text);
            return findings;
        }
        if is_supporting {
            return findings;
        }
        let Some(row) = self.row(event) else {
            if self.phase != Phase::New && name != EventName::Initialized {
                let takes: Vec<&str> = EventName::ALL
                    .iter()
                    .filter(|event| table::row(self.phase, **event).is_some())
                    .map(|event| event.as_str())
                    .collect();
                let text = format!(
                    "the phase {} does not take {name}; it takes {}",
                    self.phase,
                    takes.join(", ")
                );
                add(Code::Phase, text);
            }
            return findings;
        };
        let is_asked = match row.by {
            By::Any => true,
            By::Owner => self.owner.as_deref() == Some(&event.from),
            By::Asked => self.waiting.contains(&event.from),
        };
        if !is_asked {
            let asked = match row.by {
                By::Owner => self.owner.clone().unwrap_or_default(),
                _ => self.waiting.join(", "),
            };
            add(
                Code::Turn,
                format!(
                    "{name} is reserved for {asked}; wait for the turn with `accp collab wait`"
                ),
            );
        }
        for need in row.needs {
            if !self.meets(*need) {
                let (code, text) = lacking(*need);
                add(code, text.to_owned());
            }
        }
        findings
    }

    fn is_supporting(event: &Event) -> bool {
        event.event.is_of_deliverable() && event.role == Some(Role::Supporting)
    }

    fn row(&self, event: &Event) -> Option<Row> {
        let row = table::row(self.phase, event.event);
        row.filter(|_| !Self::is_supporting(event))
    }

    fn meets(&self, need: Need) -> bool {
        match need {
            Need::Drafted => self.has(Mark::Drafted),
            Need::Reviewer => self.others().next().is_some(),
            Need::Classified => self.has(Mark::Classified),
            Need::NotFrozen => !self.has(Mark::Frozen),
            Need::Frozen => self.has(Mark::Frozen),
            Need::Ready => self.has(Mark::Ready),
        }
    }

    /// Returns all participants but the owner.
    fn others(&self) -> impl Iterator<Item = &String> {
        let all = self.participants.iter();
        all.filter(|one| Some(*one) != self.owner.as_ref())
    }

    fn ask_owner(&mut self) {
        self.waiting.clear();
        self.waiting.extend(self.owner.clone());
    }

    fn follow(&mut self, row: Row, from: &str) {
        if self.phase == Phase::New {
            self.owner = Some(from.to_owned());
        }
        let mut phase = row.to;
        match row.asks {
            Asks::Same => {}
            Asks::Nobody => self.waiting.clear(),
            Asks::Owner => self.ask_owner(),
            Asks::All => self.waiting.clone_from(&self.participants),
            Asks::Others => self.waiting = self.others().cloned().collect(),
            Asks::Rest => {
                self.waiting.retain(|one| one != from);
                if self.waiting.is_empty() {
                    self.ask_owner();
                } else {
                    phase = self.phase;
                }
            }
        }
        self.phase = phase;
        match row.mark {
            Mark::Nothing => {}
            Mark::Unclassified => {
                self.marks.remove(&Mark::Classified);
            }
            mark => {
                self.marks.insert(mark);
            }
        }
    }
}

/// Returns the code and the text for a condition that does not hold.
fn lacking(need: Need) -> (Code, &'static str) {
    match need {
        Need::Drafted => (
            Code::NotDrafted,
            "proposal_submitted requires prior primary deliverable_drafted; append that first",
        ),
        Need::Reviewer => (
            Code::ReviewerMissing,
            "proposal_submitted requires at least one participant besides the owner; begin a folder with two participants",
        ),
        Need::Classified => (
            Code::NotClassified,
            "the questions have not been classified; the owner appends question_classified first",
        ),
        Need::NotFrozen => (
            Code::FrozenOnce,
            "the primary deliverable is frozen, and is frozen only once; begin a new round in a new folder",
        ),
        Need::Frozen => (
            Code::NotFrozen,
            "readiness_passed requires primary deliverable_frozen; append that first",
        ),
        Need::Ready => (
            Code::NotReady,
            "completed requires a prior readiness_passed; append that first",
        ),
    }
}
