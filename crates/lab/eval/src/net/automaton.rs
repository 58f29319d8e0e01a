//! Finds how much of the text at a place was said before, with a suffix automaton over words.

use std::collections::HashMap;

use super::matcher::is_word;

/// No state, and no edge.
const NONE: u32 = u32::MAX;

/// All texts said so far, as symbols: a word, a space, or any other character. It finds how many of the first
/// symbols of a text were said one after another, in time linear in that number.
#[derive(Debug)]
pub(crate) struct Automaton {
    symbols: HashMap<String, u32>,
    states: Vec<State>,
    edges: Vec<Edge>,
    /// The edges by state and symbol.
    by_symbol: HashMap<(u32, u32), u32>,
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct State {
    length: u32,
    link: u32,
    /// The first edge of the state's list of edges.
    edge: u32,
}

#[derive(Debug, Clone, Copy)]
struct Edge {
    symbol: u32,
    to: u32,
    next: u32,
}

impl Default for Automaton {
    fn default() -> Self {
        let root = State {
            length: 0,
            link: NONE,
            edge: NONE,
        };
        Self {
            symbols: HashMap::new(),
            states: vec![root],
            edges: Vec::new(),
            by_symbol: HashMap::new(),
            last: 0,
        }
    }
}

impl Automaton {
    /// Adds a text that was said. No match goes across the ends of texts.
    pub(crate) fn add(&mut self, text: &str) {
        self.last = 0;
        for (_, symbol) in symbols(text) {
            let next = self.symbols.len() as u32;
            let symbol = *self.symbols.entry(symbol.to_owned()).or_insert(next);
            self.push(symbol);
        }
    }

    /// Returns how many of these symbols, from the first on, were said one after another.
    pub(crate) fn longest<'s>(&self, text: impl Iterator<Item = &'s str>) -> usize {
        let mut state = 0;
        let mut length = 0;
        for symbol in text {
            let next = self.symbols.get(symbol);
            let next = next.and_then(|&symbol| self.by_symbol.get(&(state, symbol)));
            let Some(&edge) = next else {
                break;
            };
            state = self.edges[edge as usize].to;
            length += 1;
        }
        length
    }

    fn state(&mut self, length: u32, link: u32) -> u32 {
        self.states.push(State {
            length,
            link,
            edge: NONE,
        });
        (self.states.len() - 1) as u32
    }

    fn to(&self, state: u32, symbol: u32) -> Option<u32> {
        let edge = self.by_symbol.get(&(state, symbol))?;
        Some(self.edges[*edge as usize].to)
    }

    fn lead(&mut self, state: u32, symbol: u32, to: u32) {
        if let Some(&edge) = self.by_symbol.get(&(state, symbol)) {
            self.edges[edge as usize].to = to;
            return;
        }
        let edge = self.edges.len() as u32;
        let next = std::mem::replace(&mut self.states[state as usize].edge, edge);
        self.edges.push(Edge { symbol, to, next });
        self.by_symbol.insert((state, symbol), edge);
    }

    /// Copies the state `old`, with a length one above that of `from`. Then the edges that led to `old` by `symbol`
    /// lead to the copy: the edge of `from`, and those of the states that follow `from` by links.
    fn split(&mut self, from: u32, symbol: u32, old: u32) -> u32 {
        let length = self.states[from as usize].length + 1;
        let copy = self.state(length, self.states[old as usize].link);
        let mut edge = self.states[old as usize].edge;
        while edge != NONE {
            let Edge { symbol, to, next } = self.edges[edge as usize];
            self.lead(copy, symbol, to);
            edge = next;
        }
        let mut state = from;
        while state != NONE && self.to(state, symbol) == Some(old) {
            self.lead(state, symbol, copy);
            state = self.states[state as usize].link;
        }
        self.states[old as usize].link = copy;
        copy
    }

    /// Adds a symbol after the last one, by the construction of Blumer et al. for several texts.
    fn push(&mut self, symbol: u32) {
        let last = self.last;
        if let Some(next) = self.to(last, symbol) {
            let whole = self.states[next as usize].length == self.states[last as usize].length + 1;
            self.last = if whole {
                next
            } else {
                self.split(last, symbol, next)
            };
            return;
        }
        let length = self.states[last as usize].length + 1;
        let new = self.state(length, 0);
        let mut state = last;
        while state != NONE && self.to(state, symbol).is_none() {
            self.lead(state, symbol, new);
            state = self.states[state as usize].link;
        }
        if state != NONE
            && let Some(next) = self.to(state, symbol)
        {
            let whole = self.states[next as usize].length == self.states[state as usize].length + 1;
            self.states[new as usize].link = if whole {
                next
            } else {
                self.split(state, symbol, next)
            };
        }
        self.last = new;
    }
}

/// Returns the symbols of a text, each with the byte at which it begins: words and single other
/// characters.
pub(crate) fn symbols(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let length = if is_word(first) {
            rest.find(|character| !is_word(character))
                .unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let at = text.len() - rest.len();
        let (symbol, after) = rest.split_at(length);
        rest = after;
        Some((at, symbol))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_longest_is_the_one_that_a_search_finds(
            said in proptest::collection::vec("[ab .]{0,12}", 0..5),
            text in "[ab .]{0,12}",
        ) {
            let mut automaton = Automaton::default();
            let split = |text: &str| -> Vec<String> {
                symbols(text).map(|(_, symbol)| symbol.to_owned()).collect()
            };
            for text in &said {
                automaton.add(text);
            }
            let wanted = split(&text);
            let said: Vec<_> = said.iter().map(|text| split(text)).collect();
            let stands = |length: usize| {
                said.iter().any(|said| said.windows(length).any(|part| part == &wanted[..length]))
            };
            let longest = (1..=wanted.len()).rev().find(|&length| stands(length)).unwrap_or(0);
            let found = automaton.longest(wanted.iter().map(String::as_str));
            prop_assert_eq!(found, longest);
        }
    }
}
