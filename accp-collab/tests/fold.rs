//! The state machine against a second fold, which is written from the specification and not from the
//! table.

use std::collections::BTreeSet;

use accp_collab::table::Phase;
use accp_collab::{Event, EventName, Role, State};
use proptest::prelude::*;

const NAMES: [&str; 5] = ["ada", "Bob", "cy d", "dörte", "eve"];

/// The slow and obvious fold: it looks at all events each time.
struct Story<'e> {
    participants: BTreeSet<&'e str>,
    events: &'e [Event],
}

/// What a story comes to: the phase, the owner and who is asked.
type Sum<'e> = (&'static str, &'e str, Vec<&'e str>);

impl<'e> Story<'e> {
    fn owner(&self) -> &'e str {
        &self.events[0].from
    }

    /// Primary events: those that are not about a supporting deliverable.
    fn told(&self) -> Vec<&'e Event> {
        let of_it = |event: &&Event| event.role != Some(Role::Supporting);
        self.events.iter().filter(of_it).collect()
    }

    fn last_of(&self, names: &[EventName]) -> Option<usize> {
        self.told()
            .iter()
            .rposition(|event| names.contains(&event.event))
    }

    fn since(&self, at: usize, name: EventName) -> BTreeSet<&'e str> {
        let after = &self.told()[at..];
        let of_it = after.iter().filter(|event| event.event == name);
        of_it.map(|event| &event.from[..]).collect()
    }

    fn sum(&self) -> Sum<'e> {
        use EventName as E;
        if self.events.is_empty() {
            return ("new", "", Vec::new());
        }
        let owner = self.owner();
        let told = self.told();
        if told.iter().any(|event| event.event == E::Blocked) {
            return ("blocked", owner, Vec::new());
        }
        if told.iter().any(|event| event.event == E::Completed) {
            return ("completed", owner, Vec::new());
        }
        let submitted = self.last_of(&[E::ProposalSubmitted]);
        let decided = self.last_of(&[E::ProposalRevised, E::DecisionProposed]);
        let Some(submitted) = submitted else {
            return ("drafting", owner, vec![owner]);
        };
        let Some(decided) = decided else {
            let mut left = self.participants.clone();
            left.remove(owner);
            for from in self.since(submitted, E::ReviewSubmitted) {
                left.remove(from);
            }
            return if left.is_empty() {
                ("revising", owner, vec![owner])
            } else {
                ("reviewing", owner, left.into_iter().collect())
            };
        };
        let classified = self.last_of(&[E::QuestionClassified]);
        let Some(classified) = classified.filter(|at| *at > decided) else {
            return ("decision_review", owner, vec![owner]);
        };
        let mut left = self.participants.clone();
        for from in self.since(classified, E::DecisionAccepted) {
            left.remove(from);
        }
        if left.is_empty() {
            ("readiness_check", owner, vec![owner])
        } else {
            ("decision_review", owner, left.into_iter().collect())
        }
    }

    /// Returns whether the rules take one more event.
    fn takes(&self, event: &Event) -> bool {
        use EventName as E;
        let name = event.event;
        let (phase, owner, asked) = self.sum();
        if !self.participants.contains(&event.from[..]) || event.seq != self.events.len() as u64 + 1
        {
            return false;
        }
        if self.events.is_empty() {
            return name == E::Initialized;
        }
        if matches!(phase, "completed" | "blocked") || name == E::Initialized {
            return false;
        }
        let doc = event.doc.as_deref().unwrap_or("");
        let is_frozen = self
            .events
            .iter()
            .any(|old| old.event == E::DeliverableFrozen && old.doc.as_deref() == Some(doc));
        if event.role == Some(Role::Supporting) && name.is_of_deliverable() {
            return name == E::DeliverableDrafted || !is_frozen;
        }
        let is_owner = event.from == owner;
        let is_asked = asked.contains(&&event.from[..]);
        let has = |name| self.told().iter().any(|event| event.event == name);
        match name {
            E::Blocked => true,
            E::DeliverableDrafted => {
                is_owner && matches!(phase, "drafting" | "revising" | "decision_review")
            }
            E::DeliverableRevised => {
                is_owner && !is_frozen && matches!(phase, "revising" | "decision_review")
            }
            E::ProposalSubmitted => {
                let may = matches!(phase, "drafting" | "revising");
                is_owner && may && has(E::DeliverableDrafted) && self.participants.len() > 1
            }
            E::ReviewSubmitted => phase == "reviewing" && is_asked,
            E::ProposalRevised => phase == "revising" && is_owner,
            E::DecisionProposed => matches!(phase, "revising" | "decision_review") && is_owner,
            E::QuestionClassified => phase == "decision_review" && is_owner,
            E::DecisionAccepted => {
                let decided = self.last_of(&[E::ProposalRevised, E::DecisionProposed]);
                let classified = self.last_of(&[E::QuestionClassified]);
                phase == "decision_review" && is_asked && classified > decided
            }
            E::DeliverableFrozen => phase == "readiness_check" && is_owner && !has(name),
            E::ReadinessPassed => {
                phase == "readiness_check" && is_owner && has(E::DeliverableFrozen)
            }
            E::Completed => phase == "readiness_check" && is_owner && has(E::ReadinessPassed),
            E::Initialized => false,
        }
    }
}

/// One try to append: who, what, for which deliverable; mostly what the state asks for.
#[derive(Debug, Clone)]
struct Try {
    from: usize,
    event: EventName,
    role: Role,
    doc: usize,
    is_apt: bool,
}

