//! The account of a replay: what its prompts lack, and what that costs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use accp_memory::policy::{Kind, Segment};

use super::fetch::{Fetched, Lacking};
use super::finder::Needle;
use super::memory::Remembered;
use super::misquoted::Quoted;
use super::prices::{Costs, Prices, Recovery};
use super::reading::{Leads, Look, reading};
use super::study::Study;
use super::text::floor;
use crate::share::Recall;

/// The characters beside a place in which a clue stands.
const NEAR: usize = 100;

/// Readings of the segments of a conversation's prompts, each text once for all policies.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    /// By the address of a text, which `by_text` keeps alive.
    by_address: HashMap<(usize, usize), Arc<Look>>,
    by_text: HashMap<Arc<str>, Arc<Look>>,
    quoted: Quoted,
}

/// The figures of a replay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Net {
    /// Costs at several prices.
    pub costs: Costs,
    /// Needs that stand in the prompt or in a window that was fetched before.
    pub hits: Recall,
    /// Needs that are lost: `found` counts them.
    pub lost: Recall,
    /// Messages that stand whole in the next prompt.
    pub seen: Recall,
    /// What prompts still say.
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
    /// What each agent fetched, for each of the [windows](Prices::windows): for all needs, and for
    /// the real ones.
    agents: BTreeMap<Arc<str>, [[Fetched; 2]; 3]>,
    shown: Shown,
    net: Net,
    /// Tells each need and its fate, if the caller asked for it.
    told: Option<Vec<Told>>,
}

/// A need and its fate.
#[derive(Debug)]
pub(crate) struct Told {
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
    /// How many segments hold each.
    counts: Vec<u32>,
    segments: Vec<Arc<Look>>,
}

impl Shown {
    fn show(&mut self, segments: &[Arc<Look>]) {
        let same = self.segments.iter().zip(segments);
        let same = same.take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
        for look in &segments[same..] {
            for &asked in &look.asked {
                self.counts[asked as usize] += 1;
            }
        }
        for look in self.segments.drain(same..) {
            for &asked in &look.asked {
                self.counts[asked as usize] -= 1;
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

impl Readings {
    fn look(&mut self, study: &Study, text: &Arc<str>) -> Arc<Look> {
        let address = (text.as_ptr().addr(), text.len());
        if let Some(look) = self.by_address.get(&address) {
            return Arc::clone(look);
        }
        if let Some(look) = self.by_text.get(text) {
            return Arc::clone(look);
        }
        let look = Arc::new(study.look(reading(text)));
        self.by_text.insert(Arc::clone(text), Arc::clone(&look));
        self.by_address.insert(address, Arc::clone(&look));
        look
    }

    /// Returns whether a collapsed text stands in one of the segments.
    pub(crate) fn has(&mut self, study: &Study, prompt: &[Segment], text: &str) -> bool {
        let mut looks = prompt.iter().map(|segment| self.look(study, &segment.text));
        looks.any(|look| look.reading.contains(text))
    }
}

impl Account {
    pub(crate) fn new(study: &Study, prices: Prices, tells: bool) -> Self {
        Self {
            prices,
            agents: BTreeMap::new(),
            shown: Shown {
                counts: vec![0; study.asked()],
                segments: Vec::new(),
            },
            net: Net::default(),
            told: tells.then(Vec::new),
        }
    }

    /// Returns the figures, and each need with its fate.
    pub(crate) fn into_net(self) -> (Net, Vec<Told>) {
        (self.net, self.told.unwrap_or_default())
    }

    /// Counts a prompt of a turn, of `tokens` tokens, of which the first `shared` are in the cache.
    /// Returns what the agent does to get all that the prompt lacks.
    pub(crate) fn prompt(
        &mut self,
        study: &Study,
        readings: &mut Readings,
        (turn, prompt): (usize, &[Segment]),
        (tokens, shared): (u64, u64),
    ) -> Recovery {
        let Some(at) = study.turns.get(&turn) else {
            return Recovery::default();
        };
        let looks: Vec<Arc<Look>> = prompt
            .iter()
            .map(|segment| readings.look(study, &segment.text))
            .collect();
        self.shown.show(&looks);
        let shown = &self.shown;
        let remembered = &mut self.net.remembered;
        study
            .memory
            .count(turn, &at.agent, |needle| shown.has(needle), remembered);
        for segment in prompt {
            if segment.kind == Kind::Facts {
                let quoted = readings.quoted.of(study, &segment.text);
                self.net.misquoted.wanted += quoted.wanted;
                self.net.misquoted.found += quoted.found;
            }
        }
        let fetched = self.agents.entry(Arc::clone(&at.agent)).or_default();
        let carried = fetched[0][0].carried();
        self.net.prompts.push(tokens);
        self.net.with_windows.push(tokens + carried);
        let leads = std::cell::OnceCell::new();
        let leads = || {
            leads.get_or_init(|| -> Vec<Leads> {
                let pairs = prompt.iter().zip(&looks);
                pairs
                    .map(|(segment, look)| Leads::of(segment, &look.reading))
                    .collect()
            })
        };
        let is_lost = |source: usize, place: &std::ops::Range<usize>| {
            let near = near(&study.said[source].raw, place);
            !leads().iter().any(|leads| leads.to(source, near))
        };
        let mut unseen = Lacking::default();
        for &new in &at.new {
            let stands = stands(study, new, prompt, &looks);
            self.net.seen.count(stands);
            let is_lost = !stands && is_lost(new, &(0..study.said[new].raw.len()));
            if let Some(told) = &mut self.told {
                told.push(Told {
                    turn,
                    source: new,
                    class: "sight",
                    needle: None,
                    is_real: true,
                    fate: fate(stands, stands, is_lost),
                });
            }
            if !stands {
                unseen.sight(new, &study.required[new].windows, is_lost);
            }
        }
        let mut missing = Vec::new();
        for need in &at.needs {
            let shown = shown.has(need.needle);
            let is_hit = shown || fetched[0][0].has(need.needle);
            let is_lost = !shown && is_lost(need.source, &need.place);
            self.net.hits.count(is_hit);
            self.net.lost.count(!is_hit && is_lost);
            if let Some(told) = &mut self.told {
                told.push(Told {
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
                        lacking.need(need, &study.said[need.source], window, is_lost);
                    }
                }
                *recovery = fetched.fetch(study, tokens, lacking);
            }
        }
        let costs = Costs::of(self.prices, tokens, shared, &recoveries);
        self.net.costs.add(&costs);
        recoveries[0][0]
    }
}

/// Returns whether a message stands in a prompt: the keys of its JSON anywhere, and its lines in its
/// own segments, or in all together.
fn stands(study: &Study, message: usize, prompt: &[Segment], looks: &[Arc<Look>]) -> bool {
    let required = &study.required[message];
    if !required.has_keys(looks) {
        return false;
    }
    let own = prompt.iter().zip(looks);
    let own = own.filter(|(segment, _)| segment.message == Some(message));
    let own: Vec<&Look> = own.map(|(_, look)| &**look).collect();
    if !own.is_empty() && required.stands(&own) {
        return true;
    }
    let all: Vec<&Look> = looks.iter().map(|look| &**look).collect();
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

/// Returns a place of a text with 100 characters on each side.
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

    /// Returns the size below which 95 of 100 prompts are, and the size of the largest, of the
    /// prompts alone or `with_windows`.
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
