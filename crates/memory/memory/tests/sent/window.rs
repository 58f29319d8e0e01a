//! Lists inside a window: what leaves, the summary in its place, and that nothing is lost.

use std::sync::Arc;

use accp_memory::{AROUND, Form, Memory, MessageList, Prices, Promise, Report, Why, Window, check};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::{NOW, any_form, conversation, left_out, page, prices, raws, results};
use crate::common::lists::{any_messages, list};
use crate::common::quarters::Quarters;

fn memory(size: u64) -> Memory {
    Memory::new(Window::of(size).unwrap(), prices(), Promise::Window)
}

/// Requests of a person between calls with results.
fn talk(form: Form, requests: &[String]) -> Vec<Json> {
    let mut out = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let mut part = conversation(form, &[page(at * 100, 60)]);
        part[0]["content"] = request.as_str().into();
        // Each call has an id of its own.
        let part = part.into_iter().map(|message| {
            let text = message.to_string();
            serde_json::from_str(&text.replace("c0", &format!("c{at}"))).unwrap()
        });
        out.extend(part);
        out.push(json!({ "role": "assistant", "content": format!("Table {at} is read.") }));
    }
    out
}

/// Returns the text of the message that takes the place of the messages that left.
fn summary(sent: &MessageList) -> Option<String> {
    let mut texts = sent.messages().iter().filter_map(|message| {
        let content = &message.json()["content"];
        Some(content.as_str()?.to_owned())
    });
    texts.find(|text| text.starts_with("[messages 0 to "))
}

