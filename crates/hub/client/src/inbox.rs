//! How far a guest has handled the log of its host.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// How many ranges an inbox keeps at most beyond the positions that were handled without a gap.
pub(crate) const RANGES: usize = 256;

/// How far a guest has handled the log: everything up to a position, and ranges after it. A store keeps its
/// text, and each commit of a mark writes it anew. So the number of ranges is bounded
/// ([`trim`](Self::trim)).
///
/// ```text
/// inbox = through ["?" begins] [";" range *("," range)]
/// range = first ["-" last]
/// ```
///
/// `12?20;14-17,19` means: positions up to 12, 14 to 17, and 19 are handled. The agent was in the session up to
/// position 20 without an inbox. So of the other positions up to 20, it gets only the questions that it has not
/// answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inbox {
    through: u64,
    begins: u64,
    /// The first and the last position of each range, ascending. No two of them touch.
    ranges: Vec<(u64, u64)>,
}

impl Inbox {
    /// Makes an inbox in which everything up to this position is handled.
    pub(crate) fn at(through: u64) -> Self {
        Self {
            through,
            begins: 0,
            ranges: Vec::new(),
        }
    }

    /// Makes an inbox in which everything up to `through` is handled. After that, up to `begins`, only unanswered
    /// questions are handed out.
    pub(crate) fn begins(through: u64, begins: u64) -> Self {
        Self {
            begins,
            ..Self::at(through)
        }
    }

    /// Makes an inbox in which everything up to `through` is handled, except these positions, which ascend.
    pub(crate) fn except(open: impl IntoIterator<Item = u64>, through: u64) -> Self {
        let mut before = 0;
        let mut inbox = None::<Self>;
        for at in open {
            inbox = match inbox {
                None => Some(Self::at(at.saturating_sub(1))),
                Some(mut inbox) => {
                    if before + 1 < at {
                        inbox.ranges.push((before + 1, at - 1));
                    }
                    Some(inbox)
                }
            };
            before = at;
        }
        let Some(mut inbox) = inbox else {
            return Self::at(through);
        };
        if before < through {
            inbox.ranges.push((before + 1, through));
        }
        inbox
    }

    /// Returns the last position up to which everything is handled.
    pub(crate) fn through(&self) -> u64 {
        self.through
    }

    /// Returns whether the agent had no inbox yet when the log was at this position. Of such positions, only
    /// unanswered questions are handed out.
    pub(crate) fn is_before(&self, position: u64) -> bool {
        position <= self.begins
    }

    pub(crate) fn contains(&self, position: u64) -> bool {
        let after = self.ranges.partition_point(|(_, last)| *last < position);
        let range = self.ranges.get(after);
        position <= self.through || range.is_some_and(|(first, _)| *first <= position)
    }

    /// Notes that a position is handled.
    pub(crate) fn add(&mut self, position: u64) {
        self.add_all(position..=position);
    }

    fn add_all(&mut self, positions: RangeInclusive<u64>) {
        let (mut first, mut last) = positions.into_inner();
        let touched = |(begin, end): &(u64, u64)| *begin <= last + 1 && *end + 1 >= first;
        let at = self.ranges.partition_point(|(_, end)| *end + 1 < first);
        let count = self.ranges[at..].iter().take_while(|range| touched(range));
        let end = at + count.count();
        for (begin, until) in self.ranges.drain(at..end) {
            first = first.min(begin);
            last = last.max(until);
        }
        if first > self.through + 1 {
            self.ranges.insert(at, (first, last));
        } else {
            self.through = self.through.max(last);
        }
    }

    /// Notes that these positions have nothing to handle. This may lengthen a range, but begins none.
    pub(crate) fn pass(&mut self, first: u64, last: u64) {
        let ends = self
            .ranges
            .binary_search_by_key(&(first - 1), |range| range.1);
        if first <= self.through + 1 || ends.is_ok() {
            self.add_all(first..=last);
        }
    }

    /// Counts the oldest gaps as handled as long as there are too many ranges. `may_go` says whether a gap
    /// holds only frames that no handler takes.
    pub(crate) fn trim(&mut self, may_go: impl Fn(RangeInclusive<u64>) -> bool) {
        while self.ranges.len() > RANGES {
            let ends = std::iter::once(self.through).chain(self.ranges.iter().map(|range| range.1));
            let gaps = ends
                .zip(&self.ranges)
                .map(|(end, next)| end + 1..=next.0 - 1);
            let Some(gap) = gaps.into_iter().find(|gap| may_go(gap.clone())) else {
                return;
            };
            self.add_all(gap);
        }
    }
}

