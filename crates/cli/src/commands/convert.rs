//! `accp convert`: converts recorded conversations to frames, and back.

mod checked;
mod outputs;
mod summary;

use std::path::{Path, PathBuf};

use accp_recordings::{
    self as recordings, Conversation, ConvertOptions, Converter, Summary, VerifyError,
};
use accp_tokens::Bpe;
use serde_json::json;

use accp_console::choices::Format;
use accp_console::conversations::{FormatIn, at, each_conversation, each_restored, formats};
use accp_console::input::Input;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output, PRIVATE, error, note};
use checked::checked;
use outputs::Outputs;
use summary::table;

/// Convert recorded conversations to frames and back, without loss
///
/// Reads recorded conversations, one a line or one document, and writes one frame a line: chat as
/// CH, tool calls as TC `req:tool`, results as TC `done:tool`. The format of the conversations is
/// found out by their content (--format-in lists the formats). Values that do not fit into a frame
/// go to a side file, and the frame has a reference in their place. A summary with exact token
/// counts goes to stderr. Messages count from 0, as in `accp context check`; lines count from 1.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = "Examples:
  accp convert --verify examples/bakery.jsonl      convert, restore, compare, report
  accp convert chats.jsonl -o chats.accp            frames, and chats.accp.externals.jsonl
  accp convert --restore chats.accp -o chats.jsonl  the conversations again
  accp convert --format-out anthropic chats.jsonl   the conversations in another format")]
pub(crate) struct Args {
    /// Files to read; stdin if none is given, or for `-`
    files: Vec<PathBuf>,

    #[command(flatten)]
    format_in: FormatIn,

    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The side file of values that are sent by reference [default: OUTPUT.externals.jsonl]
    #[arg(long, value_name = "FILE")]
    externals: Option<PathBuf>,

    /// Write the conversations in this format, one a line, and refuse what the format cannot express.
    /// What no model saw, such as ids and times, is written under `_recorded`. For openai, anthropic and
    /// responses, a conversation is refused if `accp context check` would find a fault in it
    #[arg(long, value_name = "FORMAT", value_parser = formats(|format| format.is_written()))]
    #[arg(conflicts_with_all = ["verify", "inline"])]
    format_out: Option<recordings::Format>,

    /// Mend calls, results and cut texts that the format refuses, as `accp context repair` does
    #[arg(long, requires = "format_out")]
    repair: bool,

    /// Read frames and write the conversations
    #[arg(long, conflicts_with_all = ["verify", "inline"])]
    restore: bool,

    /// Convert and restore in memory, compare, and report; writes only the summary
    #[arg(long, conflicts_with_all = ["output", "externals"])]
    verify: bool,

    /// Keep values of more than 50 characters in the frame
    #[arg(long)]
    inline: bool,

    /// The time of the first frame of a conversation, in Unix seconds; recordings have no clock
    #[arg(long, value_name = "SECONDS", default_value_t = 1_767_225_600)]
    start: i64,

    /// The encoding to count tokens in
    #[arg(long, default_value = Bpe::ENCODINGS[0], value_parser = Bpe::ENCODINGS)]
    encoding: String,

    /// The form of the summary
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    if args.restore || args.format_out.is_some() {
        write_conversations(args)
    } else {
        convert_files(args)
    }
}

fn convert_files(args: &Args) -> Outcome {
    let counter = Bpe::for_encoding(&args.encoding)
        .ok_or_else(|| Failure::Misuse(format!("no encoding `{}`", args.encoding)))?;
    let outputs = (!args.verify).then(|| Outputs::open(args));
    let mut outputs = outputs.transpose()?;
    let mut files = Vec::new();
    let options = ConvertOptions {
        start: args.start,
        inline: args.inline,
    };
    for path in args.inputs() {
        let mut converter = Converter::new(options, counter);
        converter.summary.restored_equal = args.verify.then_some(0);
        let done =
            each_conversation(
                path,
                args.format_in,
                |name, line, conversation| match &mut outputs {
                    Some(outputs) => outputs.write(name, line, &conversation, &mut converter),
                    None => verify(name, line, &conversation, &mut converter),
                },
            );
        if let Err(fault) = done {
            outputs.map_or(Ok(()), Outputs::abandon)?;
            return Err(fault);
        }
        files.push((path, converter.summary));
    }
    if let Some(outputs) = outputs {
        outputs.finish()?;
    }
    let mut total = Summary::default();
    for (_, summary) in &files {
        total.add(summary);
    }
    report(args, counter, &files, &total)?;
    Ok(if total.is_whole() {
        Verdict::Fine
    } else {
        Verdict::AtFault
    })
}

/// Converts a conversation to frames, restores it and compares the result with the original. Reports a conversation
/// that differs after this. The summary counts such conversations.
fn verify(
    name: &str,
    line: u64,
    conversation: &Conversation,
    converter: &mut Converter<Bpe>,
) -> Result<(), Failure> {
    match converter.verify(conversation) {
        Ok(()) => {}
        Err(VerifyError::Encode(fault)) => return Err(at(name, line, fault)),
        Err(fault) => error(at(name, line, fault)),
    }
    Ok(())
}

impl Args {
    /// Returns the paths to read; stdin when there are none.
    fn inputs(&self) -> Vec<&Path> {
        match self.files.as_slice() {
            [] => vec![Path::new("-")],
            files => files.iter().map(PathBuf::as_path).collect(),
        }
    }
}

fn write_conversations(args: &Args) -> Outcome {
    let mut out = Output::to(args.output.as_deref(), PRIVATE)?;
    let externals = args.externals.as_deref();
    for path in args.inputs() {
        let write = |name: &str, line, conversation: Conversation| match args.format_out {
            Some(format) => {
                let written = conversation.written(format);
                let json = written.map_err(|why| at(name, line, why))?;
                // If the document is unchanged, it is written exactly as it was read, so that texts that were cut
                // within an escape stay as they are.
                let text = if json == *conversation.as_json() {
                    conversation.to_string()
                } else {
                    json.to_string()
                };
                let text = checked(text, format, args.repair, &format!("{name}:{line}"));
                out.record(text.map_err(|why| at(name, line, why))?)
            }
            None => out.record(conversation),
        };
        if args.restore {
            each_restored(Input::open(Some(path))?, path, externals, write)?;
        } else {
            each_conversation(path, args.format_in, write)?;
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

fn report(
    args: &Args,
    counter: Bpe,
    files: &[(&Path, Summary)],
    total: &Summary,
) -> Result<(), Failure> {
    let text = match args.format {
        Format::Json => {
            let mut json = total.to_json();
            json["encoding"] = json!(args.encoding);
            let each = files.iter().map(|(path, summary)| {
                let mut json = summary.to_json();
                json["file"] = json!(path.display().to_string());
                json
            });
            json["files"] = each.collect();
            json.to_string()
        }
        Format::Text => {
            let of = |(path, summary): &(&Path, Summary)| {
                format!("{}\n{}", path.display(), table(summary, counter))
            };
            let each = files.iter().map(of).collect::<Vec<_>>().join("\n\n");
            match files.len() {
                0 | 1 => table(total, counter).to_string(),
                _ => format!("{each}\n\nall files\n{}", table(total, counter)),
            }
        }
    };
    // With --verify the summary is the result, and goes to stdout. Otherwise the frames are the
    // result.
    match (args.verify, args.format) {
        (true, Format::Text) => Output::print_line(text)?,
        (true, Format::Json) => Output::print_record(text)?,
        (false, Format::Text) => note(text),
        (false, Format::Json) => output::record(text),
    }
    Ok(())
}
