//! The codes with which a host refuses frames. The observer finds out the code of each refusal from the log, in the
//! order in which a host checks a frame, and compares.

use accp_runtime::session::{MemberId, Mid};
use accp_runtime::{DynamicFrame, ErrorCode};
use accp_session::{Entry, EntryKind};

use super::chains::chain_of;
use super::node::{REGISTRY, Result};
use super::observer::{Observer, is_late};
use super::refusals::is_first;
use super::rights::follows;
use super::speaking::{OF_RELAYS, VALUE};
use super::text::{field, goals, intent, is_a, maker, meta, mid_in, number_in, params};

/// The most characters of an id, and the most values in an announcement (docs/limits.md).
const LONGEST: usize = 128;
const ANNOUNCED: usize = 64;
/// The most requests for one agent that wait in a chain (docs/limits.md).
const ASKED: usize = 64;
/// The most versions of the shared state that a frame may skip (docs/limits.md).
const FURTHEST: u64 = 1_000_000;

/// The code that a frame must get.
#[derive(Debug)]
enum Due {
    /// The observer cannot tell, for example because the log has only the envelope.
    Unknown,
    /// The frame has no fault.
    Nothing,
    Code(ErrorCode),
}

impl Observer {
    /// Checks the code of a refusal, and that the frame was not to be dropped silently. Takes note of the code.
    pub(super) fn judge_code(&mut self, entry: &Entry, code: ErrorCode) -> Result {
        let (sender, text) = (entry.sender, &*entry.text);
        self.codes.refuses((sender, entry.mid.clone()), code);
        if let Some(of) = mid_in(text, "of") {
            self.codes.refuses((sender, of), code);
        }
        let is_known = !self.timeline.is_replayed && !self.timeline.has_lost();
        if !is_known || text.contains(":refused{}[") {
            return Ok(());
        }
        let first = self.first_code(sender, text);
        let due = match first {
            Some(first) => Due::Code(first),
            None => self.due_code(sender, text),
        };
        match due {
            Due::Code(due) if due != code => {
                return Err(format!(
                    "{} is refused with {code} and not {due}",
                    entry.mid
                ));
            }
            Due::Nothing => return Err(format!("{} is refused with {code}: {text}", entry.mid)),
            Due::Code(_) | Due::Unknown => {}
        }
        if first.is_some() || self.is_flooded {
            return Ok(());
        }
        let is_put = is_a(text, ">sync:put{");
        let is_cancelled = !is_put && self.chains.is_cancelled(text, entry.position, false);
        if is_cancelled || is_late(entry, self.skew) {
            return Err(format!("{} is refused, and must be dropped", entry.mid));
        }
        // A hello of the hostile member may make the host skip numbers.
        let next = Some(self.next_sequence(sender));
        let may_skip = Some(sender) == self.enemy || self.is_plain(sender);
        let is_next = may_skip || number_in(text, "seq") == next;
        if !is_next || is_early(entry, self.skew) {
            return Err(format!(
                "{} is refused with {code} before its turn",
                entry.mid
            ));
        }
        Ok(())
    }

