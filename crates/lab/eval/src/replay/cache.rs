//! The caches of providers, while a conversation is replayed.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use accp_memory::policy::Kind;

use crate::net::{Found, Matching, Prices};
use crate::profile;
use crate::tokens::{ByKind, Piece, Pieces, by_kind};

/// The caches of a conversation's prompts: one at the prices of the report, and one for each shown profile.
#[derive(Debug)]
pub(super) struct Caches {
    usual: Cache,
    profiles: [Cache; 4],
    /// The newest prompt of each agent, with its time.
    newest: BTreeMap<Arc<str>, (Vec<Piece>, Option<f64>)>,
}

/// The cache of one provider: beginnings that end at marks.
#[derive(Debug)]
struct Cache {
    prices: Prices,
    /// The time of the last use of a beginning, by its digest.
    marks: HashMap<u64, Option<f64>>,
}

/// A prompt, and what the caches have of it.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) found: Found,
    /// The tokens that the cache has at the prices of the report, by kind.
    pub(super) kept: ByKind,
    /// How this prompt changes the agent's previous prompt; `None` if this prompt begins with the whole previous
    /// prompt.
    pub(super) changed: Option<Change>,
}

/// A change of what was sent before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Whether the prompt keeps a thought after the change, although the provider binds the thought to the messages
    /// before it.
    pub(super) breaks_bound: bool,
}

/// The beginning of a prompt up to a piece: its digest and its tokens.
type Bound = (u64, u64);

impl Caches {
    pub(super) fn new(prices: Prices) -> Self {
        let cache = |prices| Cache {
            prices,
            marks: HashMap::new(),
        };
        Self {
            usual: cache(prices),
            profiles: profile::shown(prices.window).map(cache),
            newest: BTreeMap::new(),
        }
    }

    /// Takes the next prompt of an agent, at this time in seconds.
    pub(super) fn take(
        &mut self,
        pieces: &Pieces,
        agent: &Arc<str>,
        prompt: Vec<Piece>,
        now: Option<f64>,
    ) -> Seen {
        let all = self.newest.values();
        let shared: Vec<_> = all
            .map(|(before, time)| (pieces.shared(before, &prompt), *time))
            .collect();
        let (bounds, marks) = (bounds(&prompt), marks(&prompt));
        let find = |cache: &mut Cache| cache.find(&shared, &bounds, &marks, now);
        let usual = find(&mut self.usual);
        let profiles = self.profiles.each_mut().map(find);
        let kept = first(&prompt, usual);
        let tokens = by_kind(&prompt).iter().sum();
        let before = self.newest.insert(Arc::clone(agent), (prompt, now));
        let now_sent = self.newest.get(agent).map(|(prompt, _)| &**prompt);
        let changed = before.and_then(|(before, _)| change(&before, now_sent.unwrap_or_default()));
        Seen {
            found: Found {
                tokens,
                usual,
                profiles,
            },
            kept,
            changed,
        }
    }
}

impl Cache {
    /// Returns the tokens that the cache has of the beginning of a prompt, and keeps the prompt.
    fn find(
        &mut self,
        shared: &[(u64, Option<f64>)],
        bounds: &[Bound],
        marks: &[usize],
        now: Option<f64>,
    ) -> u64 {
        let prices = self.prices;
        let lives = |last: Option<f64>| match (prices.seconds, last, now) {
            (Some(seconds), Some(last), Some(now)) => now - last <= f64::from(seconds),
            // Without a clock nothing expires.
            _ => true,
        };
        match prices.matching {
            Matching::Prefix(step) => {
                let alive = shared.iter().filter(|(_, last)| lives(*last));
                let most = alive.map(|(tokens, _)| *tokens).max();
                most.unwrap_or_default() / step * step
            }
            Matching::Marks(back) => {
                let mut found = 0;
                for &mark in marks {
                    let from = mark.saturating_sub(back);
                    let near = bounds[from..=mark].iter().rev();
                    let mut known = near.filter(|(digest, _)| {
                        self.marks.get(digest).is_some_and(|last| lives(*last))
                    });
                    if let Some((digest, tokens)) = known.next() {
                        // A read renews the time of the entry.
                        self.marks.insert(*digest, now);
                        found = found.max(*tokens);
                    }
                }
                self.marks
                    .extend(marks.iter().map(|mark| (bounds[*mark].0, now)));
                found
            }
        }
    }
}

/// Returns how many of the first tokens of a prompt are of each kind. `tokens` is the number of these first tokens.
fn first(prompt: &[Piece], mut tokens: u64) -> ByKind {
    let mut first = ByKind::default();
    for piece in prompt {
        let part = tokens.min(piece.tokens as u64);
        first[piece.kind as usize] += part;
        tokens -= part;
    }
    first
}

/// Returns the beginnings of a prompt: for each piece, the beginning that ends with this piece.
fn bounds(prompt: &[Piece]) -> Vec<Bound> {
    let mut hasher = DefaultHasher::new();
    let mut tokens = 0;
    let bounds = prompt.iter().map(|piece| {
        piece.source.hash(&mut hasher);
        tokens += piece.tokens as u64;
        (hasher.finish(), tokens)
    });
    bounds.collect()
}

/// Returns the pieces after which a program sets a mark: the last definition of tools, the last leading system
/// prompt, and the end of the prompt.
fn marks(prompt: &[Piece]) -> Vec<usize> {
    let leading = |kinds: &[Kind]| {
        let lead = prompt
            .iter()
            .take_while(|piece| kinds.contains(&piece.kind));
        lead.count().checked_sub(1)
    };
    let ends = [
        leading(&[Kind::Tools]),
        leading(&[Kind::Tools, Kind::System]),
        prompt.len().checked_sub(1),
    ];
    let mut marks: Vec<usize> = ends.into_iter().flatten().collect();
    marks.dedup();
    marks
}

/// Returns how the next prompt changes a prompt that was sent before; `None` if the next prompt begins with all of
/// that prompt.
fn change(before: &[Piece], now: &[Piece]) -> Option<Change> {
    let same = before.iter().zip(now);
    let same = same.take_while(|(before, now)| before.is_same(now)).count();
    // The last piece of a text may have grown.
    let grown = before.get(same).zip(now.get(same));
    let is_grown = same + 1 == before.len()
        && grown.is_some_and(|(before, now)| now.source.starts_with(&*before.source));
    if same == before.len() || is_grown {
        return None;
    }
    let stays = |bound: &&Piece| now.iter().skip(same).any(|piece| piece.is_same(bound));
    let bound = before[same..]
        .iter()
        .filter(|piece| is_bound(&piece.source));
    Some(Change {
        breaks_bound: bound.filter(stays).count() > 0,
    })
}

/// Returns whether a message has a thought, which its provider binds to the exact messages before it.
fn is_bound(json: &str) -> bool {
    if !json.contains("thinking") {
        return false;
    }
    // In the list of the speaker, a prefix comes before the JSON.
    let json = json.find('{').map_or(json, |at| &json[at..]);
    let json: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let mut parts = json["content"].as_array().into_iter().flatten();
    parts.any(|part| {
        matches!(
            part["type"].as_str(),
            Some("thinking" | "redacted_thinking")
        )
    })
}
