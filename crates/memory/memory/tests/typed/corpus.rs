//! Recorded conversations: how many messages that a person typed stand whole in the list before each message of the
//! assistant. The variable `ACCP_CORPUS` names the folder with the recordings; without it nothing is measured.

use std::fs;
use std::path::Path;

use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Window};
use accp_tokens::{Bpe, TokenCounter};
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::common::recorded::chat;
use crate::typed::shown::Shown;

/// The tokens of the form of a summary, and of the heading of a request.
const FORM: usize = 280;
const HEADING: usize = 18;
/// The windows, in percent of the whole list.
const WINDOWS: [u64; 3] = [105, 70, 50];

#[derive(Debug, Default)]
struct Share {
    lists: usize,
    /// Lists whose system message and newest turn do not fit.
    refused: usize,
    typed: usize,
    /// The typed messages in the lists that are not refused, and how many of these messages are whole.
    came: usize,
    whole: usize,
    /// The same, only for lists whose typed messages take at most half of the window.
    fit: usize,
    fit_whole: usize,
    /// The same, only for lists in which the typed messages fit together with the system message, the newest turn and
    /// an empty summary.
    room: usize,
    room_whole: usize,
    /// Lists in which whole messages do not stand in order.
    disorder: usize,
}

/// Measures each `step`th list of a file.
fn measure(path: &Path, percent: u64, step: usize, counter: Bpe) -> Share {
    let mut share = Share::default();
    let mut number = 0;
    for line in fs::read_to_string(path).unwrap().lines() {
        let recorded: Json = serde_json::from_str(line).unwrap();
        let said = recorded["messages"].as_array().unwrap();
        let all: Vec<_> = said
            .iter()
            .map(|message| chat(message).to_string())
            .collect();
        let is_typed = |message: &Json| message["role"] == "user";
        for end in (1..said.len()).filter(|at| said[*at]["role"] == "assistant") {
            number += 1;
            if number % step > 0 {
                continue;
            }
            let typed = said[..end].iter().filter(|message| is_typed(message));
            let typed: Vec<_> = typed.filter_map(|one| one["content"].as_str()).collect();
            let list = all[..end].iter().map(String::as_str);
            let list = MessageList::of(Form::OpenAi, list).unwrap();
            let full = Window::of(u64::MAX / 200).unwrap().count(&list, &counter);
            let window = Window::of(full * percent / 100).unwrap();
            let options = Options::new(&window, &counter, OffsetDateTime::UNIX_EPOCH);
            let session = ListSession::new(SessionId::new("s").unwrap(), Form::OpenAi);
            let words: usize = typed.iter().map(|text| counter.count(text)).sum();
            let fits = 2 * words as u64 <= window.room();
            let stays: usize = all[..end]
                .iter()
                .zip(said)
                .map(|(text, one)| {
                    if one["role"] == "system" {
                        counter.count(text)
                    } else {
                        0
                    }
                })
                .sum();
            let mut newest = end - 1;
            while newest > 0
                && said[newest]["role"] == "tool"
                && said[newest]["tool_call_id"].is_string()
            {
                newest -= 1;
            }
            let newest: usize = all[newest..end]
                .iter()
                .map(|text| counter.count(text))
                .sum();
            let needed = stays + newest + words + FORM + HEADING * typed.len();
            let has_room = fits && needed as u64 <= window.room();
            share.lists += 1;
            share.typed += typed.len();
            share.fit += if fits { typed.len() } else { 0 };
            let Ok(plan) = session.plan(&list, &options, &(), &mut ()) else {
                share.refused += 1;
                continue;
            };
            share.room += if has_room { typed.len() } else { 0 };
            let shown = Shown::of(&plan.list(&list));
            let places: Vec<_> = typed.iter().filter_map(|text| shown.place(text)).collect();
            // A person may type the same words twice, so the places may be out of order.
            share.disorder += usize::from(!places.is_sorted());
            share.whole += places.len();
            share.came += typed.len();
            share.fit_whole += if fits { places.len() } else { 0 };
            share.room_whole += if has_room { places.len() } else { 0 };
        }
    }
    share
}

fn part(some: usize, all: usize) -> f64 {
    some as f64 / all.max(1) as f64
}

#[test]
fn typed_messages_of_recordings_stand_whole() {
    let Some(corpus) = std::env::var_os("ACCP_CORPUS") else {
        return;
    };
    let counter = Bpe::o200k_base();
    // In the second file, the program writes results with the role of the user. The file has many long lists.
    for (file, step) in [("tau_airline", 1), ("swe_mini_gemini3", 60)] {
        let path = Path::new(&corpus).join(file).with_extension("jsonl");
        for percent in WINDOWS {
            let share = measure(&path, percent, step, counter);
            println!(
                "{file}, window {}.{:02}: {} lists, {} refused; typed messages whole {:.3} of all, {:.3} of lists that came \
                 out, {:.3} where they take at most half of the window, {:.3} where there is room beside what stays; {} \
                 lists not in order",
                percent / 100,
                percent % 100,
                share.lists,
                share.refused,
                part(share.whole, share.typed),
                part(share.whole, share.came),
                part(share.fit_whole, share.fit),
                part(share.room_whole, share.room),
                share.disorder,
            );
            // The test counts the results in the second file as typed messages, so only the first
            // file has to keep all of them.
            let is_person = file == "tau_airline";
            assert!(!is_person || share.room_whole == share.room, "{share:?}");
        }
    }
}
