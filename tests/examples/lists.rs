//! Writes a page with ten lists of messages as a model gets them.
//!
//! `cargo run -p accp-tests --example lists -- examples/days.jsonl examples/chat.jsonl -o docs/lists-as-sent.md` replays
//! the recorded conversations under several policies, as `accp-lab bench` does. It writes the lists of the turns in
//! [`SHOWN`] to the page. With `--check` the program only compares the page with what it would write.
//! Exit code 1: the page is not what the program would write, or a file is at fault; 2: misuse.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::process::ExitCode;
use std::sync::Arc;

use accp_eval::{BASE, Transcript, Transcripts, plan};
use accp_memory::policies::ctx;
use accp_memory::policy::{Kind, Opening, Segment};
use accp_recordings::conversations;
use accp_runtime::view::View;
use accp_runtime::{Registry, TokenCounter as _};
use accp_tests::page::{self, fence, thousands};
use accp_tests::program::Result;
use accp_tokens::Bpe;
use clap::Parser;
use serde_json::Value as Json;

/// The conversations whose lists are shown, with their titles. Each list has its policy and its turn: the index of the
/// message that answers the list.
const SHOWN: [(&str, &str, &[(&str, usize)]); 4] = [
    (
        "ferry/1",
        "A coding agent with bash",
        &[("append", 26), ("window:4096", 34), ("ctx:8192", 34)],
    ),
    (
        "cycles/1",
        "A shop's agent with six tools",
        &[("save", 42), ("window:4096", 42), ("ctx:4096", 42)],
    ),
    (
        "isles/1",
        "An orchestrator with three workers",
        &[("window:8192", 34), ("ctx:8192", 34)],
    ),
    (
        "open-night/1",
        "A long chat",
        &[("window:4096", 52), ("ctx:4096", 52)],
    ),
];

const INTRODUCTION: &str = "\
# Ten lists as they are sent

What a model gets late in four conversations that were recorded for this project ([days.jsonl](../examples/days.jsonl),
[chat.jsonl](../examples/chat.jsonl)). Nothing tells the model what the marks in a list mean, so nothing tells it here.
Who reads a list has to be able to say for each mark, each summary and each reference to a file:

1. what is missing: which lines, results or messages
2. how much that is
3. which call or command gives it back
4. what the user wants, and what of it is done

`append`, `save` and `window:4096` are the lists of `accp_memory::Memory`, `ctx:4096` those of `accp context compress`
([context.md](context.md)). The number is the window in tokens.

`====` begins a message: its role, the name of its speaker in brackets, and the id of the call that it answers. A line with
`calls` is a call of the message above it. Of the conversation's own tools only the names stand here. A replay has no
session and no clock: its session is `measured`, and its times are seconds of the first day of 1970. Tokens are those of
the text as it stands here, in o200k_base.
";