    /// Returns the kind of a refused answer to a request for another member; `None` for any other refused frame.
    pub(super) fn forgery(&self, entry: &Entry) -> Option<&'static str> {
        let (sender, text) = (entry.sender, &*entry.text);
        let is_one = Some(sender) == self.enemy && self.first_code(sender, text).is_none();
        self.answer_code(sender, text).filter(|_| is_one)?;
        let is_chosen = self.chains.addresses.answers_a_chosen_one(text);
        Some(if is_chosen {
            "forged answer, chosen taker"
        } else {
            "forged answer, named taker"
        })
    }

    /// Checks the envelope of a frame that took a number: the host must refuse a wrong envelope, and a timestamp in
    /// the future.
    pub(super) fn judge_envelope(&self, entry: &Entry) -> Result {
        let (sender, text, mid) = (entry.sender, &*entry.text, &entry.mid);
        let is_refused = matches!(entry.kind, EntryKind::Refused(_));
        if sender == MemberId::HOST || entry.sequence == 0 || is_refused {
            return Ok(());
        }
        if let Some(code) = envelope_code(text) {
            return Err(format!("{mid} is taken with an envelope of {code}: {text}"));
        }
        if is_early(entry, self.skew) {
            return Err(format!("{mid} is taken before its time"));
        }
        Ok(())
    }

    /// Returns the code of the checks that come before the check of the number.
    fn first_code(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        self.denial(sender, text).or_else(|| envelope_code(text))
    }

    /// Returns the code of the checks of the content.
    fn due_code(&self, sender: MemberId, text: &str) -> Due {
        let is_enemy_s = Some(sender) == self.enemy;
        // The hostile member sends frames that break their schema, and versions that no number can hold.
        let is_odd = is_enemy_s && (text.contains("schema:") || text.contains("v:#"));
        let is_part = meta(text, "pt").is_some();
        if self.is_flooded || self.is_plain(sender) || is_odd || is_part {
            return Due::Unknown;
        }
        let code = goals(text).find_map(|(_, goal)| self.fault(&goal));
        let code = code.or_else(|| self.cancel_code(sender, text));
        let code = code.or_else(|| self.address_code(sender, text));
        let code = code.or_else(|| self.answer_code(sender, text));
        let code = code.or_else(|| {
            let message = DynamicFrame::decode(text, &REGISTRY).ok()?;
            self.rule_against(sender, &message)
        });
        let code = code.or_else(|| self.state_code(text));
        let code = code.or_else(|| self.put_code(sender, text));
        code.map_or(Due::Nothing, Due::Code)
    }

    fn cancel_code(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        if intent(text) != "cancel" {
            return None;
        }
        if meta(text, "cid").is_none() {
            return Some(ErrorCode::INVALID_TYPE);
        }
        let is_denied = !self.may_cancel(sender, text);
        is_denied.then_some(ErrorCode::POLICY_DENIED)
    }

    fn address_code(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        if self.is_for_nobody(sender, text) {
            return Some(ErrorCode::REF_NOT_FOUND);
        }
        let is_over = self.has_too_many_requests(text);
        is_over.then_some(ErrorCode::BUDGET_EXCEEDED)
    }

    /// Returns whether a request for one agent has no place in its chain.
    pub(super) fn has_too_many_requests(&self, text: &str) -> bool {
        let asks = matches!(intent(text), "req" | "qry");
        let to = meta(text, "to").filter(|to| asks && *to != "~");
        let chain = to.and_then(|_| chain_of(text));
        chain.is_some_and(|chain| self.chains.addresses.waiting_in(&chain) >= ASKED)
    }

    fn answer_code(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        let may_all = self.rights.supervisors.contains(&sender);
        let is_denied = !may_all && !self.chains.may_answer(text, sender);
        is_denied.then_some(ErrorCode::POLICY_DENIED)
    }

    fn state_code(&self, text: &str) -> Option<ErrorCode> {
        if !is_a(text, ">sync:state{") {
            return None;
        }
        let (held, version) = (self.rights.version, field(text, "v"));
        if !follows(text, held, version) {
            return Some(ErrorCode::REF_NOT_FOUND);
        }
        if !self.rights.has_room(text) {
            return Some(ErrorCode::BUDGET_EXCEEDED);
        }
        let is_far = version.is_some_and(|version| version.saturating_sub(held) > FURTHEST);
        is_far.then_some(ErrorCode::REF_NOT_FOUND)
    }

    fn put_code(&self, sender: MemberId, text: &str) -> Option<ErrorCode> {
        let values: Vec<_> = params(text, ">sync:put{")?.split("[k").skip(1).collect();
        if values.len() > ANNOUNCED {
            return Some(ErrorCode::BUDGET_EXCEEDED);
        }
        let (mut last, start) = (self.last_put(sender), format!("{sender}_"));
        for value in values {
            let mut words = value.split([',', ']']);
            let number = words.next().and_then(|key| key.strip_prefix(&start));
            let number = number.filter(|number| !number.starts_with('0'));
            let number = number.and_then(|number| number.parse::<u64>().ok());
            let Some(number) = number.filter(|number| *number > last) else {
                return Some(ErrorCode::POLICY_DENIED);
            };
            let length = words.nth(1).and_then(|length| length.parse().ok());
            if length.unwrap_or(u64::MAX) > VALUE {
                return Some(ErrorCode::BUDGET_EXCEEDED);
            }
            last = number;
        }
        None
    }

    /// Checks what the host answers to a frame of the hostile member: an acknowledgement needs a frame in the log, a
    /// duplicate needs a frame or a member that has the id, and a refusal has its code.
    pub(super) fn answers_the_enemy(&self, to: MemberId, of: &Mid, text: &str) -> Result {
        // `~` means that the answer is about no frame: the host could not read the text, and says at which byte.
        let is_unread = *of == Mid::parse("~") && text.contains("{code:E1001");
        if is_unread && field(text, "at").is_none() {
            return Err(format!("{to} is not told what is wrong in its text"));
        }
        if self.timeline.has_lost() || *of == Mid::parse("~") {
            return Ok(());
        }
        let place = self.consumed.get(of).map(|at| &self.log[*at as usize - 1]);
        if intent(text) == "ack" {
            let own = place.filter(|entry| entry.sender == to);
            let at = number_in::<u64>(text, "at");
            let is_right = own.is_some_and(|own| at.is_none_or(|at| at == own.sequence));
            return is_right
                .then_some(())
                .ok_or_else(|| format!("{of} of {to} is acknowledged as another frame"));
        }
        let code = text.split("{code:").nth(1).and_then(|rest| rest.get(..5));
        let holder = field(text, "holder");
        let is_true = match code {
            Some("E3002") => {
                let number = |member: MemberId| Some(u64::from(member.number()));
                let is_taken = place.is_some_and(|entry| {
                    holder == number(entry.sender) && field(text, "seq") == Some(entry.sequence)
                });
                is_taken || maker(of).is_some_and(|owner| owner != to && holder == number(owner))
            }
            Some(code) => {
                let key = (to, of.clone());
                // The hostile member sends other frames under the same id.
                let is_other = code.parse().is_ok_and(is_first);
                let is_for_now = matches!(code, "E3001" | "E3003") || !self.refused.contains(&key);
                is_other || is_for_now || self.codes.may_be_told(&key, code)
            }
            None => true,
        };
        is_true
            .then_some(())
            .ok_or_else(|| format!("the answer of the host about {of} is wrong"))
    }
}

