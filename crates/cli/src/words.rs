//! Counts, times and positions in words, and words for a shell, for all commands. The words for a frame are in
//! `accp_frame::words`.

use accp_context::Checkpoint;
use time::OffsetDateTime;

pub(crate) use accp_frame::words::{
    UNLIMITED, is_at, is_printable, message, name, of_the_session, printable, stated, twin,
};

/// Returns a word as it is written in a shell, in quotes if necessary.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns the frame without its metadata.
pub(crate) fn without_metadata(text: &str) -> &str {
    // `}[` without an escape occurs only between the payload and the metadata.
    match text.rfind("}[") {
        Some(at) => &text[..=at],
        None => text,
    }
}

/// Writes ranges of positions as text: `1-5, 7`.
pub(crate) fn ranges(ranges: &[(u64, u64)]) -> String {
    let shown = ranges.iter().map(|(from, to)| {
        if from == to {
            from.to_string()
        } else {
            format!("{from}-{to}")
        }
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Returns the reasons why a checkpoint was made, joined by `+`.
pub(crate) fn triggers(checkpoint: &Checkpoint) -> String {
    let names = checkpoint.triggers().iter().map(|on| on.as_str());
    names.collect::<Vec<_>>().join("+")
}

/// Writes a count with its noun: `1 frame`, `2 frames`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {one}{end}")
}

/// Returns Unix seconds as a date and a time of day; `None` outside the years 1 to 9999.
pub(crate) fn utc(seconds: i64) -> Option<String> {
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
    let (date, (hour, minute, second)) = (at.date(), at.to_hms());
    (date.year() >= 1).then(|| format!("{date} {hour:02}:{minute:02}:{second:02} UTC"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (-1, "1969-12-31 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_714_000_000, "2024-04-24 23:06:40 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(seconds).as_deref(), Some(expected));
        }
        for seconds in [i64::MIN, i64::MAX, 253_402_300_800] {
            assert_eq!(utc(seconds), None);
        }
    }
}
