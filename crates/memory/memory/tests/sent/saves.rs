//! What `Promise::Save` changes: large results whose cut pays at once, and superseded results when that costs nothing.

use accp_memory::{Form, Memory, Prices, Promise, Why, Window, check};
use serde_json::{Value as Json, json};
use time::Duration;

use super::{NOW, left_out, memory, page, prices, raws, results};
use crate::common::lists::list;

fn call(id: &str, arguments: &str) -> Json {
    let function = json!({ "name": "look", "arguments": arguments });
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": function }] })
}

fn result(id: &str, text: impl Into<Json>) -> Json {
    let text: Json = text.into();
    json!({ "role": "tool", "tool_call_id": id, "content": text })
}

/// A large result shows only its ends from the beginning, if that saves more at once than the tool costs.
#[test]
fn a_large_result_shows_its_ends_where_that_pays_at_once() {
    let mut messages = vec![json!({ "role": "user", "content": "Read it." })];
    messages.extend([call("c1", "{\"at\":1}"), result("c1", page(1, 20))]);
    let mut saves = memory(Promise::Save);
    let (before, report) = saves.to_send(&list(Form::OpenAi, &messages), NOW);
    assert!(!report.needs_tool && report.step.is_none());

    messages.extend([call("c2", "{\"at\":2}"), result("c2", page(5_000, 900))]);
    let given = list(Form::OpenAi, &messages);
    let (sent, report) = saves.to_send(&given, NOW);
    // The messages before the result stay as they were. But the definition of the tool is new and stands before all
    // messages, so the request is a step.
    let step = report.step.unwrap();
    assert_eq!(
        (step.why, step.cut, report.needs_tool),
        (Why::Pays, vec![], true)
    );
    assert!(report.sent * 2 < report.given && check(&sent).is_empty());
    assert_eq!(report.cut.len(), 1);
    assert_eq!((report.cut[0].message, &*report.cut[0].result), (4, "c2"));
    let shown = &results(&sent)[1];
    let marks = left_out(shown);
    let (_, name, from, to) = &marks[0];
    let lines = saves.read(name, *from, *to).unwrap();
    assert_eq!(lines.lines().count(), to + 1 - from);
    assert_eq!(raws(&sent)[..3], raws(&before)[..]);

    // From then on, the result has the same bytes, also after a restart.
    messages.push(json!({ "role": "assistant", "content": "I see." }));
    messages.push(json!({ "role": "user", "content": "And?" }));
    let given = list(Form::OpenAi, &messages);
    let mut again = memory(Promise::Save).recall(&saves.remember()).unwrap();
    for memory in [&mut saves, &mut again] {
        let (later, report) = memory.to_send(&given, NOW);
        assert_eq!(raws(&later)[..5], raws(&sent)[..]);
        assert!(report.step.is_none() && report.needs_tool);
    }

    // The result stays whole if nothing that was sent may change, or if the list would become too short for the
    // cache.
    for (promise, minimum) in [(Promise::Append, 0), (Promise::Save, 9_000)] {
        let prices = Prices::default().with_step(1).with_minimum(minimum);
        let mut other = Memory::new(Window::of(200_000).unwrap(), prices, promise);
        let (sent, report) = other.to_send(&list(Form::OpenAi, &messages), NOW);
        assert!(!report.needs_tool && left_out(&results(&sent)[1]).is_empty());
    }
}

