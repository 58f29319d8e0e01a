//! Labelled cases of drift: invented conversations with planted faults, and as many without.

#[path = "phrases.rs"]
mod phrases;
#[path = "scenario.rs"]
mod scenario;

use std::collections::BTreeSet;

use serde_json::json;

use super::Indicator;
use crate::counters::WORDS;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::summary::{Content, Head, Room};
use crate::writes::Writes;
use phrases::{
    ASKS, ASKS_NOT, CHANGES, CONTRADICTS, DECIDES, DONE, DONE_NOT, KEEPS, PLANS, TOLD, filled, half,
};
use scenario::{SCENARIOS, STRAY, Scenario};

/// A case: the archive, the list before the message, the message, and its label.
pub(super) struct Labelled {
    pub(super) indicator: Indicator,
    pub(super) is_faulty: bool,
    pub(super) held_out: bool,
    pub(super) archive: Vec<Parsed>,
    pub(super) content: Content,
    pub(super) list: Vec<Parsed>,
    pub(super) message: Parsed,
}

/// Numbers that look random, from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'p>(&mut self, all: &'p [&'p str]) -> &'p str {
        all[self.roll(all.len())]
    }
}

fn said(role: Role, text: impl Into<String>) -> Parsed {
    Parsed::said(0, role, text)
}

fn call(id: &str, tool: &str, arguments: serde_json::Value) -> Parsed {
    said(Role::Assistant, "").calling(id, tool, arguments)
}

fn result(id: &str, tool: &str, text: &str) -> Parsed {
    said(Role::Tool, "").answering(id, tool, text)
}

/// How far the deliverable is.
#[derive(Clone, Copy, PartialEq)]
enum Deliverable {
    Missing,
    Failed,
    Written,
}

/// A conversation about a scenario.
struct Talk<'s> {
    scenario: &'s Scenario,
    archive: Vec<Parsed>,
    /// The messages of the newest turns.
    newest: Vec<Parsed>,
    /// A text that does not stand in the summary.
    dropped: Option<String>,
}

impl<'s> Talk<'s> {
    fn new(
        scenario: &'s Scenario,
        deliverable: Deliverable,
        held_out: bool,
        dice: &mut Dice,
    ) -> Self {
        let mut archive = vec![
            said(Role::User, scenario.intent),
            said(Role::Assistant, "I'll begin."),
        ];
        for (index, (what, value)) in scenario.told.iter().enumerate() {
            if index > 0 && dice.roll(3) == 0 {
                // Here the user gives the value as the answer to a question.
                archive.push(said(Role::Assistant, format!("What is the {what}?")));
                archive.push(said(Role::User, format!("{value}.")));
            } else {
                let phrase = dice.pick(half(&TOLD, held_out));
                archive.push(said(Role::User, filled(phrase, [what, value, "", "", ""])));
                archive.push(said(Role::Assistant, "Noted."));
            }
        }
        for constraint in scenario.constraints {
            archive.push(said(Role::User, constraint));
            archive.push(said(Role::Assistant, "Understood."));
        }
        for (slot, chosen, other, reason) in scenario.choices {
            let phrase = dice.pick(half(&DECIDES, held_out));
            archive.push(said(
                Role::Assistant,
                filled(phrase, [slot, chosen, other, reason, ""]),
            ));
            archive.push(said(Role::User, "Fine."));
        }
        archive.push(call("s", "search_web", json!({ "query": scenario.query })));
        archive.push(result("s", "search_web", "3 results"));
        if deliverable != Deliverable::Missing {
            let arguments =
                json!({ "path": scenario.file, "content": "The first line.\nThe second line." });
            archive.push(call("w", "write_file", arguments));
            let text = match deliverable {
                Deliverable::Written => "File written successfully",
                _ => "Error: disk full",
            };
            archive.push(result("w", "write_file", text));
        }
        for (index, message) in archive.iter_mut().enumerate() {
            message.index = index;
        }
        Self {
            scenario,
            archive,
            newest: vec![said(Role::User, "Please go on.")],
            dropped: None,
        }
    }

    fn step(&self, dice: &mut Dice) -> &'s str {
        dice.pick(&self.scenario.steps)
    }

    /// Ends the conversation with a message of the assistant.
    fn case(self, indicator: Indicator, label: Label, mut message: Parsed) -> Labelled {
        let mut archive = self.archive;
        let from = archive.len();
        archive.extend(self.newest);
        for (index, message) in archive.iter_mut().enumerate() {
            message.index = index;
        }
        message.index = archive.len();
        let stays: BTreeSet<usize> = (from..archive.len()).collect();
        let content = Content::of(&archive, &stays, &Writes::default());
        let head = Head {
            session: "s".to_owned(),
            generated: "2026-01-29 14:25:30 +02:00".to_owned(),
            saved: 1000,
            archive: "cache/conversations/s_full.md".to_owned(),
            commands: " --session s".to_owned(),
            offloaded: None,
            checkpoints: None,
        };
        let room = Room {
            total: 4000,
            usual: 2000,
            intent: 2000,
            words: 4000,
            good: 8000,
            most: 8000,
        };
        let mut summary = content.write(&head, room, &WORDS).unwrap();
        if let Some(dropped) = self.dropped {
            assert!(
                !label.is_faulty
                    || summary.contains(&dropped)
                    || content
                        .constraints
                        .iter()
                        .all(|one| one.item.text != dropped)
            );
            let lines = summary.lines().filter(|line| !line.contains(&dropped));
            summary = lines.collect::<Vec<_>>().join("\n");
        }
        let mut list = vec![said(Role::User, summary)];
        list.extend(archive[from..].iter().cloned());
        Labelled {
            indicator,
            is_faulty: label.is_faulty,
            held_out: label.held_out,
            archive,
            content,
            list,
            message,
        }
    }
}

