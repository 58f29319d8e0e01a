//! Parts on their way to becoming a frame again.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::time::Duration;

use serde::{Deserialize, Serialize};

use super::parts::Pieces;
use super::{MemberId, Mid, Part, Time, join};
use crate::{DecodeError, ErrorCode};

/// Keeps the parts of split frames until the last one of each is there, in whatever order
/// they come.
///
/// Each sender has a bound on what it may leave incomplete, and a group that stays
/// incomplete for too long is dropped whole.
///
/// ```
/// use accp_runtime::session::{GroupLimits, Groups, MemberId, Mid, Part, Progress, Time};
///
/// let (mut groups, limits, now) = (Groups::default(), GroupLimits::default(), Time::from_secs(0));
/// let mut accept = |index, frame| {
///     let part = Part { index, total: 2, of: Mid::parse("101000001001") };
///     groups.accept(MemberId::HOST, &part, frame, now, &limits)
/// };
/// assert_eq!(accept(2, "@a>req:plan{b:2}")?, Progress::Waiting);
/// assert_eq!(accept(1, "@a>req:plan{a:1}")?, Progress::Whole("@a>req:plan{a:1|b:2}".into()));
/// # Ok::<(), accp_runtime::DecodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Groups {
    senders: BTreeMap<MemberId, BTreeMap<Mid, Group>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Group {
    total: u16,
    /// When the first of them came.
    since: Time,
    /// The parts by their place, without metadata.
    parts: BTreeMap<u16, String>,
}

/// Bounds on what is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// Frames that a sender may have under way in parts: 8 by default.
    pub groups: usize,
    /// Bytes that the parts of a frame may have together: 256 KiB by default.
    pub bytes: usize,
    /// How long a frame may take from its first part to its last: 5 minutes by default.
    pub age: Duration,
}

/// What a part led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Others are missing.
    Waiting,
    /// It was the last one: the frame, without metadata. Whether that is a frame at all, with
    /// every key once and the fields that its schema requires, is still to be seen.
    Whole(String),
}

/// A frame that was dropped because parts of it never came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incomplete {
    /// Who sent the parts.
    pub sender: MemberId,
    /// The id of its first part.
    pub of: Mid,
    /// How many parts there were.
    pub received: u16,
    /// How many there should have been.
    pub total: u16,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self {
            groups: 8,
            bytes: 256 * 1024,
            age: Duration::from_secs(300),
        }
    }
}

impl Groups {
    /// Takes a part.
    ///
    /// # Errors
    /// E1001 when the text is no frame or the part is there already; E1004 when it does not
    /// fit the others, in its header, its schema or their number; E2003 over a limit. Nothing
    /// has changed then.
    pub fn accept(
        &mut self,
        sender: MemberId,
        part: &Part,
        frame: &str,
        now: Time,
        limits: &GroupLimits,
    ) -> Result<Progress, DecodeError> {
        let pieces = Pieces::read(frame)?;
        let refuse =
            |code, expected: Cow<'static, str>| Err(DecodeError::new(code, pieces.end, expected));
        let head = frame.get(..pieces.end).unwrap_or_default();
        let groups = self.senders.get(&sender);
        let group = groups.and_then(|groups| groups.get(&part.of));
        if let Some(group) = group {
            if group.total != part.total {
                return refuse(
                    ErrorCode::INVALID_TYPE,
                    "as many parts as the others say".into(),
                );
            }
            if group.parts.contains_key(&part.index) {
                return refuse(ErrorCode::PARSE_ERROR, "each part once".into());
            }
            if let Some(other) = group.parts.values().next() {
                Pieces::read(other)?.check_same(&pieces)?;
            }
        } else if groups.map_or(0, BTreeMap::len) >= limits.groups {
            let expected = format!("at most {} frames under way in parts", limits.groups);
            return refuse(ErrorCode::BUDGET_EXCEEDED, expected.into());
        }
        let bytes = group.map_or(0, |group| group.parts.values().map(String::len).sum());
        if bytes + head.len() > limits.bytes {
            let expected = format!("at most {} bytes in the parts of a frame", limits.bytes);
            return refuse(ErrorCode::BUDGET_EXCEEDED, expected.into());
        }
        let groups = self.senders.entry(sender).or_default();
        let group = groups.entry(part.of.clone()).or_insert_with(|| Group {
            total: part.total,
            since: now,
            parts: BTreeMap::new(),
        });
        group.parts.insert(part.index, head.into());
        if group.parts.len() < usize::from(group.total) {
            return Ok(Progress::Waiting);
        }
        let parts = groups.remove(&part.of).map(|group| group.parts);
        if groups.is_empty() {
            self.senders.remove(&sender);
        }
        let parts: Vec<String> = parts.into_iter().flatten().map(|(_, text)| text).collect();
        join(&parts).map(Progress::Whole)
    }

