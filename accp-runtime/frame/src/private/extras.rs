//! The params of a frame that belong to no field.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::hash::{BuildHasher, Hash};
#[cfg(feature = "std")]
use std::collections::HashMap;

use accp_registry::{ErrorCode, abbreviate, expand, lexical};

use super::skip;
use crate::dynamic::twice;
use crate::error::{DecodeError, EncodeError};
use crate::impls::{Pair, PairKind};
use crate::kind;
use crate::reader::Reader;
use crate::typed::DecodeValue;
use crate::value::{Map, Value, are_others};
use crate::writer::{Absent, EncodeValue, Writer};

/// A map that takes the params that belong to no field.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot take the params of a `flatten` field",
    label = "expected `Map`, or a `BTreeMap` or `HashMap` from texts to values"
)]
pub trait Extras<'a>: Default {
    /// The type of its values.
    type Item;
    /// Puts the value of a key; returns false when the key is already present.
    fn put(&mut self, key: Cow<'a, str>, value: Self::Item) -> bool;
    /// Reads the value of a key; returns false when the key is already present.
    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError>;
}

/// A map that gives the params that belong to no field, for writing.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot give the params of a `flatten` field",
    label = "expected `Map`, or a `BTreeMap` or `HashMap` from texts to values"
)]
pub trait GiveExtras {
    /// The type of its values.
    type Item: EncodeValue<kind::Any>;
    /// Returns every key with its value.
    fn give(&self) -> impl Iterator<Item = (&str, &Self::Item)>;
}

impl<'a> Extras<'a> for Map<'a> {
    type Item = Value<'a>;

    fn put(&mut self, key: Cow<'a, str>, value: Value<'a>) -> bool {
        self.insert(key, value).is_none()
    }

    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.put(key, Value::read(r)?))
    }
}

impl<'a> GiveExtras for Map<'a> {
    type Item = Value<'a>;

    fn give(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.iter()
    }
}

impl<'a, S, V> Extras<'a> for BTreeMap<S, V>
where
    S: From<Cow<'a, str>> + Ord,
    V: DecodeValue<'a, kind::Any>,
{
    type Item = V;

    fn put(&mut self, key: Cow<'a, str>, value: V) -> bool {
        self.insert(key.into(), value).is_none()
    }

    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.put(key, V::decode_value(r)?))
    }
}

impl<S: AsRef<str>, V: EncodeValue<kind::Any>> GiveExtras for BTreeMap<S, V> {
    type Item = V;

    fn give(&self) -> impl Iterator<Item = (&str, &V)> {
        self.iter().map(|(key, value)| (key.as_ref(), value))
    }
}

#[cfg(feature = "std")]
impl<'a, N, V, H> Extras<'a> for HashMap<N, V, H>
where
    N: From<Cow<'a, str>> + Eq + Hash,
    V: DecodeValue<'a, kind::Any>,
    H: BuildHasher + Default,
{
    type Item = V;

    fn put(&mut self, key: Cow<'a, str>, value: V) -> bool {
        self.insert(key.into(), value).is_none()
    }

    fn take(&mut self, key: Cow<'a, str>, r: &mut Reader<'a>) -> Result<bool, DecodeError> {
        Ok(self.put(key, V::decode_value(r)?))
    }
}

#[cfg(feature = "std")]
impl<N: AsRef<str>, V: EncodeValue<kind::Any>, H> GiveExtras for HashMap<N, V, H> {
    type Item = V;

    fn give(&self) -> impl Iterator<Item = (&str, &V)> {
        self.iter().map(|(key, value)| (key.as_ref(), value))
    }
}

/// Reads a param that belongs to no field, under its full name. `known` holds every key that has a meaning in the
/// schema, even the keys of fields that the struct does not have. The value of such a key is skipped.
pub fn extra<'a, T: Extras<'a>>(
    r: &mut Reader<'a>,
    extras: &mut T,
    key: &'a str,
    known: &[&str],
) -> Result<(), DecodeError> {
    if known.contains(&key) {
        return skip(r);
    }
    let at = r.at();
    if key == "_" && is_pairs_ahead(r) {
        return extra_pairs(r, extras);
    }
    let name = expand(key)
        .filter(|full| !known.contains(full))
        .unwrap_or(key);
    match extras.take(Cow::Borrowed(name), r) {
        Ok(true) => Ok(()),
        Ok(false) => Err(twice(name, at)),
        Err(error) => Err(error.within(String::from(name))),
    }
}

