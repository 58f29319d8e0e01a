//! Lists and maps: with a declared item type, without a declared type, and dynamic ones.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::hash::{BuildHasher, Hash};
#[cfg(feature = "std")]
use std::collections::HashMap;

use accp_registry::{ErrorCode, lexical};

use super::{Decoded, Encoded, wrong};
use crate::error::DecodeError;
use crate::kind::{self, OfItem};
use crate::reader::{Reader, Token};
use crate::typed::DecodeValue;
use crate::value::{Map, Number, Value, no_ref_key};
use crate::writer::{Absent, EncodeValue, Writer};

/// Implements lists and maps with a declared item type, and those without a declared type.
macro_rules! containers {
    ($([$($item:ident)?] $list:ty, $map:ty => $of:ty;)*) => {$(
        impl<$($item: OfItem,)? T: EncodeValue<$of>> EncodeValue<$list> for [T] {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                w.array(self)
            }
        }

        impl<$($item: OfItem,)? T: EncodeValue<$of>> EncodeValue<$list> for Vec<T> {
            #[inline]
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                w.array(self)
            }
        }

        impl<'a, $($item: OfItem,)? T: DecodeValue<'a, $of>> DecodeValue<'a, $list> for Vec<T> {
            #[inline]
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                decode_list(r, decode_item)
            }
        }

        impl<$($item: OfItem,)? S: AsRef<str>, T: EncodeValue<$of>> EncodeValue<$map> for BTreeMap<S, T> {
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                encode_items(w, self.iter().map(|(key, value)| (key.as_ref(), value)))
            }
        }

        impl<'a, $($item: OfItem,)? S, T> DecodeValue<'a, $map> for BTreeMap<S, T>
        where
            S: From<Cow<'a, str>> + Ord,
            T: DecodeValue<'a, $of>,
        {
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                decode_entries(r, Self::new(), |r, _| decode_item(r), |map, key, value| {
                    map.insert(key.into(), value).is_none()
                })
            }
        }

        /// Ascending by key, so that one map has one text.
        #[cfg(feature = "std")]
        impl<$($item: OfItem,)? S: AsRef<str>, T: EncodeValue<$of>, H> EncodeValue<$map> for HashMap<S, T, H> {
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                let mut entries: Vec<_> = self.iter().map(|(key, value)| (key.as_ref(), value)).collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                encode_items(w, entries.iter().copied())
            }
        }

        #[cfg(feature = "std")]
        impl<'a, $($item: OfItem,)? S, T, H> DecodeValue<'a, $map> for HashMap<S, T, H>
        where
            S: From<Cow<'a, str>> + Eq + Hash,
            T: DecodeValue<'a, $of>,
            H: BuildHasher + Default,
        {
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                decode_entries(r, Self::default(), |r, _| decode_item(r), |map, key, value| {
                    map.insert(key.into(), value).is_none()
                })
            }
        }
    )*};
}

containers! {
    [K] kind::List<K>, kind::Map<K> => K;
    [] kind::Any, kind::Any => kind::Any;
}

/// Reads an item of a list or of a map: a null only if it is a value of `K`.
#[expect(
    clippy::inline_always,
    reason = "a call for each item costs more than the test for a null"
)]
#[inline(always)]
fn decode_item<'a, K: OfItem, T: DecodeValue<'a, K>>(r: &mut Reader<'a>) -> Decoded<T> {
    if !K::HOLDS_NULL && r.is_null() {
        return Err(no_item::<K, T>(r));
    }
    T::decode_value(r)
}

/// Refuses a null. If the type refuses a null itself, its own error is returned.
#[cold]
#[inline(never)]
fn no_item<'a, K, T: DecodeValue<'a, K>>(r: &mut Reader<'a>) -> DecodeError {
    let at = r.at();
    match T::decode_value(r) {
        Ok(_) => DecodeError::new(ErrorCode::INVALID_TYPE, at, "a value; null is none"),
        Err(error) => error,
    }
}

