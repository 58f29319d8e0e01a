//! A simple reader of frames. It only knows the shapes that this program's sides produce.

use accp_runtime::session::Mid;

/// Returns the value of a metadata key of a frame.
pub(crate) fn metadata<'f>(frame: &'f str, key: &str) -> Option<&'f str> {
    let (_, metadata) = frame.rsplit_once("}[")?;
    let mut pairs = metadata.trim_end_matches(']').split(',');
    pairs.find_map(|pair| pair.strip_prefix(key)?.strip_prefix(':'))
}

pub(crate) fn number_in(frame: &str, key: &str) -> Option<u64> {
    metadata(frame, key)?.parse().ok()
}

/// Returns a value from the payload of a frame.
pub(crate) fn param<'f>(frame: &'f str, key: &str) -> Option<&'f str> {
    let head = frame.rsplit_once("}[").map_or(frame, |(head, _)| head);
    let at = [format!("{{{key}:"), format!("|{key}:")];
    let at = at.iter().find_map(|key| Some(head.find(key)? + key.len()));
    head[at?..].split(['|', '}']).next()
}

/// Returns a number from the payload of a frame: `n`, or `re` in an answer.
pub(crate) fn number(frame: &str, key: &str) -> Option<u64> {
    param(frame, key)?.parse().ok()
}

/// Returns the agent that sends the frame.
pub(crate) fn agent(frame: &str) -> Option<&str> {
    frame.strip_prefix('@')?.split('>').next()
}

pub(crate) fn is_request(frame: &str) -> bool {
    frame.contains(">req:plan{")
}

pub(crate) fn is_cancel(frame: &str) -> bool {
    frame.contains(">cancel:task{")
}

/// Returns the chain of a frame: its `cid`, or else its own id.
pub(crate) fn chain(frame: &str) -> Option<Mid> {
    let chain = metadata(frame, "cid").or_else(|| metadata(frame, "mid"));
    chain.map(Mid::parse)
}

/// A long text that has gone to cold state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LongText {
    /// The key without its tier.
    pub(crate) key: String,
    /// The text that its sender has put.
    pub(crate) text: String,
}

/// Returns the long text that a frame refers to.
pub(crate) fn long_text(frame: &str) -> Option<LongText> {
    let key = param(frame, "text")?.strip_prefix("$cold.")?.to_string();
    let (n, size) = (number(frame, "n")?, number(frame, "size")?);
    let text = super::words::text(agent(frame)?, n, size as usize);
    Some(LongText { key, text })
}
