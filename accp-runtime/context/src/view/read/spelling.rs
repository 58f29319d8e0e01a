//! Reads values that are spelt in another way than their type demands, such as `yes` or `12.0`.

use accp_registry::Type;

use accp_frame::__internal::plain;
use accp_frame::Value;

/// Words for no value.
const NONE: [&str; 4] = ["null", "none", "nil", "n/a"];

/// Returns the value that a text means in a place of this type.
pub(super) fn respelt(text: &str, ty: &Type) -> Option<Value<'static>> {
    let small = text.to_lowercase();
    let bare = small.strip_prefix('+').unwrap_or(&small);
    let value = match ty {
        Type::Boolean => match &*small {
            "true" | "yes" => Some(Value::Boolean(true)),
            "false" | "no" => Some(Value::Boolean(false)),
            _ => None,
        },
        Type::Integer => {
            let whole = bare
                .split_once('.')
                .filter(|(_, places)| places.bytes().all(|b| b == b'0'));
            let whole = whole.map_or(bare, |(whole, _)| whole);
            plain(whole, ty)
        }
        Type::Decimal => plain(bare, ty),
        Type::Number => {
            let is_number = bare
                .bytes()
                .all(|b| b.is_ascii_digit() || b"+-.e".contains(&b));
            let float = bare.parse::<f64>().ok().filter(|_| is_number);
            plain(bare, ty).or_else(|| Value::try_from(float?).ok())
        }
        Type::Agent => plain(text.strip_prefix('@')?, ty),
        Type::Enum(values) => {
            let mut fitting = values.iter().filter(|value| same(&value.name, text));
            let first = fitting.next();
            first
                .filter(|_| fitting.next().is_none())
                .map(|value| Value::from(value.name.clone()))
        }
        Type::List(item) => plain(text, item).map(|item| Value::Array(vec![item])),
        _ => None,
    };
    let is_text = matches!(ty, Type::String | Type::Text | Type::Any);
    value.or_else(|| (!is_text && NONE.contains(&&*small)).then_some(Value::Null))
}

/// Returns whether two names differ only in capitals and in the marks between words.
fn same(a: &str, b: &str) -> bool {
    let letters = |text: &str| {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
        letters.collect::<String>().to_lowercase()
    };
    letters(a) == letters(b)
}
