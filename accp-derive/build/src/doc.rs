//! The documentation of the generated types, from the documentation in the registry.

use std::collections::BTreeSet;

use accp_registry::{Field, FrameSpec, Protocol, Schema, Type};
use proc_macro2::TokenStream;
use quote::quote;

use crate::item::{Presence, Variant};

/// Returns the paragraphs as doc attributes, without the empty ones.
pub(crate) fn attributes(paragraphs: &[String]) -> TokenStream {
    let mut out = TokenStream::new();
    for paragraph in paragraphs.iter().filter(|text| !text.is_empty()) {
        if !out.is_empty() {
            out.extend(quote!(#[doc = ""]));
        }
        for line in paragraph.lines() {
            let line = line.replace(is_hidden, " ");
            let line = if line.is_empty() {
                line
            } else {
                format!(" {line}")
            };
            out.extend(quote!(#[doc = #line]));
        }
    }
    out
}

/// Returns whether a character must not stand unescaped in a source file. rustc refuses a carriage return in a doc
/// comment. Everywhere in a file, it refuses characters that change the direction of the text.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(crate) fn frame(protocol: &Protocol, schema: &Schema, frame: &FrameSpec) -> TokenStream {
    let (noun, title) = (protocol.noun, protocol.title(&frame.head));
    let envelope: Vec<String> = frame
        .envelope
        .iter()
        .map(|field| format!("`{field}`"))
        .collect();
    let envelope = match envelope.join(", ") {
        none if none.is_empty() => none,
        some => format!(" Its envelope must carry {some}."),
    };
    let of = match protocol.schema_key {
        Some(_) => format!(" of schema `{}`", schema.code),
        None => String::new(),
    };
    let what = format!("The {noun} `{title}`{of}.{envelope}");
    let doc = frame.doc.as_ref().or(schema.doc.as_ref());
    attributes(&[prose(doc), what])
}

pub(crate) fn frames(protocol: &Protocol, schema: &Schema) -> TokenStream {
    let what = format!("Any {} of schema `{}`.", protocol.noun, schema.code);
    attributes(&[prose(schema.doc.as_ref()), what])
}

/// Returns the doc of the enum over all frames. `open` has the codes of the schemas that list no frames.
pub(crate) fn any(protocol: &Protocol, open: &BTreeSet<&str>) -> TokenStream {
    let noun = protocol.noun;
    let open: Vec<String> = open.iter().map(|code| format!("`{code}`")).collect();
    let others = match open.join(", ") {
        none if none.is_empty() => none,
        codes => format!("It has no {noun}s of the schemas that list none: {codes}."),
    };
    attributes(&[format!("Any {noun} of this file."), others])
}

pub(crate) fn nested(protocol: &Protocol, schema: &Schema) -> TokenStream {
    let (code, noun) = (&schema.code, protocol.noun);
    let what = format!("Schema `{code}` as a value inside a {noun}.");
    attributes(&[prose(schema.doc.as_ref()), what])
}

/// Returns the doc of a variant of a union.
pub(crate) fn record(variant: &FrameSpec) -> TokenStream {
    let name = code(&variant.head.concat());
    attributes(&[prose(variant.doc.as_ref()), format!("{name} on the wire.")])
}

pub(crate) fn field(field: &Field, presence: Presence) -> TokenStream {
    let (short, ty) = (&field.short, words(&field.ty, false));
    let absent = match (presence, &field.default) {
        (Presence::Required, _) => String::new(),
        (Presence::Default, Some(default)) => {
            let mut default = default.clone();
            default.sort_all_objects();
            // In a field of type `any`, null is a value. In all other fields, null means the default.
            let subject = match field.ty {
                Type::Any => "Absent means",
                _ => "Absent and `~` mean",
            };
            format!(" {subject} {}.", code(&default.to_string()))
        }
        _ => " Absent and `~` mean `None`.".to_owned(),
    };
    let aliases: Vec<String> = field.aliases.iter().map(|alias| code(alias)).collect();
    let also = match &aliases[..] {
        [] => String::new(),
        _ => format!(" Read from {} too.", aliases.join(", ")),
    };
    let what = format!("`{short}` on the wire: {ty}.{absent}{also}");
    attributes(&[prose(field.doc.as_ref()), what])
}

pub(crate) fn enumeration(schema: &Schema, field: &Field) -> TokenStream {
    let what = format!(
        "A value of the field `{}` of schema `{}`.",
        field.name, schema.code
    );
    attributes(&[prose(field.doc.as_ref()), what])
}

pub(crate) fn variant(variant: &Variant<'_>) -> TokenStream {
    let name = code(&variant.value.name);
    attributes(&[match &variant.value.symbol {
        Some(symbol) => format!("{name}, {} on the wire.", code(symbol)),
        None => format!("{name} on the wire."),
    }])
}

/// Returns the doc of the variant that takes the values that the registry does not list.
pub(crate) fn other() -> TokenStream {
    attributes(&["Any other value, as it was read.".to_owned()])
}

/// Returns the doc of the variant that keeps the records whose variant the registry does not list.
pub(crate) fn other_record() -> TokenStream {
    attributes(&["A record of any other variant, with its tag, as it was read.".to_owned()])
}

/// Returns a type in words.
fn words(ty: &Type, plural: bool) -> String {
    let choose = |one: &str, many: &str| if plural { many } else { one }.to_owned();
    match ty {
        Type::String => choose("a string", "strings"),
        Type::Text => choose("a text", "texts"),
        Type::Integer => choose("an integer", "integers"),
        Type::Decimal => choose("a decimal", "decimals"),
        Type::Number => choose("a number", "numbers"),
        Type::Boolean => choose("a boolean", "booleans"),
        Type::Agent => choose("an agent id", "agent ids"),
        Type::Formatted(format) => choose("a value", "values") + " of type " + &code(format.word()),
        Type::Any => choose("any value", "any values"),
        Type::List(item) => choose("a list", "lists") + " of " + &words(item, true),
        Type::Map(item) => choose("a map", "maps") + " of " + &words(item, true),
        Type::Schema(name) => choose("a record", "records") + " of schema " + &code(name),
        Type::Enum(values) => {
            let names: Vec<String> = values.iter().map(|value| code(&value.name)).collect();
            match names.split_last() {
                Some((last, before @ [_, ..])) => format!("{} or {last}", before.join(", ")),
                _ => names.concat(),
            }
        }
        _ => format!("`{ty}`"),
    }
}

/// Returns the text as a code span of Markdown. The span has more backticks around it than any run of backticks in
/// the text.
fn code(text: &str) -> String {
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Turns a doc of the registry, which is plain text, into Markdown: escapes everything outside of code spans that
/// Markdown would take for a link, a tag or a block of code.
fn prose(doc: Option<&String>) -> String {
    let lines = doc.map_or("", String::as_str).trim().lines().map(|line| {
        let line = line.trim();
        if line.matches('`').count() % 2 == 1 || line.contains("``") {
            return escape(line, true);
        }
        if line.starts_with("~~~") {
            return format!("\\{line}");
        }
        let parts = line.split('`').enumerate();
        let parts = parts.map(|(index, part)| match index % 2 {
            0 => escape(part, false),
            _ => format!("`{part}`"),
        });
        parts.collect()
    });
    continued(lines).join("\n")
}

/// Indents the lines that continue an item of a list, so that they align with the text of the item.
fn continued(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut indent = 0;
    let indented = lines.map(|line| match marker(&line) {
        Some(width) => {
            indent = width;
            line
        }
        None if line.is_empty() => {
            indent = 0;
            line
        }
        None => " ".repeat(indent) + &line,
    });
    indented.collect()
}

/// Returns the width of the marker at the beginning of an item of a list (`- `, `2. `).
fn marker(line: &str) -> Option<usize> {
    let (marker, _) = line.split_once(' ')?;
    let number = marker.strip_suffix(['.', ')']).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (is_number || matches!(marker, "-" | "*" | "+")).then_some(marker.len() + 1)
}

fn escape(text: &str, backticks: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // rustdoc warns about an address that is not in angle brackets.
        if rest.starts_with("https://") || rest.starts_with("http://") {
            let end = rest.find(|c: char| c.is_whitespace() || "<>()[]`\"',;".contains(c));
            let address = rest[..end.unwrap_or(rest.len())].trim_end_matches(['.', '!', '?', ':']);
            out.extend(["<", address, ">"]);
            rest = &rest[address.len()..];
            continue;
        }
        if "[]<>\\".contains(c) || (backticks && c == '`') {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_makes_no_links_tags_or_blocks() {
        let text = |doc: &str| prose(Some(&doc.to_owned()));
        for (doc, markdown) in [
            ("See [here] and <b>.", r"See \[here\] and \<b\>."),
            ("`a[0]` and [x]", r"`a[0]` and \[x\]"),
            ("an odd ` and [x]", r"an odd \` and \[x\]"),
            ("```\n  code\n```", "\\`\\`\\`\ncode\n\\`\\`\\`"),
            ("~~~\nx", "\\~~~\nx"),
            (
                "At https://example.org/a, or (http://b.c).",
                "At <https://example.org/a>, or (<http://b.c>).",
            ),
            ("Größe ≤ 5", "Größe ≤ 5"),
            (
                "a\n- b\nc\n10) d\ne\n\nf\n-g",
                "a\n- b\n  c\n10) d\n    e\n\nf\n-g",
            ),
            ("  \n one \n\n two ", "one\n\ntwo"),
            ("", ""),
        ] {
            assert_eq!(text(doc), markdown);
        }
    }

    #[test]
    fn code_stands_in_enough_backticks() {
        for (text, span) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("`", "`` ` ``"),
            ("a``", "``` a`` ```"),
        ] {
            assert_eq!(code(text), span);
        }
    }

    #[test]
    fn types_in_words() {
        let text = |ty: &str| words(&ty.parse().unwrap(), false);
        for (ty, plain) in [
            ("string", "a string"),
            ("[[integer]]", "a list of lists of integers"),
            ("{any}", "a map of any values"),
            ("[FD]", "a list of records of schema `FD`"),
            ("enum(a)", "`a`"),
            ("enum(a,b=+)", "`a` or `b`"),
            ("[enum(a,b,c)]", "a list of `a`, `b` or `c`"),
        ] {
            assert_eq!(text(ty), plain);
        }
    }
}
