//! Results in long lines, and lines in JSON.

use accp_memory::{Form, Memory, Promise, Window};
use serde_json::{Value as Json, json};

use super::marks::again;
use super::{NOW, conversation, left_out, memory, page, prices, raws, records, results};
use crate::common::lists::list;

/// Lines about tables, or whatever `of` names, with the numbers from `from` to before `to`.
fn rows(of: &str, from: usize, to: usize) -> String {
    let rows = (from..to).map(|n| {
        let day = n * 7 % 31;
        format!("{of} {n} stands on the terrace behind the house, and is free on day {day} for whoever comes late")
    });
    rows.collect::<Vec<_>>().join("\n")
}

fn output(text: &str) -> String {
    json!({ "code": 0, "output": text }).to_string()
}

/// Returns a text with the lines that its marks name in place of the marks.
fn read_back(memory: &Memory, text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let left_out = left_out(line).into_iter();
        let left_out = left_out.map(|(_, name, from, to)| (name, from, to));
        match left_out.chain(again(line)).next() {
            Some((name, from, to)) => read_back(memory, &memory.read(&name, from, to).unwrap()),
            None => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A memory whose window is a little too small for these messages.
fn too_small_for(messages: &[Json]) -> Memory {
    let (_, report) = memory(Promise::Append).to_send(&list(Form::OpenAi, messages), NOW);
    let window = Window::of(report.sent - 200).unwrap();
    Memory::new(window, prices(), Promise::Append)
}

/// A cut result refers to lines inside the JSON of an earlier result. Cut, that one would have other line numbers, so
/// it stays whole.
#[test]
fn what_a_cut_result_refers_to_keeps_its_line_numbers() {
    let first = output(&rows("table", 0, 100));
    let second = [
        rows("table", 10, 30),
        rows("chair", 0, 40),
        rows("table", 50, 80),
        rows("chair", 40, 80),
    ];
    let second = second.join("\n");
    let mut texts = vec![first.clone(), output(&second)];
    texts.extend((0..3).map(|at| rows("bench", at * 100, at * 100 + 30)));
    let all = conversation(Form::OpenAi, &texts);
    let ends = [
        json!({ "role": "assistant", "content": "I see." }),
        json!({ "role": "user", "content": "And?" }),
    ];
    let mut messages = [&all[..5], &ends].concat();
    let mut memory = too_small_for(&messages);
    let mut sent = Vec::new();
    for cut in [&["c1"][..], &["c2", "4", "5"]] {
        let (list, report) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
        let step = report.step.unwrap();
        let names: Vec<&str> = step.cut.iter().map(|cut| &*cut.result).collect();
        assert_eq!(names, cut);
        sent = results(&list);
        messages.extend(all[5..].iter().chain(&ends).cloned());
    }
    assert_eq!(sent[0], first);
    assert!(!again(&sent[1]).is_empty() && !left_out(&sent[1]).is_empty());
    let read = read_back(&memory, &sent[1]);
    let (head, lines) = read.split_once('\n').unwrap();
    assert_eq!(head, r#"{"code":0,"output":"(the 130 lines below)"}"#);
    assert_eq!(lines, second);
    for (sent, given) in sent[2..].iter().zip(&texts[2..]) {
        assert_eq!(read_back(&memory, sent), *given);
    }
}

/// The tool has shown lines inside the JSON of a result. Their mark names them as the call did, so that result stays
/// whole.
#[test]
fn what_the_tool_has_shown_keeps_its_line_numbers() {
    let first = output(&rows("table", 0, 100));
    let mut messages = conversation(Form::OpenAi, std::slice::from_ref(&first));
    let asked = json!({ "result": "c0", "from": 11, "to": 40 }).to_string();
    let function = json!({ "name": "memory_read", "arguments": asked });
    messages.extend([
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "m1", "type": "function", "function": function }] }),
        json!({ "role": "tool", "tool_call_id": "m1", "content": rows("table", 10, 40) }),
        json!({ "role": "assistant", "content": "I see." }),
        json!({ "role": "user", "content": "And?" }),
    ]);
    let mut memory = too_small_for(&messages);
    let (sent, _) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
    let sent = results(&sent);
    assert_eq!(sent[0], first);
    assert_eq!(left_out(&sent[1]).len(), 1, "{}", sent[1]);
    assert_eq!(read_back(&memory, &sent[1]), rows("table", 10, 40));
}

