//! Numbers of JSON whose digits a float would change.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString as _};

use ::serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use accp_registry::Decimal;
use serde_json::Value as Json;
use serde_json::value::RawValue;

/// The key of an object that stands for a number: `{"$num": "12345678901234.123456"}`.
pub(crate) const NUMBER: &str = "$num";
/// A number with at most this many digits keeps them all in a 64-bit float.
const SAFE_DIGITS: usize = 15;

/// Returns the text of JSON, with `{"$num": "TEXT"}` in the place of each number that a parser would round, because
/// neither a 64-bit integer nor a 64-bit float holds its digits. [`Value::from_json`](crate::Value::from_json) reads
/// these objects, so nothing is rounded between the text and the frame.
///
/// The text need not be valid JSON: everything but numbers stays as it is.
///
/// ```
/// use accp_runtime::{Value, exact_numbers};
///
/// let text = exact_numbers(r#"{ "amount": 12345678901234.123456, "rate": 0.5 }"#);
/// assert_eq!(text, r#"{ "amount": {"$num":"12345678901234.123456"}, "rate": 0.5 }"#);
/// let json = serde_json::from_str(&text)?;
/// assert_eq!(Value::from_json(&json).to_string(), "{amount:12345678901234.123456,rate:0.5}");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn exact_numbers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut whole, mut end, mut at) = (String::new(), 0, 0);
    while let Some(byte) = bytes.get(at) {
        let start = at;
        match byte {
            b'"' => {
                at += 1;
                while let Some(byte) = bytes.get(at)
                    && *byte != b'"'
                {
                    at += if *byte == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let rest = bytes.get(start..).unwrap_or_default();
                let is_part =
                    |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                at += rest.iter().take_while(|byte| is_part(byte)).count();
                let number = text.get(start..at).unwrap_or_default();
                if is_rounded(number) {
                    whole.push_str(text.get(end..start).unwrap_or_default());
                    let spelt = Decimal::parse(number).map(|decimal| decimal.to_string());
                    let number = spelt.as_deref().unwrap_or(number);
                    for part in ["{\"", NUMBER, "\":\"", number, "\"}"] {
                        whole.push_str(part);
                    }
                    end = at;
                }
            }
            _ => at += 1,
        }
    }
    if end == 0 {
        return Cow::Borrowed(text);
    }
    whole.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(whole)
}

/// Returns whether a parser of JSON would round this number.
fn is_rounded(number: &str) -> bool {
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    if digits <= SAFE_DIGITS || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok() {
        return false;
    }
    let Some(float) = number.parse::<f64>().ok().filter(|float| float.is_finite()) else {
        return false;
    };
    let same = |text: &str| Digits::of(text) == Digits::of(number);
    // A float has two usual texts. The shortest text is what serde_json writes; if two texts are
    // equally near to the float, it chooses one of them. The text with 17 digits is what C programs
    // write.
    !same(&Json::from(float).to_string())
        && (Decimal::parse(number).is_ok() || !same(&format!("{float:.16e}")))
}

/// A number as its digits without zeros at the ends, and the power of ten of the last digit.
#[derive(PartialEq, Eq)]
struct Digits {
    negative: bool,
    all: String,
    power: i64,
}

impl Digits {
    fn of(number: &str) -> Option<Self> {
        let (mantissa, power) = match number.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
            None => (number, 0),
        };
        let (negative, plain) = match mantissa.strip_prefix('-') {
            Some(plain) => (true, plain),
            None => (false, mantissa),
        };
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - digits.len()).ok()?;
        let places = i64::try_from(fraction.len()).ok()?;
        let digits = digits.trim_start_matches('0');
        Some(Self {
            negative,
            all: digits.to_string(),
            power: if digits.is_empty() {
                0
            } else {
                power.checked_add(zeros - places)?
            },
        })
    }
}

/// If the JSON is an object `{"$num": "TEXT"}` that [`exact_numbers`] could have written, returns the number and its
/// text. The number is `None` if no value of a frame can hold it.
pub(crate) fn number(json: &Json) -> Option<(Option<Decimal>, &str)> {
    let object = json.as_object().filter(|object| object.len() == 1)?;
    let text = object.get(NUMBER)?.as_str()?;
    let decimal = decimal(text);
    let is_one = decimal.is_some() || is_rounded(text) && Decimal::parse(text).is_err();
    is_one.then_some((decimal, text))
}