    /// Drops every frame whose first part came `limits.age` ago, or earlier, and lists them.
    pub fn expire(&mut self, now: Time, limits: &GroupLimits) -> Vec<Incomplete> {
        let mut dropped = Vec::new();
        for (&sender, groups) in &mut self.senders {
            groups.retain(|of, group| {
                let stays = group.since + limits.age > now;
                if !stays {
                    dropped.push(Incomplete {
                        sender,
                        of: of.clone(),
                        received: group.parts.len() as u16,
                        total: group.total,
                    });
                }
                stays
            });
        }
        self.senders.retain(|_, groups| !groups.is_empty());
        dropped
    }

    /// When [`expire`](Self::expire) will next have something to drop.
    pub fn deadline(&self, limits: &GroupLimits) -> Option<Time> {
        let groups = self.senders.values().flat_map(BTreeMap::values);
        groups.map(|group| group.since + limits.age).min()
    }

    /// Whether no frame is under way in parts.
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use accp_registry::Registry;
    use proptest::prelude::*;

    use super::*;
    use crate::session::parts::tests::{Quarters, limits};
    use crate::session::{Split, split};

    const NOW: Time = Time::from_secs(1000);
    const LIMITS: GroupLimits = GroupLimits {
        groups: 2,
        bytes: 100,
        age: Duration::from_secs(60),
    };

    fn member(number: u16) -> MemberId {
        MemberId::new(number).unwrap()
    }

    fn part(of: &str, index: u16, total: u16) -> Part {
        Part {
            index,
            total,
            of: Mid::parse(of),
        }
    }

    fn accept(groups: &mut Groups, part: &Part, frame: &str) -> Result<Progress, DecodeError> {
        groups.accept(member(101), part, frame, NOW, &LIMITS)
    }

    /// Frames in parts, of several senders, and an order in which the parts arrive.
    fn any_arrival() -> impl Strategy<Value = Vec<(u16, Part, String, String)>> {
        let parts = prop::collection::vec(1_usize..60, 6..12).prop_map(|lengths| {
            let params = lengths.iter().enumerate();
            let params = params.map(|(at, length)| format!("p{at}:{}", "x".repeat(*length)));
            let params: Vec<String> = params.collect();
            let frame = format!("@a>req:plan{{{}}}", params.join("|"));
            match split(&frame, &Registry::empty(), &limits(20, 60), &Quarters, 0) {
                Ok(Split::Parts(parts)) => (frame, parts),
                _ => (frame.clone(), alloc::vec![frame]),
            }
        });
        let frames = prop::collection::vec((101_u16..104, parts), 1..4);
        let all = frames.prop_map(|frames| {
            let each = frames
                .into_iter()
                .enumerate()
                .flat_map(|(at, (sender, (frame, parts)))| {
                    let total = parts.len() as u16;
                    parts.into_iter().enumerate().map(move |(index, text)| {
                        let label = part(&format!("m{at}"), index as u16 + 1, total);
                        (sender, label, text, frame.clone())
                    })
                });
            each.collect::<Vec<_>>()
        });
        all.prop_shuffle()
    }

