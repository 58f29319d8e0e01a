//! What a hostile member forges: frames that only a host may send, the names and requests of other members, and ids
//! and keys that are nearly those of other members.

use accp_testkit::Rng;

use super::enemy::Enemy;
use super::reading::FOREIGN;
use super::text::{intent, meta};

/// The most requests that the hostile member remembers.
const ASKED: usize = 12;
/// Names that differ only at their end have this many equal characters at their beginning.
const ALIKE: usize = 100;

impl Enemy {
    /// Returns the params of a frame which claims that the hostile member takes some requests. The hostile member
    /// never answers such requests.
    pub(super) fn takes_falsely(rng: &mut Rng) -> String {
        let heads = match rng.below(5) {
            0 => "*".into(),
            1 => "req\\:plan".into(),
            2 => "qry\\:lookup,req\\:plan".into(),
            3 => {
                let heads = (0..70).map(|n| format!("req\\:{n}"));
                heads.collect::<Vec<_>>().join(",")
            }
            _ => format!("req\\:{}", "h".repeat(300)),
        };
        format!("@x>sync:serves{{heads:[{heads}]}}")
    }

    /// Remembers a request that is for one agent.
    pub(super) fn hears_of_a_request(&mut self, text: &str) {
        let is_one = matches!(intent(text), "req" | "qry") && meta(text, "to").is_some();
        let Some(mid) = meta(text, "mid").filter(|_| is_one) else {
            return;
        };
        let chain = meta(text, "cid").unwrap_or(mid);
        if self.asked.len() == ASKED {
            self.asked.remove(0);
        }
        self.asked.push((mid.to_owned(), chain.to_owned()));
    }

    /// Returns an id that differs in one digit from an id that the hostile member has read.
    pub(super) fn nearly(&self, rng: &mut Rng) -> String {
        let at = rng.below(self.heard.len() as u64) as usize;
        let Some(heard) = self.heard.get(at) else {
            return "abcdef012346".into();
        };
        let (mut id, place) = (heard.to_string(), rng.below(12) as usize);
        if let Some(digit) = id.get(place..=place) {
            let other = if digit == "7" { "8" } else { "7" };
            id.replace_range(place..=place, other);
        }
        id
    }

    /// Returns the header and the params of a frame that the hostile member may not send, or that refers to values
    /// or frames which it may not read.
    pub(super) fn forged(&mut self, rng: &mut Rng, last: u64) -> String {
        match rng.below(17) {
            16 => format!(
                "@x{}>req:plan{{}}",
                ["1", "_", "/x", "x"][rng.below(4) as usize]
            ),
            15 => format!("@x>req:plan{{text:{}}}", "y".repeat(40_000)),
            0 => "@x>sync:grant{key:*|sid:other_8}".into(),
            1 => "@x>sync:expire{keys:[k100_1,k101_1]}".into(),
            2 => format!("@x>sync:takes{{heads:[*]|n:{}}}", 101 + rng.below(3)),
            3 => format!("@x>sync:join{{agents:[x,a1]|n:{}|sup:true}}", self.id),
            4 => format!(
                "@x>sync:checkpoint{{at:1714000000000|covers:{last}|id:ckpt_{}|left:[1-{}]|on:[esc]}}",
                1 + rng.below(3),
                1 + rng.below(last + 1)
            ),
            5 => "@hub>sync:leave{n:101}".into(),
            6 => format!(
                "@x>qry:lookup{{see:$ext.other_{}.{}}}",
                4 + rng.below(5),
                FOREIGN[rng.below(3) as usize]
            ),
            7 => format!(
                "@x>qry:lookup{{see:$cold.k{}_{}{}}}",
                100 + rng.below(3),
                ["", "0"][rng.below(2) as usize],
                rng.below(9)
            ),
            8 => format!("@x>qry:lookup{{see:$cold.k{}_{}}}", self.id, rng.below(12)),
            9..12 => "@x>done:plan{}".into(),
            12 => "@x>stream:plan{}".into(),
            13 => format!("@a{}>done:plan{{}}", 1 + rng.below(3)),
            _ => format!("@a{}>sync:put{{keys:[]}}", 1 + rng.below(3)),
        }
    }

    /// Adds pairs that the hostile member may not add, or that name chains and requests of other members.
    pub(super) fn forge(&mut self, rng: &mut Rng, head: &str, pairs: &mut Vec<String>) {
        let answers = matches!(intent(head), "done" | "fail" | "end" | "stream");
        if answers && rng.per_mille(700) {
            let at = rng.below(self.asked.len() as u64) as usize;
            let asked = self.asked.get(at).cloned();
            if let Some((mid, chain)) = asked {
                pairs.truncate(1);
                let which = rng.below(3);
                if which > 0 {
                    pairs.push(format!("aid:{mid}"));
                }
                if which < 2 {
                    pairs.push(format!("cid:{chain}"));
                }
            }
        }
        if pairs.len() == 1 && rng.per_mille(60) {
            // The names of two such frames are equal, except for their ends.
            pairs.push(format!("cid:{}{}", "n".repeat(ALIKE), rng.below(3)));
        }
        match rng.below(40) {
            0 => pairs.push("sid:other_8".into()),
            1 => pairs.push("sid:s".into()),
            2 => pairs.push(format!("by:{}", 100 + rng.below(3))),
            3 => pairs.push("pos:1".into()),
            _ => {}
        }
    }
}
