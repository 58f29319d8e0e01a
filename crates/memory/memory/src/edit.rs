//! Changes of a JSON text that leave the values around them as they were written.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::Value as Json;
use serde_json::value::RawValue;

use crate::raw::{Pointer, replaced};

/// One edit of a JSON text. The pointer names the value, object or array that the edit changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Edit {
    /// Sets another value at this place.
    Set(Pointer, String),
    /// Adds a member to this object.
    Put(Pointer, &'static str, String),
    /// Removes the member with this name from this object.
    Remove(Pointer, &'static str),
    /// Removes the item with this index from this array.
    Drop(Pointer, usize),
    /// Inserts an item before the item with this index in this array.
    Insert(Pointer, usize, String),
}

impl Edit {
    pub(crate) fn set(place: Pointer, value: &Json) -> Self {
        Self::Set(place, value.to_string())
    }

    /// Returns whether the edit moves items of an array.
    fn moves(&self) -> bool {
        matches!(self, Self::Drop(..) | Self::Insert(..))
    }

    /// Returns the text with the change; `None` if the place is not there.
    fn applied(&self, text: &str) -> Option<String> {
        let (place, new) = match self {
            Self::Set(place, value) => (place, value.clone()),
            Self::Put(place, key, value) => {
                let object = &text[place.range(text)?];
                let start = object.strip_suffix('}')?;
                let comma = if members(object)?.is_empty() { "" } else { "," };
                (place, format!("{start}{comma}\"{key}\":{value}}}"))
            }
            Self::Remove(place, name) => {
                let all = members(&text[place.range(text)?])?;
                let kept = all.iter().filter(|(key, _)| key != name);
                let kept = kept.map(|(key, raw)| format!("{}:{}", Json::from(&**key), raw.get()));
                (place, format!("{{{}}}", kept.collect::<Vec<_>>().join(",")))
            }
            Self::Drop(place, index) => {
                let mut all = items(&text[place.range(text)?])?;
                if *index >= all.len() {
                    return None;
                }
                all.remove(*index);
                (place, format!("[{}]", all.join(",")))
            }
            Self::Insert(place, index, item) => {
                let mut all = items(&text[place.range(text)?])?;
                all.insert((*index).min(all.len()), item);
                (place, format!("[{}]", all.join(",")))
            }
        };
        replaced(text, &[(place.clone(), new)])
    }
}

/// Returns the text with all edits. Edits that move items come last, and of these the last items come first, so that
/// the places of the other edits stay right. An edit is skipped if its place does not exist, or no longer exists.
pub(crate) fn edited(text: &str, edits: &[Edit]) -> String {
    let mut text = text.to_owned();
    for edit in edits.iter().filter(|edit| !edit.moves()) {
        text = edit.applied(&text).unwrap_or(text);
    }
    let mut moving: Vec<_> = edits.iter().filter(|edit| edit.moves()).collect();
    moving.sort_by_key(|edit| match edit {
        Edit::Drop(place, index) | Edit::Insert(place, index, _) => Some((place.clone(), *index)),
        _ => None,
    });
    // Two flaws may have the same cure, which drops an item. The item is dropped only once.
    moving.dedup_by(|a, b| a == b && matches!(a, Edit::Drop(..)));
    for edit in moving.iter().rev() {
        text = edit.applied(&text).unwrap_or(text);
    }
    text
}

fn items(array: &str) -> Option<Vec<&str>> {
    let items: Vec<&RawValue> = serde_json::from_str(array).ok()?;
    Some(items.into_iter().map(RawValue::get).collect())
}

/// Returns the members of an object in their order.
fn members(object: &str) -> Option<Vec<(String, &RawValue)>> {
    let mut reader = serde_json::Deserializer::from_str(object);
    reader.deserialize_map(Members).ok()
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_edit_does_not_name_stays_to_the_byte() {
        let text = r#"{ "a" : 1.50, "b": [ 1e2 , {"c":"\u0041", "d":2}, 3 ], "e":{} }"#;
        let b = Pointer::of(["b".into()]);
        let edits = [
            Edit::Drop(b.clone(), 0),
            Edit::Insert(b.clone(), 2, "7".into()),
            Edit::Remove(b.inside(1), "d"),
            Edit::Put(Pointer::of(["e".into()]), "f", "true".into()),
            Edit::Put(b.inside(1), "g", "null".into()),
        ];
        assert_eq!(
            edited(text, &edits),
            r#"{ "a" : 1.50, "b": [{"c":"\u0041","g":null},7,3], "e":{"f":true} }"#
        );
        let nowhere = [
            Edit::Drop(b.clone(), 3),
            Edit::Remove(b, "d"),
            Edit::Set(Pointer::of(["x".into()]), "1".into()),
        ];
        for edit in nowhere {
            assert_eq!(edited(text, &[edit]), text);
        }
    }
}
