//! The caches of the provider, and its bills. Anthropic stores the beginning up to each mark. It looks for stored
//! beginnings at each mark and up to 20 blocks before it. OpenAI finds the longest beginning that it has seen, in
//! steps of 128 tokens. Neither keeps a beginning of fewer than 1,024 tokens, and both forget a beginning that was
//! not used for some time.

use std::collections::HashMap;
use std::sync::Arc;

use accp_frame::TokenCounter as _;
use accp_tokens::Bpe;
use ring::digest::{Context, SHA256};
use serde_json::Value as Json;

use super::list::{Api, Asked};
use super::script::Block;

/// The fewest tokens that a cache keeps.
const LEAST: u64 = 1024;
/// OpenAI compares this many tokens at once.
const STEP: usize = 128;
/// Anthropic looks for a stored beginning up to this many blocks before a mark.
const BACK: usize = 20;
/// The most texts whose tokens are held in memory.
const HELD: usize = 100_000;

/// The tokens that a request is billed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Billed {
    pub(crate) input: u64,
    pub(crate) written: u64,
    /// The part of the written tokens that stays for an hour.
    pub(crate) hourly: u64,
    pub(crate) read: u64,
    pub(crate) output: u64,
}

impl Billed {
    /// Returns the number of all tokens of the input.
    pub(crate) fn prompt(&self) -> u64 {
        self.input + self.written + self.read
    }
}

type Digest = [u8; 16];

#[derive(Default)]
pub(super) struct Cache {
    /// For each stored beginning: the second in which it is forgotten, and how many seconds it is kept after a use.
    stored: HashMap<Digest, (u64, u64)>,
    tokens: HashMap<Digest, Arc<[u32]>>,
}

impl Cache {
    /// Returns the tokens of a text.
    fn of_text(&mut self, text: &str) -> Arc<[u32]> {
        let mut context = Context::new(&SHA256);
        context.update(text.as_bytes());
        let digest = first(context);
        if self.tokens.len() > HELD {
            self.tokens.clear();
        }
        let made = || Bpe::o200k_base().tokens(text).into();
        Arc::clone(self.tokens.entry(digest).or_insert_with(made))
    }

    /// Adds the tokens of the values in a block. The names of members do not count.
    fn add(&mut self, block: &Json, all: &mut Vec<u32>) {
        match block {
            Json::String(text) => all.extend(self.of_text(text).iter()),
            Json::Array(items) => items.iter().for_each(|item| self.add(item, all)),
            Json::Object(map) => map.values().for_each(|item| self.add(item, all)),
            other => all.push(other.to_string().len() as u32),
        }
    }

    /// Returns the number of all tokens of a request.
    pub(super) fn count(&mut self, asked: &Asked) -> u64 {
        let mut all = Vec::new();
        for unit in asked.units() {
            self.add(&unit.said, &mut all);
        }
        all.len() as u64
    }

    pub(super) fn count_output(blocks: &[Block]) -> u64 {
        let bpe = Bpe::o200k_base();
        let texts = blocks.iter().map(Block::text);
        texts.map(|text| bpe.count(&text) as u64 + 4).sum()
    }

    /// Returns what a request costs, and stores what the provider stores. `owner` is the owner of the cache.
    pub(super) fn bill(&mut self, owner: &str, asked: &Asked, now: u64) -> Billed {
        let mut start = Context::new(&SHA256);
        start.update(owner.as_bytes());
        start.update(asked.model().as_bytes());
        match asked.api {
            Api::Messages => self.marked(start, asked, now),
            Api::Chat | Api::Responses => self.longest(start, asked, now),
        }
    }

    /// Bills as Anthropic does: the beginnings up to the marks.
    fn marked(&mut self, mut beginning: Context, asked: &Asked, now: u64) -> Billed {
        let mut ends: Vec<(Digest, u64)> = Vec::new();
        let mut marks: Vec<(usize, u64)> = Vec::new();
        let mut all = Vec::new();
        for (at, unit) in asked.units().iter().enumerate() {
            self.add(&unit.said, &mut all);
            beginning.update(unit.said.to_string().as_bytes());
            ends.push((first(beginning.clone()), all.len() as u64));
            marks.extend(unit.mark.map(|seconds| (at, seconds)));
        }
        marks.retain(|(at, _)| ends[*at].1 >= LEAST);
        let places = marks.iter().rev();
        let mut places = places.flat_map(|(at, _)| (at.saturating_sub(BACK)..=*at).rev());
        let hit = places.find(|place| self.is_stored(&ends[*place].0, now));
        let read = hit.map_or(0, |place| ends[place].1);
        if let Some(place) = hit {
            let (until, seconds) = self.stored.get_mut(&ends[place].0).unwrap();
            *until = now + *seconds;
        }
        let mut billed = Billed {
            read,
            ..Billed::default()
        };
        for (at, seconds) in marks {
            let (digest, end) = ends[at];
            let new = end.saturating_sub(read + billed.written);
            billed.written += new;
            billed.hourly += if seconds > 300 { new } else { 0 };
            self.stored.insert(digest, (now + seconds, seconds));
        }
        billed.input = all.len() as u64 - billed.read - billed.written;
        billed
    }

    /// Bills as OpenAI does: the longest beginning that is stored.
    fn longest(&mut self, mut beginning: Context, asked: &Asked, now: u64) -> Billed {
        let key = asked.json["prompt_cache_key"].as_str().unwrap_or_default();
        beginning.update(key.as_bytes());
        let mut all = Vec::new();
        for unit in asked.units() {
            self.add(&unit.said, &mut all);
        }
        // For these models OpenAI bills the written tokens, and keeps them longer.
        let writes = ["gpt-5.6", "gpt-5.7", "gpt-5.8", "gpt-5.9", "gpt-6"];
        let writes = writes.iter().any(|name| asked.model().starts_with(name));
        let seconds = if writes { 1800 } else { 300 };
        let (mut read, mut whole) = (0, 0);
        for (at, step) in all.chunks_exact(STEP).enumerate() {
            for token in step {
                beginning.update(&token.to_le_bytes());
            }
            let end = ((at + 1) * STEP) as u64;
            if end < LEAST {
                continue;
            }
            let digest = first(beginning.clone());
            if self.is_stored(&digest, now) {
                read = end;
            }
            whole = end;
            self.stored.insert(digest, (now + seconds, seconds));
        }
        let written = if writes { whole - read } else { 0 };
        Billed {
            input: all.len() as u64 - read - written,
            written,
            read,
            ..Billed::default()
        }
    }

    fn is_stored(&self, digest: &Digest, now: u64) -> bool {
        self.stored
            .get(digest)
            .is_some_and(|(until, _)| *until >= now)
    }
}

fn first(context: Context) -> Digest {
    *context.finish().as_ref().first_chunk().unwrap()
}
