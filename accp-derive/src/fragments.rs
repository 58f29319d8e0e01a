//! Removes the invisible groups of tokens that the compiler puts around a type such as `$ty` from a `macro_rules!`
//! macro.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Returns the tokens without invisible groups, so that a type from a macro is like any other type. Bounds
/// (`dyn A + B`) get parentheses, because a `&` before them would apply to `A` alone.
pub(crate) fn joined(tokens: TokenStream) -> TokenStream {
    let joined = tokens.into_iter().flat_map(|tree| {
        let TokenTree::Group(group) = tree else {
            return TokenStream::from(tree);
        };
        let inner = joined(group.stream());
        let delimiter = match group.delimiter() {
            Delimiter::None if !has_bounds(&inner) => return inner,
            Delimiter::None => Delimiter::Parenthesis,
            other => other,
        };
        let mut joined = Group::new(delimiter, inner);
        joined.set_span(group.span());
        TokenTree::Group(joined).into()
    });
    joined.collect()
}

fn has_bounds(tokens: &TokenStream) -> bool {
    let mut trees = tokens.clone().into_iter();
    trees.any(|tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == '+'))
}
