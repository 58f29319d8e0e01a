//! The entries of the log, which say what each tier did.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};

/// The way in which tokens left the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tier {
    /// Large results go to files.
    #[serde(rename = "TIER_1")]
    One,
    /// Inputs of calls that wrote files are cut.
    #[serde(rename = "TIER_2")]
    Two,
    /// The conversation becomes a summary.
    #[serde(rename = "TIER_3")]
    Three,
}

impl Tier {
    /// Returns the name in logs: `TIER_1`, `TIER_2`, `TIER_3`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::One => "TIER_1",
            Self::Two => "TIER_2",
            Self::Three => "TIER_3",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether the list still has the intent of the user (CTX-51).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Intent {
    /// The list has the intent verbatim. This was checked.
    #[serde(rename = "YES")]
    Verbatim,
    /// The list has the head and the tail of a long intent, and names the file with the whole intent.
    #[serde(rename = "VERIFICATION_NEEDED")]
    Referenced,
}

impl Intent {
    /// Returns the word in logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Verbatim => "YES",
            Self::Referenced => "VERIFICATION_NEEDED",
        }
    }
}

/// An entry of the log: one tier acted (CTX-50).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The time, with its zone.
    #[serde(default)]
    pub at: String,
    /// The tier.
    #[serde(rename = "type")]
    pub tier: Tier,
    /// Why the tier acted.
    pub trigger: String,
    /// The tokens of the list before.
    pub before: u64,
    /// The tokens of the list afterwards.
    pub after: u64,
    /// The tokens saved.
    pub saved: u64,
    /// The files that were made or grew, below the root.
    pub files: Vec<String>,
    /// Whether the list still has the intent.
    pub intent: Intent,
    /// Whether the caller's program deferred the tier. Then nothing was changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deferred: bool,
}

impl Event {
    /// Returns the entry in the form of the specification.
    pub fn to_markdown(&self) -> String {
        let mut out = String::from("## Compression Event Log\n");
        let files = match self.files.as_slice() {
            [] => "none".to_owned(),
            files => files.join(", "),
        };
        let lines: [(&str, &dyn fmt::Display); 8] = [
            ("Timestamp", &self.at),
            ("Event Type", &self.tier),
            ("Trigger", &self.trigger),
            ("Tokens Before", &Thousands(self.before)),
            ("Tokens After", &Thousands(self.after)),
            ("Tokens Saved", &Thousands(self.saved)),
            ("Files Created", &files),
            ("Intent Preserved", &self.intent.as_str()),
        ];
        for (name, value) in lines {
            // Writing to a string does not fail.
            let _ = writeln!(out, "**{name}:** {value}");
        }
        out
    }
}

/// A number with its thousands separated: `18,500`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Thousands(pub(crate) u64);

impl fmt::Display for Thousands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (at, digit) in digits.char_indices() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                f.write_char(',')?;
            }
            f.write_char(digit)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(Thousands(number).to_string(), text);
        }
    }
}
