//! Writes a page with the prompts that a model gets under the default policy.
//!
//! `cargo run -p accp-tests --example prompts -- examples/days.jsonl docs/prompts.md` replays the recorded
//! conversations under `memory`, as `accp-lab bench` does. It writes the prompts of the turns in [`SHOWN`] to the
//! page, unchanged. With `--check` the program only compares the page with what it would write.
//! Exit code 1: the page is not what the program would write, or a file is at fault; 2: misuse.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use accp_eval::{OURS, Prices, Transcript, Transcripts, plan};
use accp_memory::policy::{Opening, Segment};
use accp_recordings::conversations;
use accp_runtime::view::View;
use accp_runtime::{Registry, TokenCounter as _};
use accp_tests::page::{self, fence, thousands};
use accp_tests::program::Result;
use accp_tokens::Bpe;
use clap::Parser;

/// The conversations and turns whose prompts are shown. A turn is the index of the message that answers the prompt.
/// The first turn of each conversation is an early one.
const SHOWN: [(&str, &str, &[usize]); 3] = [
    ("ferry/1", "A coding agent with bash", &[6, 16, 26, 34]),
    ("cycles/1", "A shop's agent with six tools", &[8, 26, 42]),
    (
        "isles/1",
        "An orchestrator with three workers",
        &[11, 23, 34],
    ),
];

/// A prompt of the page.
struct Shown {
    turn: usize,
    agent: String,
    text: String,
    /// First the tokens under `memory`, then the tokens of the whole history as JSON.
    tokens: [Tokens; 2],
}

/// The tokens of a prompt.
#[derive(Debug, Clone, Copy, Default)]
struct Tokens {
    all: usize,
    /// The tokens at the beginning that this prompt shares with an earlier prompt.
    cached: usize,
}

