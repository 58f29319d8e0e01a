//! Keeps references to lines true. If a line that a reference names was cut, the reference says how to read the line.

use std::collections::HashMap;

use super::Memory;
use super::mark::{self, Lines, Named};

impl Memory {
    /// Rewrites the references to lines that were cut from results. `memory_read` shows these lines.
    pub(super) fn refer(&mut self) {
        let gone = self.gone();
        if gone.is_empty() {
            return;
        }
        let is_gone = |named: &Named| {
            let runs = gone.get(&named.result).into_iter().flatten();
            let mut runs = runs.filter(|run| run.from <= named.to && named.from <= run.to);
            runs.next().is_some()
        };
        let end = self.state.end();
        let mut first_changed = None;
        for (at, known) in self.state.messages.iter_mut().enumerate().skip(end) {
            let mut changes = false;
            for result in known.results.iter_mut().filter(|result| result.is_formed()) {
                if result.rewrite(|text| rewritten(text, is_gone)) {
                    changes = true;
                    let tokens = self.counter.count(result.now()) as u64;
                    known.tokens_sent = (known.tokens_sent + tokens).saturating_sub(result.tokens);
                    result.tokens = tokens;
                }
            }
            if changes {
                known.change();
                first_changed = first_changed.or(Some(at));
            }
        }
        if let Some(at) = first_changed {
            self.changed(at);
        }
    }

    /// Returns the lines that were cut from the results of the list, by the name of the result.
    fn gone(&self) -> HashMap<String, Vec<Named>> {
        let mut gone: HashMap<String, Vec<Named>> = HashMap::new();
        let messages = self.state.messages.iter().enumerate();
        let stand = messages.filter(|(at, known)| self.state.stands(*at, known));
        let results = stand.flat_map(|(_, known)| &known.results);
        for result in results.filter(|result| result.is_cut()) {
            let marks = result.now().split('\n').filter_map(mark::read);
            let own = marks.filter(|mark| mark.result == result.name);
            gone.entry(result.name.clone()).or_default().extend(own);
        }
        gone
    }
}

/// Returns the text with other marks for lines that were cut; `None` if it has no reference to such lines.
fn rewritten(text: &str, is_gone: impl Fn(&Named) -> bool) -> Option<String> {
    let mut changes = false;
    let lines = text.split('\n').map(|line| {
        let named = mark::read(line).filter(|named| mark::is_again(line) && is_gone(named));
        let Some(named) = named else {
            return line.to_owned();
        };
        changes = true;
        let lines = Lines {
            result: &named.result,
            from: named.from,
            to: named.to,
        };
        lines.left_out()
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    changes.then_some(text)
}
