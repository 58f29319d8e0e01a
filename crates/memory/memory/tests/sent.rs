//! The lists that a memory sends: each is the former list with new messages, valid, the same after a restart, and
//! with marks that can be read back.

mod edges;
mod lines;
mod marks;
mod rules;
mod saves;
mod thoughts;
mod window;

use accp_memory::{Form, Memory, MessageList, Prices, Promise, Why, Window, check};
use proptest::prelude::*;
use serde_json::{Value as Json, json};
use time::{Duration, OffsetDateTime};

use crate::common::lists::{any_messages, list};

const NOW: OffsetDateTime = OffsetDateTime::UNIX_EPOCH;

/// The prices of a cache that keeps lists of any length, so that short ones have forms, too.
fn prices() -> Prices {
    Prices::default().with_minimum(0).with_step(1)
}

fn memory(promise: Promise) -> Memory {
    Memory::new(Window::of(200_000).unwrap(), prices(), promise)
}

/// A page of a file with numbered lines, beginning with line `from`.
fn page(from: usize, lines: usize) -> String {
    let lines = (from..from + lines).map(|n| format!("{n:>6}\tlet value_{n} = read(table, {n})?;"));
    lines.collect::<Vec<_>>().join("\n")
}

fn records(count: usize) -> String {
    let records = (0..count).map(|n| {
        json!({ "flight": format!("HAT{n:03}"), "seats": { "near": n, "far": n + 1 }, "day": "2031-06-01" })
    });
    records.collect::<Json>().to_string()
}

fn log(lines: usize) -> String {
    let lines =
        (0..lines).map(|n| format!("\u{1b}[32mok\u{1b}[0m   step {n} of the build took {n} ms"));
    lines.collect::<Vec<_>>().join("\n")
}

fn any_result() -> impl Strategy<Value = String> {
    prop_oneof![
        (1..9_usize, 5..40_usize).prop_map(|(from, lines)| page(from * 7, lines)),
        (1..12_usize).prop_map(records),
        (1..40_usize).prop_map(log),
        "[a-z \n]{0,60}",
        Just("[lines 2-3 of result c1 left out; memory_read(\"c1\", 2, 3) shows them]".to_owned()),
    ]
}

/// A call for each result, in this form. Ids repeat, as they do in some programs.
fn conversation(form: Form, results: &[String]) -> Vec<Json> {
    let mut out = vec![json!({ "role": "user", "content": "Read it, and say which are free." })];
    for (at, result) in results.iter().enumerate() {
        let id = match form {
            Form::OpenAi => format!("c{}", at % 3),
            _ => format!("c{at}"),
        };
        // Every fifth call has the same arguments, so that some calls are made again.
        let arguments = json!({ "at": at % 5 });
        match form {
            Form::OpenAi => {
                let function = json!({ "name": "look", "arguments": arguments.to_string() });
                out.push(
                    json!({ "role": "assistant", "content": null, "tool_calls": [
                    { "id": id, "type": "function", "function": function }] }),
                );
                out.push(json!({ "role": "tool", "tool_call_id": id, "content": result }));
            }
            Form::Anthropic => {
                let call =
                    json!({ "type": "tool_use", "id": id, "name": "look", "input": arguments });
                out.push(json!({ "role": "assistant", "content": [call] }));
                let text = if result.is_empty() { "-" } else { result };
                let text = json!([{ "type": "text", "text": text }]);
                let answer = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
                out.push(json!({ "role": "user", "content": [answer] }));
            }
            Form::Responses => {
                out.push(
                    json!({ "type": "function_call", "call_id": id, "name": "look",
                    "arguments": arguments.to_string() }),
                );
                out.push(
                    json!({ "type": "function_call_output", "call_id": id, "output": result }),
                );
            }
        }
    }
    out
}

fn any_form() -> impl Strategy<Value = Form> {
    (0..3_usize).prop_map(|at| Form::ALL[at])
}

