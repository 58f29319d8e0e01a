//! `accp tokens`: counts the tokens of frames, part by part.

use std::fmt::Write as _;

use accp_frame::{Frame, FrameTokenLimits, FrameTokens, TokenCounter as _, Within};
use accp_tokens::{Bpe, ModelCounter};
use clap::builder::PossibleValuesParser;
use serde_json::{Value as Json, json};

use crate::fault::Fault;
use crate::words::counted;
use accp_console::choices::Format;
use accp_console::input::{InputArg, Line};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Count the tokens of frames, part by part, against the limits of the draft
///
/// The count is exact for the named encoding. If a model's vendor publishes no tokenizer, the count
/// is that of a substitute, and is marked as such, with what is known of its error. A model that is
/// not known is refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp tokens frames.accp
  accp tokens --model gpt-4 --format json frames.accp")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    #[command(flatten)]
    counter: CounterArgs,
    /// json: one object a line with `line`, `header`, `body`, `metadata`, `total`, the parts that
    /// are `over_soft` and `over_hard`, `encoding`, `substitute`, and a `note` about its error
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// The choice of the tokenizer.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CounterArgs {
    /// The encoding to count tokens in
    #[arg(long, value_parser = PossibleValuesParser::new(Bpe::ENCODINGS))]
    #[arg(default_value = Bpe::ENCODINGS[0])]
    encoding: String,
    /// Count as this model does
    #[arg(long, value_name = "NAME", conflicts_with = "encoding")]
    model: Option<String>,
}

impl CounterArgs {
    /// Returns the counter. Prints a note on stderr if the counter is a substitute for the tokenizer of the model.
    pub(crate) fn counter(&self) -> Result<ModelCounter, Failure> {
        let Some(model) = &self.model else {
            // clap accepts only the names of known encodings, so the default is never used.
            return Ok(Bpe::for_encoding(&self.encoding).unwrap_or_default().into());
        };
        let counter = Bpe::for_model(model)
            .map_err(|unknown| Failure::Misuse(format!("{unknown}, by `--encoding`")))?;
        if let Some(note) = counter.substitute() {
            output::note(note);
        }
        Ok(counter)
    }
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let counter = args.counter.counter()?;
    let mut lines = args.input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::stdout();
    let styled = output::is_styled(&std::io::stderr());
    let mut totals = Totals::default();
    let mut faults = 0;
    if args.format == Format::Text {
        out.line(row(
            "line",
            ["header", "body", "metadata", "total"].map(str::to_owned),
        ))?;
    }
    while let Some(line) = lines.next_line()? {
        let tokens = count(line, &counter);
        faults += u64::from(tokens.is_err());
        match (args.format, tokens) {
            (Format::Text, Ok(tokens)) => {
                out.line(row(&line.number.to_string(), marked(&tokens)))?;
                totals.add(&tokens);
            }
            (Format::Text, Err(fault)) => output::show(&fault.render(&name, line, styled)),
            (Format::Json, Ok(tokens)) => {
                let mut json = json!({ "line": line.number });
                if let (Json::Object(json), Json::Object(counts)) = (&mut json, to_json(&tokens)) {
                    json.extend(counts);
                }
                json["encoding"] = json!(counter.counter.name());
                json["substitute"] = json!(!counter.exact);
                if let Some(note) = counter.substitute() {
                    json["note"] = note.into();
                }
                out.record(json)?;
            }
            (Format::Json, Err(fault)) => out.record(fault.to_json(line.number))?,
        }
    }
    if args.format == Format::Text {
        let Totals {
            frames,
            over_soft,
            over_hard,
            tokens,
        } = totals;
        out.line(row("all", tokens.map(|tokens| tokens.to_string())))?;
        let frames = counted(frames, "frame");
        out.line(format_args!(
            "\n{frames}, counted in {counter}; over a soft limit (+): {over_soft}, over a hard one \
             (!): {over_hard}"
        ))?;
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

fn count(line: Line<'_>, counter: &ModelCounter) -> Result<FrameTokens, Fault> {
    let frame = Frame::parse(Fault::or_text(line)?)
        .map_err(|error| Fault::of_decode(&error, line.bytes))?;
    Ok(FrameTokens::count(&frame, &counter.counter))
}

/// Writes the counts as JSON, with the names of the parts that are over a limit.
pub(crate) fn to_json(tokens: &FrameTokens) -> Json {
    let parts = tokens.against(&FrameTokenLimits::DRAFT);
    let over = |limit: Within| -> Vec<&str> {
        let over = parts.iter().filter(|(.., within)| *within >= limit);
        over.map(|(part, ..)| *part).collect()
    };
    let mut json = Json::Object(
        parts
            .iter()
            .map(|(part, n, ..)| ((*part).to_owned(), json!(n)))
            .collect(),
    );
    json["over_soft"] = json!(over(Within::Hard));
    json["over_hard"] = json!(over(Within::Over));
    json
}

/// Writes the counts as text, with a mark on each count over a limit.
pub(crate) fn marked(tokens: &FrameTokens) -> [String; 4] {
    tokens
        .against(&FrameTokenLimits::DRAFT)
        .map(|(_, tokens, _, within)| match within {
            Within::Soft => tokens.to_string(),
            Within::Hard => format!("{tokens}+"),
            Within::Over => format!("{tokens}!"),
        })
}

/// Formats a row of the table. Each row is written as soon as its frame was read, so the widths are fixed. Each count
/// has one more column for its mark.
fn row(line: &str, cells: [String; 4]) -> String {
    let mut row = format!("{line:>8}");
    for cell in cells {
        let mark = if cell.ends_with(['+', '!']) { "" } else { " " };
        let cell = cell + mark;
        let _ = write!(row, "{cell:>10}");
    }
    row.trim_end().to_owned()
}

/// The totals of the frames.
#[derive(Debug, Default)]
struct Totals {
    frames: u64,
    /// Frames that have a part over its soft limit, but no part over its hard limit.
    over_soft: u64,
    over_hard: u64,
    /// Token counts by part.
    tokens: [usize; 4],
}

impl Totals {
    fn add(&mut self, frame: &FrameTokens) {
        let parts = frame.against(&FrameTokenLimits::DRAFT);
        self.frames += 1;
        match parts.iter().map(|(.., within)| *within).max() {
            Some(Within::Over) => self.over_hard += 1,
            Some(Within::Hard) => self.over_soft += 1,
            _ => {}
        }
        for (total, (_, tokens, ..)) in self.tokens.iter_mut().zip(parts) {
            *total += tokens;
        }
    }
}
