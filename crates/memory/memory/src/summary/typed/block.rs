//! Blocks that a program adds to what a person typed. They stand in tags or fences, and other messages have them with
//! the same content.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::opening::tag;
use crate::parsed::Parsed;

/// A block that stands in at least this many messages comes from a program.
const MESSAGES: usize = 3;

/// A block of a text: whole lines, from the one that opens it to the one that closes it.
struct Block<'t> {
    /// The tag or the fence that opens the block.
    mark: Cow<'t, str>,
    /// The bytes of the text.
    range: Range<usize>,
    inside: &'t str,
}

impl Block<'_> {
    /// Returns whether a tag of joined words opens the block.
    fn is_joined(&self) -> bool {
        self.mark.starts_with('<') && self.mark.contains(['-', '_'])
    }
}

/// The lines of all blocks, to find the blocks that several messages have.
pub(super) struct Added {
    /// For each opening mark, the lines inside such blocks, each with the messages that have it.
    lines: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>>,
}

impl Added {
    /// Reads the blocks of the messages of a user.
    pub(super) fn of<'s>(users: impl Iterator<Item = &'s Parsed>) -> Self {
        let mut found: BTreeMap<String, BTreeMap<String, BTreeSet<usize>>> = BTreeMap::new();
        for message in users {
            for block in blocks(&message.text) {
                let lines = found.entry(block.mark.into_owned()).or_default();
                for line in lines_of(block.inside) {
                    lines.entry(line).or_default().insert(message.index);
                }
            }
        }
        Self { lines: found }
    }

    /// Returns the text of a message without the blocks of a program; nothing if the program wrote all of it.
    pub(super) fn without(&self, message: &Parsed) -> String {
        let mut out = String::new();
        let mut at = 0;
        let mut is_sure = true;
        for block in blocks(&message.text).filter(|block| self.has(block)) {
            out.push_str(message.text.get(at..block.range.start).unwrap_or_default());
            at = block.range.end;
            is_sure &= block.is_joined();
        }
        out.push_str(message.text.get(at..).unwrap_or_default());
        if at == 0 || out.trim().is_empty() && !is_sure {
            return message.text.clone();
        }
        out.trim().to_owned()
    }

    /// Returns whether several messages have a block. What a person quotes or sends again changes, so most lines of
    /// the block have to be in other messages, too. People seldom type a tag of joined words, so there the first line
    /// is enough.
    fn has(&self, block: &Block<'_>) -> bool {
        let Some(known) = self.lines.get(&*block.mark) else {
            return false;
        };
        let again = |line: &String| {
            known
                .get(line)
                .is_some_and(|messages| messages.len() >= MESSAGES)
        };
        let lines: Vec<_> = lines_of(block.inside).collect();
        let count = lines.iter().filter(|line| again(line)).count();
        let is_alike = 4 * count >= 3 * lines.len();
        count > 0 && (is_alike || block.is_joined() && lines.first().is_some_and(again))
    }
}

/// Returns the lines inside a block, as they are compared.
fn lines_of(inside: &str) -> impl Iterator<Item = String> {
    let lines = inside.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(str::to_owned)
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
    if let Some(info) = opens.strip_prefix("```") {
        let rest = text.get(line_end..)?;
        let mut at = 0;
        for line in rest.split_inclusive('\n') {
            let end = at + line.len();
            if line.trim() == "```" {
                return Some(Block {
                    mark: format!("```{}", info.trim()).into(),
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
    line.trim().is_empty().then(|| Block {
        mark: format!("<{name}").into(),
        range,
        inside,
    })
}
