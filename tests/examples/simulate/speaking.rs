//! Checks who may do what: who speaks, who is in the session, and what the operator has asked of the host.

use accp_runtime::ErrorCode;
use accp_runtime::session::{Event, MemberId};
use accp_session::{Batch, Entry, EntryKind};
use accp_testkit::Rng;

use super::authority::{expired_in, grant_in, is_host_s, is_of_another_session, value_key};
use super::node::Result;
use super::observer::{Observer, Sender};
use super::refusals::is_first;
use super::text::{is_a, meta, params};

/// Pairs that only a host adds.
pub(super) const OF_RELAYS: [&str; 9] = [
    "pos", "prev", "tok", "cut", "rep", "by", "for", "sum", "proof",
];
/// The most gaps in the numbers of a member's values that a session remembers (docs/limits.md).
const GAPS: usize = 64;
/// The most bytes of a value (docs/limits.md).
pub(super) const VALUE: u64 = 8 << 20;

impl Sender {
    /// Returns whether the session takes a value number as used: a value has the number, or the session has
    /// forgotten the gap in which the number lies.
    pub(super) fn holds(&self, number: u64) -> bool {
        let last = self.puts.last().copied().unwrap_or_default();
        if number == 0 || number > last || self.puts.contains(&number) {
            return number > 0 && number <= last;
        }
        let later: Vec<_> = self.puts.range(number..).collect();
        let gaps = later.windows(2).filter(|two| *two[1] > two[0] + 1);
        gaps.count() >= GAPS
    }
}

impl Observer {
    /// Returns the number of the last value of a member.
    pub(super) fn last_put(&self, member: MemberId) -> u64 {
        let puts = self.senders.get(&member).map(|sender| &sender.puts);
        puts.and_then(|puts| puts.last().copied())
            .unwrap_or_default()
    }

    /// Returns a reference to a value that a member has put, or to a value just beyond the member's last value. An
    /// index beyond the sides means the hostile member.
    pub(super) fn value_near_the_last(&self, member: usize, rng: &mut Rng) -> String {
        let member = self.sides.get(member).map(|side| side.id);
        let member = member.or(self.enemy).unwrap_or(MemberId::HOST);
        let last = self.last_put(member);
        let number = match rng.below(3) {
            0 => last + 1,
            1 => last.max(1),
            _ => 1 + rng.below(last + 2),
        };
        format!("cold.{}", value_key(member, number))
    }

    /// Returns the code with which a host must refuse a frame because of its sender, its session or its kind; `None`
    /// if there is no such reason.
    pub(super) fn denial(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        let authority = &self.authority;
        if self.left.contains_key(&sender) || !authority.speaks(sender, text) {
            return Some(ErrorCode::POLICY_DENIED);
        }
        if is_of_another_session(text) {
            return Some(ErrorCode::UNAUTHORIZED_REF);
        }
        let is_host_s = sender != MemberId::HOST && is_host_s(text);
        is_host_s.then_some(ErrorCode::POLICY_DENIED)
    }

    /// Returns whether a host may refuse a frame with this code because of its sender or because of the keys that it
    /// announces.
    pub(super) fn is_denied(&self, code: ErrorCode, entry: &Entry) -> bool {
        let (sender, text) = (entry.sender, &*entry.text);
        let of_puts = code == ErrorCode::POLICY_DENIED && self.wrong_put(sender, text);
        self.denial(sender, text) == Some(code) || of_puts
    }

    /// Returns whether an announcement has a key that does not belong to its sender, or is not later than the keys
    /// before it.
    fn wrong_put(&self, sender: MemberId, text: &str) -> bool {
        if !is_a(text, ">sync:put{") {
            return false;
        }
        let puts = self.senders.get(&sender);
        let mut last = puts
            .and_then(|sender| sender.puts.last().copied())
            .unwrap_or_default();
        let mut keys = text.split("[k").skip(1);
        let mut is_next = |key: &str| {
            let number = key.strip_prefix(&format!("{sender}_"));
            let number = number.and_then(|rest| rest.split(',').next()?.parse::<u64>().ok());
            let is_next = number.is_some_and(|number| number > last);
            last = number.unwrap_or(last);
            is_next
        };
        !keys.all(&mut is_next)
    }

