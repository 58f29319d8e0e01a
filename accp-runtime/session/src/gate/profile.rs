//! Checks of the rules of a schema that go beyond its types ([`SchemaRules`](accp_registry::SchemaRules)).

use std::collections::{BTreeMap, VecDeque};

use accp_registry::{ErrorCode, Hash, Schema, Sequence};
use serde::{Deserialize, Serialize};

use crate::log::by_member::ByMember;
use crate::log::entry::{Entry, EntryKind};
use crate::log::mid::{MemberId, Mid};
use crate::state::chain::of;
use crate::wire::refusal::Refusal;
use crate::wire::scan::Scanned;
use accp_frame::{DynamicFrame, Intent, Registry, Value};

/// The greatest number of open streams of a member.
const STREAMS: usize = 256;
/// The number of pieces of a stream that the host remembers, to compare the data of a piece that comes again.
const RECENT: usize = 32;

/// The open streams of a session, by sender and chain.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct OpenStreams {
    open: ByMember<BTreeMap<Mid, StreamProgress>>,
    /// The chains of each sender's streams, the oldest first.
    order: ByMember<VecDeque<Mid>>,
}

/// The progress of a stream, as its pieces show it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct StreamProgress {
    /// The greatest index.
    most: i64,
    total: Option<i64>,
    /// The index of the last piece.
    last: Option<i64>,
    /// The latest pieces: the index of each, and the beginning of the digest of its data.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    recent: VecDeque<(i64, u32)>,
}

/// The place of a piece in its stream.
pub(crate) struct StreamPiece {
    pub(crate) index: i64,
    total: Option<i64>,
    is_last: bool,
    /// The beginning of the digest of the data: of all fields except those that place the piece in
    /// the stream.
    data: u32,
}

impl StreamPiece {
    /// Reads a piece; `None` if one of its numbers goes by reference.
    pub(crate) fn of(message: &DynamicFrame<'_>, names: &Sequence) -> Option<Self> {
        let number = |name: &str| match message.payload.get(name) {
            None | Some(Value::Null) => Some(None),
            Some(Value::Integer(number)) => Some(Some(*number)),
            _ => None,
        };
        let is_last = match message.payload.get(&names.last) {
            None | Some(Value::Null) => false,
            Some(Value::Boolean(is_last)) => *is_last,
            _ => return None,
        };
        let places = [&names.index, &names.total, &names.last];
        let data = message.payload.iter();
        let data = data.filter(|(key, _)| places.iter().all(|place| *place != key));
        let data: Vec<_> = data.map(|(key, value)| format!("{key}:{value}|")).collect();
        let data = data.concat();
        let [a, b, c, d, ..] = *Hash::of(data.as_bytes()).as_bytes();
        Some(Self {
            index: number(&names.index)??,
            total: number(&names.total)?,
            is_last,
            data: u32::from_be_bytes([a, b, c, d]),
        })
    }
}

