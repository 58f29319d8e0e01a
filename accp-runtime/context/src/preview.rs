//! Previews of frames that are too large for the context.

use accp_frame::{DecodeOptions, LONG_VALUE, Limits, Reader};

/// The most bytes of a preview.
pub(crate) const PREVIEW: usize = 160;
/// The least bytes of the beginning of a long text. A preview leaves out a shorter beginning.
const BEGINNING: usize = 8;
/// The params that a preview adds to the params of the frame.
const OWN: [&str; 2] = ["ref", "begins"];

/// Options for reading frames that were checked before.
pub(crate) const UNBOUNDED: DecodeOptions = DecodeOptions {
    limits: Limits::NONE,
    marks: true,
};

/// Returns a frame in at most [`PREVIEW`] bytes: its header, a reference to the whole frame, its
/// short params, and the beginning of the first long text under `begins`. `None` when the header
/// leaves no room.
///
/// The preview depends only on the frame and its position, so everyone who holds the frame makes
/// the same preview.
pub(crate) fn preview(head: &str, position: u64) -> Option<String> {
    let mut r = Reader::new(head, UNBOUNDED).ok()?;
    r.header().ok()?;
    let mut out = format!("{}ref:$cold.p{position}", head.get(..r.at())?);
    let mut long = None;
    while let Some(key) = r.param().ok()? {
        let value = r.skip_value().ok()?;
        if OWN.contains(&key) {
            continue;
        }
        // The length includes the separators and the brace at the end of the frame.
        let length = out.len() + key.len() + value.len() + "|:}".len();
        if value.len() <= LONG_VALUE && length <= PREVIEW {
            out.push('|');
            out.push_str(key);
            out.push(':');
            out.push_str(value);
        } else if !value.starts_with(['[', '{', '$', '~']) {
            long.get_or_insert(value);
        }
    }
    let room = PREVIEW.saturating_sub(out.len() + "|begins:}".len());
    if let Some(beginning) = long.map(|text| beginning(text, room))
        && beginning.len() >= BEGINNING
    {
        out.push_str("|begins:");
        out.push_str(beginning);
    }
    out.push('}');
    (out.len() <= PREVIEW).then_some(out)
}

/// Returns at most this many bytes from the start of a raw scalar, without cutting an escape.
fn beginning(text: &str, length: usize) -> &str {
    let mut end = 0;
    while end < text.len() {
        let next = end + 1 + usize::from(text.as_bytes()[end] == b'\\');
        if next > length {
            break;
        }
        end = next;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_short_params_and_the_beginning_of_a_long_text() {
        let long = r"What_is\:_".repeat(30);
        let text = format!("@u>req:chat{{content:{long}|lang:en|ref:$warm.x}}");
        insta::assert_snapshot!(
            preview(&text, 7).unwrap(),
            @r"@u>req:chat{ref:$cold.p7|lang:en|begins:What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:_What_is\:}"
        );
        // Byte 2 is in the middle of an escape. `beginning` does not cut an escape in half.
        assert_eq!(beginning(r"a\:b", 2), "a");
        assert_eq!(
            preview(&format!("@{}>req:chat{{}}", "a".repeat(150)), 7),
            None
        );
    }
}
