//! Replays the list that each agent has before each of its messages in recorded conversations. `accp_memory` compresses
//! each list. The example checks that each returned list fits the window and is valid, that nothing is lost, and that
//! the list has the first words of the user verbatim.
//!
//! ```sh
//! cargo run --profile simulate -p accp-memory --example windows -- FILE... [--window N]... [--stress on|off|both]
//!     [--form openai|anthropic|responses] [--join N --tokens N] [--lists OUT] [--summaries OUT] [--limit N] [--root DIR]
//! ```
//!
//! The lists go to OUT as JSON lines, for validators that others wrote; `-` is the standard output, and then the
//! table goes to the standard error. Tool schemas are not given.

mod args;
mod checks;
mod joined;
mod kept;
mod out;
mod second;
mod sweep;
mod talk;
mod tally;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;

use accp_memory::Writes;
use accp_recordings::conversations;

use args::Args;
use checks::Counter;
use out::Out;
use talk::{Chat, Talk};
use tally::Tally;

/// The result of the functions in this example. The error is a text.
type Result<T> = std::result::Result<T, String>;

/// The most faults that are shown for one setting.
const SHOWN: usize = 5;

fn main() -> ExitCode {
    match Args::parse(std::env::args().skip(1)).and_then(|args| run(&args)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("{faults} faults");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the number of faults.
fn run(args: &Args) -> Result<usize> {
    let counter = Counter::new();
    let mut out = Out::to(args.lists.as_deref(), args.summaries.as_deref(), args.limit)?;
    args.say(&Tally::head());
    let mut faults = 0;
    let mut steps = 0;
    let mut all = Vec::new();
    for file in &args.files {
        let chats = read(file)?;
        if args.join > 0 {
            all.extend(chats);
            continue;
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let (found, tried) = settings(args, &name, &chats, &counter, &mut out)?;
        faults += found;
        steps += tried;
    }
    if args.join > 0 {
        let chats = joined::joined(&all, args.join, args.tokens, counter.bpe);
        let (found, tried) = settings(args, "joined", &chats, &counter, &mut out)?;
        faults += found;
        steps += tried;
    }
    if steps == 0 {
        return Err("no agent speaks in these files, so nothing was checked".to_owned());
    }
    Ok(faults)
}

fn read(file: &Path) -> Result<Vec<Chat>> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let input = File::open(file).map_err(|error| failed(&error))?;
    let mut chats = Vec::new();
    for (number, conversation) in conversations(BufReader::new(input)).enumerate() {
        let conversation = conversation.map_err(|error| failed(&error))?;
        chats.extend(talk::chats(&conversation, &format!("line {}", number + 1)));
    }
    Ok(chats)
}

/// Replays the lists of a file at each setting, and returns the faults and the steps.
fn settings(
    args: &Args,
    name: &str,
    chats: &[Chat],
    counter: &Counter,
    out: &mut Out,
) -> Result<(usize, usize)> {
    let writes = Writes::default();
    let (mut faults, mut steps) = (0, 0);
    for form in &args.forms {
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        let mut talks = Vec::new();
        for chat in chats {
            match Talk::of(chat, *form) {
                Ok(talk) => talks.push(talk),
                Err(why) => *refused.entry(why).or_default() += 1,
            }
        }
        for (why, count) in refused {
            args.say(&format!("{name}: {count} lists have no form {form}: {why}"));
        }
        for (size, stress) in args.settings() {
            let window = sweep::window(size, stress)?;
            let mut tally = Tally::default();
            out.begin();
            for (number, talk) in talks.iter().enumerate() {
                sweep::Sweep::new(talk, &window, counter, &writes)?.run(&mut tally, out)?;
                if let Some(root) = args.root.as_deref().filter(|_| number % args.every == 0) {
                    kept::run(talk, &window, counter, &writes, root, &mut tally)?;
                }
                counter.forget();
            }
            let stress = if stress { "on" } else { "off" };
            args.say(&format!(
                "{name:<20} {form:>9} {size:>6} {stress:>6}{tally}"
            ));
            if args.spare && !tally.spare.is_empty() {
                tally.spare.sort_unstable();
                args.say(&format!(
                    "  room beside system and newest turn where refused: {:?}",
                    tally.spare
                ));
            }
            for fault in tally.faults.iter().take(SHOWN) {
                eprintln!("  {fault}");
            }
            faults += tally.faults.len();
            steps += tally.steps;
        }
    }
    Ok((faults, steps))
}
