//! Rust text as a list of tokens. The list leaves out white space, comments and the comma before a
//! closing bracket, so formatting does not count.

use std::ops::Range;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// A word, a punctuation mark, a literal or a bracket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    /// The token's byte range in the text.
    pub(crate) at: Range<usize>,
}

/// Reads a text whose brackets are balanced.
///
/// # Errors
/// If the text is not Rust.
pub(crate) fn read(text: &str) -> Result<Vec<Token>, String> {
    let stream: TokenStream = text
        .parse()
        .map_err(|error| format!("not tokens, or brackets without their pair: {error}"))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    Ok(tokens)
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let mut push = |text: &str, span: Span| {
            tokens.push(Token {
                text: text.into(),
                at: span.byte_range(),
            });
        };
        let group = match tree {
            TokenTree::Ident(word) => {
                push(&word.to_string(), word.span());
                continue;
            }
            TokenTree::Punct(mark) => {
                push(&mark.to_string(), mark.span());
                continue;
            }
            TokenTree::Literal(literal) => {
                push(&literal.to_string(), literal.span());
                continue;
            }
            TokenTree::Group(group) => group,
        };
        let (open, close) = match group.delimiter() {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        push(open, group.span_open());
        flatten(group.stream(), tokens);
        if tokens.last().is_some_and(|last| last.text == ",") {
            tokens.pop();
        }
        tokens.push(Token {
            text: close.into(),
            at: group.span_close().byte_range(),
        });
    }
}

/// Returns the places that a pattern matches. Brackets with only `..` in the pattern match brackets
/// with anything inside.
pub(crate) fn find(pattern: &[Token], tokens: &[Token]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for start in 0..tokens.len() {
        if let Some(end) = matches(pattern, &tokens[start..]) {
            found.push(start..start + end);
        }
    }
    found
}

/// Returns how many tokens at the start a pattern matches, or `None` if the pattern does not match there.
fn matches(pattern: &[Token], tokens: &[Token]) -> Option<usize> {
    let (mut wanted, mut at) = (0, 0);
    while let Some(token) = pattern.get(wanted) {
        let here = tokens.get(at)?;
        if token.text != here.text {
            return None;
        }
        let inner = pattern.get(wanted + 1..wanted + 4).unwrap_or_default();
        let texts: Vec<_> = inner.iter().map(|token| token.text.as_str()).collect();
        if matches!(
            (token.text.as_str(), &texts[..]),
            ("(", [".", ".", ")"]) | ("[", [".", ".", "]"]) | ("{", [".", ".", "}"])
        ) {
            at += closing(&tokens[at..])?;
            wanted += 3;
        }
        wanted += 1;
        at += 1;
    }
    (wanted > 0).then_some(at)
}

/// Returns the index of the bracket that closes the first bracket.
fn closing(tokens: &[Token]) -> Option<usize> {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => open += 1,
            ")" | "]" | "}" => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns the range of tokens that shares the most tokens with a pattern, and the number of shared tokens.
pub(crate) fn nearest(pattern: &[Token], tokens: &[Token]) -> Option<(usize, Range<usize>)> {
    let mut best: Option<(usize, Range<usize>)> = None;
    for start in 0..tokens.len() {
        let end = tokens.len().min(start + pattern.len());
        let mut left: Vec<_> = tokens[start..end].iter().map(|token| &token.text).collect();
        let mut common = 0;
        for token in pattern {
            if let Some(at) = left.iter().position(|text| **text == token.text) {
                left.swap_remove(at);
                common += 1;
            }
        }
        if best.as_ref().is_none_or(|(most, _)| common > *most) {
            best = Some((common, start..end));
        }
    }
    best
}
