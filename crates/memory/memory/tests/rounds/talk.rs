//! A conversation about crates, with things in it that no summary may lose.

use accp_memory::{Form, MessageList};
use serde_json::{Value as Json, json};

use crate::common::forms::{assistant, call, result, user};
use crate::common::lists::next;

pub(crate) const INTENT: &str = "Count the crates of the depot, and write the list to depot/list.md.\n\
     Begin with the red crates.";

/// The kind of a planted text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Intent,
    Marked,
    Constraint,
    Decision,
}

/// A text that has to stand in each summary.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    pub(crate) kind: Kind,
    pub(crate) message: usize,
    pub(crate) text: String,
}

/// A conversation that grows turn by turn.
pub(crate) struct Talk {
    pub(crate) form: Form,
    pub(crate) messages: Vec<Json>,
    pub(crate) planted: Vec<Planted>,
    seed: u64,
    /// The kinds that are still to be planted, in random order.
    waiting: Vec<Kind>,
    /// In one of this many turns, a text is planted.
    seldom: u64,
    turns: usize,
}

impl Talk {
    /// Begins with the intent. The seed decides the order of the other planted texts.
    pub(crate) fn begun(form: Form, seed: u64, intent: &str, seldom: u64) -> Self {
        let mut seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let kinds = [
            (Kind::Intent, 3),
            (Kind::Marked, 5),
            (Kind::Constraint, 9),
            (Kind::Decision, 7),
        ];
        let mut waiting: Vec<_> = kinds
            .iter()
            .flat_map(|(kind, count)| vec![*kind; *count])
            .collect();
        for at in (1..waiting.len()).rev() {
            waiting.swap(
                at,
                usize::try_from(next(&mut seed, at as u64 + 1)).expect("small"),
            );
        }
        let mut talk = Self {
            form,
            messages: Vec::new(),
            planted: Vec::new(),
            seed,
            waiting,
            seldom,
            turns: 0,
        };
        talk.plant(Kind::Intent, intent);
        talk.say(user(form, intent));
        let text = talk.filler();
        talk.say(assistant(form, &text));
        talk
    }

    /// Returns whether all texts are planted.
    pub(crate) fn is_done(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn list(&self, messages: &[String]) -> MessageList {
        MessageList::of(self.form, messages.iter().map(String::as_str)).expect("messages")
    }

    /// Adds a turn, and returns the index of a message in it that has to be marked.
    pub(crate) fn turn(&mut self) -> Option<usize> {
        self.turns += 1;
        let kind = if next(&mut self.seed, self.seldom) == 0 {
            self.waiting.pop()
        } else {
            None
        };
        let mut marked = None;
        let mut text = self.filler();
        match kind {
            Some(Kind::Intent) => {
                text = format!(
                    "New objective: pack the crates of {} for {}.",
                    self.word(),
                    self.word()
                );
                self.plant(Kind::Intent, &text);
            }
            Some(Kind::Constraint) => {
                let rule = self.rule();
                text = format!("{text} {rule} {}", self.filler());
                self.plant(Kind::Constraint, &rule);
            }
            Some(Kind::Marked) if self.seed & 1 == 0 => {
                text = format!("The seal of {} is {}.", self.word(), self.word());
                marked = Some(self.messages.len());
                self.plant(Kind::Marked, &text);
            }
            _ => {}
        }
        self.say(user(self.form, &text));
        self.look();
        if kind == Some(Kind::Marked) && marked.is_none() {
            let id = format!("m{}", self.turns);
            self.say(call(self.form, &id, "seal", &json!({})));
            let text = format!("{} bears {}", self.word(), self.word());
            marked = Some(self.messages.len());
            self.plant(Kind::Marked, &text);
            self.say(result(self.form, &id, &text));
        }
        let mut text = self.filler();
        if kind == Some(Kind::Decision) {
            let choice = self.choice();
            text = format!("{text} {choice} {}", self.filler());
            self.plant(Kind::Decision, &choice);
        }
        self.say(assistant(self.form, &text));
        marked
    }

    fn say(&mut self, message: Json) {
        self.messages.push(message);
    }

    /// Notes that the next message has a text that has to stay.
    fn plant(&mut self, kind: Kind, text: &str) {
        let message = self.messages.len();
        let text = text.to_owned();
        self.planted.push(Planted {
            kind,
            message,
            text,
        });
    }

    /// Calls tools whose results fill a quarter of the window. Each result is too small to leave at once.
    fn look(&mut self) {
        for number in 0..2 {
            let id = format!("c{}_{number}", self.turns);
            let arguments = json!({ "shelf": format!("shelf {}", next(&mut self.seed, 900)) });
            self.say(call(self.form, &id, "look", &arguments));
            let lamps = (0..110)
                .map(|row| format!("row {row}: {} lamps, {row} ropes", next(&mut self.seed, 99)));
            let rows: Vec<_> = lamps.collect();
            self.say(result(self.form, &id, &rows.join("\n")));
        }
    }

    fn filler(&mut self) -> String {
        let number = |seed: &mut u64| next(seed, 900);
        format!(
            "Crate {} holds {} lamps and {} ropes. It stands beside crate {}.",
            number(&mut self.seed),
            number(&mut self.seed),
            number(&mut self.seed),
            number(&mut self.seed)
        )
    }

    /// Returns a word that occurs nowhere else.
    fn word(&mut self) -> String {
        const PARTS: [&str; 16] = [
            "ka", "lo", "mi", "ru", "ve", "zo", "ta", "ni", "po", "se", "du", "gra", "fle", "bri",
            "wu", "yo",
        ];
        (0..5)
            .map(|_| PARTS[usize::try_from(next(&mut self.seed, 16)).expect("small")])
            .collect()
    }

    fn rule(&mut self) -> String {
        let (one, other) = (self.word(), self.word());
        match next(&mut self.seed, 7) {
            0 => format!("Never open crate {one} without {other}."),
            1 => format!(
                "Crate {one} must stay below {} degrees.",
                next(&mut self.seed, 90)
            ),
            2 => format!("Always weigh crate {one} beside {other}."),
            3 => format!("Do not stack {other} on crate {one}."),
            4 => format!(
                "The budget for crate {one} is {} euros.",
                next(&mut self.seed, 9_000)
            ),
            5 => format!("Only {one} may sign for {other}."),
            _ => format!("I prefer {one} over {other}."),
        }
    }

    fn choice(&mut self) -> String {
        let (one, other) = (self.word(), self.word());
        match next(&mut self.seed, 4) {
            0 => format!("I decided to ship {one} on rails because the road of {other} is closed."),
            1 => format!("We will use {one} for the lids because {other} warps."),
            2 => format!("Let's go with {one} since {other} is heavier."),
            _ => format!("I chose {one} instead of {other}."),
        }
    }
}
