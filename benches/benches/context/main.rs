//! The cost of compressing a conversation of 200,000 tokens for a window of 128,000, with all tiers, and for
//! comparison the cost of counting its tokens: `cargo bench --manifest-path benches/Cargo.toml --bench context`.
//!
//! The tokens of the messages are counted before the clock runs, as in a program that counts each message when it
//! arrives. The tokens of new texts (previews, the summary) are counted within the measured time.
//!
//! Names after `--` (`once`, `growth`, `memory`) choose the parts to run.

mod conversation;
mod growth;
mod memory;

use std::collections::HashMap;
use std::path::Path;

use accp_bench::{Goal, contender, figure, race};
use accp_memory::disk::{Compressed, Context};
use accp_memory::{Form, ListSession, MessageList, Options, SessionId, Tier, Window};
use accp_tokens::{Bpe, TokenCounter};
use conversation::{Conversation, counted};
use serde_json::Value as Json;
use time::OffsetDateTime;

/// Tokens of the conversation.
const TOKENS: usize = 200_000;
/// Tokens of the window.
const WINDOW: u64 = 128_000;
/// The most milliseconds that a compression may take.
const MOST: f64 = 300.0;

/// A counter that already knows the counts of the texts of the conversation.
#[derive(Debug)]
struct Known {
    bpe: Bpe,
    known: HashMap<String, usize>,
}

impl Known {
    fn of(messages: &[Json]) -> Self {
        let bpe = Bpe::o200k_base();
        let texts = counted(messages).into_iter();
        let known = texts.map(|text| (text.clone(), bpe.count(&text))).collect();
        Self { bpe, known }
    }
}

impl TokenCounter for Known {
    fn name(&self) -> &str {
        self.bpe.name()
    }

    fn count(&self, text: &str) -> usize {
        self.known
            .get(text)
            .copied()
            .unwrap_or_else(|| self.bpe.count(text))
    }
}

/// Returns a list of messages.
fn list(messages: &[Json]) -> MessageList {
    let raws: Vec<_> = messages.iter().map(Json::to_string).collect();
    MessageList::of(Form::OpenAi, raws.iter().map(String::as_str)).expect("messages")
}

/// Opens the folder `root` and compresses a list, as a process that has just started would do.
fn compress(root: &Path, list: &MessageList, counter: &dyn TokenCounter) -> Compressed {
    let mut context = Context::open(root, id()).expect("a root");
    let window = window();
    let options = Options::new(&window, counter, OffsetDateTime::UNIX_EPOCH);
    context.compress(list, &options, &mut ()).expect("a list")
}

/// Returns the window. In stress mode, all tiers act when the window is 25 % full. Otherwise the first tier, which
/// moves texts to files, would already bring this conversation below 75 %, and no other tier would act.
fn window() -> Window {
    Window::of(WINDOW).expect("a window").with_stress(true)
}

fn id() -> SessionId {
    SessionId::new("bench").expect("an id")
}

fn main() {
    let parts: [(&str, fn()); 3] = [
        ("once", once),
        ("growth", growth::bench),
        ("memory", memory::bench),
    ];
    // Cargo adds `--bench` to the arguments.
    let args = std::env::args().skip(1);
    let chosen: Vec<_> = args.filter(|arg| !arg.starts_with('-')).collect();
    for (name, bench) in parts {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            bench();
        }
    }
}

/// Compresses the whole conversation at once.
fn once() {
    let messages = Conversation::of(TOKENS, &Bpe::o200k_base()).messages;
    let (list, lines) = (list(&messages), messages.iter().map(conversation::line));
    let (lines, counter, bpe) = (
        lines.collect::<Vec<_>>(),
        Known::of(&messages),
        Bpe::o200k_base(),
    );
    let window = window();
    let options = Options::new(&window, &counter, OffsetDateTime::UNIX_EPOCH);
    let session = ListSession::new(id(), Form::OpenAi);
    let plan = || session.plan(&list, &options, &(), &mut ()).expect("a list");
    let made = plan();
    let acted: Vec<_> = made.events.iter().map(|event| event.tier).collect();
    assert_eq!(acted, [Tier::One, Tier::Two, Tier::Three], "all tiers act");
    println!(
        "{} messages, {} tokens, {} bytes; {} tokens and {} files come out\n",
        messages.len(),
        made.before,
        list.to_string().len(),
        made.after,
        made.files.len()
    );
    let finishes = race(
        "compress once (x: times as fast as counting)",
        vec![
            contender("count", || {
                lines.iter().map(|line| bpe.count(line)).sum::<usize>()
            }),
            contender("plan", plan),
            contender("compress, files synced", || {
                let root = tempfile::tempdir().expect("a folder");
                compress(root.path(), &list, &counter)
            }),
        ],
    );
    let [_, plan, compressed] = &finishes[..] else {
        return;
    };
    for (what, finish) in [("plan", plan), ("compress, files synced", compressed)] {
        figure(what, finish.least / 1e6, "ms", Goal::AtMost(MOST));
    }
    println!();
}
