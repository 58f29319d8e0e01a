//! `Serialize` and `Deserialize` for the types of fields (feature `serde`), so that a user can derive both for a
//! struct of frames. Values have the form of [`Value::to_json`].
//!
//! [`Decimal`](crate::Decimal) has its impls in accp-registry.

use alloc::string::String;

use ::serde::de::Error as _;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

use crate::agent::AgentId;
use crate::value::{Map, Value};

impl Serialize for AgentId<'_> {
    /// Writes the name.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for AgentId<'_> {
    /// Reads a name, and refuses a text that is not an agent id.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AgentId::new(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Value<'_> {
    /// Writes what [`Value::to_json`] returns.
    ///
    /// ```
    /// use accp_runtime::Value;
    ///
    /// let value: Value = serde_json::from_str(r#"{"src":{"$ref":"cold.k1"},"max":5}"#)?;
    /// assert_eq!(value.to_string(), "{max:5,src:$cold.k1}");
    /// assert_eq!(serde_json::to_value(&value)?, value.to_json());
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Value<'_> {
    /// Reads what [`Value::from_json`] takes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Value::from_json(&Json::deserialize(deserializer)?).into_owned())
    }
}

impl Serialize for Map<'_> {
    /// Writes an object, as [`Value::to_json`] does.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Map<'_> {
    /// Reads an object, and refuses an object that stands for a reference.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Map(map) => Ok(map),
            other => {
                let found = alloc::format!("expected a map, found {}", other.kind());
                Err(D::Error::custom(found))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::Decimal;

    #[test]
    fn what_cannot_be_is_refused() {
        let agent = serde_json::from_str::<AgentId<'_>>(r#""dev team""#).unwrap_err();
        insta::assert_snapshot!(agent, @"`dev team` is not an agent id: letters, digits, '-' and '_' only");
        let map = serde_json::from_str::<Map<'_>>(r#"{"$ref":"cold.k1"}"#).unwrap_err();
        insta::assert_snapshot!(map, @"expected a map, found a reference");
        let decimal = serde_json::from_str::<Decimal>("0.1234567").unwrap_err();
        insta::assert_snapshot!(decimal, @"`0.1234567`: a decimal has at most 6 places at line 1 column 9");
    }

    #[test]
    fn a_map_that_looks_like_a_reference_comes_back() {
        let map: Map<'_> = [("$ref", Value::from("cold.k1"))].into_iter().collect();
        let json = serde_json::to_string(&map).unwrap();
        assert_eq!(json, r#"{"$$ref":"cold.k1"}"#);
        assert_eq!(serde_json::from_str::<Map<'_>>(&json).unwrap(), map);
    }

    proptest! {
        /// No decimal may be rounded, whatever JSON does with numbers.
        #[test]
        fn decimals_come_back(whole in any::<i64>(), millionths in 0..1_000_000_i128) {
            let sign = if whole < 0 { -1 } else { 1 };
            let all = i128::from(whole) * 1_000_000 + sign * millionths;
            for value in [all, all % 100_000_000_000] {
                let value = Decimal::from_millionths(value).unwrap();
                let json = serde_json::to_string(&value).unwrap();
                prop_assert_eq!(serde_json::from_str::<Decimal>(&json).unwrap(), value);
            }
        }
    }
}
