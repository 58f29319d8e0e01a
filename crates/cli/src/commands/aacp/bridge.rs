//! `accp aacp bridge`: turns packets into frames of ACCP, and such frames into packets.

use accp_aacp::{Validator, bridge};
use accp_frame::{AgentId, DynamicFrame, ErrorCode};
use serde_json::{Value as Json, json};

use super::lines::{each, written};
use super::report;
use super::vocabulary::{VocabularyArgs, validator};
use crate::fault::Fault;
use accp_console::choices::Format;
use accp_console::input::{InputArg, Line};
use accp_console::outcome::{Failure, Outcome};

/// Turn packets into frames of ACCP, or such frames into packets
///
/// A packet becomes a frame with the schema AP. Such a frame becomes the same packet again, to the
/// byte, except for spaces that do not count. `accp aacp profile` prints the schema. A packet has no
/// place for the sender and the metadata of its frame. A line that has an error is reported and left
/// out.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp aacp bridge --to frame --from planner packets.aacp | accp check
  accp aacp bridge --to packet frames.accp")]
pub(crate) struct Args {
    /// What to make of each line
    #[arg(long, value_enum)]
    to: To,
    /// The sender of the frames, for `--to frame` only [default: agent]
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    #[command(flatten)]
    input: InputArg,
    #[command(flatten)]
    vocabulary: VocabularyArgs,
    /// json: one object a line with `line`, `frame` and `warnings`, or with `line` and `packet`; with
    /// `line` and `errors` for a line that has an error
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum To {
    /// A frame of each packet
    Frame,
    /// A packet of each frame
    Packet,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Outcome {
    let vocabulary = args.vocabulary.load()?;
    match (args.to, &args.from) {
        (To::Frame, from) => to_frames(args, from.as_deref(), &validator(&vocabulary)),
        (To::Packet, None) => written(&args.input, args.format, packet),
        (To::Packet, Some(_)) => Err(Failure::Misuse(
            "--from is the sender of frames; leave it out to make packets".to_owned(),
        )),
    }
}

fn to_frames(args: &Args, from: Option<&str>, validator: &Validator<'_>) -> Outcome {
    let from = from.unwrap_or("agent");
    if let Err(error) = AgentId::new(from) {
        return Err(Failure::Misuse(format!("--from: {error}")));
    }
    each(
        &args.input,
        validator,
        args.format,
        |name, number, packet, report, out| {
            let frame = bridge::to_frame(packet, from);
            let frame = match frame.and_then(|frame| frame.encode(bridge::profile())) {
                Ok(frame) => frame,
                Err(error) => {
                    let message = format!("{error}; point to the data with data_ptr");
                    let code = error.code().to_string();
                    return Ok(Some(
                        json!({ "code": code, "field": null, "message": message }),
                    ));
                }
            };
            match args.format {
                Format::Text => {
                    report::print(name, number, report);
                    out.record(frame)?;
                }
                Format::Json => out.record(json!({
                    "line": number, "frame": frame, "warnings": report::warnings(report),
                }))?,
            }
            Ok(None)
        },
    )
}

/// Returns the packet of a frame, or the error as JSON: `code`, `field` and `message`.
fn packet(line: Line<'_>) -> Result<String, Json> {
    let message = DynamicFrame::decode_bytes(line.bytes, bridge::profile()).map_err(|error| {
        let fault = Fault::of_decode(&error, line.bytes);
        let message = format!("byte {}: {fault}", fault.at);
        json!({ "code": fault.code.to_string(), "field": null, "message": message })
    })?;
    let packet = bridge::to_packet(&message).map_err(|error| {
        let code = ErrorCode::INVALID_TYPE.to_string();
        json!({ "code": code, "field": error.name(), "message": error.to_string() })
    })?;
    Ok(packet.to_string())
}
