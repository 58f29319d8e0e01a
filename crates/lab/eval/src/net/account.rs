//! The account of a replay: what its prompts lack, and what that costs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use accp_memory::policy::{Kind, Segment};

use super::analysis::Analysis;
use super::fetch::{Fetched, Lacking};
use super::matcher::Needle;
use super::memory::Remembered;
use super::misquoted::Quoted;
use super::prices::{Costs, Found, Prices, Recovery};
use super::segment_index::{References, SegmentIndex, normalized};
use super::text::floor;
use crate::share::Recall;

/// The characters on each side of a place that are searched for clues.
const NEAR: usize = 100;

/// The indexes of the segments of a conversation's prompts: one for each text, shared by all policies.
#[derive(Debug, Default)]
pub(crate) struct SegmentIndexes {
    /// The indexes by the address of their text, which `by_text` keeps alive.
    by_address: HashMap<(usize, usize), Arc<SegmentIndex>>,
    by_text: HashMap<Arc<str>, Arc<SegmentIndex>>,
    quoted: Quoted,
}

/// The figures of a replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Net {
    /// Costs at several prices.
    pub costs: Costs,
    /// Needs; `found` counts those whose text is in the prompt, or in a part of a message that the agent fetched
    /// before.
    pub hits: Recall,
    /// Needs; `found` counts those that are lost: they are not met, and nothing in the prompt leads to their source.
    pub lost: Recall,
    /// New messages; `found` counts those that the next prompt shows whole.
    pub seen: Recall,
    /// The shares of what was said that prompts still say.
    pub remembered: Remembered,
    /// Runs of four words in facts; `found` counts those that nobody said.
    pub misquoted: Recall,
    /// The tokens of each prompt.
    pub prompts: Vec<u64>,
    /// The tokens of each prompt with the windows that the agent carries.
    pub with_windows: Vec<u64>,
}

/// The account of one conversation under one policy.
#[derive(Debug)]
pub(crate) struct Account {
    prices: Prices,
    profiles: [Prices; 4],
    /// What each agent fetched, for each [size of window](Prices::windows): once for all needs, and once for the
    /// needs that the agent had to remember.
    agents: BTreeMap<Arc<str>, [[Fetched; 2]; 3]>,
    shown: Shown,
    net: Net,
    /// Each need with its fate, if the caller asked for them.
    outcomes: Option<Vec<NeedOutcome>>,
}

/// A need and its fate.
#[derive(Debug)]
pub(crate) struct NeedOutcome {
    pub(crate) turn: usize,
    /// The message that says the text.
    pub(crate) source: usize,
    /// `quote`, `argument`, `identifier`, or `sight` for a message at first sight.
    pub(crate) class: &'static str,
    /// The text; empty for a message at first sight.
    pub(crate) needle: Option<Needle>,
    pub(crate) is_real: bool,
    /// `shown`, `fetched`, `miss` or `lost`.
    pub(crate) fate: &'static str,
}

/// The texts and actions of the newest prompt.
#[derive(Debug)]
struct Shown {
    /// For each text or action, how many segments hold it.
    counts: Vec<u32>,
    segments: Vec<Arc<SegmentIndex>>,
}

impl Shown {
    fn show(&mut self, segments: &[Arc<SegmentIndex>]) {
        let same = self.segments.iter().zip(segments);
        let same = same.take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        for segment_index in &segments[same..] {
            for &counted in &segment_index.counted {
                self.counts[counted as usize] += 1;
            }
        }
        for segment_index in self.segments.drain(same..) {
            for &counted in &segment_index.counted {
                self.counts[counted as usize] -= 1;
            }
        }
        self.segments.extend_from_slice(&segments[same..]);
    }

    fn has(&self, needle: Needle) -> bool {
        self.counts
            .get(needle as usize)
            .is_some_and(|&count| count > 0)
    }
}

