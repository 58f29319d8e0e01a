//! Runs of words in facts that nobody said.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use super::analysis::Analysis;
use super::matcher::words;
use super::text::{scalars, structured};
use crate::share::Recall;

/// The number of words in a run.
const RUN: usize = 4;

/// The runs of a conversation, taken when a policy first shows facts.
#[derive(Debug, Default)]
pub(crate) struct Quoted {
    source_runs: Option<HashSet<u64>>,
    counted: HashMap<Arc<str>, Recall>,
}

impl Quoted {
    /// Counts the runs of four words in facts: `found` counts those that nobody said. A run does
    /// not go across the ends of lines, of values and of brackets.
    pub(crate) fn of(&mut self, analysis: &Analysis, facts: &Arc<str>) -> Recall {
        let source_runs = self
            .source_runs
            .get_or_insert_with(|| source_runs(analysis));
        if let Some(&known) = self.counted.get(facts) {
            return known;
        }
        let mut recall = Recall::default();
        let parts = facts.split(['\n', '|', ';', '{', '}', '[', ']', '=']);
        for part in parts.flat_map(|part| part.split("..")) {
            runs(part, |run| recall.count(!source_runs.contains(&run)));
        }
        self.counted.insert(Arc::clone(facts), recall);
        recall
    }
}

/// Returns the runs of all messages: of their pieces, and of the scalars of pieces that are JSON.
fn source_runs(analysis: &Analysis) -> HashSet<u64> {
    let mut runs_found = HashSet::new();
    for message in &analysis.message_texts {
        for (at, piece) in message.pieces.iter().enumerate() {
            runs(&piece.text.text, |run| {
                runs_found.insert(run);
            });
            if let Some(json) = structured(&message.raw[message.whole(at)]) {
                runs(&scalars(&json).join(" "), |run| {
                    runs_found.insert(run);
                });
            }
        }
    }
    runs_found
}

/// Passes each run of words of a text to `tell`.
fn runs(text: &str, mut tell: impl FnMut(u64)) {
    let words: Vec<&str> = words(text).map(|(_, word)| word).collect();
    for run in words.windows(RUN) {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        tell(hasher.finish());
    }
}
