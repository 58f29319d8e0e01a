//! The form of views: frames as a model writes and reads them. The crate accp-context writes and reads views, and the
//! grammars for constrained decoding describe them.

use alloc::string::String;
use core::fmt::Write as _;

use crate::lexical::Literal;
use crate::model::{Field, Registry, Schema};
use crate::types::Type;

/// Characters that end a text without quotes.
pub const DELIMITERS: [char; 11] = [',', '(', ')', '[', ']', '{', '}', '|', '"', '\\', '\n'];

/// The cell of a field that has a default and is absent.
pub const ABSENT: &str = "-";

/// The mark in the cell of a field whose text is written below the line.
pub const BELOW: char = '|';

/// Returns whether the text of a field of this type may stand below the line of its record. Every other type says where
/// its text ends, so its text stays in its cell, however long it is.
pub fn may_stand_below(ty: &Type) -> bool {
    matches!(ty, Type::String | Type::Text | Type::Any)
}

/// The frames that a view shows as a text only, each with the mark between the sender and the text:
/// `@clerk: Two have one.`
pub const SPOKEN: [(&str, &str, char); 2] = [("done", "chat", ':'), ("req", "chat", '?')];

/// The field of a question that holds the name of its sender.
pub const ROLE: &str = "role";

/// Returns whether the character is invisible or changes how others are shown.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Returns whether a text may stand without quotes: it begins with a letter, a digit or `_`, and
/// does not read as another value.
pub fn is_bare(text: &str) -> bool {
    let first = text.chars().next();
    first.is_some_and(|c| c.is_alphanumeric() || c == '_')
        && !text.ends_with(' ')
        && !text.contains(|c: char| DELIMITERS.contains(&c) || is_hidden(c))
        && matches!(Literal::classify(text), Literal::String(_))
}

/// Returns whether a key may stand without quotes.
pub fn is_bare_key(key: &str) -> bool {
    is_bare(key) && !key.contains(':')
}

/// Writes a JSON string that escapes all hidden characters.
pub fn write_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Returns the schema that intent and operation imply, because only this schema has such a frame; `None` if no schema
/// or several have it.
pub fn implied<'r>(registry: &'r Registry, intent: &str, operation: &str) -> Option<&'r Schema> {
    let mut fitting = registry
        .schemas()
        .filter(|schema| schema.frame(&[intent, operation]).is_some());
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Returns the only field of type `text` of a schema; `None` if the schema has none or several.
pub fn words_of(schema: &Schema) -> Option<&Field> {
    let mut words = schema.fields.iter().filter(|field| field.ty == Type::Text);
    let first = words.next()?;
    words.next().is_none().then_some(first)
}