    /// Checks that the sender of an entry may have sent it.
    pub(super) fn judge_authority(&mut self, entry: &Entry) -> Result {
        let (sender, text, mid) = (entry.sender, &*entry.text, &entry.mid);
        // A copy of an answer has the member that asked as its sender.
        let is_copy = entry.kind == EntryKind::Repeat && entry.sequence == 0;
        if is_copy || matches!(entry.kind, EntryKind::Lost | EntryKind::Refused(_)) {
            return Ok(());
        }
        if is_a(text, ">sync:open{") {
            self.authority.joins(MemberId::HOST, text);
        }
        if let Some(code) = self.denial(sender, text) {
            return Err(format!("{sender} may not say this ({code}): {text}"));
        }
        let pair = OF_RELAYS.iter().find(|key| meta(text, key).is_some());
        if let Some(pair) = pair.filter(|_| entry.sequence > 0) {
            return Err(format!("{sender} says {pair}, as only a host does: {text}"));
        }
        if entry.sequence > 0 {
            self.judge_id(entry)?;
        }
        if entry.kind != EntryKind::Control {
            return Ok(());
        }
        self.judge_wish(text)?;
        if sender != MemberId::HOST && self.wrong_put(sender, text) {
            return Err(format!("{sender} puts what it may not: {text}"));
        }
        if let Some(length) = lengths(text).find(|length| *length > VALUE) {
            return Err(format!("{mid} announces a value of {length} bytes"));
        }
        Ok(())
    }

    /// Checks that the id of an entry equals the id in its text, has the form of the draft, and was not used before.
    /// Ids are compared as texts here.
    fn judge_id(&mut self, entry: &Entry) -> Result {
        let said = meta(&entry.text, "mid").unwrap_or_default();
        let said = said.to_ascii_lowercase();
        let is_hex = said.len() == 12 && said.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || said != entry.mid.to_string() {
            return Err(format!("{} stands for {said}", entry.mid));
        }
        match self.authority.ids.insert(said, entry.mid.clone()) {
            Some(before) => Err(format!("{before} is consumed again")),
            None => Ok(()),
        }
    }

    /// Checks that the operator has asked the host for a grant or an expiry.
    fn judge_wish(&self, text: &str) -> Result {
        let wishes = &self.authority.wishes;
        if let Some(grant) = grant_in(text)
            && !wishes.grants.contains(&grant)
        {
            return Err(format!("nobody has granted {grant:?}"));
        }
        match expired_in(text).find(|key| !wishes.expiries.contains(*key)) {
            Some(key) => Err(format!("nobody has let {key} expire")),
            None => Ok(()),
        }
    }

    /// Notes the values that no member can give back to a host whose store was an old copy. The host lets these
    /// values expire.
    pub(super) fn note_what_is_gone(&mut self, events: &[Event]) {
        let gone = events.iter().filter_map(|event| match event {
            Event::Unavailable(key) => Some(key.clone()),
            _ => None,
        });
        let gone = gone.filter(|_| self.timeline.has_lost());
        self.authority.wishes.expiries.extend(gone);
    }

    /// Checks that the log has each frame that the host says it has refused for good.
    pub(super) fn judge_rejections(&self, batch: &Batch) -> Result {
        for event in &batch.events {
            let Event::Rejected(from, Some(mid), code) = event else {
                continue;
            };
            // A text that cannot be read gets no entry: it may have been damaged on its way.
            let is_for_good = code.is_retryable() != Some(true) && *code != ErrorCode::PARSE_ERROR;
            // A host that starts again may have lost the join of the hostile member.
            let is_here = self.authority.agents.contains_key(from) && !self.left.contains_key(from);
            let is_known = !is_here || self.consumed.contains_key(mid);
            if !is_for_good || is_known || mid.to_string().len() > 128 {
                continue;
            }
            // Another copy of the frame may have been refused for another reason, such as its sender.
            let is_it = |entry: &Entry| {
                let is_refused = matches!(entry.kind, EntryKind::Refused(_));
                is_refused && (entry.sender, &entry.mid) == (*from, mid)
            };
            let key = (*from, mid.clone());
            let was_refused = self.refused.contains(&key);
            // The hostile member sends other frames under the same id.
            let is_other = Some(*from) == self.enemy && is_first(*code);
            if was_refused && !is_other && !self.codes.may_be_told(&key, &code.to_string()) {
                return Err(format!("{mid} of {from} is not refused with {code}"));
            }
            if !batch.entries.iter().any(is_it) && !was_refused {
                return Err(format!(
                    "{mid} of {from} is refused ({code}) without an entry"
                ));
            }
        }
        Ok(())
    }
}

/// Returns the lengths of the values of an announcement.
fn lengths(text: &str) -> impl Iterator<Item = u64> {
    let keys = params(text, ">sync:put{");
    let keys = keys.into_iter().flat_map(|keys| keys.split("[k").skip(1));
    keys.filter_map(|key| {
        let length = key.split(']').next()?.split(',').nth(2)?;
        Some(length.parse().unwrap_or(u64::MAX))
    })
}
