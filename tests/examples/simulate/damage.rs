//! Damage that the link does to the texts that it carries.

use super::World;
use super::text::{is_a, meta};

impl World {
    /// Returns a text as it arrives. The link changes some relayed entries, and the member must notice this by their
    /// hash.
    pub(super) fn damaged(&mut self, who: usize, text: String) -> String {
        if self.plan.faults.loss == 0 || self.is_whole {
            return text;
        }
        if is_a(&text, ">sync:bytes{") {
            return self.with_other_bytes(text);
        }
        let is_vouched = who == 0 && meta(&text, "sum").is_some();
        if !is_vouched || !self.rng.per_mille(10) {
            return text;
        }
        let by = meta(&text, "by").unwrap_or_default();
        let tok = meta(&text, "tok").unwrap_or("0");
        match self.rng.below(3) {
            0 => {
                let other = 100 + self.rng.below(1 + self.plan.members as u64);
                text.replace(&format!(",by:{by}"), &format!(",by:{other}"))
            }
            1 => text.replace(&format!(",tok:{tok}"), ",tok:1"),
            _ => text.replace("short", "shirt"),
        }
    }

    /// Changes a byte of some pieces of values, folds and schemas. The receiver must notice this by the digest.
    fn with_other_bytes(&mut self, mut text: String) -> String {
        if !self.rng.per_mille(80) {
            return text;
        }
        let digits = text.find("|d:").map(|at| at + 3);
        let end = digits.and_then(|at| text[at..].find(['|', '}', '=']).map(|end| at + end));
        let Some((from, to)) = digits.zip(end).filter(|(from, to)| from < to) else {
            return text;
        };
        let at = from + self.rng.below((to - from) as u64) as usize;
        let other = if text[at..].starts_with('A') {
            "Q"
        } else {
            "A"
        };
        text.replace_range(at..=at, other);
        self.counts.damaged += 1;
        text
    }
}