/// Returns the labelled set. For each indicator and each half, it has as many cases with a fault as without.
pub(super) fn cases() -> Vec<Labelled> {
    let mut out = Vec::new();
    let mut dice = Dice(20_260_129);
    for held_out in [false, true] {
        for round in 0..4 {
            for (at, scenario) in SCENARIOS.iter().enumerate() {
                for is_faulty in [true, false] {
                    let label = Label {
                        round: at + round,
                        is_faulty,
                        held_out,
                    };
                    let mut one = |make: Make| out.push(make(scenario, label, &mut dice));
                    one(clarification);
                    one(done);
                    one(unrelated);
                    one(contradiction);
                    one(constraint);
                }
            }
        }
    }
    out
}

/// What a case shall be.
#[derive(Clone, Copy)]
struct Label {
    round: usize,
    is_faulty: bool,
    held_out: bool,
}

type Make = fn(&Scenario, Label, &mut Dice) -> Labelled;

fn clarification(scenario: &Scenario, label: Label, dice: &mut Dice) -> Labelled {
    let talk = Talk::new(scenario, Deliverable::Missing, label.held_out, dice);
    let (what, value) = scenario.told[label.round % 3];
    let asks = dice.pick(half(&ASKS, label.held_out));
    let text = match (label.is_faulty, label.round % 2) {
        (true, _) => filled(asks, [what, value, "", "", ""]),
        (false, 0) => filled(asks, [dice.pick(&scenario.untold), "", "", "", ""]),
        (false, _) => filled(
            dice.pick(half(&ASKS_NOT, label.held_out)),
            [what, value, "", "", ""],
        ),
    };
    talk.case(Indicator::Clarification, label, said(Role::Assistant, text))
}

fn done(scenario: &Scenario, label: Label, dice: &mut Dice) -> Labelled {
    let deliverable = match (label.is_faulty, label.round % 2) {
        (true, 0) | (false, 1) => Deliverable::Missing,
        (true, _) => Deliverable::Failed,
        (false, _) => Deliverable::Written,
    };
    let talk = Talk::new(scenario, deliverable, label.held_out, dice);
    let step = talk.step(dice);
    let text = match (label.is_faulty, label.round % 2) {
        (true, _) | (false, 0) => {
            filled(dice.pick(half(&DONE, label.held_out)), ["", "", "", "", ""])
        }
        (false, _) => filled(
            dice.pick(half(&DONE_NOT, label.held_out)),
            [scenario.file, step, "", "", ""],
        ),
    };
    talk.case(Indicator::Done, label, said(Role::Assistant, text))
}

fn unrelated(scenario: &Scenario, label: Label, dice: &mut Dice) -> Labelled {
    let talk = Talk::new(scenario, Deliverable::Missing, label.held_out, dice);
    let plan = dice.pick(half(&PLANS, label.held_out));
    // Half of the unrelated actions are held out too.
    let (tool, argument, words) = STRAY[dice.roll(4) + if label.held_out { 4 } else { 0 }];
    let step = talk.step(dice);
    let message = match (label.is_faulty, label.round % 2) {
        (true, 0) => call("n", tool, json!({ "query": argument })),
        (true, _) => said(Role::Assistant, filled(plan, [words, "", "", "", ""])),
        (false, 0) => match dice.roll(3) {
            0 => call("n", "read_file", json!({ "path": scenario.file })),
            1 => call("n", "search_web", json!({ "query": step })),
            _ => call(
                "n",
                "lookup",
                json!({ "value": scenario.told[label.round % 3].1 }),
            ),
        },
        (false, _) => said(Role::Assistant, filled(plan, [step, "", "", "", ""])),
    };
    talk.case(Indicator::Unrelated, label, message)
}

fn contradiction(scenario: &Scenario, label: Label, dice: &mut Dice) -> Labelled {
    let mut talk = Talk::new(scenario, Deliverable::Missing, label.held_out, dice);
    let (slot, chosen, other, _) = scenario.choices[label.round % 2];
    let step = talk.step(dice);
    let values = [slot, chosen, other, "", step];
    let phrase = match (label.is_faulty, label.round % 4) {
        (false, 0) => {
            let change = dice.pick(half(&CHANGES, label.held_out));
            talk.newest = vec![said(Role::User, filled(change, values))];
            CONTRADICTS[0]
        }
        (true, _) => dice.pick(half(&CONTRADICTS, label.held_out)),
        (false, _) => dice.pick(half(&KEEPS, label.held_out)),
    };
    let text = filled(phrase, values);
    talk.case(Indicator::Contradiction, label, said(Role::Assistant, text))
}

fn constraint(scenario: &Scenario, label: Label, dice: &mut Dice) -> Labelled {
    let mut talk = Talk::new(scenario, Deliverable::Missing, label.held_out, dice);
    // The first two constraints of each scenario are for tuning, and the others are held out.
    let which = label.round % 2 + if label.held_out { 2 } else { 0 };
    talk.dropped = label
        .is_faulty
        .then(|| scenario.constraints[which].to_owned());
    let step = talk.step(dice);
    let text = filled(
        dice.pick(half(&PLANS, label.held_out)),
        [step, "", "", "", ""],
    );
    talk.case(Indicator::Constraint, label, said(Role::Assistant, text))
}
