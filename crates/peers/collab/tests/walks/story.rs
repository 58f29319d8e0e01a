//! The fold of the second judge, which is slow and obvious: it looks at all events each time. It is written from the
//! specification, and not from the table.

use std::collections::BTreeSet;

use crate::walks::declared::{Codes, Declared};
use crate::walks::line::Line;

pub(crate) struct Story<'e> {
    participants: BTreeSet<&'e str>,
    events: &'e [Line],
}

/// The state at the end of a story: the phase, the owner and the participants that have the turn.
pub(crate) type Sum<'e> = (&'static str, &'e str, Vec<&'e str>);

impl<'e> Story<'e> {
    pub(crate) fn of(declared: Option<&'e Declared>, events: &'e [Line]) -> Option<Self> {
        let participants = declared?.participants.iter().map(|one| &one[..]);
        Some(Self {
            participants: participants.collect(),
            events,
        })
    }

    /// All events except those about supporting deliverables.
    fn told(&self) -> impl DoubleEndedIterator<Item = (usize, &'e Line)> + use<'e> {
        let all = self.events.iter().enumerate();
        all.filter(|(_, event)| !event.is_supporting())
    }

    fn last_of(&self, names: &[&str]) -> Option<usize> {
        let mut all = self.told().rev();
        let found = all.find(|(_, event)| names.contains(&&event.event[..]));
        found.map(|(at, _)| at)
    }

    /// Returns whether an event of this name was appended before. Events about supporting deliverables do not count.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.last_of(&[name]).is_some()
    }

    /// Returns the participants who have not appended an event of this name since the event `since`.
    fn all_but(&self, since: usize, name: &str) -> Vec<&'e str> {
        let mut left = self.participants.clone();
        for (at, event) in self.told() {
            if at > since && event.event == name {
                left.remove(&event.from[..]);
            }
        }
        left.into_iter().collect()
    }

    /// Returns the index of the last classification, if it is later than all proposals of revisions or decisions.
    fn classified(&self) -> Option<usize> {
        let decided = self.last_of(&["proposal_revised", "decision_proposed"]);
        let classified = self.last_of(&["question_classified"]);
        classified.filter(|_| classified > decided)
    }

    pub(crate) fn sum(&self) -> Sum<'e> {
        let Some(first) = self.events.first() else {
            return ("new", "", Vec::new());
        };
        let owner = &first.from[..];
        if self.has("blocked") {
            return ("blocked", owner, Vec::new());
        }
        if self.has("completed") {
            return ("completed", owner, Vec::new());
        }
        let Some(submitted) = self.last_of(&["proposal_submitted"]) else {
            return ("drafting", owner, vec![owner]);
        };
        if !self.has("proposal_revised") && !self.has("decision_proposed") {
            let mut left = self.all_but(submitted, "review_submitted");
            left.retain(|one| *one != owner);
            return if left.is_empty() {
                ("revising", owner, vec![owner])
            } else {
                ("reviewing", owner, left)
            };
        }
        let Some(classified) = self.classified() else {
            return ("decision_review", owner, vec![owner]);
        };
        let left = self.all_but(classified, "decision_accepted");
        if left.is_empty() {
            ("readiness_check", owner, vec![owner])
        } else {
            ("decision_review", owner, left)
        }
    }

    pub(crate) fn is_classified(&self) -> bool {
        self.classified().is_some()
    }

    /// Returns the hash with which a document was frozen.
    pub(crate) fn frozen(&self, doc: &str) -> Option<&'e str> {
        let mut all = self.events.iter();
        let event = all
            .find(|event| event.event == "deliverable_frozen" && event.doc.as_deref() == Some(doc));
        event.and_then(|event| event.sha256.as_deref())
    }

    /// Returns the rules that forbid this event as the next one.
    pub(crate) fn against(&self, event: &Line) -> Codes {
        let mut codes = Codes::new();
        let name = &event.event[..];
        let (phase, owner, asked) = self.sum();
        if event.seq != self.events.len() as u64 + 1 {
            codes.insert("seq");
        }
        if !self.participants.contains(&event.from[..]) {
            codes.insert("participant-unknown");
        }
        if (name == "initialized") != self.events.is_empty() {
            codes.insert("first");
        }
        if phase == "completed" || phase == "blocked" {
            codes.insert("phase");
            return codes;
        }
        let is_frozen = self.events.iter().any(|old| {
            old.event == "deliverable_frozen" && (&old.doc, &old.role) == (&event.doc, &event.role)
        });
        if is_frozen && name == "deliverable_revised" {
            codes.insert("revised-after-freeze");
        }
        if is_frozen && name == "deliverable_frozen" {
            codes.insert("frozen-once");
        }
        if self.events.is_empty() || name == "initialized" || event.is_supporting() {
            return codes;
        }
        let (phases, by): (&[&str], _) = match name {
            "blocked" => return codes,
            "deliverable_drafted" => (&["drafting", "revising", "decision_review"], "owner"),
            "deliverable_revised" => (&["revising", "decision_review"], "owner"),
            "proposal_submitted" => (&["drafting", "revising"], "owner"),
            "review_submitted" => (&["reviewing"], "asked"),
            "proposal_revised" => (&["revising"], "owner"),
            "decision_proposed" => (&["revising", "decision_review"], "owner"),
            "question_classified" => (&["decision_review"], "owner"),
            "decision_accepted" => (&["decision_review"], "asked"),
            _ => (&["readiness_check"], "owner"),
        };
        if !phases.contains(&phase) {
            codes.insert("phase");
            return codes;
        }
        let may = if by == "owner" {
            event.from == owner
        } else {
            asked.contains(&&event.from[..])
        };
        if !may {
            codes.insert("turn");
        }
        let mut require = |holds: bool, code| {
            if !holds {
                codes.insert(code);
            }
        };
        match name {
            "proposal_submitted" => {
                require(self.has("deliverable_drafted"), "not-drafted");
                require(self.participants.len() > 1, "reviewer-missing");
            }
            "decision_accepted" => require(self.is_classified(), "not-classified"),
            "deliverable_frozen" => require(!self.has(name), "frozen-once"),
            "readiness_passed" => require(self.has("deliverable_frozen"), "not-frozen"),
            "completed" => require(self.has("readiness_passed"), "not-ready"),
            _ => {}
        }
        codes
    }
}
