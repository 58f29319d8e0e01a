//! An entry on its way to a member.

use crate::log::mid::MemberId;
use crate::log::vouch::Vouched;

/// The metadata pairs that only a host writes.
pub(crate) const RESERVED: [&str; 9] = [
    "pos", "prev", "tok", "cut", "rep", "by", "for", "sum", "proof",
];

/// A frame as its sender wrote it, with the pairs that the host adds.
///
/// The host's pairs come after those of the sender:
/// `@a>req:plan{}[mid:101000001001,seq:1,pos:7,by:101,for:102,prev:4,tok:12,cut:true]`. For a member that
/// knows them, `sum` and `proof` follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relay<'a> {
    /// The frame up to the bracket that closes its metadata.
    pub frame: &'a str,
    pub position: u64,
    pub sender: MemberId,
    /// The member that the frame is for; `None` if it is for all.
    pub to: Option<MemberId>,
    /// The last relayed position before this one.
    pub prev: u64,
    pub tokens: u32,
    pub cut: bool,
    /// True for a frame of the kind [`EntryKind::Repeat`](crate::EntryKind::Repeat).
    pub repeat: bool,
    /// The proof of the host for the log up to this entry.
    pub vouched: Option<Vouched>,
}

impl<'a> Relay<'a> {
    /// Returns the text that goes to a member.
    pub(crate) fn text(&self) -> String {
        let Self {
            frame,
            position,
            sender,
            to,
            prev,
            tokens,
            cut,
            repeat,
            vouched,
        } = *self;
        let pair = |is_written: bool, key: &str, value: u64| {
            if is_written {
                format!(",{key}:{value}")
            } else {
                String::new()
            }
        };
        let to = to.map_or_else(String::new, |to| format!(",for:{to}"));
        let prev = pair(prev + 1 != position, "prev", prev);
        let tokens = pair(tokens > 0, "tok", tokens.into());
        let cut = if cut { ",cut:true" } else { "" };
        let repeat = if repeat { ",rep:true" } else { "" };
        let vouched = vouched.map_or_else(String::new, |vouched| format!(",{vouched}"));
        format!("{frame},pos:{position},by:{sender}{to}{prev}{tokens}{cut}{repeat}{vouched}]")
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
        let member = |number: u64| MemberId::new(u16::try_from(number).ok()?);
        let sender = member(number("by:")?)?;
        let to = match number("for:") {
            Some(to) => Some(MemberId::addressee(u16::try_from(to).ok()?)?),
            None => None,
        };
        let prev = number("prev:").unwrap_or(position.checked_sub(1)?);
        let tokens = u32::try_from(number("tok:").unwrap_or_default()).ok()?;
        let cut = pairs.next_if_eq(&"cut:true").is_some();
        let repeat = pairs.next_if_eq(&"rep:true").is_some();
        let vouched = match pairs.next_if(|pair| pair.starts_with("sum:")) {
            Some(sum) => {
                let proof = pairs.next()?.strip_prefix("proof:")?;
                Some(Vouched::read(sum.strip_prefix("sum:")?, proof)?)
            }
            None => None,
        };
        pairs.next().is_none().then_some(Self {
            frame,
            position,
            sender,
            to,
            prev,
            tokens,
            cut,
            repeat,
            vouched,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::vouch::LogKey;

    proptest! {
        #[test]
        fn reads_what_it_has_written(
            note in "[a-z,:]{0,8}|,pos:7",
            position in 1u64..1000, sender in prop_oneof![100..=899u16, 9000..=9999u16], gap in 0u64..3,
            tokens in 0u32..40, (cut, repeat) in any::<(bool, bool)>(), to in prop::option::of(99..=899u16),
            key in any::<Option<[u8; 32]>>(),
        ) {
            let key = key.map(LogKey::new);
            let frame = format!("@a>req:plan{{}}[mid:101000001001,seq:1,note:{note}");
            let relay = Relay {
                frame: &frame,
                position,
                sender: MemberId::new(sender).unwrap(),
                to: to.and_then(MemberId::addressee),
                prev: position.saturating_sub(1 + gap),
                tokens,
                cut,
                repeat,
                vouched: key.map(|key| key.pairs(position, &key.root())),
            };
            let text = relay.text();
            prop_assert_eq!(Relay::read(&text), Some(relay));
        }

        #[test]
        fn takes_no_other_frame_for_one(
            tail in prop::collection::vec(
                prop::sample::select(&[",pos:7", ",by:101", ",for:102", ",prev:2", ",tok:x", ",cut:true", ",rep:true", ",sum:0123456789abcdef", ",sum:\u{e9}", ",proof:x", ",a:b", "]"][..]),
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
