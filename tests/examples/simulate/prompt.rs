//! Checks that nothing waits for a timer while the link is whole: a frame arrives everywhere within a few turns, also
//! after a restart. A side that sends only when its retry is due is slow, and only this shows it.

use std::time::Duration;

use accp_runtime::DynamicFrame;
use accp_runtime::session::Outbound;
use accp_session::EntryKind;
use accp_testkit::Side;

use super::World;
use super::node::{Result, said};
use super::plan::USUAL;

/// The turns within which a frame is everywhere, and within which a side that has started says hello. They take less
/// time than the first retry.
const TURNS: usize = 15;
const MEETING: usize = 40;
const STEP: Duration = Duration::from_millis(10);
/// The turns of half a second within which all sides come to rest again.
const RESTING: usize = 200;
const TEXT: &str = "prompt";

impl World {
    /// Lets a member send a frame once all sides are quiet. In some runs with crashes, the host or the member starts
    /// again first.
    pub(super) fn judge_promptness(&mut self) -> Result {
        let is_usual = !self.plan.drafts && !self.copies.has_back() && self.plan.flood <= USUAL;
        if !is_usual || self.plan.members > 5 {
            return Ok(());
        }
        match self.plan.sends % 2 {
            0 if self.plan.host_crashes > 0 => {
                self.restart(0)?;
                // This frame may leave before the host greets its members.
                self.judge_prompt_frame(MEETING)?;
                self.meets("the host", |world| {
                    let greeted = &world.observer.serving.greeted;
                    let mut members = world.nodes.iter().skip(1);
                    members.all(|node| greeted.contains(&node.id))
                })?;
            }
            1 if self.plan.member_crashes > 0 => {
                self.restart(1)?;
                self.meets("a member", |world| world.observer.sides[1].is_met)?;
            }
            _ => {}
        }
        self.judge_prompt_frame(TURNS)?;
        for _ in 0..RESTING {
            self.rest(Duration::from_millis(500))?;
            let arrival = self.room.wire.next_arrival();
            let is_quiet = arrival.is_none() && self.room.sides().all(Side::is_quiet);
            if is_quiet && self.judge_timers().is_ok() {
                return Ok(());
            }
        }
        Err("the sides do not come to rest after one frame".into())
    }

    fn meets(&mut self, who: &str, is_met: impl Fn(&Self) -> bool) -> Result {
        for _ in 0..MEETING {
            if is_met(self) {
                // The answers to the last hello arrive, too.
                self.rest(STEP)?;
                return self.rest(STEP);
            }
            self.rest(STEP)?;
        }
        Err(format!("{who} has started, and nobody says hello in time"))
    }

    fn judge_prompt_frame(&mut self, turns: usize) -> Result {
        let (agent, before) = (self.nodes[1].agent, self.observer.log.len());
        let message = DynamicFrame::new(agent, "req", "plan").map_err(said)?;
        let message = message.with("text", TEXT);
        let Some((session, now)) = self.session(1)? else {
            return Ok(());
        };
        let sent = session.send(&Outbound::message(&message), now);
        sent.map_err(|error| format!("@{agent} is quiet, and does not send: {error}"))?;
        self.set_alarm(1)?;
        for _ in 0..turns {
            self.rest(STEP)?;
            if self.is_everywhere(before) {
                return Ok(());
            }
        }
        Err(format!(
            "a frame of @{agent} waits for a timer: {:?}",
            self.observer.log.get(before)
        ))
    }

    /// Returns whether the frame is in the log after `before`, whether all members have it, and whether its sender
    /// knows that.
    fn is_everywhere(&self, before: usize) -> bool {
        let sender = self.nodes[1].id;
        let mut new = self.observer.log.iter().skip(before);
        let frame = new.find(|entry| {
            let is_it = entry.kind == EntryKind::Frame && entry.sender == sender;
            is_it && entry.text.contains(TEXT)
        });
        frame.is_some_and(|frame| {
            let mut sides = self.observer.sides.iter().skip(1);
            let is_told = !self.observer.sides[1].outbox.contains_key(&frame.mid);
            is_told && sides.all(|side| side.last >= frame.position)
        })
    }
}
