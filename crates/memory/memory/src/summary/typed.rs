//! Finds the messages that a person typed, among the messages with the role of the user.
//!
//! Programs also write messages with the role of the user: results of actions, and words of other agents. These
//! messages are recognised by their structure, in any language. A doubtful message counts as typed, because the words
//! of a person take few tokens and matter most.

mod approval;
mod block;
mod harness;
mod opening;
mod speaker;

use super::item::Item;
use crate::message::Role;
use crate::parsed::Parsed;
use approval::with_call;
use block::Added;
use harness::results;
use speaker::Persons;

/// How many messages have to begin or end in the same way before they count as a program's.
const ALIKE: usize = 3;

/// Returns what persons typed, in order. The first message of the user is whole. In a later message, a mark replaces
/// each block that an earlier message has, and the answer to a request for approval has the call behind it.
pub(crate) fn typed(messages: &[Parsed]) -> Vec<Item> {
    let speaks = |message: &&Parsed| message.role == Role::User && !message.text.trim().is_empty();
    let users: Vec<&Parsed> = messages.iter().filter(speaks).collect();
    let Some((first, later)) = users.split_first() else {
        return Vec::new();
    };
    let persons = Persons::of(messages, first, later);
    let results = results(messages, first, later);
    let newest = newest(messages, later);
    let is_typed = |message: &&Parsed| {
        let is_result = results.contains(&message.index);
        newest == Some(message.index) || persons.has(message) && !is_result
    };
    let later: Vec<_> = later.iter().copied().filter(is_typed).collect();
    let added = Added::of(std::iter::once(*first).chain(later.iter().copied()));
    let later = later.iter();
    let later = later.map(|message| {
        let words = added.without(message);
        Item::new(message.index, with_call(messages, message, words))
    });
    let first = Item::new(first.index, &*first.text);
    std::iter::once(first).chain(later).collect()
}

/// Returns the newest message of the user. It counts as typed, because the agent works on it. `None` if it ends the
/// list: then it stays in the list in any case.
fn newest(messages: &[Parsed], later: &[&Parsed]) -> Option<usize> {
    let newest = later.last()?.index;
    let mut behind = messages.iter().filter(|one| one.index > newest);
    behind.any(|one| one.role != Role::System).then_some(newest)
}
