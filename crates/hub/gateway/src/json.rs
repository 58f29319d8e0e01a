//! Reads JSON, and refuses an object with a repeated key, because readers differ in which value counts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json};

/// Reads a text.
///
/// # Errors
/// Why the text is not JSON, or which key is repeated.
pub(crate) fn read(text: &str) -> serde_json::Result<Json> {
    serde_json::from_str::<Unique>(text).map(|read| read.0)
}

struct Unique(Json);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element::<Unique>()? {
            all.push(item.0);
        }
        Ok(Json::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut all = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            if all.contains_key(&key) {
                return Err(A::Error::custom(format!("the member {key:?} stands twice")));
            }
            all.insert(key, members.next_value::<Unique>()?.0);
        }
        Ok(Json::Object(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_stands_once() {
        let text = r#"{"b":[1,-2,0.5,"x\n",true,null,{}],"a":{"b":1}}"#;
        assert_eq!(read(text).unwrap().to_string(), text);
        let error = read(r#"{"a":{"b":1,"b":1}}"#).unwrap_err().to_string();
        assert!(
            error.starts_with("the member \"b\" stands twice"),
            "{error}"
        );
        assert!(read("{").is_err() && read("").is_err());
        assert!(read(&"[".repeat(1 << 20)).is_err());
    }
}