fn raws(list: &MessageList) -> Vec<String> {
    let messages = list.messages().iter();
    messages.map(|message| message.raw().to_owned()).collect()
}

/// Returns the marks for lines that left, each with its result and its numbers.
fn left_out(text: &str) -> Vec<(&str, String, usize, usize)> {
    let marks = text
        .split('\n')
        .filter(|line| line.contains(" left out; memory_read("));
    let marks = marks.map(|mark| {
        let (_, call) = mark.split_once("memory_read(").unwrap();
        let (call, _) = call.rsplit_once(") shows them]").unwrap();
        let arguments: Json = serde_json::from_str(&format!("[{call}]")).unwrap();
        let number = |at: usize| arguments[at].as_u64().unwrap() as usize;
        (
            mark,
            arguments[0].as_str().unwrap().to_owned(),
            number(1),
            number(2),
        )
    });
    marks.collect()
}

/// Returns the texts of results in the messages of a list of OpenAI chat.
fn results(list: &MessageList) -> Vec<String> {
    let messages = list.messages().iter().map(accp_memory::ListMessage::json);
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every list is the former list with new messages. A restart changes no byte, whether the state was remembered
    /// or not.
    #[test]
    fn every_list_is_the_former_one_grown(
        form in any_form(),
        texts in prop::collection::vec(any_result(), 1..8),
        restarts in prop::collection::vec(any::<bool>(), 24),
    ) {
        let messages = conversation(form, &texts);
        let mut kept = memory(Promise::Append);
        let mut before: Vec<String> = Vec::new();
        let mut tokens = 0;
        for end in 1..=messages.len() {
            let given = list(form, &messages[..end]);
            let (sent, report) = kept.to_send(&given, NOW);
            let sent = raws(&sent);
            prop_assert_eq!(&sent[..before.len()], &before[..]);
            prop_assert_eq!((report.step, report.needs_tool, report.is_over), (None, false, false));
            prop_assert!(report.sent <= report.given);
            prop_assert_eq!((report.same, report.same_messages), (tokens, before.len()));
            tokens = report.sent;
            let (anew, _) = memory(Promise::Append).to_send(&given, NOW);
            prop_assert_eq!(&raws(&anew), &sent);
            before = sent;
            if restarts[end] {
                let text = kept.remember();
                kept = memory(Promise::Append).recall(&text).unwrap();
            }
        }
    }

    /// For any given list, the sent list is as valid, and differs from the given list only in results.
    #[test]
    fn what_is_sent_is_as_valid_as_what_was_given((form, messages) in any_messages()) {
        let given = list(form, &messages);
        let window = Window::of(400).unwrap();
        let mut memory = Memory::new(window, prices(), Promise::Save).with_tool();
        let (sent, _) = memory.to_send(&given, NOW);
        prop_assert_eq!(check(&sent), []);
        prop_assert_eq!(sent.messages().len(), given.messages().len());
        for (sent, given) in sent.messages().iter().zip(given.messages()) {
            let is_result = given.raw().contains("result") || given.raw().contains("\"tool\"")
                || given.raw().contains("_output");
            prop_assert!(is_result || sent.raw() == given.raw(), "{}", sent.raw());
        }
    }

    /// The marks of a cut result read back the lines that left. With these lines in their places, the result is whole
    /// again.
    #[test]
    fn every_mark_reads_back(texts in prop::collection::vec((200..500_usize).prop_map(|lines| page(lines, lines)), 2..6)) {
        let messages = conversation(Form::OpenAi, &texts);
        let given = list(Form::OpenAi, &messages);
        let whole = results(&memory(Promise::Append).to_send(&given, NOW).0);
        let window = Window::of(3_000).unwrap();
        let mut small = Memory::new(window, prices(), Promise::Append).with_tool();
        let mut marks = 0;
        for end in 1..=messages.len() {
            let given = list(Form::OpenAi, &messages[..end]);
            let (sent, report) = small.to_send(&given, NOW);
            prop_assert!(report.needs_tool);
            for (text, whole) in results(&sent).iter().zip(&whole) {
                let mut filled = text.clone();
                for (mark, result, from, to) in left_out(text) {
                    let lines = small.read(&result, from, to);
                    prop_assert!(lines.is_some(), "{}", mark);
                    filled = filled.replacen(mark, &lines.unwrap(), 1);
                    marks += 1;
                }
                // References lead only to uncut results, so a small window may have fewer of them than a large one.
                let is_same = &filled == whole;
                prop_assert!(is_same || filled.contains(" again, from ") || whole.contains(" again, from "));
            }
        }
        prop_assert!(marks > 0);
    }
}