fn tries() -> impl Strategy<Value = Try> {
    let role = prop_oneof![3 => Just(Role::Primary), 1 => Just(Role::Supporting)];
    let event = prop::sample::select(EventName::ALL);
    let is_apt = prop::bool::weighted(0.7);
    (0..6_usize, event, role, 0..2_usize, is_apt).prop_map(|(from, event, role, doc, is_apt)| Try {
        from,
        event,
        role,
        doc,
        is_apt,
    })
}

fn event(one: &Try, state: &State, seq: u64) -> Event {
    let mut name = one.event;
    let mut from = NAMES
        .get(one.from)
        .copied()
        .unwrap_or("stranger")
        .to_owned();
    if one.is_apt {
        let apt: Vec<EventName> = EventName::ALL
            .iter()
            .copied()
            .filter(|name| *name != EventName::Blocked)
            .filter(|name| accp_collab::table::row(state.phase(), *name).is_some())
            .collect();
        if !apt.is_empty() {
            name = apt[one.from % apt.len()];
        }
        if let [.., last] = state.waiting_for() {
            from.clone_from(last);
        }
    }
    let is_of_deliverable = name.is_of_deliverable();
    let role = if one.is_apt { Role::Primary } else { one.role };
    let doc = match role {
        Role::Primary => "deliverables/adr.md".to_owned(),
        Role::Supporting => format!("deliverables/more-{}.md", one.doc),
    };
    Event {
        seq,
        from,
        event: name,
        at: "2026-01-01T00:00:00Z".to_owned(),
        summary: "Something".to_owned(),
        doc: is_of_deliverable.then_some(doc),
        reply_to: (seq > 1).then_some(1),
        role: is_of_deliverable.then_some(role),
        sha256: (name == EventName::DeliverableFrozen).then(|| "0".repeat(64)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_folds_say_the_same_after_each_step(
        count in 1..6_usize,
        walk in proptest::collection::vec(tries(), 1..60),
    ) {
        let mut state = State::new(NAMES[..count].iter().map(|name| (*name).to_owned()));
        let mut events: Vec<Event> = Vec::new();
        for one in &walk {
            let event = event(one, &state, events.len() as u64 + 1);
            let story = Story {
                participants: NAMES[..count].iter().copied().collect(),
                events: &events,
            };
            let before = state.clone();
            let found = state.apply(&event);
            prop_assert_eq!(found.is_ok(), story.takes(&event), "{:?} after {:?}", event, events);
            match found {
                Ok(()) => events.push(event),
                Err(findings) => {
                    prop_assert!(!findings.is_empty());
                    prop_assert_eq!(&state, &before);
                }
            }
            let story = Story {
                participants: NAMES[..count].iter().copied().collect(),
                events: &events,
            };
            let (phase, owner, asked) = story.sum();
            prop_assert_eq!(state.phase().as_str(), phase);
            prop_assert_eq!(state.owner().unwrap_or_default(), owner);
            prop_assert_eq!(state.waiting_for(), asked);
        }
    }

    #[test]
    fn an_event_comes_back_from_its_line(
        numbers in (1..u64::MAX, proptest::option::of(1..u64::MAX)),
        texts in proptest::collection::vec("\\PC{0,9}[\u{85}\u{2028}\u{2029}\u{0}\"\\\\]?", 4),
        event in prop::sample::select(EventName::ALL),
        role in proptest::option::of(prop::sample::select(Role::ALL)),
    ) {
        let event = Event {
            seq: numbers.0,
            from: texts[0].clone(),
            event,
            at: "2026-01-01T00:00:00Z".to_owned(),
            summary: texts[1].clone(),
            doc: Some(texts[2].clone()),
            reply_to: numbers.1,
            role,
            sha256: Some(texts[3].clone()),
        };
        let line = event.to_line();
        let lines = line.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
        prop_assert_eq!(lines.collect::<Vec<_>>(), [line.trim_end(), ""]);
        prop_assert_eq!(Event::from_line(&line), Ok(event));
    }

    #[test]
    fn any_line_is_an_event_or_has_a_finding(line in "\\PC{0,60}|\\{(\"(seq|from|event|at)\":(1|\"a\"|null|1e400),?){0,4}\\}") {
        if let Err(findings) = Event::from_line(&line) {
            prop_assert!(!findings.is_empty());
        }
    }
}

#[test]
fn a_collaboration_goes_through_all_phases() {
    use EventName as E;
    let mut state = State::new(["ada".to_owned(), "bob".to_owned()]);
    let steps = [
        ("ada", E::Initialized, Phase::Drafting),
        ("ada", E::DeliverableDrafted, Phase::Drafting),
        ("ada", E::ProposalSubmitted, Phase::Reviewing),
        ("bob", E::ReviewSubmitted, Phase::Revising),
        ("ada", E::DeliverableRevised, Phase::Revising),
        ("ada", E::ProposalRevised, Phase::DecisionReview),
        ("ada", E::QuestionClassified, Phase::DecisionReview),
        ("bob", E::DecisionAccepted, Phase::DecisionReview),
        ("ada", E::DecisionAccepted, Phase::ReadinessCheck),
        ("ada", E::DeliverableFrozen, Phase::ReadinessCheck),
        ("ada", E::ReadinessPassed, Phase::ReadinessCheck),
        ("ada", E::Completed, Phase::Completed),
    ];
    for (seq, (from, name, phase)) in (1..).zip(steps) {
        let one = Try {
            from: 0,
            event: name,
            role: Role::Primary,
            doc: 0,
            is_apt: false,
        };
        let event = Event {
            from: from.to_owned(),
            ..event(&one, &state, seq)
        };
        state.apply(&event).unwrap();
        assert_eq!(state.phase(), phase);
    }
}
