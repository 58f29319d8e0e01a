//! Suggestions for mistyped names.

use alloc::vec::Vec;
use core::mem;

/// The most characters of a name that gets suggestions.
const LONGEST: usize = 64;

/// Returns the candidate that `name` was probably meant to be: the nearest by edit distance (a swap of neighbours is
/// one edit). At most a third of the characters may differ, or one character of a short name.
///
/// The comparison ignores case; the first of equally near candidates wins.
///
/// ```
/// use accp_registry::nearest;
///
/// assert_eq!(nearest("prioritiy", ["task", "priority"]), Some("priority"));
/// assert_eq!(nearest("colour", ["task", "priority"]), None);
/// ```
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase();
    let length = name.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let other = candidate.chars().count();
        let limit = (length.max(other) / 3).max(1);
        // Such a long name is hardly a typing mistake, and the running time grows with the square of the length.
        if length.max(other) > LONGEST || length.abs_diff(other) > limit {
            continue;
        }
        let distance = distance(&name, &candidate.to_ascii_lowercase());
        // A one-letter name is one edit away from every other one-letter name, so none of these is
        // suggested.
        let shares = distance < length || distance == 0;
        if distance <= limit && shares && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Returns the number of insertions, deletions, replacements and swaps of neighbours between two
/// texts (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = Vec::with_capacity(b.len() + 1);
        row.push(i + 1);
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ] {
            assert_eq!(distance(a, b), edits, "{a} {b}");
            assert_eq!(distance(b, a), edits, "{b} {a}");
        }
    }

    #[test]
    fn suggests_only_what_is_near() {
        assert_eq!(nearest("Priority", ["priority"]), Some("priority"));
        assert_eq!(nearest("pri", ["priority", "prio"]), Some("prio"));
        assert_eq!(nearest("q", ["x"]), None);
        assert_eq!(nearest("", ["x"]), None);
        assert_eq!(nearest("task", []), None);
    }
}
