//! The rules for enums: enumerations, and enums whose variants are frames.

use std::collections::{BTreeMap, BTreeSet};

use accp_registry::{Registry, words};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;

use super::{Owner, frame, is_frame, types};
use crate::ast::{Content, Input, Variant};
use crate::attr::identity;
use crate::ctxt::Ctxt;
use crate::resolved::{Arm, ArmContent, Choice};

/// Returns whether the variants are values, and not frames: all variants are without data, except the variant with
/// the attribute `other`.
pub(super) fn is_enumeration(variants: &[Variant<'_>]) -> bool {
    let mut values = variants.iter();
    values.all(|variant| matches!(variant.content, Content::Unit) || variant.attrs.other.is_some())
}

/// Checks an enumeration: each variant has a name, and perhaps a symbol, that no other variant has. Returns the
/// variants, and the variant with the attribute `other`.
pub(super) fn enumeration<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variants: &'a [Variant<'a>],
) -> (Vec<Choice<'a>>, Option<&'a Variant<'a>>) {
    if !input.original.generics.params.is_empty() {
        cx.error(&input.original.generics, "an enumeration has no parameters");
    }
    let mut taken = BTreeSet::new();
    let mut choices = Vec::new();
    let mut other: Option<&Variant<'_>> = None;
    for variant in variants {
        let attrs = &variant.attrs;
        for text in attrs.identity() {
            let message = format!(
                "this variant is a value of an enumeration: a {} has fields, or holds a type",
                cx.protocol.noun
            );
            cx.error(text, message);
        }
        if let Some(flag) = &attrs.other {
            takes_others(cx, variant, flag, &mut other, &TEXT);
            continue;
        }
        let name = if let Some(rename) = &attrs.rename {
            rename.value()
        } else {
            let own = variant.original.ident.unraw().to_string();
            let case = input.attrs.rename_all;
            case.map_or_else(|| snake_case(&own), |case| case.apply(&own))
        };
        let symbol = attrs.symbol.as_ref().map(syn::LitStr::value);
        let name_tokens = match &attrs.rename {
            Some(rename) => rename.to_token_stream(),
            None => variant.original.ident.to_token_stream(),
        };
        let without: &[char] = if cx.protocol.is_text() {
            &[',', '|']
        } else {
            &[',', '=']
        };
        spelling(cx, &name, &name_tokens, without, &mut taken);
        if let (Some(symbol), Some(tokens)) = (&symbol, &attrs.symbol) {
            spelling(cx, symbol, &tokens.to_token_stream(), &[','], &mut taken);
        }
        choices.push(Choice {
            variant,
            name,
            symbol,
        });
    }
    if let (Some(other), true) = (other, choices.is_empty()) {
        let message =
            "an enumeration has values beside those that are not known: a text is a `String`";
        cx.error(&other.original.ident, message);
    }
    (choices, other)
}

/// The kind of values that the variant with the attribute `other` takes, for the check and its errors.
pub(super) struct Others {
    noun: &'static str,
    /// The name of the type that the variant holds: without its lifetime, and with it.
    ty: [&'static str; 2],
}

/// For an enumeration: the texts that are not among its values.
const TEXT: Others = Others {
    noun: "text",
    ty: ["String", "String"],
};
/// For a union: the records whose variant is not known.
pub(super) const RECORD: Others = Others {
    noun: "record",
    ty: ["Map", "Map<'a>"],
};

/// Checks the variant that takes unknown values: there is only one such variant, it holds the text or the record that
/// was read, and it has no name of its own.
pub(super) fn takes_others<'a>(
    cx: &Ctxt,
    variant: &'a Variant<'a>,
    flag: &Ident,
    other: &mut Option<&'a Variant<'a>>,
    others: &Others,
) {
    let (ident, attrs) = (&variant.original.ident, &variant.attrs);
    let Others {
        noun,
        ty: [last, ty],
    } = others;
    for (name, text) in [("rename", &attrs.rename), ("symbol", &attrs.symbol)] {
        if let Some(text) = text {
            let message =
                format!("`{name}` and `other` exclude each other: the {noun} is what was read");
            cx.error(text, message);
        }
    }
    let is_it = |ty: &syn::Type| match ty {
        syn::Type::Path(path) => path.path.segments.last().is_some_and(|s| s.ident == *last),
        _ => false,
    };
    match &variant.content {
        Content::Newtype(held) if is_it(held) => {}
        Content::Newtype(held) => {
            let shown = types::shown(held);
            cx.error(
                held,
                format!("`{shown}` cannot hold a {noun} that is not known: use `{ty}`"),
            );
        }
        _ => {
            let message =
                format!("the variant holds the {noun} that is not known: write `{ident}({ty})`");
            cx.error(flag, message);
        }
    }
    if let Some(first) = other.replace(variant) {
        let ident = &first.original.ident;
        let message = format!("other {noun}s are taken by `{ident}`: one variant takes them");
        cx.error(flag, message);
    }
}