impl StreamProgress {
    /// Returns the progress after this piece, or the value that was expected in the piece.
    fn with(&self, piece: &StreamPiece, names: &Sequence) -> Result<Self, String> {
        let Sequence { index, total, last } = names;
        let &StreamPiece {
            index: at,
            total: of,
            is_last,
            data,
        } = piece;
        if at < 0 {
            return Err(format!("`{index}` from 0"));
        }
        if let (Some(before), Some(of)) = (self.total, of)
            && before != of
        {
            return Err(format!("`{total}` {before}, as in the pieces before"));
        }
        let total_now = self.total.or(of);
        let most = self.most.max(at);
        if let Some(of) = total_now.filter(|of| *of <= most) {
            return Err(format!("`{index}` below `{total}`, which is {of}"));
        }
        if let Some(end) = self.last.filter(|end| *end != at && (is_last || at > *end)) {
            return Err(format!(
                "no piece behind the last one, {end}, and no other last one"
            ));
        }
        if is_last && at < most {
            return Err(format!(
                "`{last}` in the piece with the greatest `{index}`, {most}"
            ));
        }
        let last_now = self.last.or(is_last.then_some(at));
        // The piece that gives the total may arrive after the last piece.
        if let (Some(of), Some(end)) = (total_now, last_now)
            && end + 1 < of
        {
            return Err(format!(
                "`{last}` in piece {}, because `{total}` is {of}",
                of - 1
            ));
        }
        if let Some(of) = total_now.filter(|of| *of == most + 1 && last_now.is_none()) {
            return Err(format!(
                "`{last}` in piece {most}, because `{total}` is {of}"
            ));
        }
        let mut recent = self.recent.clone();
        match recent.iter().find(|(index, _)| *index == at) {
            Some((_, known)) if *known != data => {
                return Err(format!("in piece {at} the data that it had before"));
            }
            Some(_) => {}
            None => recent.push_back((at, data)),
        }
        if recent.len() > RECENT {
            recent.pop_front();
        }
        Ok(Self {
            most,
            total: total_now,
            last: last_now,
            recent,
        })
    }
}

/// Returns the failures that a schema lists.
fn failures(registry: &Registry, code: &str) -> String {
    let schema = registry.schema(code).into_iter();
    let frames = schema.flat_map(|schema| &schema.frames);
    let heads = frames.filter(|frame| frame.intent() == "fail");
    let heads: Vec<_> = heads
        .map(|frame| format!("`{}`", frame.head.join(":")))
        .collect();
    if heads.is_empty() {
        "`fail:error`".into()
    } else {
        heads.join(" or ")
    }
}

/// Checks a frame against the rules of its schema.
///
/// # Errors
/// E1004, with the rule.
pub(crate) fn check(
    registry: &Registry,
    streams: &OpenStreams,
    from: MemberId,
    frame: &Scanned<'_>,
) -> Result<(), Refusal> {
    let refuse = |expected: String| Err(Refusal::new(ErrorCode::INVALID_TYPE, expected));
    if frame.intent == Intent::END
        && let Some(open) = streams.of(from, frame)
        && open.last.is_none()
    {
        return refuse("the last piece of the stream before its end".into());
    }
    let Some(Schema { code, rules, .. }) = frame.schema_in(registry) else {
        return Ok(());
    };
    if let Some(errors) = rules
        .errors
        .as_ref()
        .filter(|_| frame.intent == Intent::FAIL)
    {
        let heads = failures(registry, errors);
        return refuse(format!(
            "{heads} under {errors}: failures of {code} go there"
        ));
    }
    if rules.error_code.is_none() && rules.sequence.is_none() {
        return Ok(());
    }
    let Some(message) = frame.message(registry) else {
        return Ok(());
    };
    if let Some(name) = &rules.error_code
        && let Some(Value::String(code)) = message.payload.get(name)
        && code
            .parse::<ErrorCode>()
            .ok()
            .and_then(ErrorCode::name)
            .is_none()
    {
        return refuse(format!(
            "a code of the draft in `{name}`, E1001 to E9999: there is no {code}"
        ));
    }
    if let Some(names) = rules
        .sequence
        .as_ref()
        .filter(|_| frame.intent == Intent::STREAM)
    {
        let Some(piece) = StreamPiece::of(&message, names) else {
            return refuse(format!("`{}` in the frame itself", names.index));
        };
        let open = streams.of(from, frame).cloned().unwrap_or_default();
        if let Err(expected) = open.with(&piece, names) {
            return refuse(expected);
        }
    }
    Ok(())
}

impl OpenStreams {
    pub(crate) fn is_empty(&self) -> bool {
        self.order.iter().all(|(_, order)| order.is_empty())
    }

    fn of(&self, sender: MemberId, frame: &Scanned<'_>) -> Option<&StreamProgress> {
        self.open.get(sender)?.get(of(frame)?)
    }

