//! Classes of facts, judged by the field's name and value.

use accp_frame::Value;
use accp_registry::{identity_rank, words};

/// The use of a fact; the class that is needed most comes first.
///
/// ```
/// use accp_context::Class;
/// use accp_runtime::Value;
///
/// assert_eq!(Class::of("flight", &Value::from("HAT170")), Class::Identifier);
/// assert!(Class::of("price", &Value::from("high")) < Class::of("note", &Value::from("as agreed")));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Tells a record apart from other records.
    Identifier,
    /// A number, a price, a quantity.
    Amount,
    /// A day or a time.
    Date,
    /// A state or a selection.
    Choice,
    /// Anything else.
    Other,
}

/// Words in the name of a field that decide its class. A last word that tells records apart
/// ([`identity_rank`]) means an identifier too, unless this list has it under another class.
const WORDS: [(Class, &[&str]); 4] = [
    (
        Class::Identifier,
        &[
            "id",
            "ids",
            "number",
            "key",
            "code",
            "reference",
            "email",
            "account",
            "url",
            "path",
        ],
    ),
    (
        Class::Amount,
        &[
            "amount", "price", "cost", "total", "balance", "fee", "budget", "revenue", "quantity",
        ],
    ),
    (
        Class::Date,
        &[
            "date", "day", "time", "at", "deadline", "due", "when", "from", "until",
        ],
    ),
    (
        Class::Choice,
        &[
            "status",
            "state",
            "priority",
            "choice",
            "decision",
            "assignee",
            "destination",
            "target",
            "name",
            "type",
        ],
    ),
];

impl Class {
    /// Returns the class of a fact.
    pub fn of(relationship: &str, value: &Value<'_>) -> Self {
        let value = match value {
            Value::Array(items) => items.first().unwrap_or(&Value::Null),
            value => value,
        };
        match value {
            Value::Decimal(_) | Value::Number(_) => return Self::Amount,
            Value::Boolean(_) => return Self::Choice,
            Value::Ref(_) => return Self::Other,
            Value::String(text) if is_date(text) => return Self::Date,
            Value::String(text) if is_code(text) => return Self::Identifier,
            _ => {}
        }
        let of_word = |word: &str| {
            let has = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
            WORDS.iter().find(|(_, words)| has(words)).map(|row| row.0)
        };
        let last = words(relationship)
            .last()
            .filter(|word| of_word(word).is_none());
        let last = last.and_then(|_| identity_rank(relationship));
        words(relationship)
            .filter_map(of_word)
            .chain(last.map(|_| Self::Identifier))
            .min()
            .unwrap_or(Self::Other)
    }
}

/// Returns whether the text begins with a date such as `2024-05-15`.
fn is_date(text: &str) -> bool {
    let shape = b"0000-00-00";
    let same = |(byte, shape): (u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *shape,
    };
    text.len() >= shape.len() && text.bytes().zip(shape).all(same)
}

/// Returns whether the text is one word with digits and letters, such as `HAT170`.
fn is_code(text: &str) -> bool {
    let has = |class: fn(&u8) -> bool| text.as_bytes().iter().any(class);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) && !has(u8::is_ascii_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_has_a_class() {
        for (field, value, class) in [
            ("user_id", "mia", Class::Identifier),
            ("flight", "HAT170", Class::Identifier),
            ("dob", "1990-02-11", Class::Date),
            ("price", "high", Class::Amount),
            ("departureTime", "noon", Class::Date),
            ("status", "delayed", Class::Choice),
            ("note", "as agreed", Class::Other),
            ("room_no", "twelve", Class::Identifier),
            ("no_show", "late", Class::Other),
            ("number_of_guests", "four", Class::Identifier),
        ] {
            assert_eq!(Class::of(field, &Value::from(value)), class, "{field}");
        }
        assert_eq!(Class::of("x", &Value::Decimal(3.into())), Class::Amount);
    }
}
