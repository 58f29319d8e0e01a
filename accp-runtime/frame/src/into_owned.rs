//! The trait of values that borrow from a frame and can be made independent of it.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
#[cfg(feature = "std")]
use std::collections::HashMap;

use crate::agent::AgentId;
use crate::value::{Decimal, Map, Number, Value};

/// A value that can stop borrowing from the text that it was read from, so that it can cross
/// threads or outlive the frame.
///
/// `#[derive(AccpFrame)]` implements the trait. A type of your own that holds the lifetime of the
/// frame implements it by hand.
///
/// ```
/// use accp_runtime::profiles::ScheduleReq;
/// use accp_runtime::{DecodeError, Typed};
///
/// fn read(text: &str) -> Result<Typed<'static, ScheduleReq<'static>>, DecodeError> {
///     Typed::<ScheduleReq>::decode(text).map(Typed::into_owned)
/// }
///
/// let typed = read(&String::from("@planner>req:schedule{asgn:dev|task:impl_auth|schema:TA}"))?;
/// let task = std::thread::spawn(move || typed.frame.task);
/// assert_eq!(task.join().unwrap(), "impl_auth");
/// # Ok::<(), DecodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` borrows from a frame, and nothing makes it owned",
    label = "expected a type that is `IntoOwned`",
    note = "derive `AccpFrame` for it, or implement `accp_runtime::IntoOwned`: its `Owned` is the same type \
            with the lifetime `'static`"
)]
pub trait IntoOwned {
    /// The same type without borrowed parts.
    type Owned: 'static;

    /// Returns the same value, owned. Only borrowed parts are copied.
    fn into_owned(self) -> Self::Owned;
}

macro_rules! borrowed {
    ($($ty:ident)*) => {$(
        impl crate::into_owned::IntoOwned for $ty<'_> {
            type Owned = $ty<'static>;

            fn into_owned(self) -> $ty<'static> {
                $ty::into_owned(self)
            }
        }
    )*};
}

borrowed!(AgentId Map Value);

impl IntoOwned for Cow<'_, str> {
    type Owned = Cow<'static, str>;

    fn into_owned(self) -> Cow<'static, str> {
        Cow::Owned(Cow::into_owned(self))
    }
}

impl IntoOwned for Cow<'_, [u8]> {
    type Owned = Cow<'static, [u8]>;

    fn into_owned(self) -> Cow<'static, [u8]> {
        Cow::Owned(Cow::into_owned(self))
    }
}

/// Implements the trait for types that never borrow.
macro_rules! own {
    ($($ty:ty),* $(,)?) => {$(
        impl crate::into_owned::IntoOwned for $ty {
            type Owned = Self;

            #[inline]
            fn into_owned(self) -> Self {
                self
            }
        }
    )*};
}

pub(crate) use own;

own! {
    String, bool, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, f64, Decimal, Number,
    Box<str>,
}

impl<T: IntoOwned> IntoOwned for Option<T> {
    type Owned = Option<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.map(T::into_owned)
    }
}

impl<T: IntoOwned, E: IntoOwned> IntoOwned for Result<T, E> {
    type Owned = Result<T::Owned, E::Owned>;

    fn into_owned(self) -> Self::Owned {
        match self {
            Ok(value) => Ok(value.into_owned()),
            Err(error) => Err(error.into_owned()),
        }
    }
}

impl<T: IntoOwned> IntoOwned for Box<T> {
    type Owned = Box<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        Box::new((*self).into_owned())
    }
}

impl<S: IntoOwned, T: IntoOwned> IntoOwned for (S, T) {
    type Owned = (S::Owned, T::Owned);

    fn into_owned(self) -> Self::Owned {
        (self.0.into_owned(), self.1.into_owned())
    }
}

impl<T: IntoOwned + ?Sized> IntoOwned for PhantomData<T> {
    type Owned = PhantomData<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        PhantomData
    }
}

impl<T: IntoOwned> IntoOwned for Vec<T> {
    type Owned = Vec<T::Owned>;

    fn into_owned(self) -> Self::Owned {
        self.into_iter().map(T::into_owned).collect()
    }
}

impl<S: IntoOwned<Owned: Ord>, T: IntoOwned> IntoOwned for BTreeMap<S, T> {
    type Owned = BTreeMap<S::Owned, T::Owned>;

    fn into_owned(self) -> Self::Owned {
        let own = |(key, value): (S, T)| (key.into_owned(), value.into_owned());
        self.into_iter().map(own).collect()
    }
}

#[cfg(feature = "std")]
impl<N, T, H> IntoOwned for HashMap<N, T, H>
where
    N: IntoOwned<Owned: Eq + Hash>,
    T: IntoOwned,
    H: BuildHasher + Default + 'static,
{
    type Owned = HashMap<N::Owned, T::Owned, H>;

    fn into_owned(self) -> Self::Owned {
        let own = |(key, value): (N, T)| (key.into_owned(), value.into_owned());
        self.into_iter().map(own).collect()
    }
}
