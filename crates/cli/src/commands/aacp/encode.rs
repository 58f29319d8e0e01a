//! `accp aacp encode`: writes packets, from objects or by the rules of a workflow.

use accp_aacp::{Limits, Vocabulary};
use serde_json::{Value as Json, json};

use super::fallback::{self, EnglishArgs};
use super::lines::written;
use super::object::{Object, read_error};
use super::vocabulary::{VocabularyArgs, workflow};
use accp_console::choices::Format;
use accp_console::input::{InputArg, Line};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;

/// Turn JSON objects or instructions in English into packets, or make the packets of a workflow
///
/// Each line of the input is one object with `task`, `dom` and `fields`, as `accp aacp decode
/// --format json` writes it. The fields are pairs or an object. The command adds `aacp` if it is
/// missing, and adds nothing else. It reports an object that makes no packet, and leaves the
/// object out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp decode --format json packets.aacp | accp aacp encode
  accp aacp encode --workflow payroll --set period=2024-08
  accp aacp encode --workflow it --hop provision_vpn --set username=j.smith --format json
  accp aacp encode --english \"Ask Ada for her badge\" --dom IT --return IT-Agent --registry r.aacp \\
      --llm-url http://127.0.0.1:8080 --llm-model small")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArg,
    /// Make the packets of this workflow: a name of `accp aacp workflows`, or a file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["file", "instruction"])]
    workflow: Option<String>,
    /// Make only the packet of this hop
    #[arg(long, value_name = "HOP", requires = "workflow")]
    hop: Option<String>,
    /// Give a parameter of the workflow a value; commas separate the items of a list; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "workflow")]
    set: Vec<String>,
    #[command(flatten)]
    english: EnglishArgs,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object a line with `packet`, and with `workflow` and `hop` or with `line`; for an
    /// object that makes no packet `line` and `errors`, and for a workflow that makes none `errors`
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = args.vocabulary.load()?;
    if args.english.is_given() {
        if args.input.file.is_some() {
            let text = "a file of objects and an instruction exclude each other; leave one out";
            return Err(Failure::Misuse(text.to_owned()));
        }
        return fallback::encode(&args.english, &vocabulary, args.format);
    }
    match &args.workflow {
        Some(name) => by_rules(args, name, &vocabulary),
        None => written(&args.input, args.format, packet),
    }
}

/// Makes the packets of a workflow.
fn by_rules(args: &Args, name: &str, vocabulary: &Vocabulary) -> Outcome {
    let workflow = workflow(name, vocabulary)
        .or_else(|failure| refused(args.format, "workflow-invalid", None, failure))?;
    let values: Option<Vec<_>> = args.set.iter().map(|set| set.split_once('=')).collect();
    let Some(values) = values else {
        let text = "--set needs NAME=VALUE; write the name, `=` and the value";
        let failure = Failure::Misuse(text.to_owned());
        return refused(args.format, "set-invalid", None, failure);
    };
    let packets = workflow.encode(args.hop.as_deref(), &values);
    let packets = packets.or_else(|error| {
        let failure = if error.is_value() {
            Failure::Input(error.to_string())
        } else {
            Failure::Misuse(error.to_string())
        };
        refused(args.format, error.code(), error.name(), failure)
    })?;
    let mut out = Output::stdout();
    for (hop, packet) in packets {
        match args.format {
            Format::Text => out.record(packet)?,
            Format::Json => out.record(json!({
                "workflow": workflow.name, "hop": hop, "packet": packet.text(),
            }))?,
        }
    }
    out.finish()?;
    Ok(Verdict::Fine)
}

/// Fails with this failure. For a program, it first prints an object with `errors`.
fn refused<T>(
    format: Format,
    code: &str,
    field: Option<&str>,
    failure: Failure,
) -> Result<T, Failure> {
    if format == Format::Json {
        let error = json!({ "code": code, "field": field, "message": failure.to_string() });
        Output::print_record(json!({ "errors": [error] }))?;
    }
    Err(failure)
}

/// Makes a packet, or returns the error as JSON: `code`, `field` and `message`.
fn packet(line: Line<'_>) -> Result<String, Json> {
    if line.is_cut() {
        let message = format!(
            "the line is longer than {} bytes; a packet has at most {}, so point to the data with \
             data_ptr",
            line.bytes.len() - 1,
            Limits::DEFAULT.packet_bytes
        );
        return Err(json!({ "code": "too-long", "field": null, "message": message }));
    }
    let object = serde_json::from_slice::<Object>(line.bytes).map_err(|error| {
        let cure = "write an object as `accp aacp decode` gives it, on one line";
        json!({ "code": "json", "field": null, "message": read_error(&error, cure) })
    })?;
    let packet = object.packet().map_err(|error| {
        let code = error.code().map_or("value-invalid", |code| code.as_str());
        json!({ "code": code, "field": error.name(), "message": error.to_string() })
    })?;
    Ok(packet.to_string())
}
