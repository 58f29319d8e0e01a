//! Conversations to compress, made from a seed.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use crate::random::Random;

/// How many conversations share a root.
pub(crate) const SESSIONS: usize = 2;
/// Steps of a run.
const STEPS: usize = 60;

/// A step of a program.
#[derive(Clone)]
pub(crate) enum ConversationStep {
    /// Gives the list that the program got last, followed by these messages.
    Say {
        session: usize,
        messages: Vec<String>,
    },
    /// Marks a message as critical.
    Mark { session: usize, message: usize },
    /// The process ends.
    End,
}

impl ConversationStep {
    /// Returns the session that the step is about.
    pub(crate) fn session(&self) -> Option<usize> {
        match self {
            Self::Say { session, .. } | Self::Mark { session, .. } => Some(*session),
            Self::End => None,
        }
    }
}

/// Returns the steps of a run.
pub(crate) fn steps(seed: u64) -> Vec<ConversationStep> {
    let mut random = Random::new(seed);
    let mut talks: [Talk; SESSIONS] = Default::default();
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let session = random.below(SESSIONS);
        let talk = &mut talks[session];
        match random.below(8) {
            0 if talk.said > 4 => steps.push(ConversationStep::Mark {
                session,
                message: 1,
            }),
            1 => steps.push(ConversationStep::End),
            _ => {
                let messages = talk.go_on(&mut random);
                steps.push(ConversationStep::Say { session, messages });
            }
        }
    }
    steps
}

/// The state of a conversation so far.
#[derive(Default)]
struct Talk {
    said: usize,
}

impl Talk {
    fn go_on(&mut self, random: &mut Random) -> Vec<String> {
        let mut messages = Vec::new();
        if self.said == 0 {
            messages.push(json!({"role": "system", "content": "Never book over 300 dollars."}));
            messages.push(
                json!({"role": "user", "content": "Book a flight to Rome. I prefer the morning."}),
            );
        }
        let number = self.said;
        match random.below(4) {
            0 => messages.push(json!({"role": "user", "content": format!("Is flight {number} cheaper? {}", filler(random, 20))})),
            1 => write(number, random, &mut messages),
            _ => search(number, random, &mut messages),
        }
        self.said += messages.len();
        messages.iter().map(Json::to_string).collect()
    }
}

/// Adds a call that writes a file. A later tier of compression cuts the arguments of this call.
fn write(number: usize, random: &mut Random, messages: &mut Vec<Json>) {
    let path = format!("notes/{number}.md");
    let arguments = json!({"path": path, "content": filler(random, 500)});
    let said = format!("File written successfully at: {path}");
    call("write_file", number, &arguments, &said, messages);
}

/// Adds a call whose result is either small, or so long that it leaves the list at once.
fn search(number: usize, random: &mut Random, messages: &mut Vec<Json>) {
    let lines = 20 + random.below(400);
    let arguments = json!({"to": "Rome", "page": number});
    call(
        "search",
        number,
        &arguments,
        &filler(random, lines),
        messages,
    );
}

fn call(tool: &str, number: usize, arguments: &Json, result: &str, messages: &mut Vec<Json>) {
    let id = format!("call_{number}");
    messages.push(json!({"role": "assistant", "content": "I will look.", "tool_calls": [
        {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}}]}));
    messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
}

/// Returns lines of about three tokens.
fn filler(random: &mut Random, lines: usize) -> String {
    (0..lines).fold(String::new(), |mut text, _| {
        let _ = writeln!(text, "fare {:06}", random.below(1_000_000));
        text
    })
}