#[derive(Parser)]
struct Args {
    /// Recorded conversations (JSON Lines)
    #[arg(required = true)]
    recorded: Vec<String>,
    /// The page to write (Markdown)
    #[arg(short, long)]
    output: String,
    /// Write nothing; fail if the page is not what the program would write
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match make(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn make(args: &Args) -> Result<()> {
    let Args {
        recorded,
        output,
        check,
    } = args;
    let files = recorded.join(" ");
    let command = format!("cargo run -p accp-tests --example lists -- {files} -o {output}");
    let mut transcripts = Transcripts::default();
    for path in recorded {
        read(path, &mut transcripts).map_err(|fault| format!("{path}: {fault}"))?;
    }
    let text = written(&command, transcripts.as_slice());
    let text = text.map_err(|fault| format!("{files}: {fault}"))?;
    page::write(output, &text, &command, *check)
}

fn read(path: &str, transcripts: &mut Transcripts) -> Result<()> {
    for conversation in conversations(BufReader::new(File::open(path)?)) {
        transcripts.add_conversation(&conversation?, None, None)?;
    }
    Ok(())
}

/// Returns the page.
fn written(command: &str, transcripts: &[Transcript]) -> Result<String> {
    let counter = Bpe::default();
    let mut page = format!("<!-- Made by `{command}`. Do not edit. -->\n\n{INTRODUCTION}");
    let mut number = 0;
    for (id, title, lists) in SHOWN {
        let transcript = transcripts.iter().find(|transcript| transcript.id == id);
        let transcript = transcript.ok_or_else(|| format!("there is no conversation `{id}`"))?;
        let messages = transcript.messages.len();
        write!(page, "\n## {title}\n\n`{id}`, {messages} messages.\n")?;
        for (policy, turn) in lists {
            number += 1;
            let sent = List::of(transcript, policy, *turn, counter)?;
            let whole = List::of(transcript, BASE, *turn, counter)?;
            let (text, fence) = (&sent.text, fence(&sent.text));
            write!(
                page,
                "\n### {number}. `{policy}`, before message {turn}\n\n\
                {}. The list as it is: {}.\n\n\
                {fence}text\n{text}{fence}\n",
                sent.size(counter),
                whole.size(counter),
            )?;
        }
    }
    Ok(page)
}

/// A list, as the page shows it.
struct List {
    messages: usize,
    text: String,
}

impl List {
    /// Replays a conversation under a policy, and returns the list of this turn.
    fn of(transcript: &Transcript, policy: &str, turn: usize, counter: Bpe) -> Result<Self> {
        let opening = Opening {
            tools: transcript.tools.clone(),
            counter: Arc::new(counter),
            view: View::new(Arc::new(Registry::standard())),
        };
        let plan = plan(policy).or_else(|| ctx::plan(policy));
        let plan = plan.ok_or_else(|| format!("there is no policy `{policy}`"))?;
        let mut policy = plan.start(&opening);
        for message in &transcript.messages {
            // What a policy sent before decides what it sends now, so it is asked at each turn.
            if let Some(agent) = transcript.agent(message) {
                let prompt = policy.prompt(&agent);
                if message.index == turn {
                    return Self::shown(&prompt);
                }
            }
            policy.push(message);
        }
        Err(format!("{}: message {turn} is not an agent's", transcript.id).into())
    }

    fn shown(prompt: &[Segment]) -> Result<Self> {
        let mut list = Self {
            messages: 0,
            text: String::new(),
        };
        for segment in prompt {
            let json: Json = serde_json::from_str(&segment.text)?;
            list.text += &if segment.kind == Kind::Tools {
                tools(&json)
            } else {
                list.messages += 1;
                shown(&json)
            };
        }
        Ok(list)
    }

    fn size(&self, counter: Bpe) -> String {
        let tokens = thousands(counter.count(&self.text));
        format!("{tokens} tokens in {} messages", self.messages)
    }
}

/// Returns the names of the conversation's tools, or the definition of the tool of a memory.
fn tools(json: &Json) -> String {
    let Some(all) = json.as_array() else {
        return format!("==== tool\n{json}\n");
    };
    let names = all.iter().map(|tool| string(member(tool, "name")));
    format!("==== tools\n{}\n", names.collect::<Vec<_>>().join(", "))
}

/// Returns a message: its head, its words, and its calls.
fn shown(message: &Json) -> String {
    let about = |key: &str, before: &str, behind: &str| {
        let text = message[key].as_str();
        text.map_or(String::new(), |text| format!("{before}{text}{behind}"))
    };
    let mut out = format!(
        "==== {}{}{}{}\n",
        string(&message["role"]),
        about("name", " (", ")"),
        about("to", ", to ", ""),
        about("tool_call_id", ", answers ", ""),
    );
    if !message["content"].is_null() {
        out += string(&message["content"]).trim_end_matches('\n');
        out.push('\n');
    }
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    out.extend(calls.map(|call| {
        let [id, name, arguments] =
            ["id", "name", "arguments"].map(|key| string(member(call, key)));
        format!("calls {name}({arguments}), id {id}\n")
    }));
    out
}

/// Returns a member of a tool or of a call. Some forms have it inside `function`.
fn member<'j>(json: &'j Json, key: &str) -> &'j Json {
    json["function"].get(key).unwrap_or(&json[key])
}

/// Returns a text as it is, and any other value as JSON.
fn string(json: &Json) -> String {
    json.as_str()
        .map_or_else(|| json.to_string(), str::to_owned)
}
