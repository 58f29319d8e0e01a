//! An entry on its way to a member.

use crate::MemberId;

/// The metadata pairs that only a host writes.
pub(crate) const RESERVED: [&str; 5] = ["pos", "prev", "tok", "cut", "by"];

/// A frame as its sender wrote it, with the pairs that the host adds.
///
/// The host's pairs stand behind those of the sender:
/// `@a>req:plan{}[mid:101000001001,seq:1,pos:7,by:101,prev:4,tok:12,cut:true]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relay<'a> {
    /// The frame up to the bracket that closes its metadata.
    pub frame: &'a str,
    pub position: u64,
    pub sender: MemberId,
    /// The last relayed position before this one.
    pub prev: u64,
    pub tokens: u32,
    pub cut: bool,
}

impl<'a> Relay<'a> {
    /// Returns the text that goes to a member.
    pub(crate) fn text(&self) -> String {
        let Self {
            frame,
            position,
            sender,
            prev,
            tokens,
            cut,
        } = *self;
        let pair = |is_said: bool, key: &str, value: u64| {
            if is_said {
                format!(",{key}:{value}")
            } else {
                String::new()
            }
        };
        let prev = pair(prev + 1 != position, "prev", prev);
        let tokens = pair(tokens > 0, "tok", tokens.into());
        let cut = if cut { ",cut:true" } else { "" };
        format!("{frame},pos:{position},by:{sender}{prev}{tokens}{cut}]")
    }

    /// Reads a text of [`Relay::text`]; `None` for any other frame.
    pub(crate) fn read(text: &'a str) -> Option<Self> {
        let at = text.rfind(",pos:")?;
        let (frame, pairs) = text.split_at(at);
        let mut pairs = pairs.get(1..)?.strip_suffix(']')?.split(',').peekable();
        let mut number = |key: &str| -> Option<u64> {
            let value = pairs.peek()?.strip_prefix(key)?.parse().ok()?;
            pairs.next();
            Some(value)
        };
        let position = number("pos:")?;
        let sender = MemberId::new(u16::try_from(number("by:")?).ok()?)?;
        let prev = number("prev:").unwrap_or(position.checked_sub(1)?);
        let tokens = u32::try_from(number("tok:").unwrap_or_default()).ok()?;
        let cut = pairs.next_if_eq(&"cut:true").is_some();
        pairs.next().is_none().then_some(Self {
            frame,
            position,
            sender,
            prev,
            tokens,
            cut,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn reads_what_it_has_written(
            note in "[a-z,:]{0,8}|,pos:7",
            position in 1u64..1000, sender in 100u16..900, gap in 0u64..3,
            tokens in 0u32..40, cut in any::<bool>(),
        ) {
            let frame = format!("@a>req:plan{{}}[mid:101000001001,seq:1,note:{note}");
            let relay = Relay {
                frame: &frame,
                position,
                sender: MemberId::new(sender).unwrap(),
                prev: position.saturating_sub(1 + gap),
                tokens,
                cut,
            };
            let text = relay.text();
            prop_assert_eq!(Relay::read(&text), Some(relay));
        }

        #[test]
        fn takes_no_other_frame_for_one(
            tail in prop::collection::vec(
                prop::sample::select(&[",pos:7", ",by:101", ",prev:2", ",tok:x", ",cut:true", ",a:b", "]"][..]),
                0..6,
            ),
        ) {
            let text = format!("@a>req:plan{{}}[mid:m{}", tail.concat());
            if let Some(relay) = Relay::read(&text) {
                prop_assert_eq!(relay.text().len(), text.len());
            }
        }
    }
}
