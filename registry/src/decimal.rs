//! Exact decimal numbers with at most six places after the point.

use alloc::string::ToString as _;
use core::fmt;

const SCALE: i128 = 1_000_000;
const PLACES: usize = 6;

/// A decimal with at most six places, as ACCP carries it (draft section 3.1.1).
///
/// Exact over its whole range: the integer part is any [`i64`]. A decimal is never rounded.
///
/// ```
/// use accp_registry::Decimal;
///
/// let amount: Decimal = "142.50".parse()?;
/// assert_eq!(amount.to_string(), "142.5");
/// assert_eq!(Decimal::from(142).to_string(), "142.0");
/// assert!("0.1234567".parse::<Decimal>().is_err());
/// # Ok::<(), accp_registry::DecimalError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Decimal {
    millionths: i128,
}

/// The reason why a text is not a [`Decimal`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecimalError {
    /// Not `["-"] 1*DIGIT [ "." 1*DIGIT ]`.
    #[error("not a decimal number")]
    Syntax,
    /// More than six places; ACCP never rounds.
    #[error("a decimal has at most 6 places")]
    Places,
    /// The integer part is outside the range of `i64`.
    #[error("the integer part is outside the 64-bit range")]
    Range,
}

impl Decimal {
    /// Returns the decimal with this many millionths; `None` when the integer part is outside
    /// [`i64`].
    pub const fn from_millionths(millionths: i128) -> Option<Self> {
        let whole = millionths / SCALE;
        if whole < i64::MIN as i128 || whole > i64::MAX as i128 {
            return None;
        }
        Some(Self { millionths })
    }

    /// Returns the value in millionths.
    pub const fn millionths(self) -> i128 {
        self.millionths
    }

    /// Returns the nearest float.
    pub fn to_f64(self) -> f64 {
        const EXACT: u128 = 1 << 53;
        if self.millionths.unsigned_abs() <= EXACT {
            // Both numbers are exact, and one division rounds correctly.
            self.millionths as f64 / SCALE as f64
        } else {
            self.to_string().parse().unwrap_or(f64::NAN) // infallible: plain decimal
        }
    }

    /// Reads `["-"] 1*DIGIT [ "." 1*6DIGIT ]`; leading and trailing zeros are allowed.
    ///
    /// # Errors
    /// When the text is not a decimal, has more than six places, or is out of range.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = match digits.split_once('.') {
            Some((_, "")) => return Err(DecimalError::Syntax),
            Some(parts) => parts,
            None => (digits, ""),
        };
        let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
            return Err(DecimalError::Syntax);
        }
        if fraction.len() > PLACES {
            return Err(DecimalError::Places);
        }
        let whole: u64 = whole.parse().map_err(|_| DecimalError::Range)?;
        let mut millionths = i128::from(whole);
        for place in 0..PLACES {
            let digit = fraction.as_bytes().get(place).map_or(0, |b| b - b'0');
            millionths = millionths * 10 + i128::from(digit);
        }
        if negative {
            millionths = -millionths;
        }
        Self::from_millionths(millionths).ok_or(DecimalError::Range)
    }

    /// Returns whether `text` is the canonical spelling of this value.
    pub(crate) fn is_spelt(self, text: &str) -> bool {
        let places = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let digits = text.strip_prefix('-');
        let whole = digits.unwrap_or(text);
        let leading_zero = whole.len() > 1 && whole.starts_with('0') && !whole.starts_with("0.");
        let trailing_zero = places.len() > 1 && places.ends_with('0');
        let negative_zero = self.millionths == 0 && digits.is_some();
        !(places.is_empty() || leading_zero || trailing_zero || negative_zero)
    }
}

impl fmt::Display for Decimal {
    /// Writes the canonical spelling: at least one place, and no trailing zero after the first
    /// place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.millionths < 0 { "-" } else { "" };
        let magnitude = self.millionths.unsigned_abs();
        let scale = SCALE.unsigned_abs();
        let (whole, mut fraction) = (magnitude / scale, magnitude % scale);
        let mut width = PLACES;
        while width > 1 && fraction % 10 == 0 {
            fraction /= 10;
            width -= 1;
        }
        write!(f, "{sign}{whole}.{fraction:0width$}")
    }
}

impl core::str::FromStr for Decimal {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self {
            millionths: i128::from(value) * SCALE,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    fn any_decimal() -> impl Strategy<Value = Decimal> {
        let anywhere = (any::<i64>(), 0..SCALE).prop_map(|(whole, fraction)| {
            let sign = if whole < 0 { -1 } else { 1 };
            i128::from(whole) * SCALE + sign * fraction
        });
        let small = (-3_000_000..3_000_000_i128).boxed();
        prop_oneof![anywhere, small]
            .prop_map(|millionths| Decimal::from_millionths(millionths).unwrap())
    }

    proptest! {
        #[test]
        fn reads_what_it_writes(value in any_decimal()) {
            let text = value.to_string();
            prop_assert_eq!(Decimal::parse(&text), Ok(value));
            prop_assert!(value.is_spelt(&text));
            prop_assert!(text.split_once('.').unwrap().1.len() <= PLACES);
        }

        #[test]
        fn only_one_spelling_is_canonical(text in "-?[0-9]{1,4}(\\.[0-9]{1,7})?") {
            match Decimal::parse(&text) {
                Ok(value) => prop_assert_eq!(value.is_spelt(&text), value.to_string() == text),
                Err(error) => prop_assert_eq!(error, DecimalError::Places),
            }
        }

        #[test]
        fn is_ordered_as_numbers_are(a in any_decimal(), b in any_decimal()) {
            prop_assert_eq!(a.cmp(&b), a.millionths().cmp(&b.millionths()));
        }

        #[test]
        fn is_the_nearest_float(value in any_decimal()) {
            let nearest: f64 = value.to_string().parse().unwrap();
            prop_assert_eq!(value.to_f64().to_bits(), nearest.to_bits());
        }

        #[test]
        fn never_panics(text in ".*") {
            let _ = Decimal::parse(&text);
        }
    }

    #[test]
    fn takes_zeros_in_front_and_at_the_end() {
        for (text, canonical) in [
            ("142", "142.0"),
            ("007.50", "7.5"),
            ("-0", "0.0"),
            ("-0.000001", "-0.000001"),
            ("0.100000", "0.1"),
            ("9223372036854775807.999999", "9223372036854775807.999999"),
            ("-9223372036854775808.999999", "-9223372036854775808.999999"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), canonical);
        }
    }

    #[test]
    fn refuses_what_is_no_decimal() {
        for text in [
            "", "-", ".", "1.", ".5", "+1", "1e3", "1.2.3", "--1", "1_0", " 1", "\u{663}",
        ] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::Syntax), "{text}");
        }
        assert_eq!(Decimal::parse("0.0000001"), Err(DecimalError::Places));
        for text in [
            "9223372036854775808",
            "-9223372036854775809.0",
            "99999999999999999999999",
        ] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::Range), "{text}");
        }
        let nines = format!("0.{}", "9".repeat(1000));
        assert_eq!(Decimal::parse(&nines), Err(DecimalError::Places));
    }
}
