//! The numbers of the values that a member has put.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The most gaps that a session remembers for each member. A number in an older gap counts as the number of a value
/// that the member has put. Reading that value fails, because no store has it.
const GAPS: usize = 64;

/// The numbers of the values that a member has put: all up to the last, except some gaps. A gap is
/// left by an announcement that the host refused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Puts {
    last: u64,
    /// The first and the last number of each gap, ascending.
    gaps: VecDeque<(u64, u64)>,
}

impl Puts {
    /// Returns the last number.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns whether a value with this number was put.
    pub(crate) fn contains(&self, number: u64) -> bool {
        let is_within = |(first, last): &(u64, u64)| (*first..=*last).contains(&number);
        (1..=self.last).contains(&number) && !self.gaps.iter().any(is_within)
    }

    /// Adds a number. Numbers that are not greater than the last one are there already.
    pub(crate) fn add(&mut self, number: u64) {
        if number <= self.last {
            return;
        }
        let gap = (self.last + 1, number - 1);
        if gap.0 <= gap.1 {
            self.gaps.push_back(gap);
            if self.gaps.len() > GAPS {
                self.gaps.pop_front();
            }
        }
        self.last = number;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn is_the_set_it_stands_for(steps in prop::collection::vec(1..4_u64, 0..60)) {
            let (mut puts, mut model, mut number) = (Puts::default(), BTreeSet::new(), 0);
            for step in steps {
                number += step;
                puts.add(number);
                model.insert(number);
            }
            for number in 0..number + 3 {
                prop_assert_eq!(puts.contains(number), model.contains(&number));
            }
        }
    }

    #[test]
    fn many_gaps_take_no_more_room() {
        let mut puts = Puts::default();
        for number in 1..1000 {
            puts.add(2 * number);
        }
        puts.add(u64::MAX);
        assert_eq!(puts.gaps.len(), GAPS);
        assert!(puts.contains(u64::MAX) && !puts.contains(u64::MAX - 1));
    }
}