/// Reads an array; `read` reads each element.
#[inline]
pub(crate) fn decode_list<'a, T>(
    r: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>) -> Decoded<T>,
) -> Decoded<Vec<T>> {
    if !r.array()? {
        return no_array(r);
    }
    if !r.element(0)? {
        return Ok(Vec::new());
    }
    // The first push would reserve the same capacity. Reserving it here saves a call to the code
    // that grows a `Vec`.
    let mut items = Vec::with_capacity(4);
    loop {
        items.push(read(r).map_err(|error| error.within_index(items.len()))?);
        if !r.element(items.len())? {
            return Ok(items);
        }
    }
}

/// Refuses a value that is not an array.
#[cold]
fn no_array<T>(r: &mut Reader<'_>) -> Decoded<T> {
    let at = r.at();
    r.token().and_then(|token| wrong(at, token, "an array"))
}

/// Appends a map: plain, or as pairs when a key does not fit the production `key`. Each entry is a key, a value, and
/// the meaning of an absent value.
pub(crate) fn encode_entries<'m, K, T: EncodeValue<K> + 'm>(
    w: &mut Writer<'_, '_>,
    mut entries: impl Iterator<Item = (&'m str, &'m T, Absent<'m>)> + Clone,
) -> Encoded {
    let mut keys = entries.clone().map(|(key, ..)| key);
    let lone_underscore = keys.next() == Some("_") && keys.next().is_none();
    let plain = !lone_underscore && entries.clone().all(|(key, ..)| lexical::is_key(key));
    w.map(|w, map| {
        if plain {
            return entries
                .try_for_each(|(key, value, absent)| w.entry(map, key, key, value, absent));
        }
        let pairs = entries.map(|(key, value, absent)| Pair {
            key,
            value,
            must: absent == Absent::Fault,
        });
        let pairs: Vec<_> = pairs.collect();
        w.entry::<PairKind<K>, _>(map, "_", "_", pairs.as_slice(), Absent::Nothing)
    })
}

/// Appends a map of items, which are null only if null is a value of `K`.
pub(crate) fn encode_items<'m, K: OfItem, T: EncodeValue<K> + 'm>(
    w: &mut Writer<'_, '_>,
    items: impl Iterator<Item = (&'m str, &'m T)> + Clone,
) -> Encoded {
    let absent = Absent::of_item(K::HOLDS_NULL);
    encode_entries(w, items.map(|(key, value)| (key, value, absent)))
}

/// `[k,v]`
#[derive(Debug)]
pub(crate) struct Pair<'m, T> {
    pub(crate) key: &'m str,
    pub(crate) value: &'m T,
    /// Whether the value is never null.
    pub(crate) must: bool,
}

/// The kind of a [`Pair`] and of a list of [`Pair`]s, with values of kind `K`.
pub(crate) struct PairKind<K>(core::marker::PhantomData<K>);

impl<K> OfItem for PairKind<K> {}

impl<K, T: EncodeValue<K>> EncodeValue<PairKind<K>> for [Pair<'_, T>] {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.array::<PairKind<K>, _>(self)
    }
}

impl<K, T: EncodeValue<K>> EncodeValue<PairKind<K>> for Pair<'_, T> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        w.pair(self.key, self.value, self.must)
            .map_err(|error| error.within(String::from(self.key)))
    }
}

