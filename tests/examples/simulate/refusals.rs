//! What a host has refused, and with which codes.

use std::collections::{BTreeMap, BTreeSet};

use accp_runtime::ErrorCode;
use accp_runtime::session::{MemberId, Mid};

/// The codes of all refusals so far.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    of: BTreeMap<(MemberId, Mid), BTreeSet<ErrorCode>>,
    /// All members that have ever left. The host refuses every frame of a member that has left, with E5001.
    left: BTreeSet<MemberId>,
}

impl Codes {
    pub(super) fn leaves(&mut self, member: MemberId) {
        self.left.insert(member);
    }

    pub(super) fn has_left(&self, member: MemberId) -> bool {
        self.left.contains(&member)
    }

    pub(super) fn refuses(&mut self, key: (MemberId, Mid), code: ErrorCode) {
        self.of.entry(key).or_default().insert(code);
    }

    /// Keeps what an observer knew before a copy of the store was put back.
    pub(super) fn remember(&mut self, before: &mut Self) {
        for (key, codes) in std::mem::take(&mut before.of) {
            self.of.entry(key).or_default().extend(codes);
        }
        self.left.append(&mut before.left);
    }

    /// Returns whether the host may tell a member that its frame is refused with this code.
    pub(super) fn may_be_told(&self, key: &(MemberId, Mid), code: &str) -> bool {
        let is_for_leaving = code == ErrorCode::POLICY_DENIED.to_string();
        let codes = self.of.get(key).into_iter().flatten();
        is_for_leaving && self.left.contains(&key.0)
            || codes.into_iter().any(|one| one.to_string() == code)
    }
}

/// Returns whether a check that comes before the check of the id may give this code.
pub(super) fn is_first(code: ErrorCode) -> bool {
    let first = [
        ErrorCode::PARSE_ERROR,
        ErrorCode::INVALID_TYPE,
        ErrorCode::POLICY_DENIED,
        ErrorCode::UNAUTHORIZED_REF,
    ];
    first.contains(&code)
}
