//! Assembly of frames from their parts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::delivery::parts::{Part, Pieces, join};
use crate::log::mid::{MemberId, Mid};
use crate::options::GroupLimits;
use accp_context::Time;
use accp_frame::{DecodeError, ErrorCode};

/// Keeps the parts of split frames until all parts of a frame have come, in any order.
///
/// Acknowledged parts are kept for as long as their sender may send the others. Each sender may leave a limited
/// number of frames incomplete. If the sender has too many, the oldest of them is given up, provided that it got no
/// new part for a long time.
///
/// ```
/// use accp_runtime::session::{MemberId, Mid, Time};
/// use accp_session::{GroupLimits, Groups, Part, Progress};
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
    /// The time at which the last part came.
    at: Time,
    /// The parts by their place, without metadata.
    parts: BTreeMap<u16, String>,
}

/// The result of taking a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Other parts are missing.
    Waiting,
    /// The part was the last one. The text is the whole frame, without metadata. The caller still has to check that
    /// the text is a valid frame: with each key once, and with the fields that its schema requires.
    Whole(String),
}

impl Groups {
    /// Takes a part.
    ///
    /// # Errors
    /// E1001 when the text is not a frame, or the part is there already. E1004 when the header, the
    /// schema or the number of parts differs from the other parts. E2003 over a limit. Then nothing
    /// has changed.
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
        let kept = group.map_or(0, |group| group.parts.len());
        if kept + 1 == usize::from(part.total) {
            let others = group.into_iter().flat_map(|group| &group.parts);
            let mut parts: Vec<_> = others
                .map(|(index, text)| (*index, text.as_str()))
                .collect();
            parts.push((part.index, head));
            parts.sort_unstable();
            let parts: Vec<_> = parts.into_iter().map(|(_, text)| text).collect();
            let whole = join(&parts)?;
            self.forget(sender, &part.of);
            return Ok(Progress::Whole(whole));
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
        Ok(Progress::Waiting)
    }

    /// Returns whether parts of this frame are here, and others are missing.
    pub(crate) fn contains(&self, sender: MemberId, of: &Mid) -> bool {
        let groups = self.senders.get(&sender);
        groups.is_some_and(|groups| groups.contains_key(of))
    }

    /// Forgets the parts of a frame that is whole, or can never be whole.
    pub(crate) fn forget(&mut self, sender: MemberId, of: &Mid) {
        if let Some(groups) = self.senders.get_mut(&sender) {
            groups.remove(of);
            if groups.is_empty() {
                self.senders.remove(&sender);
            }
        }
    }

    /// Returns whether there are no incomplete frames.
    pub fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }
}

#[cfg(test)]
mod tests;
