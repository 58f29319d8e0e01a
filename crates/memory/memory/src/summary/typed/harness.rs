//! Recognises results of actions among the messages of the user. A harness writes them there if its model acts in text.
//!
//! People answer an agent in many ways, and often in the same way: with a label, a tag or a pasted block. So one sign
//! is not enough. Two things make a message a result. Right before the message, the agent acted in the way that its
//! instructions show. And the message has a frame that persons do not type, like several other messages.

use std::collections::{BTreeMap, BTreeSet};

use super::ALIKE;
use super::opening::{Mark, closing, labels, mark, status, without_numbers};
use crate::message::Role;
use crate::parsed::Parsed;

/// A message that acts by labels has at least this many of them, such as `Thought:` and `Action:`.
const LABELS: usize = 2;

/// Returns the messages that are results of actions without doubt.
pub(super) fn results(messages: &[Parsed], first: &Parsed, later: &[&Parsed]) -> BTreeSet<usize> {
    let protocol = Protocol::of(messages, first);
    let mut groups: BTreeMap<String, Group<'_>> = BTreeMap::new();
    for message in later {
        let at = messages.partition_point(|one| one.index < message.index);
        let before = messages.get(..at).unwrap_or_default().iter();
        let before = before.rev().find(|one| one.role != Role::System);
        let Some(action) = before.and_then(|before| protocol.action(before)) else {
            continue;
        };
        for frame in protocol.frames(&message.text, &action) {
            let group = groups.entry(frame.name).or_default();
            group.messages.push(message.index);
            *group.lines.entry(frame.line).or_default() += 1;
        }
    }
    let groups = groups.into_values();
    let alike = groups.filter(|group| group.lines.values().any(|count| *count >= ALIKE));
    alike.flat_map(|group| group.messages).collect()
}

/// The frame of a text.
struct Frame<'t> {
    /// The part of the frame that is the same in all messages of one program.
    name: String,
    /// The line of a status, with its number; `None` for other frames. An exit code occurs in several messages. The
    /// number of a person's ticket does not.
    line: Option<&'t str>,
}

/// Messages with the same frame.
#[derive(Default)]
struct Group<'t> {
    messages: Vec<usize>,
    /// How many messages have each line.
    lines: BTreeMap<Option<&'t str>, usize>,
}

/// How an agent acts in text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    /// By a block in a fence or in a tag: the line that opens the fence, or the end of the tag.
    Block(String),
    /// By lines with labels.
    Labels,
}

/// What the instructions of an agent say about actions. An agent acts in text only if they show how.
struct Protocol {
    /// The system messages and the first message of the user, with each number as `0`.
    instructions: String,
    /// How the first message of the user begins. A person may begin the next messages in the same way.
    first: [Option<String>; 2],
    /// The labels that most messages of the assistant have, and that the instructions have.
    labels: BTreeSet<String>,
}

impl Protocol {
    fn of(messages: &[Parsed], first: &Parsed) -> Self {
        let system = messages.iter().filter(|one| one.role == Role::System);
        let texts: Vec<&str> = system.chain([first]).map(|one| &*one.text).collect();
        let instructions = without_numbers(&texts.join("\n"));
        let stated: BTreeSet<String> = labels(&instructions).collect();
        let mut labels = usual_labels(messages);
        labels.retain(|label| stated.contains(label));
        Self {
            instructions,
            first: [
                status(&first.text).map(without_numbers),
                mark(&first.text).map(|mark| mark.name),
            ],
            labels,
        }
    }

    /// Returns how a message acts; `None` if it is not a message of the assistant with an action in its text.
    fn action(&self, message: &Parsed) -> Option<Action> {
        if message.role != Role::Assistant || !message.calls.is_empty() {
            return None;
        }
        let block = block_at_end(&message.text);
        if let Some(block) = block.filter(|block| self.states_line(block)) {
            return Some(Action::Block(block));
        }
        let own: BTreeSet<String> = labels(&message.text).collect();
        (own.intersection(&self.labels).count() >= LABELS).then_some(Action::Labels)
    }