/// Reports variants with data, for a protocol in which an enum cannot hold messages.
pub(super) fn no_message(cx: &Ctxt, variants: &[Variant<'_>]) {
    let noun = cx.protocol.noun;
    for variant in variants {
        if !matches!(variant.content, Content::Unit) {
            let message = format!("a {noun} is a struct, and a variant of a value holds nothing");
            cx.error(&variant.original.fields, message);
        }
    }
}

/// Checks the name or symbol of a variant: an `enum(..)` of a registry must be able to hold it, and no other variant
/// may have it.
fn spelling(
    cx: &Ctxt,
    text: &str,
    tokens: &TokenStream,
    without: &[char],
    taken: &mut BTreeSet<String>,
) {
    let fits = |c: char| c.is_ascii_graphic() && !without.contains(&c);
    if text.is_empty() || !text.chars().all(fits) {
        let without: Vec<_> = without.iter().map(|c| format!("'{c}'")).collect();
        let message = format!(
            "`{text}` is not a value of an enumeration: printable ASCII without spaces and {}",
            without.join(", ")
        );
        cx.error(tokens, message);
    } else if !taken.insert(text.to_owned()) {
        cx.error(
            tokens,
            format!("`{text}` stands for another variant already"),
        );
    }
}

/// Turns `InProgress` into `in_progress`; a run of capitals is one word (`HTTPError` is
/// `http_error`). Every `_` stays. A letter outside ASCII stays too, and [`spelling`] refuses it.
pub(super) fn snake_case(name: &str) -> String {
    if !name.is_ascii() {
        return name.to_lowercase();
    }
    let parts = name
        .split('_')
        .map(|part| words(part).collect::<Vec<_>>().join("_"));
    parts.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// Checks an enum of frames: each variant must hold the type of a frame, or be a frame with its own fields.
pub(super) fn frames<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variants: &'a [Variant<'a>],
    registry: &Registry,
) -> Option<Vec<Arm<'a>>> {
    let arms: Vec<_> = variants
        .iter()
        .map(|variant| arm(cx, input, variant, registry))
        .collect();
    let arms: Vec<Arm<'a>> = arms.into_iter().collect::<Option<_>>()?;
    each_head_once(cx, &arms);
    Some(arms)
}

/// Reports a variant that has the same head and schema as an earlier variant: a reader would read its frames as the
/// earlier variant.
fn each_head_once(cx: &Ctxt, arms: &[Arm<'_>]) {
    let mut taken = BTreeMap::new();
    for arm in arms {
        let ArmContent::Fields(frame) = &arm.content else {
            continue;
        };
        let ident = &arm.variant.original.ident;
        let Some(other) = taken.insert((&frame.head, &frame.fields.schema), ident) else {
            continue;
        };
        let title = cx.protocol.title(&frame.head);
        let of = match &frame.fields.schema {
            Some(code) => format!(" of schema {code}"),
            None => String::new(),
        };
        let last = cx.protocol.head.last().map_or("head", |part| part.name);
        let message = format!(
            "`{title}`{of} is the variant `{other}` already, so `{ident}` would never be read: \
             give it another {last}, or put its fields into `{other}`"
        );
        // Most frames of a schema differ only in the last word of their head, so the error points to that word.
        let word = arm.variant.attrs.head.iter().flatten().next_back();
        cx.error(word, message);
        taken.insert((&frame.head, &frame.fields.schema), other);
    }
}

fn arm<'a>(
    cx: &Ctxt,
    input: &Input<'_>,
    variant: &'a Variant<'a>,
    registry: &Registry,
) -> Option<Arm<'a>> {
    let ident = &variant.original.ident;
    let attrs = &variant.attrs;
    let noun = cx.protocol.noun;
    for (name, text) in [("rename", &attrs.rename), ("symbol", &attrs.symbol)] {
        if let Some(text) = text {
            let message =
                format!("`{name}` belongs on a value of an enumeration; this variant is a {noun}");
            cx.error(text, message);
        }
    }
    if let Some(flag) = &attrs.other {
        let message = format!(
            "`other` belongs on a variant of an enumeration, whose other variants hold nothing; `{}` has {noun}s as \
             variants",
            input.ident()
        );
        cx.error(flag, message);
        return None;
    }
    let content = match &variant.content {
        Content::Unit => {
            let message = format!(
                "`{}` has {noun}s as variants: `{ident}` must hold one, as in `{ident}({})`, or \
                 have fields in `{{}}`",
                input.ident(),
                capitalised(noun),
            );
            cx.error(ident, message);
            return None;
        }
        Content::Tuple => {
            let message = format!("expected one type, which is a {noun}, or named fields");
            cx.error(&variant.original.fields, message);
            return None;
        }
        Content::Newtype(ty) => {
            let message =
                format!("the {noun} inside has its own attributes: this belongs on its type");
            for text in attrs.identity() {
                cx.error(text, &message);
            }
            if let Some(flag) = &attrs.deny_unknown_fields {
                cx.error(flag, &message);
            }
            if let Some(shown) = types::no_frame(ty) {
                let derive = cx.protocol.rust.derive;
                let message = format!(
                    "`{shown}` is not a {noun}: expected a type that derives `{derive}`, or named fields"
                );
                cx.error(ty, message);
                return None;
            }
            ArmContent::Newtype(ty)
        }
        Content::Struct(fields) => {
            if !is_frame(attrs) && attrs.is_faulty {
                return None;
            }
            if !is_frame(attrs) {
                let ours = cx.protocol.rust.attribute;
                let names: Vec<_> = identity(cx.protocol)
                    .map(|name| format!("{name} = \"..\""))
                    .collect();
                let message = format!(
                    "a variant with fields is a {noun}: add `#[{ours}({})]`",
                    names.join(", ")
                );
                cx.error(ident, message);
                return None;
            }
            ArmContent::Fields(frame(cx, Owner { attrs, ident }, fields, registry)?)
        }
    };
    Some(Arm { variant, content })
}

fn capitalised(noun: &str) -> String {
    let mut chars = noun.chars();
    let first = chars.next().into_iter().flat_map(char::to_uppercase);
    first.chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn names_are_snake_case() {
        for (rust, wire) in [
            ("Low", "low"),
            ("InProgress", "in_progress"),
            ("HTTPError", "http_error"),
            ("V2", "v2"),
            ("A", "a"),
            ("Snake_Case", "snake_case"),
            ("_Two__Words2Go_", "_two__words2_go_"),
            ("Größe", "größe"),
        ] {
            assert_eq!(snake_case(rust), wire);
        }
    }
}
