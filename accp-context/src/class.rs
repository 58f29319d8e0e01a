//! What a field of a frame is good for, judged by its name and its value.

use accp_frame::Value;
use accp_registry::words;

/// What a fact is good for, what is needed most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Identifier,
    Amount,
    Date,
    Choice,
    Other,
}

/// Words in the name of a field that give its class away.
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
    /// The class of a fact.
    pub(crate) fn of(relationship: &str, value: &Value<'_>) -> Self {
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
        words(relationship)
            .filter_map(of_word)
            .min()
            .unwrap_or(Self::Other)
    }
}

/// How well a field says what its record is about, 0 best; `None` when it does not. `hints`
/// are names that lead to the record: in `flights` a `flight_number` is better than another.
pub(crate) fn names_the_record(field: &str, hints: &[&str]) -> Option<u8> {
    match field {
        "id" => return Some(0),
        "task" | "tool_name" => return Some(4),
        "name" | "title" => return Some(5),
        _ => {}
    }
    let mut stem = None;
    let mut last = "";
    for word in words(field) {
        if !last.is_empty() {
            stem = Some(last);
        }
        last = word;
    }
    let stem = stem?;
    let is_hinted = hints.iter().flat_map(|hint| words(hint)).any(|word| {
        let start = word.get(..stem.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(stem))
    });
    let is = |name: &str| last.eq_ignore_ascii_case(name);
    match (is("id"), is("number") || is("key"), is_hinted) {
        (true, _, true) => Some(0),
        (true, _, false) => Some(2),
        (_, true, true) => Some(1),
        (_, true, false) => Some(3),
        _ => None,
    }
}

/// `2024-05-15`, and what follows.
fn is_date(text: &str) -> bool {
    let shape = b"0000-00-00";
    let same = |(byte, shape): (u8, &u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == *shape,
    };
    text.len() >= shape.len() && text.bytes().zip(shape).all(same)
}

/// One word of digits and letters, such as `HAT170`.
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
        ] {
            assert_eq!(Class::of(field, &Value::from(value)), class, "{field}");
        }
        assert_eq!(Class::of("x", &Value::Decimal(3.into())), Class::Amount);
    }

    #[test]
    fn the_id_of_the_record_comes_first() {
        let best = |fields: &[&'static str], hints: &[&str]| {
            let ranked = fields
                .iter()
                .filter_map(|field| Some((names_the_record(field, hints)?, *field)));
            ranked.min().map(|(_, field)| field)
        };
        assert_eq!(
            best(&["account_id", "user_id"], &["get_users"]),
            Some("user_id")
        );
        assert_eq!(
            best(&["user_id", "reservation_id"], &["get_reservations"]),
            Some("reservation_id")
        );
        assert_eq!(
            best(&["user_id", "reservation_id"], &[]),
            Some("reservation_id")
        );
        assert_eq!(
            best(&["name", "flight_number", "phone_number"], &["flights"]),
            Some("flight_number")
        );
        assert_eq!(best(&["status", "tool_name"], &[]), Some("tool_name"));
        assert_eq!(best(&["error_code", "status"], &["error"]), None);
    }
}
