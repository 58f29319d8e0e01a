//! Finds and reads the blocks among other text, for the lenient reader.

use accp_registry::Registry;

use super::blocks::blocks;
use super::cursor::Cursor;
use super::lenient::is_block;
use super::mistake::Mistake;
use crate::view::block::PRIMER;
use crate::view::fault::{Unplaced, ViewError};
use crate::view::write;
use accp_frame::{DynamicFrame, Repair};

/// Characters of lists, quotes and code before a block.
const MARKS: &str = "-*>`#.) \t0123456789";
/// Begins and ends a part of a text in Markdown.
const FENCE: &str = "```";

type Read = (Vec<DynamicFrame<'static>>, Vec<Repair<Mistake>>);

/// Reads the messages in a text that a model wrote, and the repairs in the order of the text.
pub(in crate::view) fn lenient_blocks(registry: &Registry, text: &str) -> Result<Read, ViewError> {
    if let Ok(messages) = blocks(registry, text) {
        return Ok((messages, Vec::new()));
    }
    let mut prose = Prose {
        registry,
        text,
        count: 0,
        messages: Vec::new(),
        repairs: Vec::new(),
        faults: Vec::new(),
    };
    prose.part(0, text.len());
    ViewError::check(text, prose.faults)?;
    prose.repairs.sort_by_key(|repair| repair.at);
    Ok((prose.messages, prose.repairs))
}

struct Prose<'r, 't> {
    registry: &'r Registry,
    text: &'t str,
    /// The number of blocks so far.
    count: usize,
    messages: Vec<DynamicFrame<'static>>,
    repairs: Vec<Repair<Mistake>>,
    faults: Vec<Unplaced>,
}

impl Prose<'_, '_> {
    /// Reads a part of the text: all of it, or the lines between two fences.
    fn part(&mut self, mut at: usize, end: usize) {
        let mut outside = at;
        while at < end {
            let rest = &self.text[at..end];
            if rest.starts_with(PRIMER) {
                self.outside(outside, at);
                at += PRIMER.len();
                outside = at;
                continue;
            }
            let line = line(rest);
            let is_fence = line.trim_start().starts_with(FENCE);
            let start = line.len() - line.trim_start_matches(|c| MARKS.contains(c)).len();
            if is_fence {
                self.outside(outside, at);
                at = self.fenced(at, end);
                outside = at;
            } else if line.starts_with('@') || is_block(&line[start..]) {
                self.outside(outside, at);
                at = self.marked(at, start, end);
                outside = at;
            } else {
                at += line.len();
            }
        }
        self.outside(outside, end);
    }

    fn repair(&mut self, what: Mistake, from: usize, to: usize) {
        if from < to {
            self.repairs.push(Repair {
                at: from,
                what,
                from: self.text[from..to].into(),
                to: String::new(),
            });
        }
    }

    /// Reports a text outside of all blocks.
    fn outside(&mut self, from: usize, to: usize) {
        let is_blank = self.text[from..to].trim().is_empty();
        let what = if is_blank {
            Mistake::Spaces
        } else {
            Mistake::Prose
        };
        self.repair(what, from, to);
    }

    /// Reads the lines between the fence at `at` and its closing fence, and returns the place after the closing
    /// fence.
    fn fenced(&mut self, at: usize, end: usize) -> usize {
        let inner = at + line(&self.text[at..end]).len();
        self.repair(Mistake::Fence, at, inner);
        // A text may contain fenced parts. A fence with the name of a language opens a part, and
        // a bare fence closes one.
        let (mut close, mut open) = (inner, 1_usize);
        while close < end {
            let line = line(&self.text[close..end]);
            match line.trim().strip_prefix(FENCE) {
                Some("") => open -= 1,
                Some(_) => open += 1,
                None => {}
            }
            if open == 0 {
                self.part(inner, close);
                self.repair(Mistake::Fence, close, close + line.len());
                return close + line.len();
            }
            close += line.len();
        }
        self.part(inner, end);
        end
    }

    /// Reads the block after the `marks` bytes of marks at `at`, and returns the place after the block.
    fn marked(&mut self, at: usize, marks: usize, end: usize) -> usize {
        let start = at + marks;
        let prefix = &self.text[at..start];
        self.repair(Mistake::Mark, at, start);
        let line = line(&self.text[start..end]);
        if prefix.contains('`') && line.trim_end().ends_with('`') {
            let said = line.trim_end().trim_end_matches('`').len();
            let behind = self.block(start, start + said);
            self.repair(Mistake::Mark, behind, start + line.len());
            return start + line.len();
        }
        // A block ends where another begins. If the block has marks, the next block may have marks, too.
        let mut close = start + line.len();
        while close < end {
            let next = self::line(&self.text[close..end]);
            let is_marked = marks > 0 && is_block(next.trim_start_matches(|c| MARKS.contains(c)));
            if next.starts_with('@') || is_marked {
                break;
            }
            close += next.len();
        }
        self.block(start, close)
    }

    /// Reads a block, and returns the place after the part that was read.
    fn block(&mut self, start: usize, end: usize) -> usize {
        self.count += 1;
        let block = &self.text[start..end];
        let block = block.strip_suffix('\n').unwrap_or(block);
        let cursor = || Cursor::new(self.registry, block, start, self.count);
        let mut strict = cursor();
        let read = strict.block();
        if let (Ok(message), true) = (read, strict.faults.is_empty()) {
            self.messages.extend(message);
            return end;
        }
        let mut lenient = cursor().leniently();
        let read = lenient.block();
        let at = lenient.at;
        match read {
            Ok(message) if lenient.faults.is_empty() => {
                self.messages.extend(message);
                self.repairs.extend(lenient.repairs.into_iter().flatten());
                let behind = start + at;
                behind + usize::from(self.text[behind..end].starts_with('\n'))
            }
            _ => self.frame(start, block).unwrap_or_else(|| {
                self.faults.append(&mut lenient.faults);
                end
            }),
        }
    }

    /// Reads a frame as peers write it, and returns the place after the frame. Call this only if the text is not a
    /// valid block: the text of many blocks is a valid frame, too, but with other values.
    fn frame(&mut self, start: usize, block: &str) -> Option<usize> {
        let line = block.lines().next()?.trim_end();
        let message = DynamicFrame::decode(line, self.registry).ok()?.into_owned();
        let to = write::block(self.registry, &message).text;
        self.repairs.push(Repair {
            at: start,
            what: Mistake::Frame,
            from: line.into(),
            to: to.trim_end_matches('\n').into(),
        });
        self.messages.push(message);
        Some(start + line.len())
    }
}

/// Returns the first line, with its end.
fn line(text: &str) -> &str {
    text.split_inclusive('\n').next().unwrap_or_default()
}
