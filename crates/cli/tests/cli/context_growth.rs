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

/// Programs write the date or the state of the world into the system message before each call of the model.
#[test]
fn a_system_message_may_change_with_each_list() {
    let system = |day: usize| {
        let text = format!("You help in a shop that sells seeds.\nToday is day {day}.");
        json!({ "role": "system", "content": text })
    };
    for form in ["openai", "responses"] {
        let folder = Folder::with(&[]);
        let compress = |given: &[Json]| {
            let command = "context compress --session shop --window 4000 --messages";
            folder.run((command, form), Json::from(given.to_vec()).to_string())
        };
        let mut messages = Vec::new();
        let mut printed: Vec<(Vec<Json>, usize)> = Vec::new();
        for day in 101..113 {
            let seeds = (0..60).map(|seed| format!("seed{day}x{seed}"));
            let seeds = seeds.collect::<Vec<_>>().join(" ");
            let order = format!("Order {day}: {seeds}");
            messages.push(json!({ "role": "user", "content": order }));
            // The whole conversation, the list that was printed last, or the list before that one.
            let earlier = printed.len().checked_sub(day % 3);
            let earlier = earlier.and_then(|at| printed.get(at)).cloned();
            let (mut given, known) = earlier.unwrap_or_else(|| (vec![Json::Null], 0));
            given[0] = system(day);
            given.extend_from_slice(&messages[known..]);
            let run = compress(&given);
            run.code_is(0);
            let sent = run.json().remove(0).as_array().unwrap().clone();
            assert_eq!(sent[0], system(day));
            printed.push((sent, messages.len()));
            let noted = format!("I note order {day}. {seeds}");
            messages.push(json!({ "role": "assistant", "content": noted }));
        }
        messages.pop();
        messages.insert(0, system(112));
        let restored = folder.run("context restore --session shop", "");
        assert_eq!(restored.json(), [Json::from(messages.clone())]);
        for day in 101..109 {
            let line = format!("Today is day {day}.");
            let command = format!("context recover --session shop --limit 1 --exact '{line}'");
            folder.run(command, "").code_is(0).stdout_has(&line);
        }
        messages[1]["content"] = "Another order.".into();
        compress(&messages)
            .code_is(1)
            .stderr_has("only messages of the system may change");
    }
}

/// After a summary, a list has room for the next turns, so that the provider's cache serves them.
#[test]
fn many_short_requests_are_not_summed_up_at_each_turn() {
    let folder = Folder::with(&[]);
    let turn = |number: usize| {
        let done = format!(
            "Shelf {number} is done. {}",
            "All is well there. ".repeat(3)
        );
        [
            json!({ "role": "user", "content": format!("Sort shelf {number}.") }),
            json!({ "role": "assistant", "content": done.trim_end() }),
        ]
    };
    let mut messages: Vec<_> = (0..300).flat_map(turn).collect();
    compress(&folder, "5000", &messages).stderr_has("TIER_3: ");
    let mut summaries = 0;
    for number in 300..308 {
        messages.extend(turn(number));
        let run = compress(&folder, "5000", &messages);
        summaries += usize::from(run.stderr.contains("TIER_3: "));
    }
    assert!(summaries <= 1, "{summaries}");
}

/// A `compaction` stands for items that the list no longer has, and only the provider can read it.
#[test]
fn what_only_the_provider_can_read_stays_in_the_list() {
    let compaction = json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA" });
    for at in [0, 4] {
        let mut messages = Vec::new();
        for number in 0..16 {
            let done = format!(
                "Gate {number} is open. {}",
                "All is well there. ".repeat(60)
            );
            messages.push(json!({ "role": "user", "content": format!("Find gate {number}.") }));
            messages.push(json!({ "role": "assistant", "content": done.trim_end() }));
        }
        messages.insert(at, compaction.clone());
        let reasoning = json!({ "type": "reasoning", "id": "rs_1", "summary": [] });
        messages.insert(at, reasoning);
        let folder = Folder::with(&[]);
        let list = Json::from(messages.clone()).to_string();
        let command = "context compress --session trip --messages responses --window 4000";
        let run = folder.run(command, list);
        run.code_is(0);
        run.stderr_has("TIER_3: ");
        let check = folder.run("context check --messages responses", &run.stdout);
        check.code_is(0);
        let sent = run.json().remove(0);
        assert_eq!(sent[0], compaction, "{sent}");
        assert!(last(&sent) < messages.len() / 2, "{sent}");
        let again = folder.run(command, &run.stdout);
        assert_eq!(again.stdout, run.stdout);
        let fresh = folder.run("context resume --session trip", "");
        assert_eq!(fresh.json().remove(0)[0], compaction);
    }
}

