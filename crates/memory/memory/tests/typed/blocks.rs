//! Blocks in the texts that a person typed. A program adds some of them, and the person pastes others.

use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Window};
use proptest::prelude::*;
use serde_json::Value as Json;
use time::OffsetDateTime;

use crate::common::forms::{assistant, user};
use crate::common::quarters::Quarters;
use crate::typed::shown::{Shown, quoted};

/// Blocks around some lines, `@`.
const BLOCKS: [&str; 5] = [
    "```yaml\n@\n```",
    "```\n@\n```",
    "<settings>\n@\n</settings>",
    "<system-reminder>\n@\n</system-reminder>",
    "<open_files>@</open_files>",
];

/// Returns the lines of a file in one of its states.
fn lines(state: usize) -> String {
    let lines = (0..9).map(|line| {
        format!(
            "key {line} of the lamp: {}",
            if line == 4 { state } else { 0 }
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the requests in the summary of a conversation in which a person types these texts.
fn intent(form: Form, typed: &[String]) -> String {
    let mut messages = Vec::new();
    for text in typed {
        messages.push(user(form, text));
        messages.push(assistant(form, "Read."));
    }
    for number in 0..8 {
        messages.push(assistant(
            form,
            &format!("Step {number}: {}and oats.", "rye ".repeat(500)),
        ));
        messages.push(user(form, "Go on."));
    }
    let texts: Vec<_> = messages.iter().map(Json::to_string).collect();
    let list = MessageList::of(form, texts.iter().map(String::as_str)).unwrap();
    let window = Window::of(5_000).unwrap();
    let options = Options::new(&window, &Quarters, OffsetDateTime::UNIX_EPOCH);
    let session = ListSession::new(SessionId::new("s").unwrap(), form);
    let plan = session.plan(&list, &options, &(), &mut ()).unwrap();
    Shown::of(&plan.list(&list)).intent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_block_stands_whole_or_the_same_block_does(
        block in prop::sample::select(BLOCKS.to_vec()),
        states in prop::collection::vec(0..4_usize, 2..9),
        form in prop::sample::select(Form::ALL.to_vec()),
    ) {
        let block = |state: usize| block.replace('@', &lines(state));
        let typed = states.iter().enumerate();
        let typed = typed.map(|(at, state)| format!("Look at this:\n{}\nRound {at}, please.", block(*state)));
        let typed: Vec<_> = typed.collect();
        let intent = intent(form, &typed);
        for (at, state) in states.iter().enumerate() {
            let first = states.iter().position(|one| one == state).unwrap_or(at);
            let expected = if first == at {
                typed[at].clone()
            } else {
                let mark = format!("[block of message {} again, from \"key 0 of the lamp: 0\"]", 2 * first);
                typed[at].replace(&block(*state), &mark)
            };
            prop_assert!(intent.contains(&quoted(&expected)), "{at} {expected} in {intent}");
        }
    }
}

#[test]
fn a_block_that_is_shorter_than_a_mark_stays() {
    let typed = |round: usize| format!("Round {round}:\n<b>\nso\n</b>\nPlease.");
    let typed: Vec<_> = (0..5).map(typed).collect();
    let intent = intent(Form::OpenAi, &typed);
    for text in &typed {
        assert!(intent.contains(&quoted(text)), "{text} in {intent}");
    }
}
