//! What an observer reads of a frame, in the simplest way that does for the frames of a run.

use accp_runtime::session::Mid;

/// How the host writes that a checkpoint was taken.
pub(crate) const CHECKPOINT: &str = ">sync:checkpoint{";

/// A pair of the metadata.
pub(crate) fn meta<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let metadata = text[text.rfind("}[")? + 2..].strip_suffix(']')?;
    let mut pairs = metadata.split(',').filter_map(|pair| pair.split_once(':'));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// A number in the metadata.
pub(crate) fn number_in<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    meta(text, key)?.parse().ok()
}

/// An id in the metadata.
pub(crate) fn mid_in(text: &str, key: &str) -> Option<Mid> {
    meta(text, key).map(Mid::parse)
}

/// A scalar of the payload that is a number.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    let payload = &text[text.find('{')?..text.rfind("}[").unwrap_or(text.len())];
    let mut rest = payload;
    loop {
        let at = rest.find(key)?;
        let starts = rest[..at].ends_with(['{', '|']);
        rest = &rest[at + key.len()..];
        if let (true, Some(value)) = (starts, rest.strip_prefix(':')) {
            return value.split(['|', '}']).next()?.parse().ok();
        }
    }
}

/// The intent in the header.
pub(crate) fn intent(text: &str) -> &str {
    let header = text.split(':').next().unwrap_or_default();
    header.split_once('>').map_or("", |(_, intent)| intent)
}

/// The frame up to its metadata.
pub(crate) fn head(text: &str) -> &str {
    text.rfind("}[").map_or(text, |at| &text[..=at])
}
