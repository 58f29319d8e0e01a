//! What stands in the prompt already, as a reference to it.

use alloc::string::{String, ToString as _};

use super::View;
use super::facts::named;
use super::prompt::Hot;
use crate::{Map, Message, Value};

/// Shorter values are as short as a reference.
const LEAST: usize = 40;

/// The message with references in place of what messages that are shown hold already: of a
/// value that was said before its place, of a record that was said before what is another now
/// and, under `was`, the place of the rest. `None` if nothing in it was said before.
pub(super) fn without(view: &View, message: &Message<'_>, hot: &[Hot]) -> Option<Message<'static>> {
    let mut shorter = message.clone().into_owned();
    let mut is_other = false;
    if message.schema.is_some()
        && let Some(rest) = rest(view, &message.payload, hot)
    {
        shorter.schema = None;
        shorter.payload = rest;
        return Some(shorter);
    }
    for (name, value) in message.payload.iter() {
        let shown = same(value, hot).or_else(|| match value {
            Value::Map(map) => rest(view, map, hot).map(Value::Map),
            _ => None,
        });
        if let Some(shown) = shown {
            shorter.payload.insert(String::from(name), shown);
            is_other = true;
        }
    }
    is_other.then_some(shorter)
}

/// Where the value stands.
fn same(value: &Value<'_>, hot: &[Hot]) -> Option<Value<'static>> {
    if value.to_string().len() < LEAST {
        return None;
    }
    hot.iter().rev().find_map(|hot| {
        let mut params = hot.message.payload.iter();
        let (name, _) = params.find(|(_, other)| *other == value)?;
        Some(reference(hot, Some(name)))
    })
}

/// What is another in a record of which an earlier state is shown.
fn rest(view: &View, map: &Map<'_>, hot: &[Hot]) -> Option<Map<'static>> {
    let name = |map: &Map<'_>| {
        let (schema, _, name) = named(view.registry(), map)?;
        Some((schema.code.clone(), name))
    };
    let name_of_this = name(map)?;
    let (before, place) = hot.iter().rev().find_map(|hot| {
        let payload = &hot.message.payload;
        let records = payload.iter().filter_map(|(key, value)| match value {
            Value::Map(map) => Some((map, Some(key))),
            _ => None,
        });
        let mut records = records.chain([(payload, None)]);
        let (before, key) =
            records.find(|(before, _)| name(before).as_ref() == Some(&name_of_this))?;
        Some((before, reference(hot, key)))
    })?;
    let mut rest: Map<'static> = [(String::from("was"), place)].into_iter().collect();
    let others = map
        .iter()
        .filter(|(key, value)| before.get(key) != Some(value));
    for (key, value) in others {
        rest.insert(String::from(key), value.clone().into_owned());
    }
    for (key, _) in before.iter().filter(|(key, _)| map.get(key).is_none()) {
        rest.insert(String::from(key), Value::Null);
    }
    // Of a record that has little in common with what it was the whole is easier to read.
    (2 * rest.len() <= map.len() && map.get("was").is_none()).then_some(rest)
}

fn reference(hot: &Hot, param: Option<&str>) -> Value<'static> {
    let mut path = alloc::format!("cold.p{}", hot.part.position);
    if let Some(param) = param {
        path.push('.');
        path.push_str(param);
    }
    Value::Ref(path.into())
}
