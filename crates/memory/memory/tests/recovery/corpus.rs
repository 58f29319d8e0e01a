//! Natural needles in recorded conversations: values of later calls that stand in an earlier result. The variable
//! `ACCP_CORPUS` names the folder with the recordings; without it nothing is measured.

use std::fs;
use std::path::Path;

use accp_memory::disk::index::{Filter, Hit};
use accp_memory::{Archived, Form, Memory, MessageList, Prices, Promise, Window};
use accp_recordings::{Conversation, Half};
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::common::recorded::chat;
use crate::recovery::folder::{ARCHIVE, Folder};

const FILES: [&str; 4] = ["tau_airline", "code_fc", "toolbench_chatgpt", "handoffs"];

#[derive(Default)]
struct Ranks {
    needles: usize,
    exact: usize,
    first: usize,
    third: usize,
    /// Found in the first three hits, by the two words next to the value, even if these are keys.
    literal: usize,
    /// As `literal`, but any hit in the same message counts.
    told: usize,
    /// Found by a `Memory`, by the two words next to the value.
    held: usize,
    missed: Vec<String>,
}

/// Returns the values of arguments that are long enough to be found, with their keys.
fn values(json: &Json, key: &str, out: &mut Vec<(String, String)>) {
    match json {
        Json::Object(map) => map.iter().for_each(|(key, value)| values(value, key, out)),
        Json::Array(items) => items.iter().for_each(|item| values(item, key, out)),
        Json::String(text) if text.chars().count() >= 3 => out.push((key.to_owned(), text.clone())),
        Json::Number(number) if number.to_string().len() >= 3 => {
            out.push((key.to_owned(), number.to_string()));
        }
        _ => {}
    }
}

/// Returns one word before and one word behind a value. If a question is given, these are the next words that are
/// neither in the question nor keys of JSON, because all results of a tool have the same keys.
fn beside(text: &str, value: &str, question: Option<&str>) -> [String; 2] {
    let Some(at) = text.find(value) else {
        return Default::default();
    };
    let is_end = |c: char| !c.is_alphanumeric();
    let tells = |(at, word): &(usize, &str)| {
        let is_key = text[at + word.len()..]
            .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
            .starts_with("\":");
        let is_asked = |question: &str| question.to_lowercase().contains(&word.to_lowercase());
        !word.is_empty() && question.is_none_or(|question| !is_key && !is_asked(question))
    };
    let place = |word: &'_ str| word.as_ptr() as usize - text.as_ptr() as usize;
    let before = text[..at]
        .rsplit(is_end)
        .map(|word| (place(word), word))
        .find(tells);
    let behind = text[at + value.len()..]
        .split(is_end)
        .map(|word| (place(word), word))
        .find(tells);
    [before, behind].map(|word| word.map_or_else(String::new, |(_, word)| word.to_owned()))
}

/// Measures the conversations of one half, by the hash of their ids.
fn measure(path: &Path, half: Half) -> Ranks {
    let mut ranks = Ranks::default();
    for line in fs::read_to_string(path).unwrap().lines() {
        let recorded: Json = serde_json::from_str(line).unwrap();
        if Conversation::new(recorded.clone()).unwrap().half() != half {
            continue;
        }
        let messages: Vec<_> = recorded["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| chat(message).to_string())
            .collect();
        let list = MessageList::of(Form::OpenAi, messages.iter().map(String::as_str)).unwrap();
        let all = Archived::of(&list, None);
        let folder = Folder::new();
        folder.append(ARCHIVE, &all);
        let mut index = folder.index();
        for (number, message) in list.messages().iter().enumerate() {
            let mut memory = None;
            for call in message.json()["tool_calls"]
                .as_array()
                .into_iter()
                .flatten()
            {
                let arguments = call["function"]["arguments"].as_str().unwrap();
                let mut wanted = Vec::new();
                values(&serde_json::from_str(arguments).unwrap(), "", &mut wanted);
                for (key, value) in wanted {
                    let has =
                        |before: &&Archived| before.role == "tool" && before.text.contains(&value);
                    let Some(result) = all[..number].iter().rev().find(has) else {
                        continue;
                    };
                    let filter = Filter {
                        messages: Some(0..=number - 1),
                        ..Filter::default()
                    };
                    let question = format!("{} {key}", result.tools.join(" "));
                    let literal = beside(&result.text, &value, None);
                    let literal = format!("{question} {}", literal.join(" "));
                    let telling = beside(&result.text, &value, Some(&question));
                    let question = format!("{question} {}", telling.join(" "));
                    let asked = index.search(&question, &filter, 10).unwrap();
                    let next = literal.clone();
                    let literal = index.search(&literal, &filter, 3).unwrap();
                    let exact = index.exact(&value, &filter, 1).unwrap();
                    let memory = memory.get_or_insert_with(|| held(&messages[..number]));
                    let found = memory.search(&next, 3);
                    ranks.held +=
                        usize::from(found.iter().any(|found| found.text.contains(&value)));
                    let has = |hit: &&Hit| hit.text.contains(&value);
                    let rank = asked.iter().find(has).map(|hit| hit.rank);
                    ranks.needles += 1;
                    ranks.exact += usize::from(exact.iter().any(|hit| has(&hit)));
                    ranks.literal += usize::from(literal.iter().any(|hit| has(&hit)));
                    let is_told = |hit: &Hit| hit.message == Some(result.number);
                    ranks.told += usize::from(literal.iter().any(is_told));
                    ranks.first += usize::from(rank == Some(1));
                    ranks.third += usize::from(rank.is_some_and(|rank| rank <= 3));
                    if rank.is_none_or(|rank| rank > 3) {
                        ranks.missed.push(format!(
                            "{rank:?} {question} = {value} in {}",
                            recorded["id"]
                        ));
                    }
                }
            }
        }
    }
    ranks
}

/// Returns a memory that holds these messages.
fn held(messages: &[String]) -> Memory {
    let list = MessageList::of(Form::OpenAi, messages.iter().map(String::as_str)).unwrap();
    let mut memory = Memory::new(
        Window::of(1_000_000).unwrap(),
        Prices::default(),
        Promise::Append,
    );
    memory.to_send(&list, OffsetDateTime::UNIX_EPOCH);
    memory
}

#[test]
fn natural_needles_are_found() {
    let Some(corpus) = std::env::var_os("ACCP_CORPUS") else {
        return;
    };
    let mut sum = Ranks::default();
    for (file, half) in FILES
        .into_iter()
        .flat_map(|file| [(file, Half::Learn), (file, Half::Measure)])
    {
        let ranks = measure(&Path::new(&corpus).join(file).with_extension("jsonl"), half);
        if ranks.needles == 0 {
            continue;
        }
        let share = |count: usize| count as f64 / ranks.needles as f64;
        println!(
            "{file}, {half:?}: {} needles, exact rank 1 {:.3}, question rank 1 {:.3}, 1 to 3 {:.3}; with the next words 1 to 3 {:.3}, its message {:.3}, in a memory {:.3}",
            ranks.needles,
            share(ranks.exact),
            share(ranks.first),
            share(ranks.third),
            share(ranks.literal),
            share(ranks.told),
            share(ranks.held),
        );
        for missed in ranks.missed.iter().take(12) {
            println!("  {missed}");
        }
        sum.needles += ranks.needles;
        sum.exact += ranks.exact;
        sum.third += ranks.third;
    }
    assert_eq!(sum.exact, sum.needles);
    assert!(sum.third as f64 >= 0.95 * sum.needles as f64);
}
