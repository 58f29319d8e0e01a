//! What an agent fetches because its prompts lack it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::analysis::{Analysis, Need};
use super::matcher::Needle;
use super::message_text::MessageText;
use super::prices::Recovery;
use super::text::collapse;

/// What an agent has fetched so far, and still carries.
#[derive(Debug, Default)]
pub(crate) struct Fetched {
    texts: HashSet<Needle>,
    carried: u64,
}

/// What a prompt lacks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lacking {
    /// The ranges of tokens to fetch, by the index of the message that has them.
    windows: BTreeMap<usize, Vec<Range<usize>>>,
    lost: BTreeSet<usize>,
}

impl Lacking {
    /// Adds a need that the prompt does not hold. `is_lost` says that nothing in the prompt leads to its source.
    pub(crate) fn need(
        &mut self,
        need: &Need,
        message_text: &MessageText,
        window: usize,
        is_lost: bool,
    ) {
        let windows = self.windows.entry(need.source).or_default();
        windows.push(around(message_text, &need.place, window));
        if is_lost {
            self.lost.insert(need.source);
        }
    }

    /// Adds a message that the prompt does not show at first sight.
    pub(crate) fn unseen(&mut self, message: usize, windows: &[Range<usize>], is_lost: bool) {
        let known = self.windows.entry(message).or_default();
        known.extend(windows.iter().cloned());
        if is_lost {
            self.lost.insert(message);
        }
    }
}

impl Fetched {
    /// Returns whether a window that the agent fetched holds a text.
    pub(crate) fn has(&self, needle: Needle) -> bool {
        self.texts.contains(&needle)
    }

    /// Returns the number of tokens of the windows that the agent carries.
    pub(crate) fn carried(&self) -> u64 {
        self.carried
    }

    /// Fetches what a prompt of this many tokens lacks.
    pub(crate) fn fetch(&mut self, analysis: &Analysis, prompt: u64, lacking: Lacking) -> Recovery {
        let mut recovery = Recovery {
            context: prompt + self.carried,
            carried: self.carried,
            readings: u64::from(!lacking.windows.is_empty()) + u64::from(!lacking.lost.is_empty()),
            sources: lacking.windows.len() as u64,
            windows: 0,
            lost: lacking.lost.len() as u64,
        };
        for (source, windows) in lacking.windows {
            let message_text = &analysis.message_texts[source];
            for window in merged(windows) {
                recovery.windows += window.len() as u64;
                let text = collapse(message_text.window(&window));
                analysis.matcher.each(&text, |needle, _| {
                    self.texts.insert(needle);
                });
            }
        }
        self.carried += recovery.windows;
        recovery
    }
}

/// Returns the tokens of a message that are fetched for a place in the message: all, or `window` of them with the
/// place in the middle.
fn around(message_text: &MessageText, place: &Range<usize>, window: usize) -> Range<usize> {
    let tokens = message_text.tokens();
    if tokens <= window {
        return 0..tokens;
    }
    let span = message_text.tokens_of(place);
    if span.len() >= window {
        return span;
    }
    let start = (span.start + span.end).saturating_sub(window) / 2;
    let start = start.min(tokens - window);
    start..start + window
}

/// Returns the windows, with overlapping windows merged.
fn merged(mut windows: Vec<Range<usize>>) -> Vec<Range<usize>> {
    windows.sort_by_key(|window| (window.start, window.end));
    let mut merged: Vec<Range<usize>> = Vec::new();
    for window in windows {
        match merged.last_mut() {
            Some(last) if window.start < last.end => last.end = last.end.max(window.end),
            _ => merged.push(window),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_windows_are_one() {
        let windows = vec![5..9, 0..3, 3..4, 8..12];
        assert_eq!(merged(windows), [0..3, 3..4, 5..12]);
        assert_eq!(merged(vec![0..0, 0..0]), [0..0, 0..0]);
    }
}
