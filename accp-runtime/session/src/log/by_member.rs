//! A small map by member.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::log::mid::MemberId;

/// A map by member that takes little memory. Most sessions have two or three members, while one node of a B-tree
/// has room for eleven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByMember<T>(Box<[(MemberId, T)]>);

impl<T> ByMember<T> {
    fn change(&mut self, change: impl FnOnce(&mut Vec<(MemberId, T)>)) {
        let mut all = std::mem::take(&mut self.0).into_vec();
        change(&mut all);
        self.0 = all.into_boxed_slice();
    }

    fn find(&self, member: MemberId) -> Result<usize, usize> {
        self.0.binary_search_by_key(&member, |(member, _)| *member)
    }

    pub(crate) fn get(&self, member: MemberId) -> Option<&T> {
        Some(&self.0[self.find(member).ok()?].1)
    }

    pub(crate) fn get_mut(&mut self, member: MemberId) -> Option<&mut T> {
        let index = self.find(member).ok()?;
        Some(&mut self.0[index].1)
    }

    pub(crate) fn or_insert_with(&mut self, member: MemberId, new: impl FnOnce() -> T) -> &mut T {
        let index = self.find(member).unwrap_or_else(|index| {
            let value = new();
            self.change(|all| {
                all.reserve_exact(1);
                all.insert(index, (member, value));
            });
            index
        });
        &mut self.0[index].1
    }

    pub(crate) fn insert(&mut self, member: MemberId, value: T) {
        match self.find(member) {
            Ok(index) => self.0[index].1 = value,
            Err(index) => self.change(|all| {
                all.reserve_exact(1);
                all.insert(index, (member, value));
            }),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn remove(&mut self, member: MemberId) {
        if let Ok(index) = self.find(member) {
            self.change(|all| drop(all.remove(index)));
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (MemberId, &T)> {
        self.0.iter().map(|(member, value)| (*member, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (MemberId, &mut T)> {
        self.0.iter_mut().map(|(member, value)| (*member, value))
    }
}

impl<T> Default for ByMember<T> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<T: Serialize> Serialize for ByMember<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for ByMember<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::deserialize(deserializer)?;
        let mut all = Vec::with_capacity(map.len());
        all.extend(map);
        Ok(Self(all.into_boxed_slice()))
    }
}
