//! Writes lists and summaries to files, so that other programs can judge them.

use std::fs::File;
use std::io::{BufWriter, Write};

use accp_memory::{ListMessage, MessageList, check};
use serde_json::{Value as Json, json};

use crate::Result;

/// The files for lists and summaries. `None` means that they are not written.
#[derive(Default)]
pub(crate) struct Out {
    lists: Option<Box<dyn Write>>,
    summaries: Option<Box<dyn Write>>,
    /// The most lists that are written for one setting.
    pub(crate) limit: usize,
    /// How many lists this setting has written, and how many lists were offered in all.
    written: usize,
    seen: u64,
}

impl Out {
    /// Opens the files. `-` is the standard output.
    pub(crate) fn to(lists: Option<&str>, summaries: Option<&str>, limit: usize) -> Result<Self> {
        Ok(Self {
            lists: lists.map(open).transpose()?,
            summaries: summaries.map(open).transpose()?,
            limit,
            ..Self::default()
        })
    }

    /// Begins a setting.
    pub(crate) fn begin(&mut self) {
        self.written = 0;
    }

    /// Writes each list that a tier changed, and about one of 16 of the other lists.
    pub(crate) fn list(&mut self, list: &MessageList, acted: bool) -> Result<()> {
        let Some(out) = &mut self.lists else {
            return Ok(());
        };
        self.seen += 1;
        // The multiplier spreads the numbers, so that no step of a conversation is chosen more often than another.
        let is_chosen = acted || self.seen.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 == 0;
        if !is_chosen || self.written >= self.limit {
            return Ok(());
        }
        self.written += 1;
        let messages: Vec<&Json> = list.messages().iter().map(ListMessage::json).collect();
        let line = json!({
            "form": list.form().name(),
            "kind": "sweep",
            "fault": null,
            "at": null,
            "errors": check(list),
            "messages": messages,
        });
        writeln!(out, "{line}").map_err(|error| error.to_string())
    }

    /// Writes a summary and where it was made.
    pub(crate) fn summary(&mut self, at: &str, summary: &str) -> Result<()> {
        let Some(out) = &mut self.summaries else {
            return Ok(());
        };
        let line = json!({ "at": at, "summary": summary });
        writeln!(out, "{line}").map_err(|error| error.to_string())
    }
}

fn open(path: &str) -> Result<Box<dyn Write>> {
    if path == "-" {
        return Ok(Box::new(BufWriter::new(std::io::stdout())));
    }
    let file = File::create(path).map_err(|error| format!("{path}: {error}"))?;
    Ok(Box::new(BufWriter::new(file)))
}
