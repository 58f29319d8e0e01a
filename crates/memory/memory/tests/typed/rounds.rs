//! Generated conversations: each message of a person stands whole and in order after many summaries, and after a
//! restart.

use std::path::Path;

use accp_memory::disk::{Compressed, Context};
use accp_memory::{Form, MessageList, Options, SessionId, Tier, Window, check};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::OffsetDateTime;

use crate::common::forms::{assistant, call, result, user};
use crate::common::quarters::Quarters;
use crate::typed::person::{text, typed};
use crate::typed::shown::Shown;

const WINDOW: u64 = 6_000;

/// Compresses a list as a process does that has just begun.
fn compress(root: &Path, list: &MessageList) -> Compressed {
    let window = Window::of(WINDOW).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let mut context = Context::open(root, SessionId::new("s").unwrap()).unwrap();
    context.compress(list, &options, &mut ()).unwrap()
}

fn texts(messages: &[Json]) -> Vec<String> {
    messages.iter().map(Json::to_string).collect()
}

fn list(form: Form, messages: &[String]) -> MessageList {
    MessageList::of(form, messages.iter().map(String::as_str)).unwrap()
}

/// Checks that each text stands whole, in the order in which it was typed.
fn all_stand(list: &MessageList, typed: &[String]) {
    let shown = Shown::of(list);
    let places: Vec<_> = typed.iter().map(|text| (shown.place(text), text)).collect();
    let mut before = None;
    for (place, text) in places {
        assert!(place.is_some(), "{text:?} is not whole in {}", shown.intent);
        assert!(
            place > before,
            "{text:?} has lost its place in {}",
            shown.intent
        );
        before = place;
    }
}

/// Lets a person type and an agent work until the conversation was summed up this many times.
fn summed_up(form: Form, wishes: &[(usize, usize)], times: usize) {
    let root = tempfile::tempdir().unwrap();
    let (mut messages, mut typed) = (Vec::new(), Vec::new());
    let (mut given, mut count, mut calls) = (Vec::new(), 0, 0);
    let mut wishes = wishes.iter();
    while count < times {
        let before = messages.len();
        let wish = wishes.next();
        if let Some((of, _)) = wish {
            let text = text(*of, typed.len());
            messages.push(user(form, &text));
            typed.push(text);
        }
        for _ in 0..wish.map_or(3, |(_, work)| *work) {
            calls += 1;
            let id = format!("c{calls}");
            messages.push(call(form, &id, "look", &json!({ "shelf": calls })));
            let rows = (0..30).map(|row| format!("row {row}: {calls} lamps, rope {row} of shelf"));
            messages.push(result(form, &id, &rows.collect::<Vec<_>>().join("\n")));
        }
        messages.push(assistant(form, &format!("Shelf {calls} is done.")));
        // Every second time the caller gives the whole conversation, and otherwise the last list
        // with the new messages.
        let new = texts(&messages[before..]);
        given = if calls % 2 == 0 {
            texts(&messages)
        } else {
            [given, new].concat()
        };
        let done = compress(root.path(), &list(form, &given));
        assert_eq!(check(&done.list), []);
        assert!(done.after <= WINDOW);
        let summaries = done.events.iter().filter(|event| event.tier == Tier::Three);
        if summaries.count() > 0 {
            count += 1;
            assert!(done.after < WINDOW * 65 / 100, "{}", done.after);
        }
        all_stand(&done.list, &typed);
        let raws = done.list.messages().iter();
        given = raws.map(|message| message.raw().to_owned()).collect();
        assert!(calls < 1_000, "{count} summaries");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn what_a_person_typed_stands_whole_after_one_summary(wishes in typed(), form in prop::sample::select(Form::ALL.to_vec())) {
        summed_up(form, &wishes, 1);
    }

    #[test]
    fn what_a_person_typed_stands_whole_after_three_summaries(wishes in typed(), form in prop::sample::select(Form::ALL.to_vec())) {
        summed_up(form, &wishes, 3);
    }
}

#[test]
fn what_a_person_typed_stands_whole_after_ten_summaries() {
    let wishes: Vec<_> = (0..22).map(|of| (of, of % 3)).collect();
    for form in Form::ALL {
        summed_up(form, &wishes, 10);
    }
}