#[test]
fn a_result_is_cheaper_at_first_sight_and_its_repeat_too() {
    let texts = [log(30), records(9), page(1, 40), page(10, 25)];
    let given = list(Form::OpenAi, &conversation(Form::OpenAi, &texts));
    let mut memory = memory(Promise::Append);
    let (sent, report) = memory.to_send(&given, NOW);
    let sent = results(&sent);
    assert!(!sent[0].contains('\u{1b}') && sent[0].lines().count() == 30);
    assert!(
        sent[1].starts_with(
            "{\"columns\":[\"flight\",\"seats.near\",\"seats.far\",\"day\"],\"rows\":["
        )
    );
    // Ids repeat: the fourth call has the id of the first. Its result refers to the third result.
    assert_eq!(
        sent[3],
        "[lines 10-34 of result c2 again, from \"10 let value_10 = read(table,\" to \"34 let value_34 = read(table,\"]"
    );
    assert!(
        report.forms.len() >= 3 && report.sent * 10 < report.given * 8,
        "{report:?}"
    );
    assert_eq!(
        memory.read("c2", 10, 10).as_deref(),
        Some("10\tlet value_10 = read(table, 10)?;")
    );
}

#[test]
fn what_is_marked_signed_or_failed_stays_as_it_is() {
    let result = |more: Json| {
        let mut answer = json!({ "type": "tool_result", "tool_use_id": "c0", "content": log(40) });
        answer
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let call = json!({ "type": "tool_use", "id": "c0", "name": "look", "input": {} });
        let messages = [
            json!({ "role": "user", "content": "Look." }),
            json!({ "role": "assistant", "content": [call] }),
            json!({ "role": "user", "content": [answer] }),
        ];
        let given = list(Form::Anthropic, &messages);
        let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
        (raws(&sent), raws(&given))
    };
    let (sent, given) = result(json!({}));
    assert_ne!(sent, given);
    for more in [
        json!({ "is_error": true }),
        json!({ "cache_control": { "type": "ephemeral" } }),
    ] {
        let (sent, given) = result(more);
        assert_eq!(sent, given);
    }
}