/// When the list is stored anew in any case, a result leaves as a whole if the same call was made again, however new
/// the result is. A result to which a later result refers stays.
#[test]
fn superseded_results_leave_first() {
    let mut messages = vec![json!({ "role": "user", "content": "Watch the build." })];
    let state = |n: usize| {
        let lines = (0..60).map(|at| format!("step {at} of run {n} waits for worker {}", at * n));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (id, arguments, text) in [
        ("c1", "{\"of\":\"build\"}", state(1)),
        ("c2", "{\"of\":\"rye\"}", page(1, 60)),
        ("c3", "{\"of\":\"build\"}", state(2)),
        ("c4", "{\"of\":\"oats\"}", format!("{}\nnew", page(1, 60))),
        ("c5", "{\"of\":\"rye\"}", page(300, 20)),
    ] {
        messages.extend([call(id, arguments), result(id, text)]);
    }
    messages.push(json!({ "role": "assistant", "content": "It waits." }));
    let mut saves = memory(Promise::Save);
    let (before, _) = saves.to_send(&list(Form::OpenAi, &messages), NOW);
    assert!(results(&before)[3].contains("of result c2 again"));
    messages.push(json!({ "role": "user", "content": "Still?" }));
    let given = list(Form::OpenAi, &messages);
    let (sent, report) = saves.to_send(&given, NOW + Duration::hours(9));
    let step = report.step.unwrap();
    assert_eq!((step.why, step.cut.len()), (Why::Free, 1));
    let texts = results(&sent);
    assert_eq!(
        texts[0],
        "[lines 1-60 of result c1 left out; memory_read(\"c1\", 1, 60) shows them]"
    );
    assert_eq!(texts[1..], results(&before)[1..]);
    assert_eq!(saves.read("c1", 1, 60).unwrap(), state(1));
    assert_eq!(check(&sent), []);
}

/// What the tool has shown stays as it was shown, whatever its length. When it leaves, its mark has the name and the
/// lines that the call had.
#[test]
fn what_the_tool_has_shown_keeps_its_name() {
    let asked = json!({ "result": "c1", "from": 50, "to": 159 }).to_string();
    let function = json!({ "name": "memory_read", "arguments": asked });
    let mut messages = vec![json!({ "role": "user", "content": "Read it." })];
    messages.extend([call("c1", "{\"at\":1}"), result("c1", page(1, 400))]);
    messages.push(
        json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "m1", "type": "function", "function": function }] }),
    );
    messages.push(result("m1", page(50, 110)));
    let new = || {
        let prices = Prices::default().with_minimum(0).with_step(1);
        Memory::new(Window::of(6_000).unwrap(), prices, Promise::Append).with_tool()
    };
    let mut memory = new();
    let (sent, report) = memory.to_send(&list(Form::OpenAi, &messages[..3]), NOW);
    assert!(report.sent < 6_000 && !left_out(&results(&sent)[0]).is_empty());
    let (sent, _) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
    assert_eq!(results(&sent)[1], page(50, 110));
    // A later result does not refer to the lines that the tool has shown, because these lines may leave first.
    messages.extend([call("c2", "{\"at\":2}"), result("c2", page(60, 60))]);
    let (sent, report) = memory.to_send(&list(Form::OpenAi, &messages), NOW);
    assert!(report.step.is_none(), "{report:?}");
    let texts = results(&sent);
    assert_eq!(texts[1], page(50, 110));
    let unpadded = |text: &str| {
        text.lines()
            .map(str::trim_start)
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(unpadded(&texts[2]), unpadded(&page(60, 60)));
    for (id, from) in [("c3", 5_000), ("c4", 7_000)] {
        let arguments = json!({ "of": id }).to_string();
        messages.extend([call(id, &arguments), result(id, page(from, 60))]);
    }
    let given = list(Form::OpenAi, &messages);
    let (sent, report) = memory.to_send(&given, NOW);
    assert_eq!(report.step.unwrap().why, Why::Forced);
    let texts = results(&sent);
    assert_eq!(
        texts[1],
        "[lines 50-159 of result c1 left out; memory_read(\"c1\", 50, 159) shows them]"
    );
    let read = memory.read("c1", 50, 159).unwrap();
    assert_eq!(unpadded(&read), unpadded(&page(50, 110)));
    let mut again = new().recall(&memory.remember()).unwrap();
    let (same, report) = again.to_send(&given, NOW);
    assert_eq!((raws(&same), report.step), (raws(&sent), None));
}

/// Words of a person fill the window, so no step brings the list inside. Each step would write what stands behind its
/// cuts to the cache anew, so a step waits until it removes much.
#[test]
fn a_list_that_cannot_fit_is_not_written_anew_for_a_few_tokens() {
    let window = Window::of(12_000).unwrap();
    let mut saves = Memory::new(window, prices(), Promise::Save);
    let mut messages = vec![json!({ "role": "user", "content": page(90_000, 800) })];
    let mut steps = Vec::new();
    for n in 1..=40 {
        let id = format!("c{n}");
        let arguments = json!({ "at": n }).to_string();
        messages.extend([call(&id, &arguments), result(&id, page(n * 1_000, 22))]);
        let (_, report) = saves.to_send(&list(Form::OpenAi, &messages), NOW);
        assert!(report.is_over, "{report:?}");
        steps.extend(report.step);
    }
    assert!((1..=4).contains(&steps.len()), "{steps:?}");
    for step in steps {
        let lost: u64 = step.cut.iter().map(|cut| cut.before - cut.after).sum();
        assert!(step.why == Why::Forced && lost >= 12_000 / 16, "{step:?}");
    }
}
