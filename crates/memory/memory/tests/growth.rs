//! Lists that grow like the lists of a program. Whatever they contain, the returned list is valid and fits the window,
//! nothing is lost, and nothing changes without a new message.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::common::lists::{any_messages, list};
use crate::common::quarters::Quarters;
use accp_memory::disk::{Compressed, Context, ContextError};
use accp_memory::{
    Form, ListMessage, MessageList, Options, PlanError, SessionId, Tier, Window, check,
};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use serde_json::Value as Json;
use time::OffsetDateTime;

/// Compresses a list below a root, with a new context, as a new process would do.
fn compress(root: &Path, list: &MessageList, window: &Window) -> Result<Compressed, ContextError> {
    let options = Options::new(window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let context = Context::open(root, SessionId::new("s").expect("an id"))?;
    let mut context = context.with_work(root);
    context.compress(list, &options, &mut ())
}

/// Returns all files below a folder with their bytes, without what SQLite may change at any time.
fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for folder in ["offloaded", "conversations", "checkpoints", "intermediate"] {
        for entry in std::fs::read_dir(root.join("cache").join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            all.push((path.display().to_string(), bytes));
        }
    }
    all.sort();
    all
}

fn raws(list: &MessageList) -> Vec<String> {
    list.messages()
        .iter()
        .map(|message| message.raw().to_owned())
        .collect()
}

fn with(form: Form, messages: &[String]) -> MessageList {
    MessageList::of(form, messages.iter().map(String::as_str)).expect("messages")
}

/// Makes the results of a message long, so that tier 1 has work.
fn lengthen(message: &mut Json, times: usize) {
    let blocks = message["content"].as_array_mut().into_iter().flatten();
    for block in blocks.filter(|block| block["type"] == "tool_result") {
        repeat(&mut block["content"], times);
    }
    if message["role"] == "tool" {
        repeat(&mut message["content"], times);
    }
    if message["type"] == "function_call_output" {
        repeat(&mut message["output"], times);
    }
}

fn repeat(text: &mut Json, times: usize) {
    if let Some(said) = text.as_str() {
        *text = format!("{said} and more\n").repeat(times).into();
    }
}

/// How often each tier has acted.
type Acted = BTreeMap<Tier, usize>;

/// Lets a list grow as a program does. If `whole` is true, the program gives the whole conversation each time;
/// otherwise the last returned list with the new messages at its end.
fn grow(
    form: Form,
    all: &[String],
    window: &Window,
    whole: bool,
    acted: &mut Acted,
) -> Result<(), TestCaseError> {
    let root = tempfile::tempdir().expect("a folder");
    let mut shown: Vec<String> = Vec::new();
    let mut said = 0;
    for end in 1..=all.len() {
        let given = if whole {
            all[..end].to_vec()
        } else {
            [&shown[..], &all[said..end]].concat()
        };
        let done = match compress(root.path(), &with(form, &given), window) {
            Ok(done) => done,
            // These errors are allowed: no list fits the window, or a list that ends within a turn
            // breaks a rule.
            Err(ContextError::Plan(
                PlanError::OverWindow(_) | PlanError::NoRoom(_) | PlanError::Invalid(_),
            )) => continue,
            Err(error) => return Err(TestCaseError::fail(error.to_string())),
        };
        said = end;
        shown = raws(&done.list);
        for event in &done.events {
            *acted.entry(event.tier).or_default() += 1;
        }
        prop_assert_eq!(check(&done.list), []);
        prop_assert_eq!(window.count(&done.list, &Quarters), done.after);
        prop_assert!(done.after <= window.room());
        cut_or_known(&done.list, &given, root.path())?;
        // The same list is compressed again without a new message: no byte changes.
        let before = files(root.path());
        let again = compress(root.path(), &done.list, window).expect("it was given before");
        prop_assert_eq!(raws(&again.list), shown.clone());
        prop_assert!(again.events.is_empty());
        prop_assert_eq!(files(root.path()), before);
        // The session restores the conversation byte for byte.
        let context = Context::open(root.path(), SessionId::new("s").expect("an id"));
        let context = context.expect("a session");
        let restored = context.session().expect("it has begun").restored();
        prop_assert_eq!(raws(&restored.expect("messages")), all[..said].to_vec());
    }
    Ok(())
}

/// Returns a message without the thoughts of the model. A session drops the thoughts of messages after a change.
fn without_thoughts(raw: &str) -> Json {
    let mut message: Json = serde_json::from_str(raw).expect("a message");
    if let Some(blocks) = message["content"].as_array_mut() {
        blocks.retain(|block| block["type"] != "thinking" && block["type"] != "redacted_thinking");
    }
    message
}

/// Checks that each message is as it was given or says what was cut, and that each file that a message names is whole.
fn cut_or_known(list: &MessageList, given: &[String], root: &Path) -> Result<(), TestCaseError> {
    const HEADINGS: [&str; 5] = [
        "## Offloaded Content Reference",
        "## Truncated Tool Call",
        "## Session Summary",
        "## Recovered Context",
        "; left this list; ",
    ];
    for message in list.messages() {
        let is_cut = HEADINGS
            .iter()
            .any(|heading| message.raw().contains(heading));
        prop_assert!(
            is_cut
                || given.contains(&message.raw().to_owned())
                || given
                    .iter()
                    .any(|given| without_thoughts(given) == *message.json()),
            "{}",
            message.raw()
        );
        for path in named(message) {
            let text = std::fs::read_to_string(root.join(&path)).expect("a file");
            prop_assert!(text.contains(" and more\n"), "{path}");
        }
    }
    Ok(())
}

#[test]
fn a_list_that_grows_stays_valid_and_inside_and_loses_nothing() {
    let config = ProptestConfig {
        cases: 40,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let given = (
        any_messages(),
        400_u64..3_000,
        1_usize..200,
        any::<bool>(),
        any::<bool>(),
    );
    let acted = RefCell::new(Acted::new());
    let result = runner.run(
        &given,
        |((form, mut messages), size, times, stress, whole)| {
            for message in &mut messages {
                lengthen(message, times);
            }
            let window = Window::of(size).expect("a window").with_stress(stress);
            let all = raws(&list(form, &messages));
            grow(form, &all, &window, whole, &mut acted.borrow_mut())
        },
    );
    result.expect("all lists");
    let acted = acted.into_inner();
    assert!(
        acted[&Tier::One] > 10 && acted[&Tier::Three] > 10,
        "{acted:?}"
    );
}

/// Returns the paths that a message names.
fn named(message: &ListMessage) -> Vec<String> {
    let mut texts = Vec::new();
    strings(message.json(), &mut texts);
    let lines = texts.iter().flat_map(|text| text.lines());
    lines
        .filter_map(|line| line.strip_prefix("**File:** "))
        .map(str::to_owned)
        .collect()
}

fn strings<'j>(json: &'j Json, out: &mut Vec<&'j str>) {
    match json {
        Json::String(text) => out.push(text),
        Json::Array(items) => items.iter().for_each(|item| strings(item, out)),
        Json::Object(map) => map.values().for_each(|value| strings(value, out)),
        _ => {}
    }
}
