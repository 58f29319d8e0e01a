//! A table of the places of names in a list. A lookup takes few instructions, because the validator looks up every
//! word of a packet.

/// The places of names in a list. The reader of packets chooses its own vocabulary, so no sender can choose names
/// that collide.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Names {
    /// At least twice as many slots as names; a power of two.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Slot {
    name: Short,
    /// The place in the list plus 1, or 0 for a free slot.
    place: usize,
}

/// The first eight bytes of a name, and its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Short(u64, usize);

impl Short {
    #[inline]
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        let first = match bytes.first_chunk::<8>() {
            Some(first) => u64::from_le_bytes(*first),
            None => bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        Self(first, bytes.len())
    }

    /// Returns whether these are all bytes of the name.
    fn is_whole(self) -> bool {
        self.1 <= 8
    }

    /// Returns the number of the slot at which a search begins.
    #[inline]
    fn slot(self, slots: usize) -> usize {
        let mixed = (self.0 ^ self.1 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (slots - 1)
    }
}

impl Names {
    /// Makes a table of names, each with its place.
    pub(super) fn of<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> Self {
        let count = (2 * names.len()).next_power_of_two();
        let mut slots = vec![Slot::default(); count];
        for (name, place) in names.zip(1..) {
            let name = Short::of(name);
            let mut at = name.slot(count);
            while let Some(taken) = slots.get(at).filter(|slot| slot.place > 0) {
                // Longer names with the same beginning stand in the next slots.
                debug_assert!(taken.name != name || !name.is_whole());
                at = (at + 1) % count;
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = Slot { name, place };
            }
        }
        Self { slots }
    }

    /// Returns the item of the list that has a name.
    #[inline]
    pub(super) fn find<'l, T>(
        &self,
        name: &str,
        list: &'l [T],
        name_of: impl Fn(&T) -> &str,
    ) -> Option<&'l T> {
        let count = self.slots.len();
        if count == 0 {
            return None;
        }
        let short = Short::of(name);
        let mut at = short.slot(count);
        loop {
            let slot = self.slots.get(at).filter(|slot| slot.place > 0)?;
            if slot.name == short
                && let Some(item) = list.get(slot.place - 1)
                && (short.is_whole() || name_of(item) == name)
            {
                return Some(item);
            }
            at = (at + 1) & (count - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn finds_each_name_and_no_other(names in proptest::collection::btree_set("[a-c_]{0,3}(abcdefgh)?[a-b]{0,3}", 0..40), other in "[a-c_]{0,3}(abcdefgh)?[a-b]{0,3}\\PC?") {
            let names: Vec<String> = names.into_iter().collect();
            let table = Names::of(names.iter().map(|name| &**name));
            for name in &names {
                prop_assert_eq!(table.find(name, &names, |name| name), Some(name));
            }
            let has = names.contains(&other);
            prop_assert_eq!(table.find(&other, &names, |name| name).is_some(), has);
        }
    }
}