impl SegmentIndexes {
    fn segment_index(&mut self, analysis: &Analysis, text: &Arc<str>) -> Arc<SegmentIndex> {
        let address = (text.as_ptr().addr(), text.len());
        if let Some(segment_index) = self.by_address.get(&address) {
            return Arc::clone(segment_index);
        }
        if let Some(segment_index) = self.by_text.get(text) {
            return Arc::clone(segment_index);
        }
        let segment_index = Arc::new(analysis.segment_index(normalized(text)));
        self.by_text
            .insert(Arc::clone(text), Arc::clone(&segment_index));
        self.by_address.insert(address, Arc::clone(&segment_index));
        segment_index
    }

    /// Returns whether one of the segments holds a collapsed text.
    pub(crate) fn has(&mut self, analysis: &Analysis, prompt: &[Segment], text: &str) -> bool {
        let mut indexes = prompt
            .iter()
            .map(|segment| self.segment_index(analysis, &segment.text));
        indexes.any(|segment_index| segment_index.text.contains(text))
    }
}

impl Account {
    pub(crate) fn new(
        analysis: &Analysis,
        prices: Prices,
        profiles: &[Prices; 4],
        keeps_outcomes: bool,
    ) -> Self {
        Self {
            prices,
            profiles: *profiles,
            agents: BTreeMap::new(),
            shown: Shown {
                counts: vec![0; analysis.counted()],
                segments: Vec::new(),
            },
            net: Net::default(),
            outcomes: keeps_outcomes.then(Vec::new),
        }
    }

    /// Returns the figures, and each need with its fate.
    pub(crate) fn into_net(self) -> (Net, Vec<NeedOutcome>) {
        (self.net, self.outcomes.unwrap_or_default())
    }

    /// Counts a prompt of a turn, with its tokens and the tokens that caches have of it. Returns what the agent
    /// does to get all that the prompt lacks.
    pub(crate) fn prompt(
        &mut self,
        analysis: &Analysis,
        segment_indexes: &mut SegmentIndexes,
        (turn, prompt): (usize, &[Segment]),
        found: Found,
    ) -> Recovery {
        let tokens = found.tokens;
        let Some(at) = analysis.turns.get(&turn) else {
            return Recovery::default();
        };
        let indexes: Vec<Arc<SegmentIndex>> = prompt
            .iter()
            .map(|segment| segment_indexes.segment_index(analysis, &segment.text))
            .collect();
        self.shown.show(&indexes);
        let shown = &self.shown;
        let remembered = &mut self.net.remembered;
        analysis
            .memory
            .count(turn, &at.agent, |needle| shown.has(needle), remembered);
        for segment in prompt {
            if segment.kind == Kind::Facts {
                let quoted = segment_indexes.quoted.of(analysis, &segment.text);
                self.net.misquoted.wanted += quoted.wanted;
                self.net.misquoted.found += quoted.found;
            }
        }
        let fetched = self.agents.entry(Arc::clone(&at.agent)).or_default();
        let carried = fetched[0][0].carried();
        self.net.prompts.push(tokens);
        self.net.with_windows.push(tokens + carried);
        let references = std::cell::OnceCell::new();
        let references = || {
            references.get_or_init(|| -> Vec<References> {
                let pairs = prompt.iter().zip(&indexes);
                pairs
                    .map(|(segment, segment_index)| References::of(segment, &segment_index.text))
                    .collect()
            })
        };
        let is_lost = |source: usize, place: &std::ops::Range<usize>| {
            let near = near(&analysis.message_texts[source].raw, place);
            !references()
                .iter()
                .any(|references| references.to(source, near))
        };
        let mut unseen = Lacking::default();
        for &new in &at.new {
            let stands = stands(analysis, new, prompt, &indexes);
            self.net.seen.count(stands);
            let is_lost = !stands && is_lost(new, &(0..analysis.message_texts[new].raw.len()));
            if let Some(outcomes) = &mut self.outcomes {
                outcomes.push(NeedOutcome {
                    turn,
                    source: new,
                    class: "sight",
                    needle: None,
                    is_real: true,
                    fate: fate(stands, stands, is_lost),
                });
            }
            if !stands {
                unseen.unseen(new, &analysis.required[new].windows, is_lost);
            }
        }
        let mut missing = Vec::new();
        for need in &at.needs {
            let shown = shown.has(need.needle);
            let is_hit = shown || fetched[0][0].has(need.needle);
            let is_lost = !shown && is_lost(need.source, &need.place);
            self.net.hits.count(is_hit);
            self.net.lost.count(!is_hit && is_lost);
            if let Some(outcomes) = &mut self.outcomes {
                outcomes.push(NeedOutcome {
                    turn,
                    source: need.source,
                    class: need.class.name(),
                    needle: Some(need.needle),
                    is_real: need.is_real,
                    fate: fate(shown, is_hit, is_lost),
                });
            }
            if !shown {
                missing.push((need, is_lost));
            }
        }
        let mut recoveries = <[[Recovery; 2]; 3]>::default();
        let windows = self.prices.windows().into_iter().zip(fetched);
        for ((window, fetched), recoveries) in windows.zip(&mut recoveries) {
            let readings = [false, true].into_iter().zip(fetched).zip(recoveries);
            for ((only_real, fetched), recovery) in readings {
                let mut lacking = unseen.clone();
                for &(need, is_lost) in &missing {
                    if !fetched.has(need.needle) && (need.is_real || !only_real) {
                        lacking.need(need, &analysis.message_texts[need.source], window, is_lost);
                    }
                }
                *recovery = fetched.fetch(analysis, tokens, lacking);
            }
        }
        let costs = Costs::of(self.prices, &self.profiles, found, &recoveries);
        self.net.costs.add(&costs);
        recoveries[0][0]
    }
}

