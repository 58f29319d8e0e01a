//! Fences, and the lines between them. Only a line feed ends a line.

/// Returns a fence that is longer than any run of backticks in a text.
pub(super) fn around(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    "`".repeat(longest.unwrap_or(0).max(2) + 1)
}

/// Returns whether a line is a fence.
pub(super) fn is_fence(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'`')
}

/// The lines of a text with their numbers, from 1.
#[derive(Clone)]
pub(super) struct Lines<'t> {
    text: &'t str,
    at: usize,
    number: usize,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            number: 1,
        }
    }

    /// Returns how many bytes have been read so far.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Skips to the first line for which `holds` is true, or to the end if there is no such line.
    pub(super) fn skip_to(&mut self, holds: impl Fn(&str) -> bool) {
        let mut ahead = self.clone();
        while let Some((_, line)) = ahead.next() {
            if holds(line) {
                return;
            }
            *self = ahead.clone();
        }
    }

    /// Returns the text before the next line that is this fence, and the number of the last line of the text. The
    /// fence is read too, and has to end with a line feed. If no such fence follows, there is no text, and all lines
    /// are used up.
    pub(super) fn until(&mut self, fence: &str) -> Option<(&'t str, usize)> {
        let start = self.at;
        loop {
            let before = self.at;
            let (number, line) = self.next()?;
            let is_whole = self.text.as_bytes().get(self.at - 1) == Some(&b'\n');
            if line == fence && is_whole && before > start {
                return Some((&self.text[start..before - 1], number - 1));
            }
        }
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = (usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let line = rest.find('\n').map_or(rest, |end| &rest[..end]);
        self.at = (self.at + line.len() + 1).min(self.text.len());
        self.number += 1;
        Some((self.number - 1, line))
    }
}
