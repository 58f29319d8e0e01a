//! Results in long lines, and lines in JSON.

use accp_memory::{Form, Memory, Promise, Window};
use serde_json::{Value as Json, json};

use super::{NOW, conversation, left_out, memory, page, prices, raws, records, results};
use crate::common::lists::list;

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
