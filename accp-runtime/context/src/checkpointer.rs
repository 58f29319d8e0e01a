//! The steps of a checkpoint.

use std::collections::BTreeMap;

use crate::checkpoint::Checkpoint;
use crate::choose::fill;
use crate::class::Class;
use crate::digest::Digest;
use crate::extract::{Candidate, candidates};
use crate::fact::Fact;
use crate::frozen::{Frozen, Turn};
use crate::hot::Hot;
use crate::limits::ContextLimits;
use crate::summary::Summarizer;
use crate::summary::clip;
use crate::warm::Warm;
use accp_frame::{Registry, TokenCounter};

/// Takes checkpoints (draft section 5.3). Only the host has a checkpointer; all members copy the
/// checkpoints that it takes.
///
/// Taking a checkpoint changes nothing. Like every entry of the log, it has an effect once it is
/// applied.
///
/// ```
/// use accp_runtime::Registry;
/// use accp_context::{Checkpointer, Hot, Turn, Warm, render_context};
/// use accp_runtime::context::{ContextLimits, Headers, Trigger};
/// use accp_runtime::session::Time;
/// # struct Words;
/// # impl accp_runtime::TokenCounter for Words {
/// #     fn name(&self) -> &str { "words" }
/// #     fn count(&self, text: &str) -> usize { text.split(|c: char| !c.is_alphanumeric()).count() }
/// # }
///
/// let limits = ContextLimits::DRAFT;
/// let (mut hot, mut warm) = (Hot::default(), Warm::default());
/// let frames = [
///     "@boss>req:schedule{asgn:dev|task:T1|dead:sprint_14|schema:TA}",
///     "@dev>done:schedule{task:T1|stat:done|schema:TA}",
///     "@boss>req:schedule{asgn:dev|task:T2|schema:TA}",
///     "@dev>done:schedule{task:T2|stat:started|prog:40|schema:TA}",
/// ];
/// for (position, frame) in (1..).zip(frames) {
///     hot.push(position, frame, &Words, &limits)?;
/// }
///
/// let registry = Registry::standard();
/// let checkpointer = Checkpointer {
///     registry: &registry,
///     counter: &Words,
///     summarizer: &Headers,
///     limits,
/// };
/// let turn = Turn {
///     current: Some(4),
///     parent: Some(3),
///     in_flight: &[],
///     triggers: &[Trigger::Done],
///     at: Time::from_secs(1_714_000_000),
///     version: 0,
///     late: None,
/// };
/// let frozen = checkpointer.freeze(&hot, &warm, turn);
/// let checkpoint = checkpointer.take(&frozen);
/// hot.apply(&checkpoint);
/// warm.apply(&checkpoint);
///
/// assert_eq!(checkpoint.left(), [(1, 2)]);
/// assert_eq!(warm.resolve("ckpt_1", "status"), Some("done".into()));
/// assert_eq!(render_context(&warm, &hot), "\
/// @warm>sync:ckpt_1{cold:p1-p2|sum:boss.req.schedule;dev.done.schedule\
/// |facts:[[task,T1,{assignee:dev,deadline:sprint_14,status:done}]]}
/// @boss>req:schedule{asgn:dev|task:T2|schema:TA}
/// @dev>done:schedule{task:T2|stat:started|prog:40|schema:TA}
/// ");
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Checkpointer<'c> {
    /// The schemas of the frames, for their facts.
    pub registry: &'c Registry,
    /// Counts tokens.
    pub counter: &'c dyn TokenCounter,
    /// Sums up the frames that leave.
    pub summarizer: &'c dyn Summarizer,
    /// The budgets of the context.
    pub limits: ContextLimits,
}