    /// Takes an accepted frame into account.
    pub(crate) fn fold(&mut self, registry: &Registry, entry: &Entry, frame: &Scanned<'_>) {
        let Some(chain) = of(frame).filter(|_| entry.kind == EntryKind::Frame) else {
            return;
        };
        match frame.intent {
            Intent::STREAM => self.take(registry, entry.sender, frame, chain),
            Intent::END | Intent::FAIL => self.forget(entry.sender, chain),
            Intent::CANCEL => {
                let senders: Vec<_> = self.open.iter().map(|(sender, _)| sender).collect();
                for sender in senders {
                    self.forget(sender, chain);
                }
            }
            _ => {}
        }
    }

    fn take(&mut self, registry: &Registry, sender: MemberId, frame: &Scanned<'_>, chain: &Mid) {
        let schema = frame.schema_in(registry);
        let Some(names) = schema.and_then(|schema| schema.rules.sequence.as_ref()) else {
            return;
        };
        let message = frame.message(registry);
        let Some(piece) = message.and_then(|message| StreamPiece::of(&message, names)) else {
            return;
        };
        let streams = self.open.or_insert_with(sender, BTreeMap::new);
        let before = streams.get(chain);
        let is_new = before.is_none();
        let Ok(open) = before
            .unwrap_or(&StreamProgress::default())
            .with(&piece, names)
        else {
            return;
        };
        streams.insert(chain.clone(), open);
        if is_new {
            let order = self.order.or_insert_with(sender, VecDeque::new);
            order.push_back(chain.clone());
            if order.len() > STREAMS
                && let Some(oldest) = order.pop_front()
            {
                streams.remove(&oldest);
            }
        }
    }

