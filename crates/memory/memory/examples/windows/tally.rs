//! What happened, counted.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use accp_memory::{Event, Tier};

/// What happened to the lists of a file at one setting.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) lists: usize,
    pub(crate) steps: usize,
    /// Steps in which a tier acted.
    pub(crate) acted: usize,
    pub(crate) tiers: BTreeMap<Tier, usize>,
    /// Steps whose share of the window was the largest, in thousandths.
    pub(crate) most: u64,
    /// Steps in which no list left.
    pub(crate) refused: usize,
    /// Those among them in which system messages and the newest turn alone fit.
    pub(crate) might: usize,
    /// Refusals in which a summary of so many tokens would have fitted beside them.
    pub(crate) spare: Vec<u64>,
    /// Lists that were refused at a step, and at their last.
    pub(crate) stuck: usize,
    pub(crate) ended: usize,
    pub(crate) faults: Vec<String>,
    /// Comparisons that were made: whole against grown, twice against once.
    pub(crate) whole: usize,
    pub(crate) twice: usize,
    pub(crate) verbatim: usize,
    pub(crate) referenced: usize,
}

impl Tally {
    pub(crate) fn event(&mut self, event: &Event) {
        *self.tiers.entry(event.tier).or_default() += 1;
    }

    fn tier(&self, tier: Tier) -> usize {
        self.tiers.get(&tier).copied().unwrap_or_default()
    }

    /// The names of the columns.
    pub(crate) fn head() -> String {
        let mut out = format!(
            "{:<20} {:>9} {:>6} {:>6} {:>6} {:>6}",
            "file", "form", "window", "stress", "lists", "steps"
        );
        let _ = write!(
            out,
            " {:>6} {:>5} {:>5} {:>5} {:>7}",
            "acted", "T1", "T2", "T3", "most %"
        );
        let _ = write!(
            out,
            " {:>8} {:>8} {:>7} {:>7} {:>7}",
            "verbatim", "referred", "refused", "of them", "lists"
        );
        let _ = write!(
            out,
            " {:>6} {:>6} {:>6} {:>6}",
            "ended", "whole", "twice", "faults"
        );
        out
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {:>6} {:>6} {:>6}", self.lists, self.steps, self.acted)?;
        let tiers = [Tier::One, Tier::Two, Tier::Three].map(|tier| self.tier(tier));
        write!(
            f,
            " {:>5} {:>5} {:>5} {:>5}.{}",
            tiers[0],
            tiers[1],
            tiers[2],
            self.most / 10,
            self.most % 10
        )?;
        write!(
            f,
            " {:>8} {:>8} {:>7} {:>7} {:>7}",
            self.verbatim, self.referenced, self.refused, self.might, self.stuck
        )?;
        write!(
            f,
            " {:>6} {:>6} {:>6} {:>6}",
            self.ended,
            self.whole,
            self.twice,
            self.faults.len()
        )
    }
}
