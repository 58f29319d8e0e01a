//! Counts what happened in the steps.

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
    /// The largest share of the window that a list took, in thousandths.
    pub(crate) most: u64,
    /// Steps that returned no list.
    pub(crate) refused: usize,
    /// The refused steps in which system messages and the newest turn alone would have fitted.
    pub(crate) might: usize,
    /// For each of these steps, the tokens that were left for a summary.
    pub(crate) spare: Vec<u64>,
    /// Lists that were refused at some step (`stuck`), or at their last step (`ended`).
    pub(crate) stuck: usize,
    pub(crate) ended: usize,
    pub(crate) faults: Vec<String>,
    /// How many lists were compared with the list of the whole conversation (`whole`), or were compressed a second
    /// time (`twice`).
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
