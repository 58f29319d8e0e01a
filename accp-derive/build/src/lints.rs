//! Lints about texts that come from the registry, not from the generator: the words of docs, and the names and sizes
//! of types. A generated item gets an `allow` attribute for the lints that it would break.

use accp_registry::words;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Field, Fields, Ident, Item, Type};

/// Returns the item with an `allow` attribute for the lints that its documentation, names and sizes would break.
pub(crate) fn allowed(item: TokenStream) -> Result<TokenStream, syn::Error> {
    let lints = lints(&syn::parse2(item.clone())?, &item);
    Ok(if lints.is_empty() {
        item
    } else {
        quote!(#[allow(#(clippy::#lints),*)] #item)
    })
}

fn lints(item: &Item, tokens: &TokenStream) -> Vec<Ident> {
    let mut lints = Vec::new();
    if has_code_words(tokens.clone()) {
        lints.push("doc_markdown");
    }
    match item {
        Item::Struct(item) => {
            let names = item.fields.iter().filter_map(|field| field.ident.as_ref());
            let is_bool = |ty: &syn::Type| ty.to_token_stream().to_string() == "bool";
            if item
                .fields
                .iter()
                .filter(|field| is_bool(&field.ty))
                .count()
                > 3
            {
                lints.push("struct_excessive_bools");
            }
            if are_alike(&item.ident, names) {
                lints.push("struct_field_names");
            }
        }
        Item::Enum(item) => {
            if are_alike(
                &item.ident,
                item.variants.iter().map(|variant| &variant.ident),
            ) {
                lints.push("enum_variant_names");
            }
            // Clippy warns about a variant that is much larger than the others. A variant that holds only texts is
            // not large enough for this.
            let is_text = |field: &Field| matches!(&field.ty, Type::Path(path) if path.path.is_ident("String"));
            let holds = |fields: &Fields| fields.iter().any(|field| !is_text(field));
            if item.variants.len() > 1 && item.variants.iter().any(|variant| holds(&variant.fields))
            {
                lints.push("large_enum_variant");
            }
        }
        _ => {}
    }
    let span = proc_macro2::Span::call_site();
    lints.iter().map(|name| Ident::new(name, span)).collect()
}

/// Returns whether all names begin or end with the same word, or whether one of the names begins or ends with the
/// words of the type's name.
fn are_alike<'n>(of: &Ident, names: impl Iterator<Item = &'n Ident>) -> bool {
    let split = |name: &Ident| -> Vec<String> {
        words(&name.to_string())
            .map(str::to_ascii_lowercase)
            .collect()
    };
    let (of, names): (_, Vec<_>) = (split(of), names.map(split).collect());
    let have_one = |word: fn(&[String]) -> Option<&String>| {
        names
            .windows(2)
            .all(|pair| word(&pair[0]) == word(&pair[1]))
    };
    let repeats = |name: &Vec<String>| name.starts_with(&of) || name.ends_with(&of);
    (names.len() > 2 && (have_one(<[String]>::first) || have_one(<[String]>::last)))
        || names.iter().any(repeats)
}

fn has_code_words(tokens: TokenStream) -> bool {
    let mut is_doc = false;
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => {
            is_doc = ident == "doc";
            false
        }
        TokenTree::Literal(literal) => {
            let text = std::mem::take(&mut is_doc).then(|| literal.to_string());
            text.is_some_and(|text| outside_of_code(&text).any(is_code_word))
        }
        TokenTree::Group(group) => has_code_words(group.stream()),
        TokenTree::Punct(_) => false,
    })
}

/// Returns the words of a line that are not between backticks.
fn outside_of_code(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split('`').step_by(2);
    parts.flat_map(str::split_whitespace)
}

/// Returns whether Clippy could take a word for code or for a bare address: the word holds characters that are
/// typical of code, or a small letter and a capital after its first letter. Clippy accepts some of these words,
/// because it knows them as names.
fn is_code_word(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
    let is_camel =
        word.chars().skip(1).any(char::is_uppercase) && word.chars().any(char::is_lowercase);
    is_camel
        || ["_", "::", "()", "://"]
            .iter()
            .any(|mark| word.contains(mark))
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{allowed, is_code_word};

    #[test]
    fn an_item_with_code_in_its_prose_allows_the_lint() {
        let item = |doc: &str| {
            let item = allowed(quote!(struct A { #[doc = #doc] b: i64 }));
            item.unwrap().to_string()
        };
        for (doc, is_allowed) in [
            ("The order_id.", true),
            ("Stripe's refundId", true),
            ("see a::b", true),
            ("one of JSONLines", true),
            ("(an HTTPd)", true),
            ("call refund() first", true),
            ("at ftp://a/b", true),
            ("`order_id` of an order", false),
            ("In EUR/USD, 2026.", false),
        ] {
            assert_eq!(item(doc).contains("doc_markdown"), is_allowed, "{doc}");
        }
    }

    #[test]
    fn names_and_sizes_that_lints_know_are_allowed() {
        for (item, lints) in [
            (
                "struct A { b: bool, c: bool, d: bool, e: Option<bool> }",
                "",
            ),
            (
                "struct A { b: bool, c: bool, d: bool, e: bool }",
                "struct_excessive_bools",
            ),
            ("struct A { b_id: i64, c_id: i64 }", ""),
            (
                "struct A { b_id: i64, c_id: i64, d_id: i64 }",
                "struct_field_names",
            ),
            (
                "struct OrderReq { order_req_id: i64 }",
                "struct_field_names",
            ),
            ("enum A { BReq, CReq, DDone }", ""),
            (
                "enum A { OrderNew, OrderPaid, OrderGone }",
                "enum_variant_names",
            ),
            ("enum A { B(C) }", ""),
            ("enum A { B(C), D(E) }", "large_enum_variant"),
            ("enum A { B, Other(String) }", ""),
        ] {
            let item: proc_macro2::TokenStream = item.parse().unwrap();
            let lints = match lints {
                "" => quote!(),
                lints => format!("#[allow(clippy::{lints})]").parse().unwrap(),
            };
            let expected = quote!(#lints #item).to_string();
            assert_eq!(allowed(item).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn plain_words_are_no_code() {
        for word in ["HTTP", "A", "e.g.", "(see", "Größe", "GPT-4", ""] {
            assert!(!is_code_word(word), "{word}");
        }
    }
}
