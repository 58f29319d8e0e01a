//! Old messages: facts, and messages that stay verbatim.
use std::fmt;
use std::sync::Arc;

use super::part::{DEFINITION, Part, PartKind, Role};
use crate::view::block::{Block, FACTS, write_range};
use crate::view::codec::View;
use crate::view::facts::{self, Facts, Vocabulary};
use crate::view::text;
use crate::view::transcript::Transcript;
use accp_frame::{DynamicFrame, TokenCounter};

/// Facts and verbatim messages, oldest first.
pub(super) struct Old {
    view: View,
    /// The view that writes facts.
    kept: View,
    vocabulary: Vocabulary,
    counter: Arc<dyn TokenCounter + Send + Sync>,
    facts: Facts,
    items: Vec<Item>,
    /// The positions of messages without facts, as ranges. The header of the next block of facts names them.
    silent: Vec<(u64, u64)>,
    /// The definitions in the items.
    pub(super) defined: Transcript,
    /// The tokens of all messages that became facts. `told` has the tokens of these facts.
    folded: usize,
    told: usize,
}

struct Item {
    part: Part,
    /// The positions of the messages that the facts are about, as ranges.
    ranges: Vec<(u64, u64)>,
    tokens: usize,
}

impl fmt::Debug for Old {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.parts()).finish()
    }
}

impl Old {
    pub(super) fn new(view: View, counter: Arc<dyn TokenCounter + Send + Sync>) -> Self {
        Self {
            kept: View::new(Arc::new(facts::registry(view.registry()))),
            vocabulary: Vocabulary::of(view.registry()),
            view,
            counter,
            facts: Facts::default(),
            items: Vec::new(),
            silent: Vec::new(),
            defined: Transcript::default(),
            folded: 0,
            told: 0,
        }
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.items.iter().map(|item| &item.part)
    }

    /// Estimates the tokens of the facts about messages with this many tokens, by the ratio of the
    /// messages so far.
    pub(super) fn share(&self, tokens: usize) -> usize {
        let (told, folded) = (self.told as u128, self.folded.max(1) as u128);
        (tokens as u128 * told.min(folded) / folded) as usize
    }

    /// Keeps a message as it is.
    pub(super) fn keep(&mut self, part: Part, block: &Block) {
        let text = self.defined.push(&self.view, block);
        self.facts.know(&text);
        let part = Part {
            text: text.into(),
            ..part
        };
        self.items.push(Item {
            part,
            ranges: Vec::new(),
            tokens: 0,
        });
    }

    /// Keeps the facts of messages that have `tokens` tokens together. Each message comes with its position.
    pub(super) fn fold<'m>(
        &mut self,
        messages: impl Iterator<Item = (u64, &'m DynamicFrame<'static>)> + Clone,
        tokens: usize,
        limit: usize,
    ) {
        let positions = messages.clone().map(|(position, _)| (position, position));
        let ranges = ranges(self.silent.drain(..).chain(positions));
        let Some((_, last)) = ranges.last().copied() else {
            return;
        };
        let found = self.facts.take(
            self.view.registry(),
            self.kept.registry(),
            &self.vocabulary,
            messages.map(|(_, message)| message),
        );
        self.folded = self.folded.saturating_add(tokens);
        // A block without facts would only take room, so it is left out. The header of the next
        // block with facts also names the messages of this block.
        if found.is_empty() {
            self.silent = ranges;
            return;
        }
        let mut out = header(&ranges);
        let mut values = Vec::new();
        for (block, value) in found {
            values.extend(value);
            let mut line = String::new();
            text::write_below(&mut line, block.text.trim_end_matches('\n'), false);
            line.push('\n');
            let block = Block {
                text: line,
                codes: block.codes,
            };
            out.push_str(&self.defined.push(&self.kept, &block));
        }
        let told = self.counter.count(&out);
        self.told = self.told.saturating_add(told);
        self.items.push(Item {
            part: Part {
                kind: PartKind::Facts,
                sender: None,
                role: Role::User,
                position: last,
                text: out.into(),
                values: values.into(),
            },
            ranges,
            tokens: told,
        });
        self.forget(limit);
    }

    /// Drops the oldest facts when facts have more tokens than the limit. The ranges of their
    /// messages and the definitions stay.
    fn forget(&mut self, limit: usize) {
        let tokens = self.items.iter().map(|item| item.tokens);
        let mut tokens = tokens.fold(0, usize::saturating_add);
        if tokens <= limit {
            return;
        }
        let (mut gone, mut definitions, mut at) = (Vec::new(), String::new(), None);
        let goal = limit - limit / 4;
        let mut index = 0;
        // Removes the oldest blocks of facts. The last item always stays.
        while tokens > goal && index + 1 < self.items.len() {
            if self.items[index].part.kind != PartKind::Facts {
                index += 1;
                continue;
            }
            let item = self.items.remove(index);
            at.get_or_insert(index);
            tokens -= item.tokens.min(tokens);
            let lines = item.part.text.split_inclusive('\n');
            definitions.extend(lines.filter(|line| line.starts_with(DEFINITION)));
            gone.extend(item.ranges);
        }
        let Some(at) = at else { return };
        let ranges = ranges(gone.into_iter());
        let text = header(&ranges) + &definitions;
        let item = Item {
            tokens: self.counter.count(&text),
            part: Part {
                kind: PartKind::Facts,
                sender: None,
                role: Role::User,
                position: ranges.last().map_or(0, |(_, last)| *last),
                text: text.into(),
                values: [].into(),
            },
            ranges,
        };
        self.items.insert(at, item);
        self.facts = Facts::default();
    }
}

/// Writes `@facts p1-5,8`.
fn header(ranges: &[(u64, u64)]) -> String {
    let mut out = String::from(FACTS);
    for (at, (first, last)) in ranges.iter().enumerate() {
        out.push(if at == 0 { 'p' } else { ',' });
        write_range(&mut out, *first, *last);
    }
    out.push('\n');
    out
}

/// Joins adjacent ranges. A message may be several frames, so positions may repeat.
fn ranges(all: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut all: Vec<_> = all.collect();
    all.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for (first, last) in all {
        match ranges.last_mut() {
            Some(range) if first <= range.1.saturating_add(1) => range.1 = range.1.max(last),
            _ => ranges.push((first, last)),
        }
    }
    ranges
}
