//! The reasons for which a host may refuse a frame, and the authority to cancel a chain.

use accp_runtime::session::{MemberId, Mid};
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::{Entry, EntryKind};

use super::addresses::addressee;
use super::authority::grant_in;
use super::node::{REGISTRY, Result};
use super::observer::Observer;
use super::rights::follows;
use super::text::{Goal, checkpoint, field, goals, intent, is_a, maker, meta, mid_in};

impl Observer {
    /// Returns whether the observer knows every reason for this code. The frames of a hostile member have many
    /// faults, and the observer knows only the reasons about authority for them. In a flood the observer does not
    /// know these reasons either, because the host forgets chains.
    pub(super) fn is_judged(&self, code: ErrorCode, sender: MemberId) -> bool {
        let is_about_authority = matches!(
            code,
            ErrorCode::POLICY_DENIED
                | ErrorCode::UNAUTHORIZED_REF
                | ErrorCode::REF_NOT_FOUND
                | ErrorCode::REF_EXPIRED
        );
        Some(sender) != self.enemy || is_about_authority && !self.is_flooded
    }

    /// Returns whether the host may refuse a frame for good with this code.
    pub(super) fn is_reason(&self, code: ErrorCode, entry: &Entry) -> bool {
        let (text, sender) = (&*entry.text, entry.sender);
        let is_rule = matches!(code, ErrorCode::INVALID_TYPE | ErrorCode::BUDGET_EXCEEDED);
        let message = DynamicFrame::decode(text, &REGISTRY)
            .ok()
            .filter(|_| is_rule);
        let rule = message.and_then(|message| self.rule_against(sender, &message));
        match code {
            code if rule == Some(code) || self.is_denied(code, entry) => true,
            ErrorCode::REF_NOT_FOUND if self.is_for_nobody(sender, text) => true,
            ErrorCode::REF_NOT_FOUND | ErrorCode::REF_EXPIRED | ErrorCode::UNAUTHORIZED_REF => {
                // The missing reference may be in another part of the frame.
                let is_part = meta(text, "pt").is_some();
                // The log keeps only the envelope of a long frame, so it does not show the
                // reference.
                let is_cut = text.contains(":refused{}[");
                is_part || is_cut || self.lacks(text, code)
            }
            // There are two possible reasons. Another part of the frame came too late by a clock that was wrong for
            // a while. Or the host has forgotten the first part, because the member left.
            ErrorCode::INVALID_TYPE => mid_in(text, "of").is_some_and(|of| {
                let is_part = |e: &Entry| mid_in(&e.text, "of").is_some_and(|other| other == of);
                let first = (sender, of.clone());
                let was_refused = self.refused.contains(&first);
                let mut all = self.log.iter().chain(&self.timeline.before);
                was_refused
                    || all.any(|e| {
                        matches!(e.kind, EntryKind::Dropped | EntryKind::Refused(_)) && is_part(e)
                    })
            }),
            ErrorCode::BUDGET_EXCEEDED if meta(text, "pt").is_some() => {
                self.parts.keys().any(|(of, _)| *of == sender)
            }
            ErrorCode::BUDGET_EXCEEDED => {
                let is_cut = text.contains(":refused{}[");
                intent(text) == "sync" && (is_cut || !self.rights.has_room(text))
            }
            ErrorCode::POLICY_DENIED => {
                // A member with an old copy of its store does not know which keys it has used since
                // the copy was made.
                let is_put = is_a(text, ">sync:put{");
                let is_used = is_put && self.timeline.was_put_back(sender);
                let cancels = intent(text) == "cancel" && !self.may_cancel(sender, text);
                let answers = !self.chains.may_answer(text, sender);
                cancels || answers || self.left.contains_key(&sender) || is_used
            }
            _ => false,
        }
    }

    /// Returns whether a request is for an agent that never joined, or whether no member takes its kind.
    pub(super) fn is_for_nobody(&self, sender: MemberId, text: &str) -> bool {
        let addresses = &self.chains.addresses;
        addressee(text).is_some_and(|name| !addresses.knows(name))
            || addresses.is_for_none(sender, text)
    }

    /// Returns whether something is missing that the frame needs: the target of a reference, or the version of the
    /// shared state that the frame changes.
    fn lacks(&self, text: &str, code: ErrorCode) -> bool {
        if intent(text) == "sync" {
            return !follows(text, self.rights.version, field(text, "v"));
        }
        goals(text).any(|(_, goal)| self.fault(&goal) == Some(code))
    }

