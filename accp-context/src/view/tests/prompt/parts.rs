//! The parts of a prompt as messages of a chat request.

use super::{chat, limits, prompt};
use accp_frame::Message;

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
    let call = Message::new("hands", "done", "tool").unwrap().under("TC");
    prompt.push(9, &call.with("tool", "search"));
    prompt.push(10, &chat("boss", "req", "Now.").with("role", "system"));
    prompt.push(11, &chat("boss", "req", "Soon.").with("role", "manager"));
    prompt.push(
        12,
        &Message::new("desk", "done", "plan")
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
