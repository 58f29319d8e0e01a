//! The heading of a message: number, role, tools and time.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Archived;
use crate::raw::push_escaped;

const BETWEEN: &str = " · ";
const NONE: &str = "-";

/// Writes the heading of a message, without the `## ` before it.
pub(super) fn write(message: &Archived) -> String {
    let tools: Vec<_> = message.tools.iter().map(|tool| name(tool)).collect();
    let tools = if tools.is_empty() {
        NONE.to_owned()
    } else {
        tools.join(", ")
    };
    let time = message.time.and_then(|time| time.format(&Rfc3339).ok());
    [
        message.number.to_string(),
        name(&message.role),
        tools,
        time.unwrap_or_else(|| NONE.to_owned()),
    ]
    .join(BETWEEN)
}

/// Reads the heading of a message. The message gets its text later. Returns `None` if the line is not a heading.
pub(super) fn of_line(line: &str) -> Option<Archived> {
    let mut parts = line.strip_prefix("## ")?.split(BETWEEN);
    let (number, role, tools, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_whole = parts.next().is_none();
    let tools = match tools {
        NONE => Some(Vec::new()),
        tools => tools.split(", ").map(read_name).collect(),
    };
    let time = match time {
        NONE => None,
        time => Some(OffsetDateTime::parse(time, &Rfc3339).ok()?),
    };
    is_whole.then_some(Archived {
        number: number.parse().ok()?,
        role: read_name(role)?,
        tools: tools?,
        time,
        text: String::new(),
    })
}

/// Writes a name as it is, or as a JSON string in which the separators of the heading are escaped.
pub(super) fn name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if !name.is_empty() && name != NONE && name.chars().all(is_plain) {
        return name.to_owned();
    }
    let mut out = String::from("\"");
    for c in name.chars() {
        let is_kept = c.is_alphanumeric() || c == ' ' || (c.is_ascii_graphic() && c != ',');
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if is_kept => out.push(c),
            c => push_escaped(&mut out, c),
        }
    }
    out.push('"');
    out
}

fn read_name(text: &str) -> Option<String> {
    if text.starts_with('"') {
        return serde_json::from_str(text).ok();
    }
    (!text.is_empty()).then(|| text.to_owned())
}
