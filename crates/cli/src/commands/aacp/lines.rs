//! Reads packets from the lines of an input, and reports the lines that have errors.

use accp_aacp::{Limits, Packet, Report, Validator};
use serde_json::{Value as Json, json};

use super::report;
use accp_console::choices::Format;
use accp_console::input::{InputArg, Line, Lines};
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::{self, Output};

/// Calls `take` with the number, the packet and the findings of each line. If a packet has an error, or `take`
/// returns an error for it, the error is reported and the packet is left out.
pub(super) fn each(
    input: &InputArg,
    validator: &Validator<'_>,
    format: Format,
    mut take: impl FnMut(&str, u64, &Packet<'_>, &Report, &mut Output) -> Result<Option<Json>, Failure>,
) -> Outcome {
    let mut packets = Packets::new(input.open()?.into_lines(), false);
    let name = packets.name().to_owned();
    let mut out = Output::stdout();
    let mut faults = 0;
    while let Some(Line { number, bytes }) = packets.next()? {
        let report = validator.validate(bytes);
        if let Ok(packet) = Packet::parse_bytes(bytes) {
            if let Some(error) = take(&name, number, &packet, &report, &mut out)? {
                faults += 1;
                refuse(&name, number, format, &error, &mut out)?;
            }
            continue;
        }
        faults += 1;
        match format {
            Format::Text => report::print(&name, number, &report),
            Format::Json => {
                out.record(json!({ "line": number, "errors": report::errors(&report) }))?;
            }
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// Writes the packet that `make` returns for each line. An error of `make` is an object with a `message`; its line is
/// reported and left out.
pub(super) fn written(
    input: &InputArg,
    format: Format,
    make: impl Fn(Line<'_>) -> Result<String, Json>,
) -> Outcome {
    let mut lines = input.open()?.into_lines();
    let name = lines.name.clone();
    let mut out = Output::stdout();
    let mut faults = 0;
    while let Some(line) = lines.next_line()? {
        let number = line.number;
        match (make(line), format) {
            (Ok(packet), Format::Text) => out.record(packet)?,
            (Ok(packet), Format::Json) => {
                out.record(json!({ "line": number, "packet": packet }))?;
            }
            (Err(error), format) => {
                faults += 1;
                refuse(&name, number, format, &error, &mut out)?;
            }
        }
    }
    out.finish()?;
    Ok(Verdict::of(faults))
}

/// Reports the error of a line: an object with a `message`.
pub(super) fn refuse(
    name: &str,
    number: u64,
    format: Format,
    error: &Json,
    out: &mut Output,
) -> Result<(), Failure> {
    match format {
        Format::Text => {
            let message = error["message"].as_str().unwrap_or_default();
            output::error(format_args!("{name}:{number}: {message}"));
            Ok(())
        }
        Format::Json => out.record(json!({ "line": number, "errors": [error] })),
    }
}

/// The packets of an input, one on each line. If `unwrap` is set, a packet may have several lines; all of them except
/// the last end in `|`.
pub(super) struct Packets {
    lines: Lines,
    unwrap: bool,
    joined: Vec<u8>,
}

impl Packets {
    pub(super) fn new(lines: Lines, unwrap: bool) -> Self {
        Self {
            lines,
            unwrap,
            joined: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.lines.name
    }

    /// Returns the next packet with the number of its first line. A blank line counts as a packet.
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>, Failure> {
        if !self.unwrap {
            return self.lines.next_of_all();
        }
        self.joined.clear();
        let mut first = None;
        while let Some(line) = self.lines.next_of_all()? {
            let number = *first.get_or_insert(line.number);
            let part = spaceless(line.bytes);
            // After the packet is over the limit, no more lines are added: the check of the packet refuses it anyway.
            if self.joined.len() <= Limits::DEFAULT.packet_bytes {
                self.joined.extend_from_slice(part);
            }
            // Only the beginning of a cut line is known, so the packet ends here. It is too long anyway.
            if !part.ends_with(b"|") || line.is_cut() {
                let bytes = &self.joined;
                return Ok(Some(Line { number, bytes }));
            }
        }
        let bytes = &self.joined;
        Ok(first.map(|number| Line { number, bytes }))
    }
}

/// Returns the bytes without spaces at both ends. A tab is not a space: it is a control character.
fn spaceless(mut bytes: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] | [rest @ .., b' '] = bytes {
        bytes = rest;
    }
    bytes
}
