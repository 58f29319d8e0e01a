//! A simple reader of the frames of a run. It only knows the shapes that runs produce.

use accp_runtime::session::{MemberId, Mid};

/// The start of the host's frame about a checkpoint.
pub(crate) const CHECKPOINT: &str = ">sync:checkpoint{";

/// Returns the value of a metadata key.
pub(crate) fn meta<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let metadata = text[text.rfind("}[")? + 2..].strip_suffix(']')?;
    let mut pairs = metadata.split(',').filter_map(|pair| pair.split_once(':'));
    pairs.find(|(name, _)| *name == key).map(|(_, value)| value)
}

/// Returns a number from the metadata.
pub(crate) fn number_in<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    meta(text, key)?.parse().ok()
}

/// Returns an id from the metadata.
pub(crate) fn mid_in(text: &str, key: &str) -> Option<Mid> {
    meta(text, key).map(Mid::parse)
}

/// Returns a number from the payload.
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

/// Returns the intent in the header.
pub(crate) fn intent(text: &str) -> &str {
    let header = text.split(':').next().unwrap_or_default();
    header.split_once('>').map_or("", |(_, intent)| intent)
}

/// Returns the frame without its metadata.
pub(crate) fn head(text: &str) -> &str {
    text.rfind("}[").map_or(text, |at| &text[..=at])
}

/// Returns the member whose number an id of twelve decimal digits begins with.
pub(crate) fn maker(id: &Mid) -> Option<MemberId> {
    let id = id.to_string();
    let is_made = id.len() == 12 && id.bytes().all(|byte| byte.is_ascii_digit());
    let number = id.get(..3).filter(|_| is_made)?;
    MemberId::new(number.parse().ok()?)
}
