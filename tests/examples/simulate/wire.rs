//! Checks the frames that leave a side against the durable state of the side.

use std::collections::BTreeMap;

use accp_runtime::session::{MemberId, Mid, Scope};
use accp_session::EntryKind;

use super::codes::judge_retry;
use super::limits::judge_asks;
use super::node::Result;
use super::observer::Observer;
use super::text::{Goal, field, goals, head, intent, is_a, meta, mid_in, number_in};

impl Observer {
    /// With shared numbering and a whole link, checks that a member gets its turn to send: the host must not tell
    /// the member too often which number its frame must take.
    fn judge_turns(&mut self, to: MemberId, text: &str) -> Result {
        let is_told = self.scope == Scope::Shared && field(text, "exp").is_some();
        let of = mid_in(text, "of").filter(|_| is_told && Some(to) != self.enemy);
        let (Some(of), Some(told)) = (of, &mut self.told) else {
            return Ok(());
        };
        let times = told.entry(of.clone()).or_default();
        *times += 1;
        if *times > 10 + 3 * self.sides.len() {
            return Err(format!(
                "{to} is told {times} times which number {of} takes"
            ));
        }
        Ok(())
    }

    /// Checks a frame that leaves a side.
    pub(crate) fn leaves(&mut self, who: usize, to: MemberId, text: &str, reads: u64) -> Result {
        if who == 0 {
            self.judge_silence(to, text)?;
            judge_retry(text)?;
            self.judge_turns(to, text)?;
            self.serves(to, text)?;
            if is_a(text, ">sync:registry{") {
                self.bounds.holds(to, text);
            } else if !self.is_plain(to) {
                self.judge_window(to, text, reads)?;
            }
        } else {
            judge_asks(who, text)?;
        }
        let says = |error: String| Err(format!("{error}: {text}"));
        if self.sides[who].plain.is_some() {
            return self.leaves_plainly(who, text).or_else(says);
        }
        if self.is_plain(to) {
            return self.says_plainly(to, text).or_else(says);
        }
        let mid = meta(text, "mid").unwrap_or_default();
        let is_link = mid.len() == 12 && mid.starts_with('9') && meta(text, "pos").is_none();
        if is_link {
            let last = if who == 0 {
                self.log.len() as u64
            } else {
                self.sides[who].last
            };
            let held: u64 = number_in(text, "seq").unwrap_or_default();
            // A member may hold the log that the host has lost.
            let is_before = who > 0 && self.timeline.has_lost();
            if held > last && !is_before {
                return says(format!("{who} says it holds {held}, and {last} is durable"));
            }
        } else if let Some(position) = number_in::<u64>(text, "pos") {
            self.judge_presence(to, position)?;
            return self.relays(position, text).or_else(says);
        } else {
            // A member sends a frame only from its outbox.
            let kept = self.sides[who].outbox.get(&Mid::parse(mid));
            if let Some(key) = self.unannounced(who, text) {
                return says(format!("{who} refers to {key}, which it does not announce"));
            }
            return match kept {
                Some(frame) if frame.head == head(text) => Ok(()),
                _ => says(format!("{who} sends what is not in its outbox")),
            };
        }
        match (who, mid_in(text, "of")) {
            // A hostile member may ask about anything.
            (0, Some(of)) if Some(to) == self.enemy => {
                self.answers_the_enemy(to, &of, text).or_else(says)
            }
            // `~` means that the answer is about no frame.
            (0, Some(of)) if of == Mid::parse("~") => Ok(()),
            (0, Some(of)) => self.answers(to, &of, text).or_else(says),
            _ => Ok(()),
        }
    }

    /// Checks that the host sends an entry less and less often to a member from which it hears nothing: in the end
    /// every 32 seconds.
    fn judge_silence(&mut self, to: MemberId, text: &str) -> Result {
        let Some(position) = number_in::<u64>(text, "pos") else {
            return Ok(());
        };
        let (since, sent) = self.silent.entry(to).or_insert((self.now, BTreeMap::new()));
        let times: &mut u32 = sent.entry(position).or_default();
        *times += 1;
        let seconds = self.now.as_secs() - since.as_secs();
        if i64::from(*times) > 4 + i64::from((seconds + 1).ilog2().min(5)) + seconds / 32 {
            return Err(format!(
                "{to} is silent for {seconds} s and gets {position} {times} times"
            ));
        }
        Ok(())
    }