/// Returns the code of the checks of the envelope.
fn envelope_code(text: &str) -> Option<ErrorCode> {
    let length = |key: &str| meta(text, key).map_or(0, str::len);
    let mid = meta(text, "mid").unwrap_or_default();
    let is_hex = mid.len() == 12 && mid.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_long = ["cid", "aid"].iter().any(|key| length(key) > LONGEST);
    let is_a_host_s = OF_RELAYS.iter().any(|key| meta(text, key).is_some());
    if !is_hex || is_long || is_a_host_s || meta(text, "seq").is_none() {
        return Some(ErrorCode::PARSE_ERROR);
    }
    let (ts, ttl) = (number_in::<i64>(text, "ts"), number_in::<i64>(text, "ttl"));
    let is_wrong = match (ts, ttl) {
        (_, Some(ttl)) if ttl < 0 => true,
        (None, Some(ttl)) => ttl > 0,
        (Some(ts), Some(ttl)) => ts.checked_add(ttl).is_none(),
        (_, None) => false,
    };
    is_wrong.then_some(ErrorCode::INVALID_TYPE)
}

/// Returns whether the timestamp of a frame was in the future when the frame arrived.
fn is_early(entry: &Entry, skew: i64) -> bool {
    let ts = number_in(&entry.text, "ts");
    ts.is_some_and(|ts: i64| ts > entry.at.as_secs() + skew)
}

/// Checks that the host says correctly whether a sender may send its frame again.
pub(super) fn judge_retry(text: &str) -> Result {
    let is_answer = intent(text) == "fail" && meta(text, "of").is_some();
    let code = text.split("{code:").nth(1).and_then(|rest| rest.get(..5));
    let code = code.filter(|_| is_answer && meta(text, "pos").is_none());
    let Some(code) = code.and_then(|code| code.parse::<ErrorCode>().ok()) else {
        return Ok(());
    };
    let may_retry = code.is_retryable() == Some(true);
    if text.contains("retry:true") == may_retry {
        return Ok(());
    }
    Err(format!("the host misleads a sender about {code}"))
}
