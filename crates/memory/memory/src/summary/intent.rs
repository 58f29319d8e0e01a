//! The objectives of the user.

use super::item::Item;
use crate::message::Role;
use crate::parsed::Parsed;
use crate::prose::Sentence;

/// Beginnings that mark a message as a new objective.
const NEW: [&str; 22] = [
    "new objective",
    "new task",
    "new goal",
    "next task",
    "next objective",
    "different task",
    "another task",
    "change of plan",
    "change of plans",
    "forget that",
    "forget about that",
    "forget the previous",
    "forget what i said",
    "scrap that",
    "ignore the previous",
    "stop that",
    "let's switch to",
    "let's move on to",
    "instead of that",
    "now i want you to",
    "now i need you to",
    "your new task",
];
/// Words of a greeting, which is not an objective.
const GREETING: [&str; 14] = [
    "hi",
    "hello",
    "hey",
    "there",
    "good",
    "morning",
    "afternoon",
    "evening",
    "day",
    "dear",
    "thanks",
    "please",
    "everyone",
    "all",
];

/// Returns the first message that a person typed, and each later one that is marked as a new objective.
pub(super) fn intent(said: &[Parsed], typed: &[Item]) -> Vec<Item> {
    let mut found: Vec<Item> = Vec::new();
    let mut greeted = false;
    for (order, item) in typed.iter().enumerate() {
        if order == 0 || greeted || is_new(&item.text) {
            found.push(item.clone());
            greeted = (order == 0 || greeted) && greets(&item.text);
        }
    }
    if found.is_empty() {
        // Among agents only, the first that speaks gives the task.
        let speaks = |said: &&Parsed| said.role != Role::System && !said.text.trim().is_empty();
        let first = said.iter().find(speaks);
        found.extend(first.map(|first| Item::new(first.index, &*first.text)));
    }
    found
}

fn is_new(text: &str) -> bool {
    let start = text.trim_start().lines().next().unwrap_or_default();
    Sentence::of(start).begins(&NEW)
}

fn greets(text: &str) -> bool {
    let plain = crate::prose::plain(text);
    plain
        .split_whitespace()
        .all(|word| GREETING.contains(&word))
}
