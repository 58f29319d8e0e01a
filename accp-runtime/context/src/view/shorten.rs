//! Shortening of messages that are too long.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::facts::names;
use super::text;
use super::write::Span;
use accp_frame::TokenCounter;

/// The tokens that a param keeps, however long the other params are.
const LEAST: usize = 40;

/// Leaves out the middles of the largest of these params, until the block has about as many tokens
/// as the limit or no param can become shorter. Returns whether it left something out.
pub(super) fn shorten(
    block: &mut String,
    params: &[Span],
    position: u64,
    limit: usize,
    counter: &dyn TokenCounter,
) -> bool {
    let mut total = counter.count(block);
    if total <= limit {
        return false;
    }
    let sized = params.iter().map(|(_, place)| {
        let tokens = block
            .get(place.clone())
            .map_or(0, |text| counter.count(text));
        (tokens, place.clone())
    });
    let mut params: Vec<_> = sized.collect();
    params.sort_by_key(|(tokens, place)| (std::cmp::Reverse(*tokens), place.start));
    let mut shorter = Vec::new();
    for (tokens, place) in params {
        let room = limit.saturating_sub(total - tokens.min(total)).max(LEAST);
        if total <= limit || tokens <= room {
            break;
        }
        if let Some(text) = block.get(place.clone()) {
            shorter.push((place, shortened(text, room, tokens, position)));
            total = total.saturating_sub(tokens - room);
        }
    }
    shorter.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    let is_shorter = !shorter.is_empty();
    for (place, text) in shorter {
        block.replace_range(place, &text);
    }
    is_shorter
}

/// Shortens a param. A JSON string is shortened as the text that it holds, because its escapes are not words: `\n`
/// would count as a path, and a cut could split an escape.
fn shortened(text: &str, room: usize, tokens: usize, position: u64) -> String {
    match serde_json::from_str::<String>(text) {
        Ok(held) => {
            let mut out = String::new();
            text::write_quoted(&mut out, &cut(&held, room, tokens, position));
            out
        }
        Err(_) => cut(text, room, tokens, position),
    }
}

/// A middle with fewer bytes stays, because the mark in its place would save nothing.
const MARK: usize = 60;
/// The names in a left-out middle may always take this many bytes. They may take more if more of the text is shown.
const NAMES: usize = 1000;

/// Returns the beginning and the end of a text that is too long, with a mark in place of the middle.
fn cut(text: &str, limit: usize, tokens: usize, position: u64) -> String {
    let room = text.len() as u128 * limit as u128 / tokens.max(1) as u128;
    let room = usize::try_from(room).unwrap_or(text.len()).min(text.len());
    let floor = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at));
    let head = floor(room * 2 / 3).unwrap_or_default();
    let tail = floor(text.len() - room / 3).unwrap_or_default();
    // Moves each cut to the end of a line that is near, so that lines stay whole.
    let head = text[..head]
        .rfind('\n')
        .filter(|at| *at > head / 2)
        .unwrap_or(head);
    let tail = text[tail..]
        .find('\n')
        .filter(|at| *at < room / 6)
        .map_or(tail, |at| tail + at);
    let (head, middle, tail) = (&text[..head], &text[head..tail], &text[tail..]);
    if middle.len() < MARK {
        return String::from(text);
    }
    let mut out = String::from(head);
    let _ = write!(out, "\n[{} bytes: $cold.p{position}", middle.len());
    let seen: BTreeSet<&str> = names(head).chain(names(tail)).collect();
    let mut told = BTreeSet::new();
    let most = out.len() + room.max(NAMES);
    for name in names(middle).filter(|name| !seen.contains(name)) {
        if out.len() > most {
            out.push_str(" ..");
            break;
        }
        if told.insert(name) {
            out.push_str(if told.len() == 1 { "; " } else { " " });
            out.push_str(name);
        }
    }
    out.push(']');
    if !tail.starts_with('\n') {
        out.push('\n');
        if text::is_guarded(tail) {
            out.push('\\');
        }
    }
    out.push_str(tail);
    out
}
