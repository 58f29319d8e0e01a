//! Types that own what they hold, read from any text: `AgentId<'static>` in a struct without a
//! lifetime. Each is read as its borrowing twin is, and then keeps a copy.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::hash::{BuildHasher, Hash};
#[cfg(feature = "std")]
use std::collections::HashMap;

use super::{Decoded, decode_entries, decode_list};
use crate::typed::DecodeValue;
use crate::{AgentId, Map, Reader, Value, kind};

macro_rules! owned {
    ($($kind:ty => $of:ty: $($ty:ident)*;)*) => {$($(
        impl<'a> DecodeValue<'a, $kind> for $ty<'static> {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                <$ty<'a> as DecodeValue<'a, $of>>::decode_value(r).map($ty::into_owned)
            }
        }
    )*)*};
}

owned! {
    kind::Owned<kind::Agent> => kind::Agent: AgentId;
    kind::Owned<kind::String> => kind::String: AgentId;
    kind::Owned<kind::Any> => kind::Any: Value Map;
    kind::Map<kind::Owned<kind::Any>> => kind::Map<kind::Any>: Map;
}

macro_rules! owned_text {
    ($($kind:ident)*) => {$(
        impl<'a> DecodeValue<'a, kind::Owned<kind::$kind>> for Cow<'static, str> {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                <Cow<'a, str> as DecodeValue<'a, kind::$kind>>::decode_value(r)
                    .map(|text| Cow::Owned(text.into_owned()))
            }
        }
    )*};
}

owned_text!(String Text Any Agent);

impl<'a, T: DecodeValue<'a, kind::Owned<kind::Any>>> DecodeValue<'a, kind::Owned<kind::Any>>
    for Vec<T>
{
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        decode_list(r, T::decode_value)
    }
}

/// Returns a key that borrows nothing.
fn owned_key<S: From<Cow<'static, str>>>(key: Cow<'_, str>) -> S {
    Cow::<'static, str>::Owned(key.into_owned()).into()
}

impl<'a, S, T> DecodeValue<'a, kind::Owned<kind::Any>> for BTreeMap<S, T>
where
    S: From<Cow<'static, str>> + Ord,
    T: DecodeValue<'a, kind::Owned<kind::Any>>,
{
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        decode_entries(
            r,
            Self::new(),
            |r, _| T::decode_value(r),
            |map, key, value| map.insert(owned_key(key), value).is_none(),
        )
    }
}

#[cfg(feature = "std")]
impl<'a, K, V, S> DecodeValue<'a, kind::Owned<kind::Any>> for HashMap<K, V, S>
where
    K: From<Cow<'static, str>> + Eq + Hash,
    V: DecodeValue<'a, kind::Owned<kind::Any>>,
    S: BuildHasher + Default,
{
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        decode_entries(
            r,
            Self::default(),
            |r, _| V::decode_value(r),
            |map, key, value| map.insert(owned_key(key), value).is_none(),
        )
    }
}
