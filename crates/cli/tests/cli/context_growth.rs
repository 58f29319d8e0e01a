//! Tests of `accp context` with lists that grow: marks for a provider's cache that move, and requests beside a long one.

use serde_json::{Value as Json, json};

use crate::cli::{Folder, Run};

/// Compresses a list of Anthropic's as the next one of the session.
fn compress(folder: &Folder, window: &str, messages: &[Json]) -> Run {
    let command = "context compress --session trip --messages anthropic --window";
    let list = Json::from(messages.to_vec()).to_string();
    let run = folder.run((command, window), list);
    run.code_is(0);
    run
}

/// Returns the list that a command has printed, which has to be valid.
fn valid(folder: &Folder, run: &Run) -> Json {
    run.code_is(0);
    folder
        .run("context check --messages anthropic", &run.stdout)
        .code_is(0);
    run.json().remove(0)
}

/// Returns the messages that have a mark for the cache.
fn marked(list: &Json) -> Vec<usize> {
    let messages = list.as_array().unwrap().iter().enumerate();
    let marked = messages.filter(|(_, message)| message.to_string().contains("cache_control"));
    marked.map(|(at, _)| at).collect()
}

/// Returns the index of the last message.
fn last(list: &Json) -> usize {
    list.as_array().unwrap().len() - 1
}

/// Returns a request, a call and a result that takes more than a quarter of a window of 16,000 tokens.
fn turn(number: usize) -> [Json; 3] {
    let rows = (1..=500).map(|row| format!("row {row}: flight HAT{row}, gate {number}"));
    let rows = rows.collect::<Vec<_>>().join("\n");
    let id = format!("c{number}");
    [
        json!({ "role": "user", "content": [{ "type": "text", "text": format!("Find gate {number}.") }] }),
        json!({ "role": "assistant", "content": [
            { "type": "tool_use", "id": id, "name": "get_flights", "input": {} }] }),
        json!({ "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": id, "content": rows }] }),
    ]
}

#[test]
fn marks_for_the_cache_stand_where_the_given_list_has_them() {
    let folder = Folder::with(&[]);
    let mut messages = Vec::new();
    for number in 0..6 {
        messages.extend(turn(number));
        let mut given = messages.clone();
        let newest = given.last_mut().unwrap();
        newest["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
        let run = compress(&folder, "16000", &given);
        run.stderr_has("TIER_1: a result of ");
        let sent = valid(&folder, &run);
        assert_eq!(marked(&sent), [last(&sent)], "{sent}");
        messages.push(json!({ "role": "assistant", "content": "It is there." }));
    }
    // Nobody gave the lists of these commands, so that their program sets the marks.
    folder
        .run("context checkpoint --session trip", "")
        .code_is(0);
    let kept = folder.run("context resume --session trip --checkpoint 1", "");
    assert!(marked(&valid(&folder, &kept)).is_empty(), "{}", kept.stdout);
    let fresh = folder.run("context resume --session trip", "");
    assert!(
        marked(&valid(&folder, &fresh)).is_empty(),
        "{}",
        fresh.stdout
    );
}

/// A program makes a block of the newest text to put a mark on it, and keeps the text itself.
#[test]
fn a_text_is_the_same_message_as_its_block() {
    let folder = Folder::with(&[]);
    let mut messages = Vec::new();
    for number in 0..12 {
        let text = format!("Find gate {number}. {}", "Please look twice. ".repeat(20));
        messages.push(json!({ "role": "user", "content": text }));
        let mut given = messages.clone();
        given.last_mut().unwrap()["content"] = json!([
            { "type": "text", "text": text, "cache_control": { "type": "ephemeral" } }]);
        let sent = valid(&folder, &compress(&folder, "1400", &given));
        assert_eq!(marked(&sent), [last(&sent)], "{sent}");
        messages.push(json!({ "role": "assistant", "content": "It is there." }));
    }
    let restored = folder.run("context restore --session trip", "");
    assert_eq!(last(&restored.json()[0]), messages.len() - 2);
}

#[test]
fn short_requests_stay_whole_beside_a_long_first_one() {
    let first = format!(
        "Sort the shelves of the depot. {}That is all.",
        "rye and oats ".repeat(900)
    );
    let later = |number: usize| {
        format!(
            "The port of shelf {number} is going to be {} from now on, and the customer of row {number} wants Postgres \
             there and no other database, because the old one loses the labels that are printed at night by the small \
             machine in the yard behind gate {number}.",
            9190 + number
        )
    };
    let mut messages = vec![
        json!({ "role": "user", "content": first }),
        json!({ "role": "assistant", "content": "I begin." }),
    ];
    for number in 0..5 {
        let done = format!(
            "Row {number} is done. {}",
            "I have sorted it again. ".repeat(30)
        );
        messages.push(json!({ "role": "user", "content": later(number) }));
        messages.push(json!({ "role": "assistant", "content": done.trim_end() }));
    }
    messages.push(json!({ "role": "user", "content": "Go on." }));
    let folder = Folder::with(&[]);
    let run = compress(&folder, "4096", &messages);
    run.stderr_has("TIER_3: ");
    let sent = valid(&folder, &run);
    let texts = sent.as_array().unwrap().iter();
    let texts: Vec<_> = texts.filter_map(|one| one["content"].as_str()).collect();
    let shows = |part: &str| texts.iter().any(|text| text.contains(part));
    for number in 0..5 {
        assert!(shows(&later(number)), "{number}: {sent}");
    }
    assert!(shows("> Sort the shelves of the depot. rye and oats"));
    assert!(shows("rye and oats That is all."));
}
