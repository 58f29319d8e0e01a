//! Measures what each step costs while a conversation grows message by message. Each step opens the folder of the
//! memory again, as a new process would do.

use std::time::Instant;

use accp_bench::{Goal, figure, median};

use super::{Conversation, Known, TOKENS, compress, list};
use accp_tokens::Bpe;

/// The number of parts into which the steps are divided for comparison.
const PARTS: usize = 8;
/// The number of steps at the end of each part. The median of these steps is printed.
const STEPS: usize = 10;

/// Adds one message at a time to the last compressed list, and compresses the list again, until the conversation
/// ends.
pub fn bench() {
    if std::env::var_os("RACE").is_some() {
        return;
    }
    let messages = Conversation::of(TOKENS, &Bpe::o200k_base()).messages;
    let counter = Known::of(&messages);
    let root = tempfile::tempdir().expect("a folder");
    println!(
        "growth: {} messages, each a step of its own",
        messages.len()
    );
    let mut shown: Vec<serde_json::Value> = Vec::new();
    let (mut times, mut tiers) = (Vec::new(), 0);
    let start = Instant::now();
    for message in &messages {
        shown.push(message.clone());
        let given = list(&shown);
        let begun = Instant::now();
        let done = compress(root.path(), &given, &counter);
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        tiers += done.events.len();
        shown = done
            .list
            .messages()
            .iter()
            .map(|message| message.json().clone())
            .collect();
    }
    let part = messages.len() / PARTS;
    for (index, times) in times.chunks(part).enumerate() {
        let last = times.len().saturating_sub(STEPS);
        let typical = median(times[last..].to_vec());
        let largest = times.iter().copied().fold(0.0, f64::max);
        println!(
            "  after {:>5} messages: a step takes {typical:>7.1} ms, the longest since {largest:>7.1} ms",
            (index * part + times.len())
        );
    }
    figure("all steps", start.elapsed().as_secs_f64(), "s", Goal::None);
    figure(
        "tiers that acted",
        f64::from(u32::try_from(tiers).unwrap_or(u32::MAX)),
        "times",
        Goal::None,
    );
    let last = times.len().saturating_sub(STEPS);
    figure(
        "a step at the end",
        median(times[last..].to_vec()),
        "ms",
        Goal::AtMost(super::MOST),
    );
    println!();
}
