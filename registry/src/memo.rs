//! A value, kept together with one result that was computed from it.

use core::fmt;
use core::ops::{Deref, DerefMut};
#[cfg(feature = "std")]
use std::sync::OnceLock;

#[cfg(feature = "std")]
type Slot<O> = OnceLock<O>;
#[cfg(not(feature = "std"))]
type Slot<O> = core::marker::PhantomData<O>;

/// A value, and one result that was computed from it. A change of the value drops the result. Without `std` there is
/// no place to keep the result, so it is computed at each call.
#[derive(Clone, Default)]
pub(crate) struct Memo<T, O> {
    value: T,
    computed: Slot<O>,
}

impl<T, O> Memo<T, O> {
    /// Returns the result of `compute` for the value, and keeps it. Every call must pass the same computation.
    #[cfg(feature = "hash")]
    pub(crate) fn get_or_compute(&self, compute: impl FnOnce(&T) -> O) -> O
    where
        O: Copy,
    {
        #[cfg(feature = "std")]
        return *self.computed.get_or_init(|| compute(&self.value));
        #[cfg(not(feature = "std"))]
        compute(&self.value)
    }

    pub(crate) fn into_value(self) -> T {
        self.value
    }
}

impl<T, O> From<T> for Memo<T, O> {
    fn from(value: T) -> Self {
        Self {
            value,
            computed: Slot::default(),
        }
    }
}

impl<T, O> Deref for Memo<T, O> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, O> DerefMut for Memo<T, O> {
    fn deref_mut(&mut self) -> &mut T {
        self.computed = Slot::default();
        &mut self.value
    }
}

impl<T: PartialEq, O> PartialEq for Memo<T, O> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: fmt::Debug, O> fmt::Debug for Memo<T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(all(test, feature = "hash", feature = "std"))]
mod tests {
    use super::*;

    #[test]
    fn it_is_computed_once_for_each_value() {
        let mut memo: Memo<_, _> = 2.into();
        assert_eq!(memo.get_or_compute(|value| value * 10), 20);
        assert_eq!(memo.clone().get_or_compute(|_| unreachable!()), 20);
        *memo = 3;
        assert_eq!(memo.get_or_compute(|value| value * 10), 30);
    }
}
