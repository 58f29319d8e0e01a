//! Words in the documentation that a lint takes for code: `order_id` without backticks is prose of the
//! registry, and stays as it is.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;

/// Returns an item, which allows the lint if a word of its documentation looks like code.
pub(crate) fn allowed(item: TokenStream) -> TokenStream {
    if has_code_words(item.clone()) {
        quote!(#[allow(clippy::doc_markdown)] #item)
    } else {
        item
    }
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

/// Returns the words of a line that stand in no backticks.
fn outside_of_code(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split('`').step_by(2);
    parts.flat_map(str::split_whitespace)
}

/// Returns whether the lint could take a word for code: it has `_`, `::` or a capital after a small
/// letter. Some of these are names that the lint knows.
fn is_code_word(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let is_camel = letters
        .windows(2)
        .any(|pair| pair[0].is_lowercase() && pair[1].is_uppercase());
    is_camel || word.contains('_') || word.contains("::")
}

#[cfg(test)]
mod tests {
    use quote::quote;

    use super::{allowed, is_code_word};

    #[test]
    fn an_item_with_code_in_its_prose_allows_the_lint() {
        let item = |doc: &str| allowed(quote!(struct A { #[doc = #doc] a: i64 })).to_string();
        for (doc, is_allowed) in [
            ("The order_id.", true),
            ("Stripe's refundId", true),
            ("see a::b", true),
            ("`order_id` of an order", false),
            ("In EUR/USD, 2026.", false),
        ] {
            assert_eq!(item(doc).contains("doc_markdown"), is_allowed, "{doc}");
        }
    }

    #[test]
    fn plain_words_are_no_code() {
        for word in ["HTTP", "A", "e.g.", "(see", "Größe", "GPT-4", ""] {
            assert!(!is_code_word(word), "{word}");
        }
    }
}