impl Checkpointer<'_> {
    /// Does step 1: freezes hot state and decides which frames leave it. The session asks the hooks
    /// between this step and [`take`](Self::take).
    pub fn freeze<'f>(&self, hot: &'f Hot, warm: &'f Warm, turn: Turn<'f>) -> Frozen<'f> {
        Frozen::new(hot, warm, turn, self.counter, &self.limits)
    }

    /// Does steps 2 to 6.
    pub fn take(&self, frozen: &Frozen<'_>) -> Checkpoint {
        let facts = self.extract_facts(frozen);
        let summary = self.summarize(frozen);
        let (digest, merged) = self.move_to_warm(frozen, summary, facts);
        let left = frozen.manifest();
        reset_hot(frozen, digest, merged, left)
    }

    /// Does step 2: returns the key facts of the frames that leave, without the facts that warm state already states.
    fn extract_facts(&self, frozen: &Frozen<'_>) -> Vec<Candidate> {
        let mut candidates = candidates(self.registry, frozen.sources());
        forget_known(&mut candidates, frozen.warm);
        candidates
    }

    /// Does step 3: returns a summary of at most 100 tokens.
    fn summarize(&self, frozen: &Frozen<'_>) -> String {
        let summary = match frozen.leaving().next() {
            Some(_) => self.summarizer.summarize(frozen),
            None => String::new(),
        };
        clip(&summary, self.limits.summary, self.counter)
    }

    /// Returns the late summary of the previous checkpoint, cut like any summary.
    fn late(&self, frozen: &Frozen<'_>) -> Option<(u64, String)> {
        let (checkpoint, text) = frozen.turn.late?;
        let text = clip(text, self.limits.summary, self.counter);
        (!text.is_empty()).then_some((checkpoint, text))
    }

    /// Does step 4: returns the digest that warm state gains, and the merge of old checkpoints.
    fn move_to_warm(
        &self,
        frozen: &Frozen<'_>,
        summary: String,
        facts: Vec<Candidate>,
    ) -> (Option<Digest>, Option<(u64, Option<Digest>)>) {
        let left = frozen.manifest();
        let cold = left.first().zip(left.last());
        let digest = Digest {
            first: frozen.id(),
            last: frozen.id(),
            cold: cold.map(|(first, last)| (first.0, last.1)),
            summary,
            late: self.late(frozen),
            facts: Vec::new(),
            tokens: 0,
        };
        let budget = self.limits.checkpoint.min(self.limits.warm);
        let is_own = digest.cold.is_some() || !facts.is_empty();
        let digest = (is_own || digest.late.is_some())
            .then(|| fill(digest, facts, budget, self.counter))
            .flatten()
            .filter(|digest| is_own || digest.late.is_some());
        let merged = self.merge(frozen.warm, digest.as_ref());
        (digest, merged)
    }

    /// Merges the oldest checkpoints when warm state would be over its budget. A merge changes old
    /// lines, and a provider's prompt cache charges for changed lines. So a merge takes as many
    /// checkpoints as it needs to free a quarter of the budget.
    fn merge<'w>(&self, warm: &'w Warm, new: Option<&'w Digest>) -> Option<(u64, Option<Digest>)> {
        let Self { limits, .. } = self;
        let digests = warm.digests();
        let mut tokens = warm.tokens().saturating_add(new.map_or(0, Digest::tokens));
        if tokens <= limits.warm {
            return None;
        }
        let goal = limits.warm - limits.warm / 4;
        let mut count = 0;
        while count < digests.len() && tokens.saturating_add(limits.checkpoint) > goal {
            tokens = tokens.saturating_sub(digests[count].tokens);
            count += 1;
        }
        let (old, rest) = digests.split_at(count);
        let (first, last) = (old.first()?, old.last()?);
        let spans = || old.iter().filter_map(|digest| digest.cold);
        let from = spans().map(|span| span.0).min();
        let all = digests.iter().chain(new);
        let summaries = old.iter().map(|digest| digest.last_summary(all.clone()));
        let summaries: Vec<_> = summaries.collect();
        let summary = self.summarizer.merge(&summaries);
        let digest = Digest {
            first: first.first,
            last: last.last,
            cold: from.zip(spans().map(|span| span.1).max()),
            summary: clip(&summary, limits.summary, self.counter),
            late: None,
            facts: Vec::new(),
            tokens: 0,
        };
        let facts = not_superseded(old, rest.iter().chain(new));
        let budget = limits.checkpoint.min(limits.warm.saturating_sub(tokens));
        Some((last.last, fill(digest, facts, budget, self.counter)))
    }
}

/// Does steps 5 and 6. Step 5 lists the raw frames of cold state in `left`; the log holds these
/// frames already. Step 6 leaves the current frame, its parent, the requests in flight and a
/// reference to the checkpoint in hot state.
fn reset_hot(
    frozen: &Frozen<'_>,
    digest: Option<Digest>,
    merged: Option<(u64, Option<Digest>)>,
    left: Vec<(u64, u64)>,
) -> Checkpoint {
    let mut triggers = frozen.triggers().to_vec();
    triggers.sort_unstable();
    triggers.dedup();
    Checkpoint {
        id: frozen.id(),
        covers: frozen.covers(),
        at: frozen.at(),
        version: frozen.turn.version,
        triggers,
        digest,
        merged,
        left,
        kept: frozen.kept.clone(),
    }
}

/// Drops facts that the newer half of warm state already states. A fact in the older half is stated again, because the
/// older half is merged next. A default is stated only if it replaces another value.
fn forget_known(candidates: &mut Vec<Candidate>, warm: &Warm) {
    let older = warm.digests().len() / 2;
    let mut known = BTreeMap::new();
    for (at, digest) in warm.digests().iter().enumerate() {
        let facts = digest.facts.iter();
        known.extend(facts.map(|fact| (fact.key(), (fact.value_text(), at >= older))));
    }
    candidates.retain(|candidate| match known.get(&candidate.fact.key()) {
        None => !candidate.by_default,
        Some((value, is_recent)) => {
            let is_same = *value == candidate.fact.value_text();
            !is_same || !is_recent && !candidate.by_default
        }
    });
}

/// Returns the facts of old checkpoints that no later checkpoint states again.
fn not_superseded<'d>(
    old: &'d [Digest],
    newer: impl Iterator<Item = &'d Digest>,
) -> Vec<Candidate> {
    let facts = old.iter().flat_map(|digest| &digest.facts);
    let mut last: BTreeMap<_, _> = (1..)
        .zip(facts)
        .map(|(order, fact)| (fact.key(), (order, fact)))
        .collect();
    for fact in newer.flat_map(|digest| &digest.facts) {
        last.remove(&fact.key());
    }
    let candidate = |(order, fact): (u64, &Fact)| {
        // All classes but `Other` get one rank here, so the position decides: the newest records
        // keep all their fields. With a rank for each class, the line would hold little but the
        // ids of all records.
        let class = match Class::of(fact.relationship(), &fact.value()) {
            Class::Other => Class::Other,
            _ => Class::Identifier,
        };
        Candidate {
            fact: fact.clone(),
            position: order,
            leaves: true,
            class,
            by_default: false,
        }
    };
    last.into_values().map(candidate).collect()
}