impl fmt::Display for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.through)?;
        if self.begins > self.through {
            write!(f, "?{}", self.begins)?;
        }
        for (at, (first, last)) in self.ranges.iter().enumerate() {
            write!(f, "{}{first}", if at == 0 { ';' } else { ',' })?;
            if first < last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

/// The text is not that of an inbox.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoInbox;

impl FromStr for Inbox {
    type Err = NoInbox;

    fn from_str(text: &str) -> Result<Self, NoInbox> {
        // The largest `u64` is refused, because the check of the next range adds one to it.
        let number = |text: &str| {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|number| *number < u64::MAX);
            number.filter(|_| is_number).ok_or(NoInbox)
        };
        let (begin, rest) = text.split_once(';').unwrap_or((text, ""));
        let (through, begins) = begin.split_once('?').unwrap_or((begin, "0"));
        let mut inbox = Self::begins(number(through)?, number(begins)?);
        let mut last = inbox.through;
        for range in rest.split(',').filter(|_| text.contains(';')) {
            let (first, end) = range.split_once('-').unwrap_or((range, range));
            let range = (number(first)?, number(end)?);
            if range.0 <= last + 1 || range.1 < range.0 {
                return Err(NoInbox);
            }
            last = range.1;
            inbox.ranges.push(range);
        }
        Ok(inbox)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_the_set_it_stands_for(
            through in 0..20_u64,
            added in prop::collection::vec(1..120_u64, 0..80),
            begins in 0..60_u64,
        ) {
            let mut inbox = Inbox::begins(through, begins);
            let mut model: BTreeSet<u64> = (0..=through).collect();
            for position in added {
                inbox.add(position);
                model.insert(position);
                let again: Inbox = inbox.to_string().parse().unwrap();
                for at in 0..130 {
                    prop_assert_eq!(inbox.contains(at), model.contains(&at), "{} at {}", inbox, at);
                    prop_assert_eq!(again.contains(at), model.contains(&at));
                    prop_assert!(inbox.contains(at) || inbox.is_before(at) == again.is_before(at));
                }
                let touching = inbox.ranges.windows(2).any(|two| two[0].1 + 1 >= two[1].0);
                prop_assert!(!touching, "{}", inbox);
            }
            let open = (through + 1..130).filter(|at| !model.contains(at));
            let last = model.last().copied().unwrap_or_default();
            let except = Inbox::except(open.take_while(|at| *at < last), last);
            for at in 0..130 {
                prop_assert_eq!(except.contains(at), model.contains(&at), "{} at {}", except, at);
            }
        }

        #[test]
        fn reads_any_text_or_refuses_it(text in "[0-9;,?-]{0,24}") {
            if let Ok(inbox) = text.parse::<Inbox>() {
                let written = inbox.to_string();
                prop_assert_eq!(written.parse::<Inbox>(), Ok(inbox.clone()).map(|inbox| {
                    // If `begins` lies in the part up to `through`, it means nothing, and the text leaves it out.
                    let begins = if inbox.begins > inbox.through { inbox.begins } else { 0 };
                    Inbox { begins, ..inbox }
                }));
            }
        }
    }

    #[test]
    fn gaps_that_are_too_many_go_unless_somebody_works_on_them() {
        let mut inbox = Inbox::at(0);
        let in_work = 2;
        for at in 0..2 * RANGES as u64 {
            inbox.add(2 * at + 1);
            inbox.trim(|gap| !gap.contains(&in_work));
        }
        assert_eq!(inbox.ranges.len(), RANGES);
        assert!(!inbox.contains(in_work) && inbox.contains(4) && !inbox.contains(1000));
    }

    #[test]
    fn texts() {
        let mut inbox = Inbox::begins(12, 20);
        for at in [14, 15, 16, 17, 19] {
            inbox.add(at);
        }
        assert_eq!(inbox.to_string(), "12?20;14-17,19");
        inbox.add(13);
        inbox.add(18);
        assert_eq!(inbox.to_string(), "19?20");
        for wrong in [
            "",
            "x",
            "12;",
            "12;13",
            "12;15-14",
            "12;15,16",
            "1?",
            "+1",
            "12;18446744073709551615",
        ] {
            assert_eq!(wrong.parse::<Inbox>(), Err(NoInbox), "{wrong}");
        }
    }
}
