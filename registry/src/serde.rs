//! `Serialize` and `Deserialize` for [`Decimal`].

use alloc::string::{String, ToString as _};
use core::fmt;

use ::serde::de::{self, Visitor};
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::decimal::{Decimal, DecimalError};
use crate::lexical;

impl Serialize for Decimal {
    /// Writes a number if a float has the same spelling, and otherwise the spelling as a string, so that nothing is
    /// rounded. A format that is not for people always gets the string.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (text, float) = (self.to_string(), self.to_f64());
        let mut spelt = String::new();
        lexical::write_float(&mut spelt, float);
        if serializer.is_human_readable() && spelt == text {
            serializer.serialize_f64(float)
        } else {
            serializer.serialize_str(&text)
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    /// Reads a number or a text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_any(Spelling)
        } else {
            deserializer.deserialize_str(Spelling)
        }
    }
}

/// Reads a decimal from a number or from a text.
struct Spelling;

impl Visitor<'_> for Spelling {
    type Value = Decimal;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a decimal of at most 6 places, as a number or a text")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Decimal, E> {
        Ok(Decimal::from(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Decimal, E> {
        let value = i64::try_from(value).map_err(|_| E::custom(DecimalError::Range))?;
        Ok(Decimal::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Decimal, E> {
        let mut text = String::new();
        lexical::write_float(&mut text, value);
        // `write_float` puts a mark before a float that is not spelt like a decimal.
        self.visit_str(text.trim_start_matches(char::from(lexical::NUMBER_MARK)))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Decimal, E> {
        Decimal::parse(text).map_err(|error| E::custom(format_args!("`{text}`: {error}")))
    }
}