    fn forget(&mut self, sender: MemberId, chain: &Mid) {
        let streams = self.open.get_mut(sender);
        if streams.and_then(|streams| streams.remove(chain)).is_none() {
            return;
        }
        if let Some(order) = self.order.get_mut(sender) {
            order.retain(|other| other != chain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::entry::Due;

    /// Feeds pieces to a stream, each as its index, the total, and whether it is the last piece. Returns the
    /// verdicts as text.
    fn says(pieces: &[(i64, Option<i64>, bool)]) -> String {
        let names = Sequence {
            index: "at".into(),
            total: "of".into(),
            last: "end".into(),
        };
        let mut open = StreamProgress::default();
        for &(index, total, is_last) in pieces {
            let piece = StreamPiece {
                index,
                total,
                is_last,
                data: 0,
            };
            match open.with(&piece, &names) {
                Ok(next) => open = next,
                Err(expected) => return expected,
            }
        }
        String::new()
    }

    #[test]
    fn pieces_that_contradict_one_another() {
        let fine: [&[_]; 5] = [
            &[(0, None, false), (1, None, true)],
            &[(2, Some(3), true), (0, Some(3), false), (1, None, false)],
            &[
                (0, None, false),
                (0, None, false),
                (1, None, true),
                (1, None, true),
            ],
            &[(5, None, false), (0, None, false)],
            &[(1, None, true), (0, Some(2), false)],
        ];
        for pieces in fine {
            assert_eq!(says(pieces), "", "{pieces:?}");
        }
        insta::assert_snapshot!(says(&[(-1, None, false)]), @"`at` from 0");
        insta::assert_snapshot!(says(&[(0, Some(3), false), (1, Some(4), false)]), @"`of` 3, as in the pieces before");
        insta::assert_snapshot!(says(&[(3, Some(3), false)]), @"`at` below `of`, which is 3");
        insta::assert_snapshot!(says(&[(3, None, false), (0, Some(3), false)]), @"`at` below `of`, which is 3");
        insta::assert_snapshot!(says(&[(1, None, true), (2, None, false)]), @"no piece behind the last one, 1, and no other last one");
        insta::assert_snapshot!(says(&[(1, None, true), (0, None, true)]), @"no piece behind the last one, 1, and no other last one");
        insta::assert_snapshot!(says(&[(3, None, false), (2, None, true)]), @"`end` in the piece with the greatest `at`, 3");
        insta::assert_snapshot!(says(&[(2, Some(3), false)]), @"`end` in piece 2, because `of` is 3");
        insta::assert_snapshot!(says(&[(2, None, false), (0, Some(3), false)]), @"`end` in piece 2, because `of` is 3");
        insta::assert_snapshot!(says(&[(0, Some(3), true)]), @"`end` in piece 2, because `of` is 3");
        insta::assert_snapshot!(says(&[(1, None, true), (0, Some(3), false)]), @"`end` in piece 2, because `of` is 3");
    }

    fn entry(sender: MemberId, text: &str) -> Entry {
        Entry {
            position: 1,
            at: crate::Time::from_secs(0),
            kind: EntryKind::Frame,
            sender,
            to: None,
            mid: Mid::parse("m1"),
            sequence: 1,
            tokens: 0,
            cut: false,
            due: Due::No,
            text: text.into(),
            hash: None,
        }
    }

    #[test]
    fn other_data_in_a_place_that_was_taken() {
        let registry = Registry::shared();
        let (mut streams, sender) = (OpenStreams::default(), MemberId::HOST);
        let mut say = |piece: &str| {
            let text = format!("@a>stream:infer{{{piece}|schema:ST}}[mid:m1,seq:1,cid:c]");
            let frame = Scanned::of_entry(&text).unwrap();
            let checked = check(registry, &streams, sender, &frame);
            let entry = entry(sender, &text);
            if checked.is_ok() {
                streams.fold(registry, &entry, &frame);
            }
            checked.map_err(|refusal| refusal.expected.into_owned())
        };
        for n in 0..=RECENT {
            assert_eq!(say(&format!("idx:{n}|d:w{n}")), Ok(()));
            assert_eq!(say(&format!("idx:{n}|d:w{n}")), Ok(()), "the same again");
            let other = say(&format!("idx:{n}|d:x"));
            assert_eq!(
                other,
                Err(format!("in piece {n} the data that it had before"))
            );
        }
        // A sender that repeats the last piece may give the total for the first time.
        assert_eq!(
            say(&format!(
                "idx:{RECENT}|d:w{RECENT}|tot:{}|done:true",
                RECENT + 1
            )),
            Ok(())
        );
        assert_eq!(say("idx:0|d:x"), Ok(()), "too long ago to know");
    }

    /// When a member opens too many streams, the host forgets streams of that member only.
    #[test]
    fn a_member_opens_many_streams() {
        let registry = Registry::shared();
        let mut streams = OpenStreams::default();
        let (one, many) = (MemberId::HOST, MemberId::LAST);
        let mut fold = |sender, chain: &str| {
            let text =
                format!("@a>stream:infer{{idx:0|tot:2|d:x|schema:ST}}[mid:m1,seq:1,cid:{chain}]");
            let frame = Scanned::of_entry(&text).unwrap();
            let entry = entry(sender, &text);
            streams.fold(registry, &entry, &frame);
            let of = |sender| streams.open.get(sender).map_or(0, BTreeMap::len);
            (of(one), of(many))
        };
        assert_eq!(fold(one, "c"), (1, 0));
        for n in 1..=STREAMS + 3 {
            assert_eq!(fold(many, &format!("c{n}")), (1, n.min(STREAMS)));
        }
        assert_eq!(streams.order.get(many).map(VecDeque::len), Some(STREAMS));
        assert!(!streams.is_empty());
        for n in 1..=STREAMS + 3 {
            streams.forget(many, &Mid::parse(&format!("c{n}")));
        }
        streams.forget(one, &Mid::parse("c"));
        assert!(streams.is_empty());
    }
}
