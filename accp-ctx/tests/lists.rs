//! Generated lists of all forms: what is valid is found valid, each planted fault is found, and a repair mends.

mod common;

use std::collections::BTreeSet;

use accp_ctx::{Code, Form, MessageList, RepairKind, check, repair};
use proptest::prelude::*;
use proptest::sample::Index;

use common::junk::edited;
use common::lists::{any_messages, any_texts, list, messages};
use common::plant;

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
    list.messages().iter().map(accp_ctx::Message::raw).collect()
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
            // Where a result was dropped and no call was answered, the list is again what it was.
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
        prop_assert_eq!(any, !repairs.is_empty());
        let touched: BTreeSet<_> = repairs.iter().map(|repair| repair.message).collect();
        let mut rest = mended.messages().iter().map(accp_ctx::Message::raw);
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

#[test]
fn every_code_of_a_form_is_planted() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

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