/// A mark for a cache that moves on with the newest message changes no form.
#[test]
fn a_mark_of_a_cache_may_move() {
    let mut messages = conversation(Form::Anthropic, &[log(40), page(1, 30)]);
    let mut memory = memory(Promise::Append);
    let (first, _) = memory.to_send(&list(Form::Anthropic, &messages[..3]), NOW);
    messages[2]["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
    let (second, report) = memory.to_send(&list(Form::Anthropic, &messages), NOW);
    let text = |list: &MessageList| list.messages()[2].json()["content"][0]["content"].clone();
    assert_eq!(text(&first), text(&second));
    assert!(second.messages()[2].raw().contains("cache_control"));
    assert_eq!(report.step, None);
}

fn long(count: usize) -> Vec<Json> {
    let texts: Vec<String> = (0..count).map(|n| page(n * 1_000, 120)).collect();
    let mut messages = conversation(Form::OpenAi, &texts);
    messages.push(json!({ "role": "assistant", "content": "They are free." }));
    messages.push(json!({ "role": "user", "content": "Which?" }));
    messages
}

#[test]
fn a_change_comes_for_nothing_when_the_cache_is_cold() {
    let messages = long(9);
    let given = list(Form::OpenAi, &messages);
    let later = |promise, seconds| {
        let mut memory = memory(promise);
        let (before, _) = memory.to_send(&list(Form::OpenAi, &messages[..messages.len() - 2]), NOW);
        let (sent, report) = memory.to_send(&given, NOW + Duration::seconds(seconds));
        let same = raws(&sent)[..before.messages().len()] == raws(&before)[..];
        (same, report)
    };
    for (promise, seconds) in [(Promise::Append, 9_999), (Promise::Save, 200)] {
        let (same, report) = later(promise, seconds);
        assert!(
            same && report.step.is_none() && !report.needs_tool,
            "{report:?}"
        );
    }
    let (same, report) = later(Promise::Save, 9_999);
    let step = report.step.unwrap();
    assert_eq!(
        (same, step.why, report.needs_tool),
        (false, Why::Free, true)
    );
    assert!(
        step.cut
            .iter()
            .all(|cut| cut.after < cut.before && cut.message < messages.len() - 10)
    );
}

/// A thought that is bound to the messages before it turns any promise into `Append`.
#[test]
fn nothing_changes_before_a_bound_thought() {
    let thought = json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2ln" });
    let said = json!({ "type": "text", "text": "They are free." });
    let texts: Vec<String> = (0..9).map(|n| page(n * 1_000, 120)).collect();
    let mut messages = conversation(Form::Anthropic, &texts);
    messages.push(json!({ "role": "assistant", "content": [thought, said] }));
    let mut memory = memory(Promise::Save);
    let (before, _) = memory.to_send(&list(Form::Anthropic, &messages), NOW);
    messages.push(json!({ "role": "user", "content": "Which?" }));
    let (sent, report) = memory.to_send(&list(Form::Anthropic, &messages), NOW + Duration::days(1));
    assert_eq!(report.step, None);
    assert_eq!(raws(&sent)[..before.messages().len()], raws(&before));
}

#[test]
fn a_window_forces_a_change_and_the_list_fits() {
    let messages = long(12);
    let given = list(Form::OpenAi, &messages);
    let window = Window::of(12_000).unwrap();
    let mut memory = Memory::new(window, prices(), Promise::Append);
    let (sent, report) = memory.to_send(&given, NOW);
    assert!(
        report.given > 12_000 && report.sent <= 12_000 && !report.is_over,
        "{report:?}"
    );
    assert_eq!(report.step.unwrap().why, Why::Forced);
    assert_eq!(check(&sent), []);
    for text in results(&sent) {
        for (_, result, from, to) in left_out(&text) {
            let lines = memory.read(&result, from, to).unwrap();
            assert_eq!(lines.lines().count(), to + 1 - from);
        }
    }
    // After a restart, the list has the same bytes.
    let mut again = Memory::new(Window::of(12_000).unwrap(), prices(), Promise::Append)
        .recall(&memory.remember())
        .unwrap();
    let (same, report) = again.to_send(&given, NOW);
    assert_eq!((raws(&same), report.step), (raws(&sent), None));
    assert_eq!(again.read("c0", 1, 1), memory.read("c0", 1, 1));
}

/// A change that costs something may only use what the conversation has saved. So even a conversation that ends right
/// after the change has lost nothing.
#[test]
fn a_paid_change_spends_no_more_than_was_saved() {
    let prices = prices();
    let run = |saves: bool| {
        let mut messages = vec![json!({ "role": "user", "content": "Go on until all is read." })];
        let mut memory = Memory::new(Window::of(900_000).unwrap(), prices, Promise::Save);
        let (mut steps, mut balance, mut before) = (Vec::new(), 0.0, [0, 0]);
        for turn in 0..60 {
            let id = format!("c{turn}");
            let arguments = json!({ "at": turn }).to_string();
            let function = json!({ "name": "look", "arguments": arguments });
            messages.push(
                json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": id, "type": "function", "function": function }] }),
            );
            let text = match (saves, turn % 2) {
                (true, 0) => records(60),
                _ => page(turn * 1_000, 160),
            };
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
            let (_, report) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
            let cost = |now: u64, kept: u64| {
                kept as f64 * prices.read() + (now - kept) as f64 * prices.write()
            };
            // After a step, the whole list counts as written to the cache again.
            let kept = if report.step.is_some() { 0 } else { before[1] };
            balance += cost(report.given, before[0]) - cost(report.sent, kept);
            before = [report.given, report.sent];
            if let Some(step) = report.step {
                assert_eq!(step.why, Why::Pays);
                assert!(balance >= 0.0, "turn {turn}: {balance}");
                steps.push(turn);
                // Later steps write only a part of the list again, so this calculation would not fit them.
                break;
            }
        }
        steps
    };
    assert_eq!(run(false), [0; 0]);
    assert!(!run(true).is_empty());
}

#[test]
fn a_list_that_its_owner_changed_is_read_anew() {
    let mut messages = conversation(Form::OpenAi, &[page(1, 40), page(1, 40), page(1, 40)]);
    let mut memory = memory(Promise::Append);
    memory.to_send(&list(Form::OpenAi, &messages), NOW);
    messages.drain(1..3);
    let given = list(Form::OpenAi, &messages);
    let (sent, _) = memory.to_send(&given, NOW);
    // The first of the remaining pages is whole again, and the second one refers to it.
    let results = results(&sent);
    assert_eq!(results[0].lines().count(), 40);
    assert!(results[1].contains("of result c1 again"), "{}", results[1]);
    assert!(
        memory
            .recall("{}")
            .unwrap_err()
            .to_string()
            .starts_with("expected what `Memory::remember` gave")
    );
}

#[test]
fn results_in_the_users_place_are_those_of_the_named() {
    let said = |name: &str| json!({ "role": "user", "name": name, "content": log(40) });
    let messages = [said("bash"), said("ann")];
    let given = list(Form::OpenAi, &messages);
    let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
    assert_eq!(raws(&sent), raws(&given));
    let mut named = memory(Promise::Append).with_results_of(["bash".to_owned()]);
    let (sent, _) = named.to_send(&given, NOW);
    assert_ne!(raws(&sent)[0], raws(&given)[0]);
    assert_eq!(raws(&sent)[1], raws(&given)[1]);
}

/// After a restart, a program may name other speakers. A message that no longer counts as a result is sent as it is
/// given.
#[test]
fn other_names_after_a_restart_are_another_list() {
    let said = |name: &str| json!({ "role": "user", "name": name, "content": log(40) });
    let given = list(Form::OpenAi, &[said("bash"), said("ann")]);
    let named = || memory(Promise::Append).with_results_of(["bash".to_owned()]);
    let mut before = named();
    let (sent, _) = before.to_send(&given, NOW);
    assert_ne!(raws(&sent), raws(&given));
    let text = before.remember();
    let (plain, _) = memory(Promise::Append)
        .recall(&text)
        .unwrap()
        .to_send(&given, NOW);
    assert_eq!(raws(&plain), raws(&given));
    let (same, _) = named().recall(&text).unwrap().to_send(&given, NOW);
    assert_eq!(raws(&same), raws(&sent));
}

/// Lines that the memory gets only with the next list are not read as an empty line.
#[test]
fn nothing_is_read_before_the_list_is_there() {
    let given = list(
        Form::OpenAi,
        &conversation(Form::OpenAi, &["rye\n4".to_owned()]),
    );
    let mut before = memory(Promise::Append);
    before.to_send(&given, NOW);
    assert_eq!(before.read("c0", 1, 1).as_deref(), Some("rye"));
    let mut again = memory(Promise::Append).recall(&before.remember()).unwrap();
    assert_eq!(again.read("c0", 1, 1), None);
    again.to_send(&given, NOW);
    assert_eq!(again.read("c0", 1, 1).as_deref(), Some("rye"));
}