/// Reads a field of the schema that the struct does not have, as the type that the schema declares. The schema does not
/// require the field. So if the values of the map cannot hold a null, a null is left out, as if the field were absent.
pub fn extra_field<'a, K, T: Extras<'a>>(
    r: &mut Reader<'a>,
    extras: &mut T,
    name: &'static str,
) -> Result<(), DecodeError>
where
    T::Item: DecodeValue<'a, K>,
{
    let at = r.at();
    let value = match T::Item::decode_value(r) {
        Ok(value) => value,
        Err(_) if r.take_refused_null(at) => return Ok(()),
        Err(error) => return Err(error.within(String::from(name))),
    };
    if extras.put(Cow::Borrowed(name), value) {
        Ok(())
    } else {
        Err(twice(name, at))
    }
}

/// Returns whether the next value holds the entries whose keys do not fit the grammar.
fn is_pairs_ahead(r: &Reader<'_>) -> bool {
    let mut ahead = r.clone();
    r.options().marks
        && matches!(Value::read(&mut ahead), Ok(Value::Array(items)) if are_others(&items))
}

fn extra_pairs<'a, T: Extras<'a>>(r: &mut Reader<'a>, extras: &mut T) -> Result<(), DecodeError> {
    r.token()?;
    let mut read = 0;
    while r.element(read)? {
        r.token()?;
        r.element(0)?;
        let key = <Cow<'a, str> as DecodeValue<'a, kind::Any>>::decode_value(r)?;
        r.element(1)?;
        let at = r.at();
        if !extras.take(key.clone(), r)? {
            return Err(twice(&key, at));
        }
        r.element(2)?;
        read += 1;
    }
    Ok(())
}

/// Writes the params of a `flatten` field in ascending order. Params whose keys do not fit the
/// grammar come last.
#[derive(Debug)]
pub struct ExtraWriter<'m, V> {
    /// The key on the wire, the name and the value of each param, descending by key. The writer takes the params from
    /// the end of this list.
    plain: Vec<(&'m str, &'m str, &'m V)>,
    odd: Vec<Pair<'m, V>>,
    /// The fields of the schema that the struct does not have.
    fields: Vec<(&'m str, &'m V)>,
}

/// Sorts the params for writing. `known` holds the keys of the struct's fields, which the params may not have. `loose`
/// holds the names of the schema's fields that the struct does not have.
pub fn extra_writer<'m, T: GiveExtras>(
    extras: &'m T,
    known: &[&str],
    loose: &[&str],
) -> Result<ExtraWriter<'m, T::Item>, EncodeError> {
    let (mut plain, mut odd, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for (name, value) in extras.give() {
        if loose.contains(&name) {
            fields.push((name, value));
            continue;
        }
        if name == "schema" || known.contains(&name) {
            let message = "this key belongs to a field, or is reserved";
            return Err(unfit_extra(name, message));
        }
        if lexical::is_key(name) && name != "_" {
            let short = abbreviate(name).filter(|short| !known.contains(short));
            plain.push((short.unwrap_or(name), name, value));
        } else {
            let must = false;
            odd.push(Pair {
                key: name,
                value,
                must,
            });
        }
    }
    plain.sort_by(|a, b| b.0.cmp(a.0));
    match plain.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(unfit_extra(
            pair[0].1,
            "it stands under its full and its short name",
        )),
        None => Ok(ExtraWriter { plain, odd, fields }),
    }
}

impl<V: EncodeValue<kind::Any>> ExtraWriter<'_, V> {
    /// Appends the field `name` of the schema, which the struct does not have, if the params have a value for it.
    pub fn field<K>(
        &self,
        w: &mut Writer<'_, '_>,
        name: &str,
        key: &str,
        absent: Absent<'_>,
        inline: bool,
    ) -> Result<(), EncodeError>
    where
        V: EncodeValue<K>,
    {
        let mut fields = self.fields.iter();
        match fields.find(|(other, _)| *other == name) {
            Some((_, value)) => w.field::<K, _>(name, key, *value, absent, inline),
            None => Ok(()),
        }
    }

    /// Appends the params that come before `key`.
    pub fn before(&mut self, w: &mut Writer<'_, '_>, key: &str) -> Result<(), EncodeError> {
        while let Some(&(short, name, value)) = self.plain.last().filter(|next| next.0 < key) {
            w.field::<kind::Any, _>(name, short, value, Absent::Nothing, false)?;
            self.plain.pop();
        }
        Ok(())
    }

    /// Appends the remaining params.
    pub fn rest(mut self, w: &mut Writer<'_, '_>) -> Result<(), EncodeError> {
        while let Some((short, name, value)) = self.plain.pop() {
            w.field::<kind::Any, _>(name, short, value, Absent::Nothing, false)?;
        }
        if self.odd.is_empty() {
            return Ok(());
        }
        w.field::<PairKind<kind::Any>, _>("_", "_", self.odd.as_slice(), Absent::Nothing, false)
    }
}

#[cold]
fn unfit_extra(name: &str, message: &str) -> EncodeError {
    EncodeError::new(ErrorCode::PARSE_ERROR, message).within(String::from(name))
}