    /// Returns the code of the error that a reference gives now.
    pub(super) fn fault(&self, goal: &Goal<'_>) -> Option<ErrorCode> {
        match goal {
            Goal::Frame(at) => {
                // Entries that are not relayed do not count at the end of the log.
                let last = self.log.iter().rev().find(|entry| entry.kind.is_relayed());
                let last = last.map_or(0, |entry| entry.position);
                (*at == 0 || *at > last).then_some(ErrorCode::REF_NOT_FOUND)
            }
            Goal::Checkpoint(id) => {
                let newest = self.log.iter().rev();
                let mut newest = newest.filter(|entry| entry.kind == EntryKind::Control);
                let last = newest.find_map(|entry| checkpoint(&entry.text));
                last.is_none_or(|last| *id == 0 || *id > last)
                    .then_some(ErrorCode::REF_NOT_FOUND)
            }
            Goal::Nothing => Some(ErrorCode::REF_NOT_FOUND),
            Goal::Value(member, number) => {
                let sender = self.senders.get(member);
                if !sender.is_some_and(|sender| sender.holds(*number)) {
                    return Some(ErrorCode::REF_NOT_FOUND);
                }
                let is_expired = self.expired.contains(&format!("k{member}_{number}"));
                is_expired.then_some(ErrorCode::REF_EXPIRED)
            }
            Goal::Foreign(session, key) => {
                let is_granted = self.is_granted(session, key);
                (!is_granted).then_some(ErrorCode::UNAUTHORIZED_REF)
            }
        }
    }

    /// Checks that the sender of an accepted frame may do what the frame does, and that the frame's references
    /// exist.
    pub(super) fn judge_rights(&self, entry: &Entry) -> Result {
        let (text, mid) = (&entry.text, &entry.mid);
        if intent(text) == "cancel" && !self.may_cancel(entry.sender, text) {
            return Err(format!("{mid} cancels a chain of another"));
        }
        for (key, goal) in goals(text) {
            if let Some(code) = self.fault(&goal) {
                return Err(format!(
                    "{mid} refers to {key}, which does not exist: {code}"
                ));
            }
        }
        if intent(text) == "sync" && !self.rights.has_room(text) {
            return Err(format!("{mid} makes the shared state too large"));
        }
        let version = field(text, "v").filter(|_| intent(text) == "sync");
        if version.is_some() && !follows(text, self.rights.version, version) {
            let held = self.rights.version;
            return Err(format!("{mid} changes version {held} of the shared state"));
        }
        Ok(())
    }

    /// Returns whether the host has granted a key of another session.
    pub(super) fn is_granted(&self, session: &str, key: &str) -> bool {
        let mut granted = self.rights.granted.iter();
        granted.any(|(sid, one)| sid == session && (one == "*" || one == key))
    }

    /// Takes an accepted frame into account.
    pub(super) fn note_rights(&mut self, entry: &Entry) {
        let text = &entry.text;
        if let Some(chain) = mid_in(text, "cid").filter(|chain| self.owner(chain).is_none()) {
            self.rights.names.insert(chain, entry.sender);
        }
        if intent(text) == "sync" {
            self.rights.version = field(text, "v").unwrap_or(self.rights.version);
            self.rights.change(text);
        }
    }

    /// Takes a frame of the host about the session into account.
    pub(super) fn note_decision(&mut self, text: &str) {
        let member = || field(text, "n").and_then(|n| MemberId::new(n as u16));
        if is_a(text, ">sync:join{") {
            let supervises = text.contains("sup:true");
            if let Some(member) = member() {
                self.rights.supervisors.remove(&member);
                self.rights.supervisors.extend(supervises.then_some(member));
            }
        } else {
            self.rights.granted.extend(grant_in(text));
        }
    }

    /// Returns whether a frame cancels a chain of its sender, or comes from the host or from a
    /// supervisor.
    pub(super) fn may_cancel(&self, sender: MemberId, text: &str) -> bool {
        let owner = mid_in(text, "cid").and_then(|chain| self.owner(&chain));
        sender == MemberId::HOST
            || self.rights.supervisors.contains(&sender)
            || owner.is_none_or(|owner| owner == sender)
    }

    /// Returns the member that has started a chain.
    fn owner(&self, chain: &Mid) -> Option<MemberId> {
        let at = self.consumed.get(chain);
        let entry = at.and_then(|at| self.log.get(*at as usize - 1));
        let sender = entry.filter(|entry| entry.kind != EntryKind::Dropped);
        sender
            .map(|entry| entry.sender)
            .or_else(|| maker(chain))
            .or_else(|| self.rights.names.get(chain).copied())
    }
}