/// Some programs write all characters beyond ASCII as escapes. A model does not see them.
#[test]
fn a_character_counts_the_same_with_and_without_an_escape() {
    let folder = Folder::with(&[]);
    let text = "東京は大きい町です。".repeat(40);
    let messages = json!([{ "role": "user", "content": text }]);
    let request = json!({ "system": text, "messages": messages });
    for plain in [messages.to_string(), request.to_string()] {
        let escaped = plain.chars().map(|c| match c {
            c if c.is_ascii() => c.to_string(),
            c => format!("\\u{:04x}", u32::from(c)),
        });
        let escaped: String = escaped.collect();
        let [plain, escaped] = [plain, escaped].map(|list| {
            let run = folder.run("context check --messages anthropic --window 10", list);
            run.code_is(1);
            run.stderr
        });
        assert!(plain.contains("over-window: the list has "), "{plain}");
        assert_eq!(plain, escaped);
    }
}

#[test]
fn the_reason_of_a_person_who_lets_no_tool_run_stays() {
    let mut messages = Vec::new();
    for number in 0..16 {
        let done = format!(
            "Gate {number} is open. {}",
            "All is well there. ".repeat(60)
        );
        messages.push(json!({ "role": "user", "content": format!("Find gate {number}.") }));
        messages.push(json!({ "role": "assistant", "content": done.trim_end() }));
        for (id, answer) in [("no", json!(false)), ("yes", json!(true))] {
            let id = format!("mcpr_{id}{number}");
            messages.push(
                json!({ "type": "mcp_approval_request", "id": id, "server_label": "files",
                "name": "delete", "arguments": format!("{{\"shelf\":{number}}}") }),
            );
            let mut response = json!({ "type": "mcp_approval_response", "approval_request_id": id, "approve": answer });
            if answer == false {
                response["reason"] = format!("Keep the photos of shelf {number}.").into();
            }
            messages.push(response);
        }
    }
    let folder = Folder::with(&[]);
    let command = "context compress --session trip --messages responses --window 5000";
    let run = folder.run(command, Json::from(messages).to_string());
    run.code_is(0);
    run.stderr_has("TIER_3: ");
    for number in 0..16 {
        run.stdout_has(format!("Keep the photos of shelf {number}."));
    }
    // The first requests for approval have left, so their answers say what the person decided about.
    for number in 0..8 {
        let call = format!("delete({{\\\"shelf\\\":{number}}})");
        run.stdout_has(format!("[about the call {call}]"));
    }
    // That a tool may run is no wish.
    assert!(!run.stdout.contains("mcpr_yes0"), "{}", run.stdout);
}

/// A provider refuses the answer to a request for approval if the list lacks the request.
#[test]
fn a_request_for_approval_and_its_answer_leave_together() {
    let folder = Folder::with(&[]);
    for turns in 8..12 {
        let mut messages = Vec::new();
        for number in 0..turns {
            let done = format!(
                "Gate {number} is open. {}",
                "All is well there. ".repeat(60)
            );
            let id = format!("mcpr_{number}");
            messages.push(json!({ "role": "user", "content": format!("Find gate {number}.") }));
            messages.push(json!({ "role": "assistant", "content": done.trim_end() }));
            messages.push(
                json!({ "type": "mcp_approval_request", "id": id, "server_label": "files",
                "name": "delete", "arguments": "{}" }),
            );
            messages.push(
                json!({ "type": "mcp_approval_response", "approval_request_id": id, "approve": true }),
            );
        }
        let command =
            format!("context compress --session trip{turns} --messages responses --window 3000");
        let run = folder.run(command, Json::from(messages).to_string());
        run.code_is(0);
        run.stderr_has("TIER_3: ");
        assert!(!run.stderr.contains("approval-orphan"), "{}", run.stderr);
    }
}
