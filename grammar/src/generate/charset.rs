//! Sets of characters.

/// A set of code points, as sorted ranges. There is a gap between each range and the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct CharSet(Vec<(u32, u32)>);

impl CharSet {
    /// All characters.
    pub(super) fn all() -> Self {
        Self(vec![(0, 0x10_FFFF)])
    }

    /// The code points from `from` to `to`. They need not be code points of characters.
    pub(super) fn codes(from: u32, to: u32) -> Self {
        Self(vec![(from, to)])
    }

    pub(super) fn range(from: char, to: char) -> Self {
        Self(vec![(from.into(), to.into())])
    }

    /// One character, or both of its cases.
    pub(super) fn letter(c: char, folds: bool) -> Self {
        let one = Self::range(c, c);
        if !folds {
            return one;
        }
        let (lower, upper) = (c.to_ascii_lowercase(), c.to_ascii_uppercase());
        Self::range(upper, upper).or(&Self::range(lower, lower))
    }

    pub(super) fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        let mut ranges: Vec<_> = self.0.iter().chain(&other.0).copied().collect();
        ranges.sort_unstable();
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for (from, to) in ranges {
            match merged.last_mut() {
                Some((_, end)) if from <= end.saturating_add(1) => *end = to.max(*end),
                _ => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        let mut common = Vec::new();
        for &(from, to) in &self.0 {
            for &(start, end) in &other.0 {
                if from.max(start) <= to.min(end) {
                    common.push((from.max(start), to.min(end)));
                }
            }
        }
        Self(common)
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        let mut rest = self.0.clone();
        for &(start, end) in &other.0 {
            let mut next = Vec::new();
            for (from, to) in rest {
                if start > to || end < from {
                    next.push((from, to));
                    continue;
                }
                if from < start {
                    next.push((from, start - 1));
                }
                if to > end {
                    next.push((end + 1, to));
                }
            }
            rest = next;
        }
        Self(rest)
    }

    /// Returns a character of the set that a reader can see, if there is one.
    pub(super) fn example(&self) -> Option<char> {
        let visible = self.and(&Self::range('!', '~'));
        let ranges = if visible.is_empty() { self } else { &visible };
        ranges.0.first().and_then(|(from, _)| char::from_u32(*from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let digits = CharSet::range('0', '9');
        let some = CharSet::range('3', '5');
        let rest = digits.without(&some);
        assert_eq!(rest.ranges(), [(48, 50), (54, 57)]);
        assert!(rest.and(&some).is_empty());
        assert_eq!(rest.or(&some), digits);
        assert_eq!(CharSet::letter('a', true).ranges(), [(65, 65), (97, 97)]);
        assert_eq!(CharSet::all().without(&CharSet::all()), CharSet::default());
    }
}