/// Returns whether a prompt shows a message whole: the keys of its JSON are in any segments, and its lines are in
/// the message's own segments, or in all segments together.
fn stands(
    analysis: &Analysis,
    message: usize,
    prompt: &[Segment],
    indexes: &[Arc<SegmentIndex>],
) -> bool {
    let required = &analysis.required[message];
    if !required.has_keys(indexes) {
        return false;
    }
    let own = prompt.iter().zip(indexes);
    let own = own.filter(|(segment, _)| segment.message == Some(message));
    let own: Vec<&SegmentIndex> = own.map(|(_, segment_index)| &**segment_index).collect();
    if !own.is_empty() && required.stands(&own) {
        return true;
    }
    let all: Vec<&SegmentIndex> = indexes
        .iter()
        .map(|segment_index| &**segment_index)
        .collect();
    required.stands(&all)
}

fn fate(shown: bool, hit: bool, lost: bool) -> &'static str {
    match (shown, hit, lost) {
        (true, ..) => "shown",
        (_, true, _) => "fetched",
        (.., true) => "lost",
        _ => "miss",
    }
}

/// Returns the text around a place: the place itself, and 100 characters on each side of it.
fn near<'t>(text: &'t str, place: &std::ops::Range<usize>) -> &'t str {
    let mut start = place.start.min(text.len());
    for _ in 0..NEAR {
        start = start.checked_sub(1).map_or(0, |start| floor(text, start));
    }
    let end = place.end.min(text.len());
    let end = text[floor(text, end)..]
        .char_indices()
        .nth(NEAR)
        .map_or(text.len(), |(at, _)| floor(text, end) + at);
    &text[floor(text, start)..end]
}

impl Net {
    pub(crate) fn add(&mut self, other: &Self) {
        self.costs.add(&other.costs);
        self.hits.add(other.hits);
        self.lost.add(other.lost);
        self.seen.add(other.seen);
        self.remembered.add(&other.remembered);
        self.misquoted.add(other.misquoted);
        self.prompts.extend_from_slice(&other.prompts);
        self.with_windows.extend_from_slice(&other.with_windows);
    }

    /// Returns the 95th percentile and the maximum of the sizes of the prompts. With `with_windows`, a size includes
    /// the windows that the agent carries.
    pub fn sizes(&self, with_windows: bool) -> (u64, u64) {
        let sizes = if with_windows {
            &self.with_windows
        } else {
            &self.prompts
        };
        let mut sizes = sizes.clone();
        sizes.sort_unstable();
        let rank = (sizes.len() * 95).div_ceil(100);
        let of = |rank: usize| rank.checked_sub(1).and_then(|at| sizes.get(at)).copied();
        (of(rank).unwrap_or(0), of(sizes.len()).unwrap_or(0))
    }
}
