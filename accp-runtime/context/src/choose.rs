//! The choice of facts that a checkpoint remembers.
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::class::Class;
use crate::digest::Digest;
use crate::extract::Candidate;
use crate::fact::Fact;
use crate::limits::line_tokens;
use accp_frame::TokenCounter;

/// The most bytes of a line in warm state. With this limit a checkpoint fits in a frame, whatever
/// its budget.
const LINE: usize = 3_000;
/// The search ends after this many facts in a row for which there is no room.
const MISSES: u32 = 8;

/// Fills an empty digest with as many facts as the budget allows, the most needed first. If the
/// line is too long, it loses its summary, and then the late summary, which cannot be supplied
/// again. Returns `None` if the line is too long even then.
pub(crate) fn fill(
    mut digest: Digest,
    mut candidates: Vec<Candidate>,
    budget: u32,
    counter: &dyn TokenCounter,
) -> Option<Digest> {
    digest.tokens = digest.count(counter);
    if digest.tokens > budget {
        digest.summary.clear();
        digest.tokens = digest.count(counter);
    }
    if digest.tokens > budget && digest.late.take().is_some() {
        digest.tokens = digest.count(counter);
    }
    if digest.tokens > budget {
        return None;
    }
    candidates.sort_by(|a, b| rank(a).cmp(&rank(b)));
    let mut candidates = candidates.into_iter();
    let mut chosen = Chosen::default();
    // `take` adds up the tokens of single facts. That sum is usually more than the tokens of the
    // whole line, so the second round fills the room that is left. The count of the whole line
    // decides whether the line fits.
    for _ in 0..2 {
        let used = digest.tokens;
        if !chosen.take(candidates.by_ref(), budget.saturating_sub(used), counter) {
            break;
        }
        loop {
            digest.facts = chosen.facts();
            let line = digest.line();
            digest.tokens = line_tokens(&line, counter);
            let fits = digest.tokens <= budget && line.len() <= LINE;
            if fits || digest.facts.is_empty() {
                break;
            }
            chosen.drop_worth(digest.tokens.saturating_sub(budget).max(1));
        }
    }
    Some(digest)
}

/// Returns the sort key of a candidate; the least comes first.
fn rank(candidate: &Candidate) -> (bool, Class, Reverse<u64>, &Fact) {
    let Candidate {
        fact,
        position,
        leaves,
        class,
        ..
    } = candidate;
    (!leaves, *class, Reverse(*position), fact)
}

/// The candidates that were taken, each with the tokens of its piece of the line.
#[derive(Default)]
struct Chosen {
    taken: Vec<(Candidate, u32)>,
    entities: BTreeSet<Box<str>>,
}

impl Chosen {
    /// Takes the candidates that fit in the room. Returns whether it took any.
    fn take(
        &mut self,
        candidates: impl Iterator<Item = Candidate>,
        room: u32,
        counter: &dyn TokenCounter,
    ) -> bool {
        let mut room = room;
        let (mut misses, before) = (0, self.taken.len());
        let mut piece = String::new();
        for candidate in candidates {
            let fact = &candidate.fact;
            let is_new = !self.entities.contains(fact.entity_text());
            piece.clear();
            piece.push(',');
            piece.push_str(fact.relationship());
            if fact.entity_text() == fact.value_text() {
                piece.push(',');
            } else {
                piece.push(':');
                piece.push_str(fact.value_text());
            }
            if is_new {
                piece.push_str("}],[");
                piece.push_str(fact.entity_text());
            }
            let cost = u32::try_from(counter.count(&piece)).unwrap_or(u32::MAX);
            if cost > room {
                misses += 1;
                if misses == MISSES {
                    break;
                }
                continue;
            }
            room -= cost;
            if is_new {
                self.entities.insert(fact.entity_text().into());
            }
            self.taken.push((candidate, cost));
        }
        self.taken.len() > before
    }

    /// Drops the least needed candidates until the dropped candidates have `tokens` tokens together. Each candidate
    /// counts as at least one token.
    fn drop_worth(&mut self, tokens: u32) {
        let mut dropped = 0_u32;
        while dropped < tokens {
            let Some((_, cost)) = self.taken.pop() else {
                break;
            };
            dropped = dropped.saturating_add(cost.max(1));
        }
    }

    /// Returns the facts by entity, the entity mentioned last at the end, then by relationship.
    fn facts(&self) -> Vec<Fact> {
        let mut last: BTreeMap<&str, u64> = BTreeMap::new();
        for (candidate, _) in &self.taken {
            let last = last.entry(candidate.fact.entity_text()).or_default();
            *last = candidate.position.max(*last);
        }
        let place = |fact: &Fact| last.get(fact.entity_text()).copied();
        let mut facts: Vec<_> = self.taken.iter().map(|(c, _)| c.fact.clone()).collect();
        facts.sort_by(|a, b| (place(a), a).cmp(&(place(b), b)));
        facts
    }
}
