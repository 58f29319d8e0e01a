//! Names that belong to members.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::mid::{MemberId, Mid};

/// Names, each with the member that it belongs to.
///
/// Each member may have a limited number of names. Beyond it the oldest name of that member is
/// forgotten, so a member never pushes out the names of another.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Names {
    of: BTreeMap<Mid, MemberId>,
    /// The names of each member, the oldest first.
    order: ByMember<VecDeque<Mid>>,
}

impl Names {
    /// Returns the member that the name belongs to.
    pub(crate) fn owner(&self, name: &Mid) -> Option<MemberId> {
        self.of.get(name).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Gives a name to a member, unless it belongs to one already. Returns the name that is forgotten to make room.
    pub(crate) fn bind(&mut self, name: &Mid, member: MemberId, most: usize) -> Option<Mid> {
        if self.of.contains_key(name) {
            return None;
        }
        self.of.insert(name.clone(), member);
        let order = self.order.or_insert_with(member, VecDeque::new);
        order.push_back(name.clone());
        let forgotten = if order.len() > most {
            order.pop_front()
        } else {
            None
        };
        if let Some(name) = &forgotten {
            self.of.remove(name);
        }
        forgotten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_pushes_out_its_own_names_only() {
        let (dev, qa) = (MemberId::HOST, MemberId::LAST);
        let mut names = Names::default();
        let name = |n: u32| Mid::parse(&format!("n{n}"));
        assert_eq!(names.bind(&name(0), dev, 3), None);
        for n in 1..10 {
            let forgotten = names.bind(&name(n), qa, 3);
            assert_eq!(forgotten, (n > 3).then(|| name(n - 3)));
        }
        assert_eq!(names.bind(&name(0), qa, 3), None);
        assert_eq!(names.owner(&name(0)), Some(dev));
        assert_eq!(names.owner(&name(6)), None);
        assert_eq!(names.owner(&name(9)), Some(qa));
    }
}
