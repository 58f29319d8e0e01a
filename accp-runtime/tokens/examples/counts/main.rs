//! Compares the tokens of generated texts with those of tiktoken-rs, on all processors.
//!
//! ```sh
//! cargo run --release -p accp-tokens --example counts -- 10000000
//! ```

mod texts;

use accp_tokens::{Bpe, GrowingCount, TokenCounter};
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use tiktoken_rs::{CoreBPE, cl100k_base_singleton, o200k_base_singleton};

/// The number of texts that a thread takes at once.
const TURN: u64 = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let numbers: Result<Vec<u64>, _> = arguments.iter().map(|text| text.parse()).collect();
    let (count, first) = match numbers.as_deref() {
        Ok([count]) => (*count, 0),
        Ok([count, first]) => (*count, *first),
        _ => return Err("usage: counts TEXTS [FIRST_SEED]".into()),
    };
    let encodings = [
        (Bpe::o200k_base(), o200k_base_singleton()),
        (Bpe::cl100k_base(), cl100k_base_singleton()),
    ];
    let mut vocabulary = Vec::new();
    for (_, reference) in encodings {
        let tokens = (0..200_000).filter_map(|token| reference.decode_bytes(&[token]).ok());
        vocabulary.extend(tokens.filter_map(|bytes| String::from_utf8(bytes).ok()));
    }
    let next = AtomicU64::new(first);
    let bytes = AtomicU64::new(0);
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let from = next.fetch_add(TURN, Ordering::Relaxed);
                        if from >= first + count {
                            return Ok(());
                        }
                        for seed in from..(from + TURN).min(first + count) {
                            let text = texts::text(seed, &vocabulary);
                            bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
                            for (bpe, reference) in encodings {
                                compare(bpe, reference, &text).map_err(|fault| {
                                    format!("{bpe:?}, seed {seed}: {fault}: {text:?}")
                                })?;
                            }
                        }
                    }
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a comparison panicked".to_owned()))
        })
    })?;
    println!(
        "{count} texts of {} bytes have the tokens of tiktoken-rs in both encodings",
        bytes.into_inner()
    );
    Ok(())
}

/// Compares tokens, counts, counts to a limit, and the count of a text that grows.
fn compare(bpe: Bpe, reference: &CoreBPE, text: &str) -> Result<(), &'static str> {
    let expected = reference.encode_ordinary(text);
    let count = expected.len();
    if bpe.tokens(text) != expected {
        return Err("other tokens");
    }
    if bpe.count(text) != count {
        return Err("another count");
    }
    if bpe.count_to(text, count) != Some(count)
        || count > 0 && bpe.count_to(text, count - 1).is_some()
    {
        return Err("another count to a limit");
    }
    let mut growing = GrowingCount::new(bpe);
    let mut rest = text;
    // The parts become longer and longer, so that their borders fall on many different places.
    for wide in 1.. {
        let border = rest
            .char_indices()
            .nth(wide)
            .map_or(rest.len(), |(at, _)| at);
        let (part, behind) = rest.split_at(border);
        growing.append(part);
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    (growing.count() == count)
        .then_some(())
        .ok_or("another count of the text that grew")
}
