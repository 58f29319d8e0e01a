//! What a person typed, among the messages with the role of the user.
//!
//! Programs also write messages with the role of the user: results of actions, words of other agents, blocks beside a
//! request. They are recognised by their structure, in any language. A doubtful message counts as typed, because the
//! words of a person take few tokens and matter most.

mod block;
mod opening;

use std::collections::{BTreeMap, BTreeSet};

use super::item::Item;
use crate::message::Role;
use crate::parsed::Parsed;
use block::Added;
use opening::{Actions, closing, ends_in_block, opening};

/// How many messages have to begin or end in the same way before they count as results.
const RESULTS: usize = 3;

/// Returns what persons typed, in order: each message without the blocks that a program has added to it. The first
/// message of the user is whole.
pub(crate) fn typed(messages: &[Parsed]) -> Vec<Item> {
    let speaks = |message: &&Parsed| message.role == Role::User && !message.text.trim().is_empty();
    let users: Vec<&Parsed> = messages.iter().filter(speaks).collect();
    let Some((first, later)) = users.split_first() else {
        return Vec::new();
    };
    let persons = Persons::of(messages, first, later);
    let results = results(messages, later);
    let is_typed = |message: &&Parsed| persons.has(message) && !results.contains(&message.index);
    let later: Vec<_> = later.iter().copied().filter(is_typed).collect();
    let added = Added::of(std::iter::once(*first).chain(later.iter().copied()));
    let later = later.iter().filter_map(|message| {
        let text = added.without(message);
        (!text.trim().is_empty()).then(|| Item::new(message.index, text))
    });
    let first = Item::new(first.index, &*first.text);
    std::iter::once(first).chain(later).collect()
}

/// Decides which of the speakers are persons.
struct Persons<'s> {
    /// Whether some messages have no name. Then these are a person's.
    unnamed: bool,
    first: Option<&'s str>,
    /// The names of speakers who act as agents do.
    agents: BTreeSet<&'s str>,
}

impl<'s> Persons<'s> {
    fn of(messages: &'s [Parsed], first: &'s Parsed, later: &[&'s Parsed]) -> Self {
        let acts = |message: &&Parsed| message.role != Role::User || ends_in_block(&message.text);
        let agents = messages.iter().filter(acts);
        let agents = agents.filter_map(|message| message.name.as_deref());
        Self {
            unnamed: first.name.is_none() || later.iter().any(|message| message.name.is_none()),
            first: first.name.as_deref(),
            agents: agents.chain(programs(messages, later)).collect(),
        }
    }

    /// Returns whether a person wrote a message. If some messages have no name, these are a person's. If all messages
    /// have names, each speaker is a person unless it acts as an agent.
    fn has(&self, message: &Parsed) -> bool {
        match message.name.as_deref() {
            None => true,
            Some(name) if Some(name) == self.first => true,
            Some(name) => !self.unnamed && !self.agents.contains(name),
        }
    }
}

/// Returns the named speakers who write as programs do. Many of their messages begin in the same way, or before each
/// of their messages, another speaker says their name.
fn programs<'s>(messages: &'s [Parsed], later: &[&'s Parsed]) -> Vec<&'s str> {
    let mut speakers: BTreeMap<&str, Vec<&Parsed>> = BTreeMap::new();
    for message in later {
        if let Some(name) = message.name.as_deref() {
            speakers.entry(name).or_default().push(message);
        }
    }
    // Returns whether another speaker spoke last before the message, and called this speaker by
    // name.
    let is_called = |name: &str, message: &Parsed| {
        let at = messages.partition_point(|one| one.index < message.index);
        let before = messages.get(..at).unwrap_or_default();
        let Some(last) = before
            .last()
            .filter(|last| last.name.as_deref() != Some(name))
        else {
            return false;
        };
        let is_same = |one: &&Parsed| one.role == last.role && one.name == last.name;
        let mut run = before.iter().rev().take_while(is_same);
        run.any(|one| calls(&one.text, name))
    };
    let open_alike = |messages: &[&Parsed]| {
        let mut openings: BTreeMap<String, usize> = BTreeMap::new();
        for opening in messages.iter().filter_map(|message| opening(&message.text)) {
            *openings.entry(opening).or_default() += 1;
        }
        let most = openings.into_values().max().unwrap_or_default();
        most >= RESULTS && 3 * most >= messages.len()
    };
    let programs = speakers.into_iter().filter(|(name, messages)| {
        let is_program =
            messages.len() >= RESULTS && messages.iter().all(|message| is_called(name, message));
        is_program || open_alike(messages)
    });
    programs.map(|(name, _)| name).collect()
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

/// Returns the messages that are results of actions: they open or close alike, and each stands right behind an action that the
/// assistant wrote as text.
fn results(messages: &[Parsed], later: &[&Parsed]) -> BTreeSet<usize> {
    let actions = Actions::of(messages);
    let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for message in later {
        let at = messages.partition_point(|one| one.index < message.index);
        let before = messages.get(..at).unwrap_or_default().iter();
        let before = before.rev().find(|one| one.role != Role::System);
        let answers = before.is_some_and(|before| actions.has(before));
        let marks = [opening(&message.text), closing(&message.text)];
        for mark in marks.into_iter().flatten().filter(|_| answers) {
            groups.entry(mark).or_default().push(message.index);
        }
    }
    let groups = groups.into_values();
    groups
        .filter(|group| group.len() >= RESULTS)
        .flatten()
        .collect()
}
