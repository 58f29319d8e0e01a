//! Checks the host's own frames about the session, and announcements of values.

use accp_runtime::context::Checkpoint;
use accp_runtime::session::{MemberId, Mid};
use accp_session::Entry;

use super::authority::expired_in;
use super::counts::Counts;
use super::node::{Result, said};
use super::observer::Observer;
use super::text::{CHECKPOINT, field, is_a};

impl Observer {
    pub(super) fn controlled(&mut self, entry: &Entry, counts: &mut Counts) -> Result {
        let text = &entry.text;
        if entry.sender == MemberId::HOST {
            self.note_decision(text);
        }
        if is_a(text, ">sync:join{") {
            let member = field(text, "n").and_then(|n| MemberId::new(n as u16));
            let Some(member) = member else {
                return Err(format!("nobody joins in {text}"));
            };
            let is_back = self.left.remove(&member).is_some();
            self.chains.addresses.joins(member, text, entry.position);
            self.authority.joins(member, text);
            let joined = &mut self.senders.entry(member).or_default().joined;
            if *joined > 0 && !is_back {
                // The entry changes the rights of a member that is in the session.
                return Ok(());
            }
            *joined = entry.position;
            self.bounds.joins(member);
            let who = usize::from(member.number() - MemberId::HOST.number());
            if let Some(side) = self
                .sides
                .get_mut(who)
                .filter(|_| !self.timeline.is_replayed)
            {
                side.joins(entry.position);
            }
        } else if is_a(text, ">sync:open{") {
            self.chains
                .addresses
                .joins(MemberId::HOST, text, entry.position);
        } else if is_a(text, ">sync:takes{") {
            let member = field(text, "n").and_then(|n| MemberId::new(n as u16));
            let member = member.ok_or_else(|| format!("nobody takes {text}"))?;
            self.chains.addresses.says(member, text)?;
            counts.said_takes += 1;
        } else if is_a(text, ">sync:leave{") {
            let member = field(text, "n").and_then(|n| MemberId::new(n as u16));
            if let Some(member) = member {
                self.left.insert(member, entry.position);
                self.codes.leaves(member);
                self.chains.addresses.leaves(member);
                self.serving.leaves(member);
            }
        } else if is_a(text, ">sync:expire{") {
            self.expired.extend(expired_in(text).map(String::from));
        } else if text.contains(CHECKPOINT) {
            counts.checkpoints += 1;
            self.judge_checkpoint(text)?;
            counts.merges += u64::from(text.contains("|old:ckpt_"));
        } else if is_a(text, ">sync:put{") {
            self.announces(text);
            // A refused announcement leaves a gap in the keys. A member with an older copy of its store leaves gaps
            // too, because it uses keys again.
            let is_of_it = |(member, _): &&(MemberId, Mid)| *member == entry.sender;
            let may_leave_gaps = self.timeline.was_put_back(entry.sender)
                || Some(entry.sender) == self.enemy
                || self.refused.iter().any(|refused| is_of_it(&refused));
            let sender = self.senders.entry(entry.sender).or_default();
            if text.split("[k").skip(1).count() > 64 {
                return Err(format!("{} announces too many values", entry.mid));
            }
            for key in text.split("[k").skip(1) {
                let next = 1 + sender.puts.last().copied().unwrap_or_default();
                let number = key.strip_prefix(&format!("{}_", entry.sender));
                let number = number.and_then(|rest| rest.split(',').next()?.parse().ok());
                let fits = |n: &u64| *n == next || *n > next && may_leave_gaps;
                let Some(number) = number.filter(fits) else {
                    return Err(format!("{next} is the next value, not {key}"));
                };
                sender.puts.insert(number);
                counts.values += 1;
            }
        }
        Ok(())
    }

    /// Checks that the newest frame stays in hot state, and also the request that this frame answers.
    fn judge_checkpoint(&mut self, text: &str) -> Result {
        let checkpoint = Checkpoint::decode(text).map_err(said)?;
        let is_in = |ranges: &[(u64, u64)], at: u64| {
            ranges.iter().any(|(from, to)| (*from..=*to).contains(&at))
        };
        let (newest, request) = self.newest;
        let request = request.filter(|at| !is_in(&self.gone, *at));
        let mut needed = [Some(newest), request].into_iter().flatten();
        if checkpoint.covers() + 1 == newest
            && let Some(gone) = needed.find(|at| is_in(checkpoint.left(), *at))
        {
            return Err(format!("{gone} leaves, and {newest} needs it"));
        }
        self.judge_content(text)?;
        self.gone.extend(checkpoint.left());
        Ok(())
    }
}