/// Ids come again in some programs. A result stays that of its own call when a later call of the tool has the same id.
#[test]
fn a_result_is_that_of_its_own_call() {
    let text = rows("table", 0, 60);
    let mut messages = conversation(Form::OpenAi, std::slice::from_ref(&text));
    let asked = json!({ "result": "c0", "from": 11, "to": 40 }).to_string();
    let function = json!({ "name": "memory_read", "arguments": asked });
    messages.extend([
        json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "c0", "type": "function", "function": function }] }),
        json!({ "role": "tool", "tool_call_id": "c0", "content": rows("table", 10, 40) }),
        json!({ "role": "assistant", "content": "I see." }),
        json!({ "role": "user", "content": "And?" }),
    ]);
    let given = list(Form::OpenAi, &messages);
    let mut small = too_small_for(&messages);
    let (sent, _) = small.to_send(&given, NOW);
    let window = Window::of(200_000).unwrap();
    let again = Memory::new(window, prices(), Promise::Append);
    let mut again = again.recall(&small.remember()).unwrap();
    assert_eq!(raws(&again.to_send(&given, NOW).0), raws(&sent));
    let sent = results(&sent);
    for memory in [&small, &again] {
        assert_eq!(left_out(&sent[0]).len(), 1, "{}", sent[0]);
        assert_eq!(read_back(memory, &sent[0]), text);
        assert_eq!(read_back(memory, &sent[1]), rows("table", 10, 40));
    }
}

/// A result that is one line of JSON loses its middle as other results do, and the lines that left can be read back.
#[test]
fn a_long_line_is_left_out_in_parts() {
    let rows: Vec<Json> = (0..900)
        .map(|n| json!({ "id": n, "about": format!("row {n} of {}", n * 7_919 % 1_009), "near": { "n": n } }))
        .collect();
    let words = "one more word that nobody needs any longer ".repeat(400);
    for text in [json!({ "took": 9, "deep": [rows] }).to_string(), words] {
        let messages = conversation(Form::OpenAi, &[text.clone(), records(3), records(4)]);
        let given = list(Form::OpenAi, &messages);
        let whole = results(&memory(Promise::Append).to_send(&given, NOW).0);
        let mut small = Memory::new(Window::of(2_500).unwrap(), prices(), Promise::Append);
        let (sent, report) = small.to_send(&given, NOW);
        assert!(!report.is_over, "{report:?}");
        let again = Memory::new(Window::of(2_500).unwrap(), prices(), Promise::Append);
        let mut again = again.recall(&small.remember()).unwrap();
        assert_eq!(raws(&again.to_send(&given, NOW).0), raws(&sent));
        for memory in [&small, &again] {
            let shown = &results(&sent)[0];
            let (mark, result, from, to) = left_out(shown)[0].clone();
            assert!(from > 2 && to > from + 20, "{mark}");
            let lines = memory.read(&result, from, to).unwrap();
            let filled = shown.replacen(mark, &lines, 1);
            let bare = |text: &str| text.replace(['\n', ' '], "");
            assert_eq!(bare(&filled), bare(&whole[0]));
            let all = memory.read(&result, 1, usize::MAX).unwrap();
            assert_eq!(all, filled);
        }
    }
}

/// A JSON result that contains the lines of a file shows them below the JSON, so that a repetition can be a
/// reference.
#[test]
fn lines_in_json_are_lines() {
    let result = |from, lines| json!({ "code": 0, "output": page(from, lines) }).to_string();
    let given = list(
        Form::OpenAi,
        &conversation(Form::OpenAi, &[result(1, 40), result(10, 40)]),
    );
    let (sent, _) = memory(Promise::Append).to_send(&given, NOW);
    let sent = results(&sent);
    assert!(
        sent[1].starts_with("{\"code\":0,\"output\":\"(the 40 lines below)\"}\n"),
        "{}",
        sent[1]
    );
    assert!(
        sent[1].contains(" again, from \"10 let value_10"),
        "{}",
        sent[1]
    );
    // The first result keeps its form, because another form would hardly be cheaper. Still, later results can refer
    // to the lines inside it.
    let words = |from: usize| {
        let lines = (from..from + 30).map(|n| format!("table {n} is free on day {}", n * 7 % 31));
        json!({ "code": 0, "output": lines.collect::<Vec<_>>().join("\n") }).to_string()
    };
    let given = list(
        Form::OpenAi,
        &conversation(Form::OpenAi, &[words(0), words(10)]),
    );
    let mut memory = memory(Promise::Append);
    let sent = results(&memory.to_send(&given, NOW).0);
    assert_eq!(sent[0], words(0));
    let mark =
        "[lines 11-30 of result c0 again, from \"table 10 is free on\" to \"table 29 is free on\"]";
    assert!(sent[1].contains(mark), "{}", sent[1]);
    let lines = memory.read("c0", 11, 30).unwrap();
    assert!(
        lines.starts_with("table 10 ") && lines.lines().count() == 20,
        "{lines}"
    );
    let found = memory.search("table free day", 9);
    let found = found.iter().find(|found| found.name == "c0").unwrap();
    let (from, to) = found.lines;
    let read = memory.read(&found.name, from, to).unwrap();
    assert!(read.contains("table 17 "), "{found:?}");
}