    proptest! {
        #[test]
        fn any_order_of_arrival_gives_the_frames(arrival in any_arrival()) {
            let limits = GroupLimits::default();
            let mut groups = Groups::default();
            let mut missing: BTreeMap<Mid, u16> = BTreeMap::new();
            for (sender, label, text, frame) in &arrival {
                // What a snapshot keeps is all there is.
                let snapshot = serde_json::to_string(&groups).unwrap();
                prop_assert_eq!(&serde_json::from_str::<Groups>(&snapshot).unwrap(), &groups);

                let left = missing.entry(label.of.clone()).or_insert(label.total);
                *left -= 1;
                let sent = format!("{text}[mid:x,{label}]");
                let progress = groups.accept(member(*sender), label, &sent, NOW, &limits).unwrap();
                if *left == 0 {
                    prop_assert_eq!(progress, Progress::Whole(frame.clone()));
                    continue;
                }
                prop_assert_eq!(progress, Progress::Waiting);
                let before = groups.clone();
                prop_assert!(groups.accept(member(*sender), label, &sent, NOW, &limits).is_err());
                prop_assert_eq!(&groups, &before);
            }
            prop_assert!(groups.is_empty());
        }

        #[test]
        fn no_sender_keeps_more_than_its_bound(
            parts in prop::collection::vec(("[a-d]", 1_u16..6, 1_u16..6, 0_usize..60), 0..40),
        ) {
            let mut groups = Groups::default();
            for (of, index, total, length) in parts {
                let label = part(&of, index.min(total), total);
                let frame = format!("@a>req:plan{{x:1{}}}", "x".repeat(length));
                let before = groups.clone();
                match accept(&mut groups, &label, &frame) {
                    Ok(Progress::Waiting) => prop_assert_ne!(&groups, &before),
                    Ok(Progress::Whole(_)) => {}
                    Err(_) => prop_assert_eq!(&groups, &before),
                }
                for groups in groups.senders.values() {
                    prop_assert!(groups.len() <= LIMITS.groups);
                    for group in groups.values() {
                        prop_assert!(group.parts.values().map(String::len).sum::<usize>() <= LIMITS.bytes);
                    }
                }
            }
        }
    }

    #[test]
    fn what_stays_incomplete_is_dropped_whole() {
        let mut groups = Groups::default();
        let at = |secs: i64| Time::from_secs(1000 + secs);
        let mut accept = |sender, of, index, secs| {
            let part = part(of, index, 3);
            let frame = format!("@a>req:plan{{x{index}:1}}");
            groups
                .accept(member(sender), &part, &frame, at(secs), &LIMITS)
                .unwrap();
        };
        accept(101, "a", 1, 0);
        accept(101, "b", 2, 20);
        accept(102, "a", 3, 0);
        accept(101, "a", 3, 50);
        assert_eq!(groups.deadline(&LIMITS), Some(at(60)));
        assert_eq!(groups.expire(at(59), &LIMITS), []);
        let incomplete = |sender, of, received| Incomplete {
            sender: member(sender),
            of: Mid::parse(of),
            received,
            total: 3,
        };
        let dropped = groups.expire(at(60), &LIMITS);
        assert_eq!(dropped, [incomplete(101, "a", 2), incomplete(102, "a", 1)]);
        assert_eq!(groups.deadline(&LIMITS), Some(at(80)));
        assert_eq!(groups.expire(at(1000), &LIMITS), [incomplete(101, "b", 1)]);
        assert_eq!((groups.is_empty(), groups.deadline(&LIMITS)), (true, None));
    }

    #[test]
    fn says_what_does_not_fit() {
        let mut groups = Groups::default();
        accept(&mut groups, &part("a", 1, 3), "@a>req:plan{x:1|schema:TA}").unwrap();
        accept(&mut groups, &part("b", 1, 3), "@a>req:plan{x:1}").unwrap();
        let before = groups.clone();
        let mut error = |part: &Part, frame: &str| {
            let error = accept(&mut groups, part, frame).unwrap_err().to_string();
            assert_eq!(groups, before);
            error
        };
        let same = "@a>req:plan{y:1|schema:TA}[mid:a]";
        insta::assert_snapshot!(error(&part("a", 2, 3), "@a>req:plan{y:1}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
        insta::assert_snapshot!(error(&part("a", 2, 3), "@a>done:plan{y:1|schema:TA}"), @"E1004 at byte 0: expected the sender, intent, operation and schema of the first part");
        insta::assert_snapshot!(error(&part("a", 2, 4), same), @"E1004 at byte 26: expected as many parts as the others say");
        insta::assert_snapshot!(error(&part("a", 1, 3), same), @"E1001 at byte 26: expected each part once");
        insta::assert_snapshot!(error(&part("c", 1, 3), same), @"E2003 at byte 26: expected at most 2 frames under way in parts");
        insta::assert_snapshot!(error(&part("a", 2, 3), "@a>req:plan{"), @"E1001 at byte 12: expected a key or '}' after '{', found the end");
        let long = format!("@a>req:plan{{y:{}|schema:TA}}", "x".repeat(60));
        insta::assert_snapshot!(error(&part("a", 2, 3), &long), @"E2003 at byte 85: expected at most 100 bytes in the parts of a frame");
    }
}