#[derive(Parser)]
struct Args {
    /// Recorded conversations (JSON Lines)
    recorded: String,
    /// The page to write (Markdown)
    page: String,
    /// Write nothing; fail if the page is not what the program would write
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let Args {
        recorded,
        page,
        check,
    } = Args::parse();
    match make(&recorded, &page, check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn make(recorded: &str, page: &str, checks: bool) -> Result<()> {
    let command = format!("cargo run -p accp-tests --example prompts -- {recorded} {page}");
    let transcripts = read(recorded).map_err(|fault| format!("{recorded}: {fault}"))?;
    let text = written(&command, recorded, transcripts.as_slice())
        .map_err(|fault| format!("{recorded}: {fault}"))?;
    page::write(page, &text, &command, checks)
}

fn read(path: &str) -> Result<Transcripts> {
    let mut transcripts = Transcripts::default();
    for conversation in conversations(BufReader::new(File::open(path)?)) {
        transcripts.add_conversation(&conversation?, None, None)?;
    }
    Ok(transcripts)
}

/// Returns the page.
fn written(command: &str, recorded: &str, transcripts: &[Transcript]) -> Result<String> {
    let counter = Bpe::default();
    let name = Path::new(recorded).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let minimum = thousands(Prices::default().minimum as usize);
    let mut page = format!(
        "<!-- Made by `{command}`. Do not edit. -->\n\n{}",
        introduction(recorded, &name, counter.name(), &minimum)
    );
    let mut number = 0;
    for (id, title, turns) in SHOWN {
        let transcript = transcripts.iter().find(|transcript| transcript.id == id);
        let transcript = transcript.ok_or_else(|| format!("it has no conversation `{id}`"))?;
        let messages = transcript.messages.len();
        page.extend([format!("\n## {title}\n\n`{id}`, {messages} messages.\n")]);
        for shown in prompts(transcript, turns, counter) {
            number += 1;
            page += &shown?.section(number);
        }
    }
    Ok(page)
}

fn introduction(recorded: &str, name: &str, counter: &str, minimum: &str) -> String {
    format!(
        "\
# Ten prompts

What a model gets under the default policy `memory`, as it is, early and late in three conversations that were recorded
for this page ([{name}](../{recorded})).

The policy shows each message to an agent whole once. Afterwards long results lose their middles. Lines that the prompt
has already are referred to. The words of users and system prompts always stay. A message that an agent has seen does
not change again, so a provider's cache keeps the beginning of a prompt. [tokens.md](tokens.md) says what this costs and
saves.

How to read a prompt:

- It begins with the schemas of tools, if the conversation has them. A provider takes them apart from the text; they
  stand here because they cost tokens.
- The tool `expand` belongs to the policy: it shows again what was left out. Its definition stands before the first
  message that may lose lines.
- `p12 ` before a speaker is the number of a message, counted from 0. Short messages do not say theirs.
- `> stock(item: rye)` is a call. `= ` begins the result of the one call before it. Other results begin with the name of
  their tool.
- `[... p7:12-30: def union]` stands for lines 12 to 30 of message p7, which were left out. The first of them begins with
  `def union`. `expand` shows them again when it is called with `p7:12-30`.
- `[as in p7:12-30: def union]` stands for the same lines as those, which message p7 shows.
- `@=R1(id,name)` says that `R1(7,rye)` is a record with `id` 7 and `name` rye. `R1[` begins a list of such records, one
  a line. A field in which all of them are equal stands once behind the bracket, `R1[name:rye`, and not in the lines.
  `~` is null.
- `[From here on, bash' says a text with 3 lines around it: ..]` gives the lines that a tool writes around its
  results a name. Results of `bash'`, this one too, leave these lines out.

Tokens are those of {counter}. *As JSON* is the same prompt with the whole history, each message a line of compact
JSON. *Cached* are the tokens with which the newest prompt of some agent of the conversation begins, too, from {minimum}
on.
"
    )
}

/// Replays a conversation, and returns the prompts of these turns.
fn prompts(
    transcript: &Transcript,
    turns: &[usize],
    counter: Bpe,
) -> impl Iterator<Item = Result<Shown>> {
    let ours = replay(transcript, OURS, counter);
    let base = replay(transcript, "json", counter);
    turns.iter().map(move |&turn| {
        let at = ours.iter().position(|prompt| prompt.turn == turn);
        let fault = || format!("{}: message {turn} is not an agent's", transcript.id);
        let at = at.ok_or_else(fault)?;
        let prompt = &ours[at];
        Ok(Shown {
            turn,
            agent: prompt.agent.clone(),
            text: prompt.text.clone(),
            tokens: [prompt.tokens, base[at].tokens],
        })
    })
}

/// A prompt of a replay.
struct Prompt {
    turn: usize,
    agent: String,
    text: String,
    tokens: Tokens,
}

/// Returns the prompts of all turns under a policy.
fn replay(transcript: &Transcript, policy: &str, counter: Bpe) -> Vec<Prompt> {
    let opening = Opening {
        tools: transcript.tools.clone(),
        counter: Arc::new(counter),
        view: View::new(Arc::new(Registry::standard())),
    };
    let Some(plan) = plan(policy) else {
        return Vec::new();
    };
    let mut policy = plan.start(&opening);
    let mut prompts: Vec<Prompt> = Vec::new();
    // The tokens of the newest prompt of each agent.
    let mut newest: Vec<(String, Vec<u32>)> = Vec::new();
    for message in &transcript.messages {
        if let Some(agent) = transcript.agent(message) {
            let text = text(&policy.prompt(&agent));
            let tokens = counter.tokens(&text);
            let shared = newest.iter().map(|(_, old)| shared(old, &tokens)).max();
            let cached = shared.filter(|&shared| shared as u64 >= Prices::default().minimum);
            let agent = agent.name.to_string();
            prompts.push(Prompt {
                turn: message.index,
                agent: agent.clone(),
                text,
                tokens: Tokens {
                    all: tokens.len(),
                    cached: cached.unwrap_or_default(),
                },
            });
            newest.retain(|(name, _)| *name != agent);
            newest.push((agent, tokens));
        }
        policy.push(message);
    }
    prompts
}

fn text(prompt: &[Segment]) -> String {
    prompt.iter().map(|segment| &*segment.text).collect()
}

fn shared(old: &[u32], new: &[u32]) -> usize {
    old.iter()
        .zip(new)
        .take_while(|(old, new)| old == new)
        .count()
}

impl Shown {
    fn section(&self, number: usize) -> String {
        let Self {
            turn,
            agent,
            text,
            tokens: [ours, base],
        } = self;
        let fence = fence(text);
        format!(
            "\n### {number}. `{agent}`, before message {turn}\n\n\
            {} tokens, {} of them cached. As JSON: {} tokens, {} of them cached.\n\n\
            {fence}text\n{text}{fence}\n",
            thousands(ours.all),
            thousands(ours.cached),
            thousands(base.all),
            thousands(base.cached),
        )
    }
}
