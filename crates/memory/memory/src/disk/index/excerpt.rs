//! Finds the part of a section that fits a query best.

use std::collections::BTreeSet;

use super::hit::Hit;
use crate::ranked::terms::Terms;

/// Takes the place of a text that was left out.
const LEFT_OUT: &str = "[...]";
/// Parts are tried at several starts. The distance between two starts is the length of a part, divided by this
/// number.
const STARTS: usize = 8;

impl Hit {
    /// Returns at most `most` characters of the text: the part that fits the query best. A section may be a piece of
    /// one long line, and the words of the query may stand anywhere in it.
    ///
    /// ```
    /// # use accp_memory::disk::index::{Filter, Index};
    /// # use accp_memory::{Archive, Archived};
    /// # let root = tempfile::tempdir()?;
    /// # std::fs::create_dir_all(root.path().join("cache/conversations"))?;
    /// let text = format!("{}order ORD-12345: rye{}", "spelt ".repeat(200), " oats".repeat(200));
    /// let said = [Archived { number: 4, role: "tool".into(), tools: vec![], time: None, text }];
    /// # std::fs::write(root.path().join("cache/conversations/s_full.md"), Archive::text(&said))?;
    /// # let mut index = Index::open(root.path())?;
    /// let hits = index.search("what is in ORD-12345?", &Filter::default(), 1)?;
    /// let part = hits[0].excerpt("what is in ORD-12345?", 80);
    /// assert!(part.contains("ORD-12345: rye") && part.len() < 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn excerpt(&self, query: &str, most: usize) -> String {
        let text = &self.text;
        let mut edges: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        edges.push(text.len());
        let all = edges.len() - 1;
        if all <= most {
            return text.clone();
        }
        let part = |start: usize| &text[edges[start]..edges[(start + most).min(all)]];
        let asked = Terms::of(query);
        let asked: BTreeSet<_> = asked.words.iter().chain(&asked.whole).collect();
        let says = |start: usize| {
            let terms = Terms::of(part(start));
            let terms: BTreeSet<_> = terms.words.iter().chain(&terms.whole).collect();
            let found = terms.intersection(&asked).count();
            (part(start).contains(query), found)
        };
        let starts = (0..all - most).step_by((most / STARTS).max(1));
        let starts: Vec<_> = starts
            .chain([all - most])
            .map(|at| (says(at), at))
            .collect();
        let best = starts.iter().map(|(says, _)| *says).max();
        // Of neighbouring parts with the same score, the middle one is taken. It has the match in its centre.
        let equal = starts.iter().skip_while(|(says, _)| Some(*says) != best);
        let equal: Vec<_> = equal.take_while(|(says, _)| Some(*says) == best).collect();
        // If no part has anything of the query, the text is shown from its beginning.
        let fits = best.is_some_and(|best| best > (false, 0));
        let middle = equal.get(equal.len() / 2).filter(|_| fits);
        let start = middle.map_or(0, |(_, at)| *at);
        let before = if start > 0 { LEFT_OUT } else { "" };
        let behind = if start + most < all { LEFT_OUT } else { "" };
        format!("{before}{}{behind}", part(start))
    }
}