/// Returns the decimal with exactly this spelling, if a 64-bit float would round it.
pub(crate) fn decimal(text: &str) -> Option<Decimal> {
    let decimal = Decimal::parse(text).ok()?;
    (is_rounded(text) && decimal.to_string() == text).then_some(decimal)
}

/// Returns the text of the first number in the JSON that no value of a frame can hold.
pub(crate) fn unholdable(json: &Json) -> Option<&str> {
    match json {
        Json::Array(items) => items.iter().find_map(unholdable),
        Json::Object(object) => match number(json) {
            Some((Some(_), _)) => None,
            Some((None, text)) => Some(text),
            None => object.values().find_map(unholdable),
        },
        _ => None,
    }
}

/// JSON that is serialized with plain numbers: each `{"$num": "TEXT"}` of
/// [`Value::to_exact_json`](crate::Value::to_exact_json) becomes the number itself.
///
/// ```
/// use accp_runtime::{Decimal, Exact, Value};
///
/// let value = Value::from(Decimal::parse("12345678901234.123456")?);
/// let json = value.to_exact_json();
/// assert_eq!(serde_json::to_string(&Exact(&json))?, "12345678901234.123456");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Exact<'j>(pub &'j Json);

impl Serialize for Exact<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some((Some(_), text)) = number(self.0) {
            let raw = RawValue::from_string(text.to_string());
            return raw
                .map_err(::serde::ser::Error::custom)?
                .serialize(serializer);
        }
        match self.0 {
            Json::Array(items) => {
                let mut seq = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(&Exact(item))?;
                }
                seq.end()
            }
            Json::Object(object) => {
                let mut map = serializer.serialize_map(Some(object.len()))?;
                for (key, value) in object {
                    map.serialize_entry(key, &Exact(value))?;
                }
                map.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamic_frame::DynamicFrame;
    use crate::value::Value;

    #[test]
    fn a_number_that_a_float_would_change_keeps_its_digits() {
        for kept in [
            "0.1",
            "-7",
            "1e300",
            "18446744073709551615",
            "0.10000000000000001",
            "1.5000000000000000000",
            "123456789012345680000",
            // This text and the one that ends with .3 are equally near to the same float.
            "1100715579375384.2",
            "2.2250738585072014e-308",
            "\"12345678901234.123456\"",
            r#""a\"12345678901234.123456""#,
        ] {
            assert_eq!(exact_numbers(kept), kept);
        }
        for (rounded, value) in [
            ("12345678901234.123456", "12345678901234.123456"),
            ("-9007199254740993.5", "-9007199254740993.5"),
            ("[1,9007199254740993.50]", "[1,9007199254740993.5]"),
        ] {
            let json: Json = serde_json::from_str(&exact_numbers(rounded)).unwrap();
            assert_eq!(Value::from_json(&json).to_string(), value);
            assert_eq!(Value::from_data(&json).to_string(), value);
            let back =
                serde_json::to_string(&Exact(&Value::from_json(&json).to_exact_json())).unwrap();
            assert_eq!(back, value);
        }
        // Data that looks like an exact number comes back unchanged.
        for text in ["1.5", "12345678901234.10", "x"] {
            let data = serde_json::json!({ "$num": text });
            assert_eq!(Value::from_json(&data).to_exact_json(), data);
        }
        // The error names a number that no value of a frame can hold.
        for number in [
            "1.0000000000000001",
            "123456789012345678901234567890",
            "1.2345678901234567891e3",
        ] {
            let text = format!(
                r#"{{"agent":"a","intent":"req","operation":"pay","payload":{{"amount":{number}}}}}"#
            );
            let json = serde_json::from_str(&exact_numbers(&text)).unwrap();
            let error = DynamicFrame::from_json(&json).unwrap_err().to_string();
            assert!(
                error.contains(number) && error.contains("amount"),
                "{error}"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn floats_and_integers_are_left_alone(float: f64, integer: i64) {
            let text = serde_json::json!([float, integer]).to_string();
            proptest::prop_assert_eq!(exact_numbers(&text), text.as_str());
        }

        #[test]
        fn decimals_come_back(whole in 0_u64..1 << 60, places in 0_u32..1_000_000) {
            let text = format!("{whole}.{places:06}");
            let json: Json = serde_json::from_str(&exact_numbers(&text)).unwrap();
            let value = Value::from_json(&json);
            proptest::prop_assert!(Digits::of(&value.to_string()) == Digits::of(&text), "{value}");
            let back = value.to_exact_json();
            proptest::prop_assert_eq!(Value::from_json(&back), value);
        }
    }
}
