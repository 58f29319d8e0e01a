//! Generated lists of all forms: valid lists pass the check, each planted fault is found, and a repair mends it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use accp_memory::{Code, Form, MessageList, RepairKind, check, repair};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::Value as Json;

use crate::common::junk::edited;
use crate::common::lists::{any_messages, any_texts, list, messages};
use crate::common::plant;

fn is_result(code: Code) -> bool {
    let codes = [
        Code::ResultMissing,
        Code::ResultMisplaced,
        Code::ResultOrphan,
        Code::ResultRepeated,
    ];
    codes.contains(&code)
}

fn raws(list: &MessageList) -> Vec<&str> {
    list.messages()
        .iter()
        .map(accp_memory::ListMessage::raw)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_list_is_valid((form, messages) in any_messages()) {
        let list = list(form, &messages);
        prop_assert_eq!(check(&list), []);
        let (same, repairs) = repair(&list).unwrap();
        prop_assert_eq!(repairs, []);
        prop_assert_eq!(same.to_string(), list.to_string());
    }

    #[test]
    fn a_list_is_written_as_it_was_read((form, texts) in any_texts()) {
        let text = format!("[{}]", texts.join(","));
        let read = MessageList::read(&text, Some(form)).unwrap();
        prop_assert_eq!(check(&read), []);
        prop_assert_eq!(raws(&read), texts);
        prop_assert_eq!(read.to_string(), text);
    }

    #[test]
    fn a_list_that_is_cut_has_calls_in_flight((form, messages) in any_messages()) {
        for end in 0..messages.len() {
            let found = check(&list(form, &messages[..end]));
            prop_assert!(!found.iter().any(|finding| is_result(finding.code)), "{found:?}");
        }
    }

    #[test]
    fn each_planted_fault_is_found((form, messages) in any_messages()) {
        for planted in plant::all(form, &messages) {
            let found = check(&list(form, &planted.messages));
            let here = |code, at| found.iter().any(|finding| finding.code == code && finding.message == Some(at));
            prop_assert!(here(planted.code, planted.at), "{planted:?}: {found:?}");
            for finding in &found {
                let expected = finding.code == planted.code && finding.message == Some(planted.at)
                    || Some(finding.code) == planted.also;
                prop_assert!(expected, "{planted:?}: {found:?}");
            }
            prop_assert!(found.len() <= 2, "{planted:?}: {found:?}");
        }
    }

    #[test]
    fn a_repair_mends_each_planted_result((form, messages) in any_messages()) {
        for planted in plant::all(form, &messages).into_iter().filter(|planted| is_result(planted.code)) {
            let (mended, repairs) = repair(&list(form, &planted.messages)).unwrap();
            prop_assert_eq!(check(&mended), [], "{:?}: {}", planted, mended);
            prop_assert!(!repairs.is_empty());
            // If the repair did nothing but drop the planted result, the list equals the original
            // one.
            let dropped = repairs.iter().all(|repair| repair.kind == RepairKind::Dropped);
            let cut = planted.code == Code::ResultOrphan && form == Form::Anthropic;
            if dropped && !cut && planted.code != Code::ResultMisplaced {
                let mended: Vec<_> = mended.messages().iter().map(|message| message.json().clone()).collect();
                prop_assert_eq!(mended, messages.clone());
            }
        }
    }

    #[test]
    fn a_repair_mends_shuffled_lists_and_touches_nothing_else(
        (form, messages) in any_messages(),
        edits in prop::collection::vec((0..3_u8, any::<Index>(), any::<Index>()), 1..6),
    ) {
        let broken = list(form, &edited(messages, &edits));
        let before = check(&broken);
        let (mended, repairs) = repair(&broken).unwrap();
        let after = check(&mended);
        prop_assert!(!after.iter().any(|finding| is_result(finding.code)), "{broken}: {after:?}");
        let any = before.iter().any(|finding| is_result(finding.code));
        prop_assert_eq!(any, repairs.iter().any(|one| one.kind != RepairKind::Mended));
        let touched: BTreeSet<_> = repairs.iter().map(|repair| repair.message).collect();
        let mut rest = mended.messages().iter().map(accp_memory::ListMessage::raw);
        for (at, raw) in raws(&broken).into_iter().enumerate() {
            let stands_in_turn = form == Form::Anthropic && raw.contains("tool_result");
            if !touched.contains(&at) && !stands_in_turn {
                prop_assert!(rest.any(|other| other == raw), "{at} of {broken} is not in {mended}");
            }
        }
        let (again, repairs) = repair(&mended).unwrap();
        prop_assert_eq!(repairs, []);
        prop_assert_eq!(again.to_string(), mended.to_string());
    }
}