/// Reads a map, plain or as pairs; `read` reads each value. `insert` returns whether the key is
/// new.
pub(crate) fn decode_entries<'a, T, M>(
    r: &mut Reader<'a>,
    mut map: M,
    mut read: impl FnMut(&mut Reader<'a>, &str) -> Decoded<T>,
    mut insert: impl FnMut(&mut M, Cow<'a, str>, T) -> bool,
) -> Decoded<M> {
    let at = r.at();
    match r.token()? {
        Token::Map => {}
        token => return wrong(at, token, "a map"),
    }
    let mut add = |map: &mut M, at: usize, key: Cow<'a, str>, r: &mut Reader<'a>| {
        let value = read(r, &key).map_err(|error| error.within(key.clone().into_owned()))?;
        if insert(map, key, value) {
            return Ok(());
        }
        Err(DecodeError::new(
            ErrorCode::PARSE_ERROR,
            at,
            "every key once in a map",
        ))
    };
    let mut entries = 0;
    loop {
        let at = r.at();
        let Some(key) = r.entry(entries)? else {
            return Ok(map);
        };
        if key == "_" && entries == 0 && at_pairs(r) {
            r.token()?;
            let mut pairs = 0;
            while r.element(pairs)? {
                let at = r.at();
                r.token()?;
                r.element(0)?;
                let key = <Cow<'a, str> as DecodeValue<'a, kind::Any>>::decode_value(r)?;
                r.element(1)?;
                add(&mut map, at, key, r)?;
                r.element(2)?;
                pairs += 1;
            }
        } else {
            add(&mut map, at, Cow::Borrowed(key), r)?;
        }
        entries += 1;
    }
}

/// Returns whether a map is in the pairs form: `[[k,v],..]` with texts as keys, and nothing after it. The reader has
/// just read the key `_` of this map. The values of the pairs only have to fit the grammar, because whoever reads them
/// says best what is wrong with them.
pub(crate) fn at_pairs(r: &Reader<'_>) -> bool {
    let mut ahead = r.clone();
    r.options().marks && matches!(skip_pairs(&mut ahead), Ok(true)) && ahead.peek() == Some(b'}')
}

/// Skips a list of pairs. Returns false where something else stands.
fn skip_pairs(r: &mut Reader<'_>) -> Decoded<bool> {
    if !r.array()? {
        return Ok(false);
    }
    let mut pairs = 0;
    while r.element(pairs)? {
        let has_key = r.array()? && r.element(0)? && matches!(Value::read(r)?, Value::String(_));
        if !has_key || !r.element(1)? {
            return Ok(false);
        }
        r.skip_value()?;
        if r.element(2)? {
            return Ok(false);
        }
        pairs += 1;
    }
    Ok(pairs > 0)
}

macro_rules! dynamic_maps {
    ($($kind:ty),*) => {$(
        impl EncodeValue<$kind> for Map<'_> {
            fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
                encode_items::<kind::Any, Value<'_>>(w, self.iter())
            }
        }

        impl<'a> DecodeValue<'a, $kind> for Map<'a> {
            fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
                let at = r.at();
                match r.token()? {
                    Token::Map => Map::read_entries(r),
                    token => wrong(at, token, "a map"),
                }
            }
        }
    )*};
}

dynamic_maps!(kind::Map<kind::Any>, kind::Any);

impl EncodeValue<kind::Any> for Value<'_> {
    fn encode_value(&self, w: &mut Writer<'_, '_>) -> Encoded {
        match self {
            Value::String(text) => EncodeValue::<kind::Any>::encode_value(text, w),
            Value::Array(items) => EncodeValue::<kind::Any>::encode_value(items, w),
            Value::Map(map) => EncodeValue::<kind::Any>::encode_value(map, w),
            Value::Ref(key) if !lexical::is_ref_key(key) => Err(no_ref_key(self)),
            Value::Number(Number::Float(float)) if !float.is_finite() => {
                EncodeValue::<kind::Number>::encode_value(float, w)
            }
            Value::Number(number) => {
                let mut text = String::new();
                number.write(&mut text);
                w.scalar(&text, self)
            }
            scalar => {
                scalar.write(w.out());
                Ok(())
            }
        }
    }
}

impl<'a> DecodeValue<'a, kind::Any> for Value<'a> {
    #[inline]
    fn decode_value(r: &mut Reader<'a>) -> Decoded<Self> {
        Value::read(r)
    }
}
