//! Blocks in tags or fences that a person or a program has put into several messages. If a block occurs again, a mark
//! replaces it. The mark names the message that has the block.

use std::collections::BTreeMap;
use std::ops::Range;

use super::super::item::clipped;
use super::opening::{first_line, tag};
use crate::parsed::Parsed;

/// The most characters of a line that a mark quotes.
const QUOTED: usize = 40;

/// A block of a text: whole lines, from the one that opens it to the one that closes it.
struct Block<'t> {
    /// The bytes of the text.
    range: Range<usize>,
    inside: &'t str,
}

impl Block<'_> {
    /// Returns the mark for a block that stands in an earlier message.
    fn again(&self, message: usize) -> String {
        let first = clipped(first_line(self.inside).unwrap_or_default(), QUOTED);
        format!("[block of message {message} again, from \"{first}\"]")
    }
}

/// The blocks of all messages.
pub(super) struct Added<'s> {
    /// The first message that has each block.
    first: BTreeMap<&'s str, usize>,
}

impl<'s> Added<'s> {
    /// Reads the blocks of the messages of a user, the first message first.
    pub(super) fn of(users: impl Iterator<Item = &'s Parsed>) -> Self {
        let mut first = BTreeMap::new();
        for message in users {
            for block in blocks(&message.text) {
                let text = message.text.get(block.range).unwrap_or_default();
                first.entry(text.trim()).or_insert(message.index);
            }
        }
        Self { first }
    }

    /// Returns the text of a message with a mark for each block that an earlier message has to the letter, if the mark
    /// is shorter.
    pub(super) fn without(&self, message: &Parsed) -> String {
        let mut out = String::new();
        let mut at = 0;
        for block in blocks(&message.text) {
            let text = message.text.get(block.range.clone()).unwrap_or_default();
            let first = self.first.get(text.trim());
            let Some(first) = first.filter(|first| **first < message.index) else {
                continue;
            };
            let mark = block.again(*first);
            if mark.len() < text.trim().len() {
                out.push_str(message.text.get(at..block.range.start).unwrap_or_default());
                out.push_str(&mark);
                let ends_line = text.ends_with('\n');
                out.push_str(if ends_line { "\n" } else { "" });
                at = block.range.end;
            }
        }
        if at == 0 {
            return message.text.clone();
        }
        out.push_str(message.text.get(at..).unwrap_or_default());
        out.trim().to_owned()
    }
}

/// Returns the blocks of a text, without the blocks inside them.
fn blocks(text: &str) -> impl Iterator<Item = Block<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
            let end = at + rest.find('\n').map_or(rest.len(), |end| end + 1);
            let found = block(text, at, end);
            at = found.as_ref().map_or(end, |found| found.range.end);
            if found.is_some() {
                return found;
            }
        }
    })
}

/// Returns the block that the line with these bytes opens.
fn block(text: &str, start: usize, line_end: usize) -> Option<Block<'_>> {
    let line = text.get(start..line_end)?;
    let opens = line.trim();
    if opens.starts_with("```") {
        let rest = text.get(line_end..)?;
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            let end = at + line.len();
            if line.trim() == "```" {
                return Some(Block {
                    range: start..line_end + end,
                    inside: rest.get(..at)?,
                });
            }
            at = end;
        }
        return None;
    }
    let name = tag(opens)?;
    let opened = start + line.find('>')? + 1;
    let closing = format!("</{name}>");
    let inside = text.get(opened..)?;
    let inside = inside.get(..inside.find(&closing)?)?;
    let end = opened + inside.len() + closing.len();
    // If words follow the tag on its line, a person wrote the line.
    let rest = text.get(end..)?;
    let line = rest.split('\n').next().unwrap_or_default();
    let range = start..(end + line.len() + 1).min(text.len());
    line.trim().is_empty().then_some(Block { range, inside })
}