fn assert_whole(memory: &Memory, given: &MessageList, report: &Report) {
    for (at, message) in given.messages().iter().enumerate().take(report.left) {
        let text = message.billed(given.form()).text;
        let read = memory.read(&format!("message {at}"), 1, usize::MAX);
        let read = read.unwrap_or_default();
        // Below the words, a line says what else the message has.
        assert!(text.trim().is_empty() || read.starts_with(&*text));
        let media = read.strip_prefix(&*text).unwrap_or(&read);
        let mut media = media.lines().filter(|line| !line.is_empty());
        assert!(
            media.all(|line| line.ends_with("if it is needed again]")),
            "{read}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// A list inside a window is valid, has all requests, and has the same bytes after a restart. What left can be
    /// read.
    #[test]
    fn a_list_stays_inside_and_loses_nothing(
        form in any_form(),
        requests in prop::collection::vec("Read table [a-z]{3,9} and say which are free\\.", 6..14),
        restarts in prop::collection::vec(any::<bool>(), 60),
    ) {
        let messages = talk(form, &requests);
        let mut kept = memory(3_000);
        let mut steps = 0;
        let (mut before, mut tokens, mut had_tool) = (Vec::new(), 0, false);
        for end in (1..=messages.len()).filter(|end| messages[end - 1]["role"] == "user") {
            let given = list(form, &messages[..end]);
            let (sent, report) = kept.to_send(&given, NOW);
            prop_assert_eq!(check(&sent), []);
            prop_assert!(report.sent <= 3_000 && !report.is_over, "{:?}", report);
            prop_assert_eq!(report.left > 0, summary(&sent).is_some());
            let all = sent.to_string();
            for request in requests.iter().filter(|request| given.to_string().contains(*request)) {
                prop_assert!(all.contains(request), "{} is not in {}", request, all);
            }
            assert_whole(&kept, &given, &report);
            // The report counts exactly the messages that both lists have at their beginning.
            let now = raws(&sent);
            let same = now.iter().zip(&before).take_while(|(one, other)| one == other).count();
            if had_tool == report.needs_tool {
                prop_assert!(report.same_messages == same || report.step.is_some() && report.same_messages < same);
                prop_assert!(report.step.is_some() || report.same == tokens, "{:?}", report);
            } else {
                prop_assert_eq!(report.same, 0);
            }
            prop_assert!(report.settled <= now.len());
            (before, tokens, had_tool) = (now, report.sent, report.needs_tool);
            steps += usize::from(report.step.is_some());
            if restarts[end % 60] {
                let text = kept.remember();
                kept = memory(3_000).recall(&text).unwrap();
                let (same, report) = kept.to_send(&given, NOW);
                prop_assert_eq!(raws(&same), raws(&sent));
                prop_assert_eq!(report.step, None);
            }
        }
        prop_assert!(steps > 0);
    }

    /// Whatever the given list has, the sent list is valid.
    #[test]
    fn any_list_is_valid_inside_a_window((form, messages) in any_messages(), size in 200..2_000_u64) {
        let given = list(form, &messages);
        let mut memory = memory(size);
        let (sent, report) = memory.to_send(&given, NOW);
        prop_assert_eq!(check(&sent), []);
        prop_assert_eq!(report.is_over, report.sent > size);
        assert_whole(&memory, &given, &report);
    }
}

#[test]
fn a_summary_says_who_did_what_in_which_message() {
    let requests: Vec<String> = (0..9).map(|at| format!("Read table {at}.")).collect();
    let messages = talk(Form::OpenAi, &requests);
    let given = list(Form::OpenAi, &messages[..messages.len() - 1]);
    let mut memory = memory(3_000);
    let (sent, report) = memory.to_send(&given, NOW);
    let step = report.step.as_ref().unwrap();
    assert_eq!((step.why, report.needs_tool), (Why::Forced, true));
    let summary = summary(&sent).unwrap();
    let last = report.left - 1;
    let head = format!(
        "[messages 0 to {last} left out; memory_read(\"message {last}\", 1, 40) shows lines of message {last}]\n\
         Requests so far, in order; where two differ, the later one counts:\nmessage 0:\n> Read table 0.\nmessage 4:\n> Read table 1."
    );
    assert!(summary.starts_with(&head), "{summary}");
    assert!(
        summary.contains("\nWhat was said and done:\n") && summary.contains(": look({\"at\":0})\n"),
        "{summary}"
    );
    // What is still there refers to nothing that left.
    let kept = sent.messages().iter().skip(1);
    let mut tokens = 0;
    for message in kept {
        assert!(
            !message.raw().contains(" again, from "),
            "{}",
            message.raw()
        );
        tokens += message.billed(Form::OpenAi).text.len() as u64 / 4 + AROUND;
    }
    assert!(tokens < 3_000);
}

/// A list does not show the numbers of its results, so the summary says which numbers left. A system message stays.
#[test]
fn a_summary_says_which_numbers_of_results_left() {
    let requests: Vec<String> = (0..9).map(|at| format!("Read table {at}.")).collect();
    let mut messages = vec![json!({ "role": "system", "content": "You keep the tables." })];
    // Ids of this length are no names, so the results have numbers.
    let long = talk(Form::OpenAi, &requests).into_iter().enumerate();
    messages.extend(long.map(|(index, message)| {
        let (id, long) = (index / 4, format!("\"call_of_table_{}\"", index / 4));
        let text = message.to_string().replace(&format!("\"c{id}\""), &long);
        serde_json::from_str::<Json>(&text).unwrap()
    }));
    messages.pop();
    let mut kept = memory(3_000);
    let (sent, report) = kept.to_send(&list(Form::OpenAi, &messages), NOW);
    let last = report.left - 1;
    let results = messages[..=last].iter();
    let left = results.filter(|message| message["role"] == "tool").count();
    let head = format!("[messages 1 to {last} with results 1 to {left} left out; memory_read(");
    assert!(left > 1 && sent.to_string().contains(&head), "{sent}");
    assert!(kept.read(&left.to_string(), 1, 1).is_some());
    assert_eq!(kept.read(&(messages.len() + 1).to_string(), 1, 1), None);
}

#[test]
fn a_summary_names_who_asked() {
    let requests: Vec<String> = (0..9).map(|at| format!("Read table {at}.")).collect();
    let mut messages = talk(Form::OpenAi, &requests);
    messages.pop();
    for message in &mut messages {
        if message["role"] == "user" {
            message["name"] = "desk".into();
        }
    }
    let (sent, _) = memory(3_000).to_send(&list(Form::OpenAi, &messages), NOW);
    let summary = summary(&sent).unwrap();
    let asked = "\nmessage 0 (desk):\n> Read table 0.\nmessage 4 (desk):\n> Read table 1.\n";
    assert!(summary.contains(asked), "{summary}");
}

/// If the summary has no room for a line of each message, it says that it has the last ones.
#[test]
fn a_summary_without_room_for_all_lines_says_that_it_has_the_last() {
    let requests: Vec<String> = (0..40).map(|at| format!("Read table {at}.")).collect();
    let mut messages = talk(Form::OpenAi, &requests);
    messages.pop();
    let (sent, _) = memory(3_000).to_send(&list(Form::OpenAi, &messages), NOW);
    let summary = summary(&sent).unwrap();
    assert!(
        summary.contains("\nWhat was said and done last:\nmessage "),
        "{summary}"
    );
    assert!(!summary.contains("\nmessage 1: "), "{summary}");
}

/// If the newest result is larger than the window, it loses its middle before words of persons are cut.
#[test]
fn a_result_that_is_larger_than_the_window_shows_its_ends() {
    let messages = conversation(Form::OpenAi, &[page(1, 30), page(1_000, 400)]);
    let mut memory = memory(3_000);
    let (sent, report) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
    assert!(report.sent <= 3_000 && report.given > 3_000, "{report:?}");
    let text = sent.to_string();
    assert!(text.contains("Read it, and say which are free."));
    assert!(
        text.contains("let value_1000") && text.contains("let value_1399"),
        "{text}"
    );
    assert!(text.contains(" left out; memory_read("), "{text}");
}

#[test]
fn a_list_that_is_taken_back_to_where_all_had_left_is_a_list_again() {
    for form in [Form::OpenAi, Form::Anthropic, Form::Responses] {
        let requests: Vec<String> = (0..4).map(|at| format!("Read table {at}.")).collect();
        let messages = talk(form, &requests);
        let mut grown = messages.clone();
        // Its result takes the whole window, so that all before it leaves.
        let last = conversation(form, &[page(9_000, 400)]);
        let last = last.into_iter().skip(1).map(|message| {
            let text = message.to_string();
            serde_json::from_str(&text.replace("c0", "c9")).unwrap()
        });
        grown.extend::<Vec<Json>>(last.collect());
        let mut memory = memory(3_000);
        memory.to_send(&list(form, &messages), NOW);
        memory.to_send(&list(form, &grown), NOW);
        let given = list(form, &messages);
        let (sent, report) = memory.to_send(&given, NOW);
        assert!(report.left < messages.len(), "{form:?}: {report:?}");
        let newest = |list: &MessageList| list.messages().last().unwrap().raw().to_owned();
        assert_eq!(newest(&sent), newest(&given), "{form:?}");
        assert_eq!(check(&sent), [], "{form:?}");
    }
}

/// If the requests do not all fit, the first and the newest one are whole, and each of the others has a mark that names
/// the lines that are not shown.
#[test]
fn the_newest_request_is_whole_and_a_cut_one_has_a_mark_of_its_own() {
    for form in [Form::OpenAi, Form::Anthropic, Form::Responses] {
        let request = |at: usize| {
            let lines =
                (0..25).map(|n| format!("request {at}, rule {n}: leave table {} alone", n * 7));
            lines.collect::<Vec<_>>().join("\n")
        };
        let requests: Vec<String> = (0..11).map(request).collect();
        let mut messages = talk(form, &requests);
        messages.pop();
        let newest = messages.len() - 3;
        // The agent goes on with calls, so that the newest request leaves, too.
        for call in 0..8 {
            let part = conversation(form, &[page(call * 100 + 5_000, 20)]);
            let part = part.into_iter().skip(1).map(|message| {
                let text = message.to_string();
                serde_json::from_str::<Json>(&text.replace("c0", &format!("d{call}"))).unwrap()
            });
            messages.extend(part);
        }
        let given = list(form, &messages);
        let mut memory = memory(4_096);
        let (sent, report) = memory.to_send(&given, NOW);
        assert!(report.left > newest && report.sent <= 4_096, "{report:?}");
        assert_eq!(check(&sent), [], "{form:?}");
        let summary = summary(&sent).unwrap();
        let quoted = |at: usize, lines: usize| {
            let lines: Vec<&str> = requests[at].lines().take(lines).collect();
            format!("message {}:\n> {}\n", at * 4, lines.join("\n> "))
        };
        for whole in [0, 10] {
            assert!(summary.contains(&quoted(whole, 25)), "{form:?}: {summary}");
        }
        let (_, behind_head) = summary.split_once('\n').unwrap();
        let marks = left_out(behind_head);
        assert!(!marks.is_empty(), "{form:?}: {summary}");
        for (mark, name, from, to) in marks {
            let at: usize = name.strip_prefix("message ").unwrap().parse().unwrap();
            let lines: Vec<&str> = requests[at / 4].lines().skip(from - 1).collect();
            assert_eq!(memory.read(&name, from, to).unwrap(), lines.join("\n"));
            let shown = format!("{}{mark}\n", quoted(at / 4, from - 1));
            assert!(summary.contains(&shown), "{form:?}: {summary}");
        }
    }
}

/// A result gets a form only after the list has saved as many tokens as it may lose to the steps of a cache. The tokens
/// of messages that left count as saved. This holds for the results that stay and for later results.
#[test]
fn a_small_result_gets_its_form_once_messages_have_left() {
    let plain = |at: usize| {
        let lines = (0..40).map(|n| format!("guest {n} of table {at} asks for rye"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let rows = |code: [&str; 2]| {
        let [begin, end] = code;
        let rows = (0..15).map(|n| format!("{begin}row {n:04}{end}"));
        rows.collect::<Vec<_>>().join("\n")
    };
    let coloured = rows(["\u{1b}[32m\u{1b}[1m", "\u{1b}[0m"]);
    let mut texts: Vec<String> = (0..14).map(plain).collect();
    texts.extend([coloured.clone(), plain(14)]);
    let given = list(Form::OpenAi, &conversation(Form::OpenAi, &texts));
    let sent = |size: u64| {
        let prices = Prices::default().with_minimum(0);
        let memory = Memory::new(Window::of(size).unwrap(), prices, Promise::Window);
        let mut memory = memory.with_counter(Arc::new(Quarters));
        let (sent, report) = memory.to_send(&given, NOW);
        let mut results = results(&sent);
        results.pop();
        (report.left > 0, results.pop().unwrap())
    };
    assert_eq!(sent(200_000), (false, coloured));
    assert_eq!(sent(4_000), (true, rows(["", ""])));
}

/// A `compaction` stands for items that the list no longer has, and only the provider can read it. So it stays in its
/// place, and no mark and no line of a summary names it.
#[test]
fn what_only_the_provider_can_read_stays() {
    let requests: Vec<String> = (0..6).map(|at| format!("Read table {at}.")).collect();
    let mut messages = talk(Form::Responses, &requests);
    let compaction = json!({ "type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA" });
    messages.insert(4, compaction.clone());
    messages.pop();
    let given = list(Form::Responses, &messages);
    let mut kept = memory(3_000);
    let (sent, report) = kept.to_send(&given, NOW);
    assert!(report.left > 5 && !report.is_over, "{report:?}");
    assert_eq!(check(&sent), []);
    let now = raws(&sent);
    assert!(now[0].contains("[messages 0 to ") && !now[0].contains("gAAA"));
    assert_eq!(now[1], compaction.to_string());
    let mut again = memory(3_000).recall(&kept.remember()).unwrap();
    assert_eq!(raws(&again.to_send(&given, NOW).0), now);
}

/// A result that referred to lines of a message that left is whole again, with other line numbers. The tool has shown
/// some of its lines by the old numbers, so a mark for these names the lines of what was shown.
#[test]
fn what_the_tool_has_shown_outlives_new_line_numbers() {
    let memory = |size: u64, promise| {
        let memory = Memory::new(Window::of(size).unwrap(), prices(), promise);
        memory.with_counter(Arc::new(Quarters))
    };
    let rows = |of: &str, rows: usize| {
        let rows = (0..rows).map(|n| {
            format!(
                "{of} {n} is free on day {} for whoever comes late",
                n * 7 % 31
            )
        });
        rows.collect::<Vec<_>>().join("\n")
    };
    let again = [rows("table", 80), rows("chair", 60)].join("\n");
    let mut messages = conversation(
        Form::OpenAi,
        &[rows("table", 80), rows("bench", 280), again],
    );
    let mut kept = memory(5_600, Promise::Window);
    let (_, report) = kept.to_send(&list(Form::OpenAi, &messages), NOW);
    assert_eq!((report.left, report.step), (0, None));
    let shown = kept.read("c2", 2, 45).unwrap();
    assert!(
        shown.starts_with("chair 0 ") && shown.contains("\nchair 43 "),
        "{shown}"
    );
    let asked = json!({ "result": "c2", "from": 2, "to": 45 }).to_string();
    let function = json!({ "name": "memory_read", "arguments": asked });
    let call = json!({ "id": "m1", "type": "function", "function": function });
    messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
    messages.push(json!({ "role": "tool", "tool_call_id": "m1", "content": shown }));
    let (sent, report) = kept.to_send(&list(Form::OpenAi, &messages), NOW);
    assert_eq!((report.left, check(&sent)), (5, Vec::new()));
    assert_eq!(results(&sent)[1], shown);
    assert_ne!(kept.read("c2", 2, 45).as_ref(), Some(&shown));
    messages.push(json!({ "role": "assistant", "content": "I see." }));
    messages.push(json!({ "role": "user", "content": "And?" }));
    let mut small = memory(1_500, Promise::Append)
        .recall(&kept.remember())
        .unwrap();
    let (sent, _) = small.to_send(&list(Form::OpenAi, &messages), NOW);
    assert_eq!(check(&sent), []);
    let mut filled = results(&sent).pop().unwrap();
    assert!(!left_out(&filled).is_empty(), "{filled}");
    let text = filled.clone();
    for (mark, name, from, to) in left_out(&text) {
        let lines = small.read(&name, from, to).unwrap();
        filled = filled.replacen(mark, &lines, 1);
    }
    assert_eq!(filled, shown);
}