    /// Returns the frames of a text that only a program writes behind such an action.
    fn frames<'t>(&self, text: &'t str, action: &Action) -> impl Iterator<Item = Frame<'t>> {
        let stated = mark(text).filter(|mark| self.is_stated(mark, action));
        let status = status(text).map(|line| Frame {
            name: without_numbers(line),
            line: Some(line),
        });
        let other = |name: String| Frame { name, line: None };
        let opening = status
            .into_iter()
            .chain(stated.map(|mark| other(mark.name)));
        let opening = opening.filter(|frame| {
            self.first
                .iter()
                .flatten()
                .all(|first| *first != frame.name)
        });
        opening.chain(closing(text).map(other))
    }

    /// Returns whether the instructions show this mark as the beginning of a result. They may also show a label or a
    /// tag with which a person has to answer. So a mark counts only if it follows the labels by which the agent acts,
    /// or if it has the name of the action in brackets, as in `RESULT of [bash]:`.
    fn is_stated(&self, mark: &Mark, action: &Action) -> bool {
        let is_of_program = match action {
            Action::Labels => self.continues(&mark.name),
            Action::Block(block) => {
                mark.is_alone && names(&mark.name, block) && self.states(&mark.name)
            }
        };
        !mark.is_tag && is_of_program
    }

    /// Returns whether a line of the instructions begins with this label, right behind one with a label of the agent.
    fn continues(&self, label: &str) -> bool {
        let lines = self.instructions.lines().map(str::trim);
        let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let mut behind = lines.iter().zip(lines.iter().skip(1));
        behind.any(|(before, line)| {
            line.starts_with(label) && labels(before).any(|own| self.labels.contains(&own))
        })
    }

    /// Returns whether a mark stands in the instructions, and not inside a word.
    fn states(&self, mark: &str) -> bool {
        let mut found = self.instructions.match_indices(mark);
        found.any(|(at, _)| {
            let before = self.instructions.get(..at).unwrap_or_default();
            !before.ends_with(char::is_alphanumeric)
        })
    }

    /// Returns whether a line of the instructions ends with such a mark.
    fn states_line(&self, mark: &str) -> bool {
        let mut lines = self.instructions.lines().map(str::trim);
        let mark = without_numbers(mark);
        lines.any(|line| line.ends_with(&mark))
    }
}

/// Returns the labels that most messages of the assistant have.
fn usual_labels(messages: &[Parsed]) -> BTreeSet<String> {
    let speaks =
        |message: &&Parsed| message.role == Role::Assistant && !message.text.trim().is_empty();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut all = 0;
    for message in messages.iter().filter(speaks) {
        all += 1;
        let own: BTreeSet<String> = labels(&message.text).collect();
        for label in own {
            *counts.entry(label).or_default() += 1;
        }
    }
    let is_usual = |count: usize| count >= ALIKE && 2 * count >= all;
    let labels = counts.into_iter().filter(|(_, count)| is_usual(*count));
    labels.map(|(label, _)| label).collect()
}

/// Returns the mark of the block with which a text ends: the line that opens a fence with a language, or the end of a
/// tag. A fence without a language is not an action: people and agents put anything into one.
fn block_at_end(text: &str) -> Option<String> {
    let last = last_line(text);
    if last == "```" {
        let mut lines = text.lines().map(str::trim).rev();
        let opening = lines
            .by_ref()
            .filter(|line| line.starts_with("```"))
            .nth(1)?;
        return (opening.len() > last.len()).then(|| opening.to_owned());
    }
    let tag = last.get(last.rfind("</")?..)?;
    tag.ends_with('>').then(|| tag.to_owned())
}

/// Returns whether a label has a word of the name of a block in brackets.
fn names(label: &str, block: &str) -> bool {
    let inside = label
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let mut words = block.split(|c: char| !c.is_alphanumeric());
    inside.is_some_and(|(inside, _)| words.any(|word| !word.is_empty() && word == inside))
}

fn last_line(text: &str) -> &str {
    text.trim_end()
        .lines()
        .next_back()
        .unwrap_or_default()
        .trim()
}
