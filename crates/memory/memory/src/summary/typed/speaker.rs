//! Decides which of the named speakers are persons.

use std::collections::{BTreeMap, BTreeSet};

use super::ALIKE;
use super::opening::{first_line, goes_on, without_numbers};
use crate::message::Role;
use crate::parsed::Parsed;

/// Decides which of the speakers are persons. A name alone says nothing: programs of chats name their users, too.
pub(super) struct Persons<'s> {
    /// The name in the first message of the user, which is a person's in any case.
    first: Option<&'s str>,
    /// The names of speakers who act as agents or tools do.
    programs: BTreeSet<&'s str>,
}

impl<'s> Persons<'s> {
    pub(super) fn of(messages: &'s [Parsed], first: &'s Parsed, later: &[&'s Parsed]) -> Self {
        let others = messages.iter().filter(|one| one.role != Role::User);
        let others = others.filter_map(|one| one.name.as_deref());
        let tools = messages.iter().flat_map(|one| &one.calls);
        let mut programs: BTreeSet<&str> =
            others.chain(tools.map(|call| call.tool.as_str())).collect();
        if is_group(messages) {
            programs.extend(agents(messages, later));
        }
        Self {
            first: first.name.as_deref(),
            programs,
        }
    }

    /// Returns whether a person wrote a message.
    pub(super) fn has(&self, message: &Parsed) -> bool {
        let name = message.name.as_deref();
        name == self.first || name.is_none_or(|name| !self.programs.contains(name))
    }
}

/// Returns whether agents talk in a group: all speakers have names, the agent that the list belongs to as well.
fn is_group(messages: &[Parsed]) -> bool {
    let mut speak = messages
        .iter()
        .filter(|one| matches!(one.role, Role::User | Role::Assistant));
    let own = messages.iter().any(|one| one.role == Role::Assistant);
    own && speak.all(|one| one.name.is_some())
}

/// Returns the speakers of a group who write as programs do. Many of their messages have the same first line, or before
/// each of their messages, another speaker says their name.
fn agents<'s>(messages: &'s [Parsed], later: &[&'s Parsed]) -> Vec<&'s str> {
    let mut speakers: BTreeMap<&str, Vec<&Parsed>> = BTreeMap::new();
    for message in later {
        if let Some(name) = message.name.as_deref() {
            speakers.entry(name).or_default().push(message);
        }
    }
    let agents = speakers.into_iter().filter(|(name, said)| {
        let is_called = |message: &&Parsed| is_called(messages, name, message);
        said.len() >= ALIKE && said.iter().all(is_called) || open_alike(said)
    });
    agents.map(|(name, _)| name).collect()
}

/// Returns whether another speaker spoke last before a message, and called this speaker by name.
fn is_called(messages: &[Parsed], name: &str, message: &Parsed) -> bool {
    let at = messages.partition_point(|one| one.index < message.index);
    let before = messages.get(..at).unwrap_or_default();
    let is_other = |last: &&Parsed| last.name.as_deref() != Some(name);
    let Some(last) = before.last().filter(is_other) else {
        return false;
    };
    let is_same = |one: &&Parsed| one.role == last.role && one.name == last.name;
    let mut run = before.iter().rev().take_while(is_same);
    run.any(|one| calls(&one.text, name))
}

/// Returns whether many messages have the same first line, with text below it.
fn open_alike(said: &[&Parsed]) -> bool {
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for message in said {
        let below = |line: &&str| goes_on(&message.text, line);
        if let Some(line) = first_line(&message.text).filter(below) {
            *lines.entry(without_numbers(line)).or_default() += 1;
        }
    }
    let most = lines.into_values().max().unwrap_or_default();
    most >= ALIKE && 3 * most >= said.len()
}

/// Returns whether a text has this name as a word of its own.
fn calls(text: &str, name: &str) -> bool {
    let is_inside = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, behind) = (text.get(..at), text.get(at + name.len()..));
        !before.unwrap_or_default().ends_with(is_inside)
            && !behind.unwrap_or_default().starts_with(is_inside)
    })
}