/// Returns the ids of the calls and the results in a list, each with its text.
fn calls_and_results(list: &MessageList) -> (Vec<String>, Vec<(String, Json)>) {
    let (mut calls, mut results) = (Vec::new(), Vec::new());
    let id = |json: &Json, key: &str| json[key].as_str().unwrap_or_default().to_owned();
    // An old `function_call` has a name in place of an id. The prefix keeps such names apart from ids.
    let old = |json: &Json| format!("old {}", id(json, "name"));
    for message in list.messages() {
        let json = message.json();
        let kind = id(json, "type");
        match list.form() {
            Form::OpenAi => {
                calls.extend(
                    json["tool_calls"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(|call| id(call, "id")),
                );
                calls.extend(
                    json["function_call"]
                        .is_object()
                        .then(|| old(&json["function_call"])),
                );
                match json["role"].as_str() {
                    Some("tool") => results.push((id(json, "tool_call_id"), json.clone())),
                    Some("function") => results.push((old(json), json.clone())),
                    _ => {}
                }
            }
            Form::Anthropic => {
                for block in json["content"].as_array().into_iter().flatten() {
                    match block["type"].as_str() {
                        Some("tool_use") => calls.push(id(block, "id")),
                        Some("tool_result") => {
                            // The repair removes cache marks after the fourth, so marks are not compared.
                            let mut block = block.clone();
                            if let Some(block) = block.as_object_mut() {
                                block.remove("cache_control");
                            }
                            results.push((id(&block, "tool_use_id"), block));
                        }
                        _ => {}
                    }
                }
            }
            Form::Responses if kind == "local_shell_call_output" => {
                results.push((id(json, "id"), json.clone()));
            }
            Form::Responses if kind.ends_with("_call_output") => {
                results.push((id(json, "call_id"), json.clone()));
            }
            Form::Responses if kind.ends_with("_call") => calls.push(id(json, "call_id")),
            Form::Responses => {}
        }
    }
    (calls, results)
}

/// Checks that each call without a result gets its result, if the list has it elsewhere and the id shows to which
/// call it belongs. Returns how many results were moved.
fn keeps_results(broken: &MessageList) -> Result<usize, TestCaseError> {
    let (mended, repairs) = repair(broken).expect("a list");
    let (calls, before) = calls_and_results(broken);
    let (_, after) = calls_and_results(&mended);
    let mut moved = 0;
    for fault in check(broken)
        .into_iter()
        .filter(|fault| fault.code == Code::ResultMissing)
    {
        let id = fault.id.expect("the id of a call");
        // The message shows whether this id is the name of an old `function_call`.
        let at = fault.message.expect("the message of a call");
        let is_old = broken.messages()[at].json()["function_call"]["name"] == *id;
        let key = if is_old {
            format!("old {id}")
        } else {
            id.clone()
        };
        let given: Vec<_> = before.iter().filter(|(other, _)| *other == key).collect();
        let there: Vec<_> = after.iter().filter(|(other, _)| *other == key).collect();
        if calls.iter().filter(|other| **other == key).count() != 1 {
            continue;
        }
        prop_assert_eq!(there.len(), 1, "{} in {}", key, mended);
        if !given.is_empty() {
            prop_assert!(
                given.contains(&there[0]),
                "{key} of {broken} is lost in {mended}"
            );
            let says = |kind| repairs.iter().any(|one| one.kind == kind && one.id == id);
            prop_assert!(says(RepairKind::Moved), "{id}: {repairs:?}");
            moved += 1;
        }
    }
    // The repairs report a move for each result that moved, and no other move.
    let named = repairs
        .iter()
        .filter(|one| one.kind == RepairKind::Moved)
        .count();
    prop_assert_eq!(named, moved);
    Ok(moved)
}

#[test]
fn a_result_in_the_wrong_place_moves_to_its_call_and_is_kept() {
    let moved = RefCell::new(BTreeMap::<&str, usize>::new());
    let edits = prop::collection::vec((0..3_u8, any::<Index>(), any::<Index>()), 1..4);
    let given = (any_messages(), edits);
    let result = TestRunner::deterministic().run(&given, |((form, messages), edits)| {
        let planted = plant::all(form, &messages).into_iter();
        let planted = planted.filter(|planted| planted.code == Code::ResultMisplaced);
        let mut broken: Vec<_> = planted.map(|planted| planted.messages).collect();
        broken.push(edited(messages, &edits));
        for messages in broken {
            let count = keeps_results(&list(form, &messages))?;
            *moved.borrow_mut().entry(form.name()).or_default() += count;
        }
        Ok(())
    });
    result.expect("all lists");
    let moved = moved.into_inner();
    assert!(
        moved.len() == 3 && moved.values().all(|count| *count > 30),
        "{moved:?}"
    );
}

#[test]
fn every_code_of_a_form_is_planted() {
    use proptest::strategy::ValueTree as _;

    let mut runner = TestRunner::deterministic();
    let results =
        "result-missing result-misplaced result-orphan result-repeated id-missing id-repeated role";
    for (form, more) in [
        (Form::OpenAi, "calls-empty text-blank"),
        (
            Form::Anthropic,
            "results-not-first first-not-user text-blank system-inside",
        ),
        (Form::Responses, "reasoning-split"),
    ] {
        let strategy = messages(form);
        let mut found = BTreeSet::new();
        for _ in 0..100 {
            let messages = strategy.new_tree(&mut runner).unwrap().current();
            found.extend(
                plant::all(form, &messages)
                    .iter()
                    .map(|planted| planted.code.as_str()),
            );
        }
        let expected: BTreeSet<_> = results.split(' ').chain(more.split(' ')).collect();
        assert_eq!(found, expected, "{form}");
    }
}

#[test]
fn what_is_not_a_list_says_so() {
    for (text, form, message) in [
        ("", None, None),
        ("7", None, None),
        (r#"[{"role":"user","content":"a"}"#, None, None),
        (r#"{"model":"m"}"#, Some(Form::OpenAi), None),
        (r#"{"messages":{}}"#, Some(Form::Anthropic), None),
        (r#"{"messages":[]}"#, Some(Form::Responses), None),
        (
            r#"[{"role":"user","content":"a"},7]"#,
            Some(Form::OpenAi),
            Some(1),
        ),
        ("[null]", Some(Form::Anthropic), Some(0)),
        ("[[]]", Some(Form::Responses), Some(0)),
    ] {
        let refused = MessageList::read(text, form).unwrap_err();
        assert_eq!(
            (refused.code, refused.message),
            (Code::NotAList, message),
            "{text}"
        );
    }
}
