//! What happens to the words of a person as room gets short.

use accp_memory::{Form, ListPlan, ListSession, MessageList, Options, SessionId, Tier, Window};
use proptest::prelude::*;
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::common::forms::{assistant, user};
use crate::common::quarters::Quarters;
use crate::typed::person::text;
use crate::typed::shown::Shown;

fn list(messages: &[Json]) -> MessageList {
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    MessageList::of(Form::OpenAi, texts.iter().map(String::as_str)).unwrap()
}

fn planned(list: &MessageList, window: &Window) -> (ListPlan, Shown) {
    let session = ListSession::new(SessionId::new("s").unwrap(), Form::OpenAi);
    let options = Options::new(window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let plan = session.plan(list, &options, &(), &mut ()).unwrap();
    let shown = Shown::of(&plan.list(list));
    (plan, shown)
}

/// Returns the numbers that stand behind the words `message` and `messages` in a note: `message 3`, `messages 4 to 9`.
fn listed(note: &str) -> Vec<std::ops::RangeInclusive<usize>> {
    let words: Vec<_> = note
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<usize>().ok());
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        match *word {
            "message" => found.extend(number(at + 1).map(|one| one..=one)),
            "messages" => found.extend(number(at + 1).zip(number(at + 3)).map(|(a, b)| a..=b)),
            _ => {}
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_not_whole_is_counted_and_listed(
        wishes in prop::collection::vec((0..22_usize, prop_oneof![3 => Just(1_usize), 1 => 2..40_usize]), 3..40),
        size in 900..6_000_u64,
    ) {
        let mut messages = vec![user(Form::OpenAi, "Sort the shelves of the depot.")];
        let mut typed = Vec::new();
        for (number, (of, times)) in wishes.iter().enumerate() {
            let text = vec![text(*of, number); *times].join("\nand again\n");
            messages.push(assistant(Form::OpenAi, &format!("Shelf {number} is done. {}", "rye ".repeat(40))));
            typed.push((messages.len(), text.clone()));
            messages.push(user(Form::OpenAi, &text));
        }
        messages.push(assistant(Form::OpenAi, &"rye ".repeat(size as usize)));
        messages.push(user(Form::OpenAi, "Go on."));
        let list = list(&messages);
        let window = Window::of(size).unwrap();
        let (plan, shown) = planned(&list, &window);
        prop_assert!(plan.events.iter().any(|event| event.tier == Tier::Three));
        prop_assert!(shown.intent.starts_with("> Sort the shelves of the depot.\n"), "{}", shown.intent);
        let note = shown.intent.lines().last().unwrap();
        let listed = if note.starts_with("Not whole: ") { listed(note) } else { Vec::new() };
        let words: u64 = typed.iter().map(|(_, text)| text.len() as u64 / 4 + 1).sum();
        let mut last = None;
        for (message, text) in &typed {
            let place = shown.place(text);
            let heading = format!("{message} (cut");
            let is_cut = shown.intent.lines().any(|line| line.starts_with(&heading));
            let is_listed = is_cut || listed.iter().any(|range| range.contains(message));
            prop_assert!(place.is_some() != is_listed, "{message} {text:?} {}", shown.intent);
            if place.is_some() {
                prop_assert!(place > last, "{text:?} has lost its place in {}", shown.intent);
                last = place;
            }
            // These texts and their headings fit in a quarter of the window, so each text has to be
            // whole.
            if words + 12 * typed.len() as u64 <= size / 4 {
                prop_assert!(place.is_some(), "{text:?} in {}", shown.intent);
            }
        }
        // The longest texts are cut first, but for the last one.
        let (_, older) = typed.split_last().unwrap();
        let whole = older.iter().filter(|(_, text)| shown.place(text).is_some());
        let longest = whole.map(|(_, text)| text.len()).max().unwrap_or(0);
        let is_cut = |text: &str| shown.intent.contains(" (cut") && shown.place(text).is_none();
        let cut = typed.iter().filter(|(_, text)| is_cut(text) && text.len() > 400);
        let cut: Vec<_> = cut.map(|(_, text)| text.len()).collect();
        if let Some(shortest) = cut.iter().min().filter(|_| !note.contains("left out")) {
            prop_assert!(longest <= shortest + 200, "{longest} {shortest} {}", shown.intent);
        }
    }
}

#[test]
fn a_list_keeps_its_newest_turns_up_to_half_of_the_window() {
    let mut messages = vec![user(Form::OpenAi, "Sort the shelves.")];
    for number in 0..60 {
        messages.push(assistant(
            Form::OpenAi,
            &format!("{number} {}", "rye ".repeat(60)),
        ));
        messages.push(user(Form::OpenAi, &text(number % 22, number)));
    }
    let list = list(&messages);
    for percent in [52, 70, 90, 105, 125] {
        let size = Window::of(1_000_000).unwrap().count(&list, &Quarters) * percent / 100;
        let window = Window::of(size).unwrap();
        let (plan, shown) = planned(&list, &window);
        assert!(plan.after <= size * 65 / 100, "{} of {size}", plan.after);
        assert!(plan.after * 100 >= size * 42, "{} of {size}", plan.after);
        for number in 0..60 {
            assert!(
                shown.place(&text(number % 22, number)).is_some(),
                "{number}"
            );
        }
    }
}

/// The heading of a cut request says that it is cut. A list of all of them would take the room of other requests.
#[test]
fn many_cut_requests_are_counted_in_one_short_line() {
    let mut messages = vec![user(Form::OpenAi, "Sort the shelves.")];
    for number in 0..120 {
        messages.push(assistant(Form::OpenAi, "Done."));
        messages.push(user(Form::OpenAi, &format!("Sort shelf {number}.")));
        messages.push(assistant(Form::OpenAi, "Done."));
        let long = format!("Label box {number}. {}", "rye and oats ".repeat(60));
        messages.push(user(Form::OpenAi, &long));
    }
    messages.push(assistant(Form::OpenAi, "Done."));
    messages.push(user(Form::OpenAi, "Go on."));
    let (plan, shown) = planned(&list(&messages), &Window::of(8_000).unwrap());
    assert!(plan.after <= 8_000 * 65 / 100, "{}", plan.after);
    let note = shown.intent.lines().last().unwrap();
    assert!(
        note.starts_with("Not whole: ") && note.len() < 140,
        "{note}"
    );
    let cut = shown.intent.matches(" (cut):\n> Label box ").count();
    assert!(
        cut > 20 && note.contains(&format!(" {cut} cut, ")),
        "{note}"
    );
}

/// The headings of many short requests take more room than their words.
#[test]
fn many_short_requests_leave_room_for_the_next_turns() {
    let mut messages = Vec::new();
    for number in 0..600 {
        messages.push(user(Form::OpenAi, &format!("Sort shelf {number}.")));
        let done = format!("Shelf {number} is done. {}", "rye ".repeat(20));
        messages.push(assistant(Form::OpenAi, &done));
    }
    let list = list(&messages);
    for size in [2_000, 4_000] {
        let (plan, shown) = planned(&list, &Window::of(size).unwrap());
        assert!(plan.after <= size * 65 / 100, "{} of {size}", plan.after);
        let note = shown.intent.lines().last().unwrap();
        assert!(note.contains(" left out (messages 2 to "), "{note}");
        for number in 560..600 {
            let text = format!("Sort shelf {number}.");
            assert!(shown.place(&text).is_some(), "{text} in {}", shown.intent);
        }
    }
}
