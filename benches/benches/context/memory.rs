//! Measures how long a `Memory` takes for a long list: for the first list, and for each message that is added to the
//! list. For comparison, measures the time to read the list.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use accp_bench::{Goal, figure, median};
use accp_memory::{Form, Memory, MessageList, Prices, Promise, Window};
use accp_tokens::{Bpe, TokenCounter};
use serde_json::json;
use time::OffsetDateTime;

use super::{Conversation, TOKENS, list};

/// The number of messages that are added to the list, one at a time.
const STEPS: usize = 200;
/// The most milliseconds that the first list may take, without the counting of tokens.
const MOST: f64 = 30.0;

/// A counter that counts each text once, and remembers the count.
#[derive(Debug)]
struct Memo(Bpe, Mutex<HashMap<String, usize>>);

impl TokenCounter for Memo {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> usize {
        let mut known = self.1.lock().expect("a counter");
        if let Some(count) = known.get(text) {
            return *count;
        }
        let count = self.0.count(text);
        known.insert(text.to_owned(), count);
        count
    }
}

/// Gives the memory a list of 200,000 tokens, and then longer and longer lists, each with one more message.
pub fn bench() {
    let messages = Conversation::of(TOKENS, &Bpe::o200k_base()).messages;
    let counter = Arc::new(Memo(Bpe::o200k_base(), Mutex::default()));
    let raws: Vec<_> = messages.iter().map(ToString::to_string).collect();
    let text = format!("[{}]", raws.join(","));
    println!("memory: {} messages, {TOKENS} tokens", messages.len());
    for (name, promise) in [("append", Promise::Append), ("save", Promise::Save)] {
        let window = Window::of(2_000_000).expect("a window");
        let memory = || {
            Memory::new(window.clone(), Prices::default(), promise).with_counter(counter.clone())
        };
        let mut given = list(&messages);
        memory().to_send(&given, OffsetDateTime::UNIX_EPOCH);
        let mut memory = memory();
        let begun = Instant::now();
        memory.to_send(&given, OffsetDateTime::UNIX_EPOCH);
        let first = begun.elapsed().as_secs_f64() * 1e3;
        figure(
            &format!("{name}: the first list"),
            first,
            "ms",
            Goal::AtMost(MOST),
        );
        let (mut reads, mut grown) = (Vec::new(), Vec::new());
        for step in 0..STEPS {
            let begun = Instant::now();
            let read = MessageList::read(&text, Some(Form::OpenAi)).expect("a list");
            reads.push(begun.elapsed().as_secs_f64() * 1e3);
            drop(read);
            let more = json!({"role": "user", "content": format!("And page {step}?")}).to_string();
            let more = MessageList::of(Form::OpenAi, [more.as_str()]).expect("a message");
            given = given.with([given.messages(), more.messages()].concat());
            let begun = Instant::now();
            memory.to_send(&given, OffsetDateTime::UNIX_EPOCH);
            grown.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let (read, grown) = (median(reads), median(grown));
        figure(&format!("{name}: a message more"), grown, "ms", Goal::None);
        figure(
            &format!("{name}: that beside reading the list"),
            grown / read,
            "times",
            Goal::AtMost(0.1),
        );
    }
    println!();
}
