//! Removes and adds blocks of a message in Anthropic's form.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::finding::{Code, Finding};
use crate::message::ListMessage;
use crate::raw::{Pointer, replaced};

/// The blocks to remove from a message, and those to add.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The indices of the blocks to remove.
    pub(super) dropped: BTreeSet<usize>,
    /// New blocks, each before the block with this index.
    pub(super) added: Vec<(usize, String)>,
}

/// Returns the indices of the results.
pub(super) fn results(message: &ListMessage) -> impl Iterator<Item = usize> {
    let blocks = message.blocks().iter().enumerate();
    blocks
        .filter(|(_, block)| block["type"] == "tool_result")
        .map(|(index, _)| index)
}

/// Returns the text of a block.
pub(super) fn text(message: &ListMessage, index: usize) -> Option<&str> {
    let place = Pointer::of(["content".into(), index.into()]);
    message.raw().get(place.range(message.raw())?)
}

/// Returns the number of results that a message begins with.
pub(super) fn leading(message: &ListMessage) -> usize {
    let blocks = message.blocks().iter();
    blocks
        .take_while(|block| block["type"] == "tool_result")
        .count()
}

/// Returns the finding for a message whose text lacks a part that its JSON has.
pub(super) fn unreadable(at: usize) -> Finding {
    let text = "the content cannot be found in the text of the message";
    Finding::at(Code::NotAList, at, text)
}

impl Blocks {
    /// Returns whether the message would have no blocks.
    pub(super) fn leave_nothing(&self, message: &ListMessage) -> bool {
        self.added.is_empty() && self.dropped.len() == message.blocks().len()
    }

    /// Returns the text of the message with the blocks changed; `None` if none is left.
    pub(super) fn applied(
        mut self,
        at: usize,
        message: &ListMessage,
    ) -> Result<Option<String>, Finding> {
        if self.leave_nothing(message) {
            return Ok(None);
        }
        let unreadable = || unreadable(at);
        let place = Pointer::of(["content".into()]);
        let content = place.range(message.raw()).ok_or_else(unreadable)?;
        let old: Vec<&RawValue> =
            serde_json::from_str(&message.raw()[content]).map_err(|_| unreadable())?;
        self.added.sort_by_key(|(index, _)| *index);
        let mut added = self.added.iter().peekable();
        let mut new = Vec::with_capacity(old.len());
        for index in 0..=old.len() {
            while let Some((_, block)) = added.next_if(|(before, _)| *before == index) {
                new.push(block.as_str());
            }
            let kept = old.get(index).filter(|_| !self.dropped.contains(&index));
            new.extend(kept.map(|raw| raw.get()));
        }
        let content = format!("[{}]", new.join(","));
        replaced(message.raw(), &[(place, content)])
            .map(Some)
            .ok_or_else(unreadable)
    }
}