    /// If a frame refers to a value of the side itself that the side has not put and does not put now, returns the
    /// key of the value.
    fn unannounced(&self, who: usize, text: &str) -> Option<String> {
        let side = &self.sides[who];
        if self.timeline.has_lost() || self.timeline.was_put_back(side.id) {
            return None;
        }
        let mine = goals(text).filter_map(|(_, goal)| match goal {
            Goal::Value(member, number) if member == side.id => Some(number),
            _ => None,
        });
        let puts = self.senders.get(&side.id);
        let is_put = |number: &u64| {
            let key = format!("[k{}_{number},", side.id);
            puts.is_some_and(|sender| sender.puts.contains(number))
                || side.outbox.values().any(|frame| frame.head.contains(&key))
        };
        // The field `see` may refer to a value that does not exist.
        let looks = |number: &u64| {
            let key = format!("see:$cold.k{}_{number}", side.id);
            text.match_indices(&key).any(|(at, _)| {
                let rest = &text[at + key.len()..];
                rest.starts_with(['|', '}'])
            })
        };
        let mut mine = mine.filter(|number| !is_put(number) && !looks(number));
        mine.next().map(|number| format!("k{}_{number}", side.id))
    }

    /// Checks that a member which has left gets no later entry.
    fn judge_presence(&self, to: MemberId, position: u64) -> Result {
        match self.left.get(&to) {
            Some(left) if position > *left => {
                Err(format!("{to} has left at {left}, and gets {position}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks that a relayed entry is durable and names the entry before it.
    fn relays(&self, position: u64, text: &str) -> Result {
        let Some(entry) = self.log.get(position as usize - 1) else {
            return Err(format!("{position} is relayed and not durable"));
        };
        let prev = number_in(text, "prev").unwrap_or(position - 1);
        let between = self.log.get(prev as usize..position as usize - 1);
        let is_next = between.is_some_and(|all| !all.iter().any(|e| e.kind.is_relayed()));
        let own = entry.text.strip_suffix(']').unwrap_or_default();
        if entry.kind.is_relayed() && is_next && text.starts_with(own) {
            return Ok(());
        }
        Err(format!("{position} is relayed as something else"))
    }

    /// Checks the host's answer to a frame of a member.
    pub(super) fn answers(&mut self, to: MemberId, of: &Mid, text: &str) -> Result {
        let place = self.consumed.get(of).map(|at| &self.log[*at as usize - 1]);
        let own = place.filter(|entry| entry.sender == to);
        let is_dropped = own.is_some_and(|entry| entry.kind == EntryKind::Dropped);
        if intent(text) == "ack" {
            let Some(entry) = own else {
                return Err(format!("{of} is acknowledged and not durable"));
            };
            let is_plain = self.is_plain(to) && meta(text, "at").is_none();
            let at = if is_plain { "seq" } else { "at" };
            if number_in(text, at) != Some(entry.sequence) {
                return Err(format!("{of} is acknowledged as another number"));
            }
            // A member that asks for the host's position gets it, even after a dropped frame.
            if !self.asked.remove(&to) && is_dropped {
                return Err(format!("{of} was dropped and is answered"));
            }
            return Ok(());
        }
        let code = text.split("{code:").nth(1).and_then(|rest| rest.get(..5));
        let exp = field(text, "exp").filter(|_| code == Some("E3003"));
        // The host may have given this answer before it expected the number of this frame.
        let is_early = exp.is_some_and(|exp| own.is_none_or(|entry| exp <= entry.sequence));
        let has_left = self.left.contains_key(&to);
        // While a clock was wrong, the timestamp may have been in the future, and the host may have
        // said so. Later the frame may be too old.
        let is_for_now = code == Some("E3001");
        if is_dropped && !is_early && !is_for_now {
            return Err(format!("{of} was dropped and is answered"));
        }
        let is_true = match code {
            // A host that has recovered its log may have the frame only as a whole. Then each
            // part of the frame is a duplicate.
            Some("E3002") if place.is_none() => self.timeline.has_lost(),
            Some("E3002") => place.is_some_and(|entry| {
                field(text, "holder") == Some(u64::from(entry.sender.number()))
                    && field(text, "seq") == Some(entry.sequence)
            }),
            Some("E5001") if has_left => true,
            // E3001 means that the clock of the sender was ahead. The frame may have been
            // consumed since then.
            Some("E3001") => true,
            // A host that has lost frames of a member continues at the number that the member has sent.
            Some("E3003") if self.timeline.has_lost() => exp.is_some(),
            Some("E3003") => exp.is_some_and(|exp| exp <= self.next_sequence(to)),
            _ => {
                let key = (to, of.clone());
                let said = field(text, "v").filter(|_| code == Some("E2001"));
                let is_held = said.is_none() || said == self.versions.get(&key).copied();
                let is_due = code.is_some_and(|code| self.codes.may_be_told(&key, code));
                is_held && is_due && self.refused.contains(&key)
            }
        };
        if is_true {
            return Ok(());
        }
        Err(format!("the answer of the host about {of} is wrong"))
    }
}
