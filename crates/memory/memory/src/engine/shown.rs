//! Results of `memory_read`. A model has asked for these lines, so they stay as the tool has shown them. When they leave
//! later, their mark has the name under which the tool finds them again.

use super::Memory;
use super::known::KnownResult;
use super::mark::Lines;

impl Memory {
    /// Returns the mark for a result that the tool has shown: it names the lines as the call did. `None` for any other
    /// result, and for one with long lines: such a result is cut as others are, because the tool gives whole lines. `None`
    /// too if these lines have other numbers by now: then the mark names the lines of the result itself.
    pub(super) fn shown(&self, result: &KnownResult) -> Option<String> {
        let (name, from, to) = result.asked()?;
        if result.is_stale() || result.has_long_lines() {
            return None;
        }
        let last = self.text(name)?.split('\n').count();
        let to = last.min(*to);
        let lines = Lines {
            result: name,
            from: *from,
            to,
        };
        (1..=to).contains(from).then(|| lines.left_out())
    }

    /// Returns the name of what the tool has shown lines of in this result; `None` where [`shown`](Self::shown) is.
    pub(super) fn shown_of(&self, result: &KnownResult) -> Option<String> {
        self.shown(result)?;
        let (name, ..) = result.asked()?;
        Some(name.clone())
    }
}
