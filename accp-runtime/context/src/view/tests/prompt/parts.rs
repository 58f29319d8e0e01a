//! The parts of a prompt as messages of a chat request.

use super::{chat, limits, prompt, shown};
use accp_frame::DynamicFrame;

#[test]
fn parts_name_sender_and_role() {
    let mut prompt = prompt(limits(0, 5));
    prompt.push(
        1,
        &chat(
            "user",
            "req",
            "The order is MC-20117, and it is on its way.",
        ),
    );
    for at in 2..9 {
        prompt.push(
            at,
            &chat("clerk", "done", "The order MC-20118 is on its way already."),
        );
    }
    let call = DynamicFrame::new("hands", "done", "tool")
        .unwrap()
        .under("TC");
    prompt.push(9, &call.with("tool", "search"));
    prompt.push(10, &chat("boss", "req", "Now.").with("role", "system"));
    prompt.push(11, &chat("boss", "req", "Soon.").with("role", "manager"));
    prompt.push(
        12,
        &DynamicFrame::new("desk", "done", "plan")
            .unwrap()
            .with("role", "tool"),
    );
    let mut told: Vec<String> = prompt
        .parts()
        .map(|part| {
            let sender = part.sender.as_ref().map_or("-", |sender| sender.as_str());
            format!("{:?} {sender} {}", part.kind, part.role.as_str())
        })
        .collect();
    told.dedup();
    insta::assert_snapshot!(told.join("\n"), @"
    Message user user
    Message clerk assistant
    Primer - system
    Message clerk assistant
    Message hands tool
    Message boss system
    Message boss user
    Message desk user
    ");
}

/// A text with carriage returns or characters without width is shown as a JSON string. The mark in place of the middle
/// must not list the escapes of this string as names.
#[test]
fn a_text_with_hidden_characters_is_shortened_as_it_is() {
    let lines = (0..400).map(|n| format!("line {n}\u{200b} of src/main.rs\r\n"));
    let text: String = lines.collect();
    let message = DynamicFrame::new("hands", "done", "run")
        .unwrap()
        .with("out", text.clone());
    let mut short = limits(10_000, 1);
    short.message = 120;
    let shown = shown(short, std::slice::from_ref(&message));
    let said = shown
        .split_once("{out:")
        .unwrap()
        .1
        .trim_end()
        .trim_end_matches('}');
    let cut_text: String = serde_json::from_str(said).unwrap();
    let (head, rest) = cut_text.split_once("\n[").unwrap();
    assert!(text.starts_with(head) && head.len() > 100, "{cut_text}");
    let (mark, tail) = rest.split_once("]\n").unwrap();
    assert!(text.ends_with(tail), "{cut_text}");
    assert!(
        mark.contains("$cold.p1; ") && !mark.contains('\\'),
        "{mark}"
    );
    // The reader can read the prompt, because the mark is part of the text.
    let read = prompt(limits(10, 1)).view().read(&shown).unwrap();
    assert_eq!(read, [message.with("out", cut_text)]);
}

/// A block of facts without a fact would only take room. The header of the next block names its messages instead.
#[test]
fn no_block_of_facts_is_empty() {
    let dull = |text: &str| chat("clerk", "done", text);
    let messages = [
        chat("user", "req", "Good morning!"),
        dull("One moment please, while I look."),
        dull("Still looking, one moment please."),
        dull("It is not there, as it seems to me."),
        dull("The gate is B12: it is on the upper floor, behind the shops and to the left of all."),
        dull("Anything else?"),
    ];
    let before = shown(limits(5, 1), &messages[..4]);
    assert!(!before.contains("@facts"), "{before}");
    insta::assert_snapshot!(shown(limits(5, 1), &messages), @"
    @user? Good morning!
    @=X(a,b) defines X(1,2) and X[rows]; $cold.p7 is message 7
    @facts p2-5
    clerk: gate is B12
    @clerk: Anything else?
    ");
}
