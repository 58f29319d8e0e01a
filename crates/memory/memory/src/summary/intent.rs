//! The objectives of the user.

use super::item::Item;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::Sentence;

words! {
    "intent.json";
    /// Beginnings that mark a message as a new objective.
    new,
    /// Words of a greeting, which is not an objective.
    greeting,
}

/// Returns the first message that a person typed, and each later one that begins as a new objective.
pub(super) fn intent(messages: &[Parsed], typed: &[Item]) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut greeted = false;
    for (order, item) in typed.iter().enumerate() {
        if order == 0 || greeted || is_new(&item.text) {
            found.push(item.clone());
            greeted = (order == 0 || greeted) && greets(&item.text);
        }
    }
    if found.is_empty() {
        // If only agents speak, the first of them gives the task.
        let speaks = |one: &&Parsed| one.role != Role::System && !one.text.trim().is_empty();
        let first = messages.iter().find(speaks);
        found.extend(first.map(|first| Item::new(first.index, &*first.text)));
    }
    found
}

fn is_new(text: &str) -> bool {
    let start = text.trim_start().lines().next().unwrap_or_default();
    Sentence::of(start).begins(&WORDS.new)
}

fn greets(text: &str) -> bool {
    let plain = crate::prose::plain(text);
    plain
        .split_whitespace()
        .all(|word| WORDS.greeting.contains(&word))
}
