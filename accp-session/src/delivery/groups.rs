//! Parts on their way to becoming a frame again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::delivery::parts::Pieces;
use crate::{MemberId, Mid, Part, Time, join};
use accp_frame::{DecodeError, ErrorCode};

/// Keeps the parts of split frames until the last one of each is there, in whatever order
/// they come.
///
/// Parts that were acknowledged are kept for as long as their sender may send the others.
/// Each sender has a bound on what it may leave incomplete, and what it seems to have given
/// up makes room when it is needed.
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
    /// When the last of them came.
    at: Time,
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
    /// How long nothing has come of a frame that makes room for another: 5 minutes by
    /// default.
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
        let mut given_up = None;
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
            let oldest = groups
                .into_iter()
                .flatten()
                .min_by_key(|(_, group)| group.at);
            given_up = oldest
                .filter(|(_, group)| group.at + limits.age <= now)
                .map(|(of, _)| of.clone());
            if given_up.is_none() {
                let expected = format!("at most {} frames under way in parts", limits.groups);
                return refuse(ErrorCode::BUDGET_EXCEEDED, expected.into());
            }
        }
        let bytes = group.map_or(0, |group| group.parts.values().map(String::len).sum());
        if bytes + head.len() > limits.bytes {
            let expected = format!("at most {} bytes in the parts of a frame", limits.bytes);
            return refuse(ErrorCode::BUDGET_EXCEEDED, expected.into());
        }
        let groups = self.senders.entry(sender).or_default();
        if let Some(of) = given_up {
            groups.remove(&of);
        }
        let group = groups.entry(part.of.clone()).or_insert_with(|| Group {
            total: part.total,
            at: now,
            parts: BTreeMap::new(),
        });
        group.at = now;
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

    /// Forgets a frame of which a part was dropped, so that it can never be whole.
    pub(crate) fn forget(&mut self, sender: MemberId, of: &Mid) {
        if let Some(groups) = self.senders.get_mut(&sender) {
            groups.remove(of);
            if groups.is_empty() {
                self.senders.remove(&sender);
            }
        }
    }

    /// Whether no frame is under way in parts.
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use accp_registry::Registry;
    use proptest::prelude::*;

    use super::*;
    use crate::delivery::parts::tests::{Quarters, limits};
    use crate::{Split, split};

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
                _ => (frame.clone(), vec![frame]),
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
    fn what_was_given_up_makes_room() {
        let mut groups = Groups::default();
        let mut accept = |of, index, secs: i64| {
            let part = part(of, index, 3);
            let frame = format!("@a>req:plan{{x{index}:1}}");
            let at = Time::from_secs(1000 + secs);
            groups.accept(member(101), &part, &frame, at, &LIMITS)
        };
        for (of, index, secs) in [("a", 1, 0), ("b", 2, 20), ("a", 3, 50)] {
            assert_eq!(accept(of, index, secs), Ok(Progress::Waiting));
        }
        assert!(accept("c", 1, 79).is_err());
        // Of `b` nothing has come for a minute; `a` may wait as long as nobody needs its room.
        assert_eq!(accept("c", 1, 80), Ok(Progress::Waiting));
        assert!(matches!(accept("a", 2, 500), Ok(Progress::Whole(_))));
    }

    #[test]
    fn a_frame_is_forgotten_with_any_of_its_parts() {
        let mut groups = Groups::default();
        accept(&mut groups, &part("a", 1, 3), "@a>req:plan{x:1}").unwrap();
        groups.forget(member(102), &Mid::parse("a"));
        assert!(!groups.is_empty());
        groups.forget(member(101), &Mid::parse("a"));
        assert!(groups.is_empty());
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
