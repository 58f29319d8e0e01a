//! A hostile member: it sends well-formed frames with forged fields, from a grammar of frames.

use accp_runtime::AgentId;
use accp_runtime::session::{Input, MemberId, Mid};
use accp_testkit::Rng;

use super::World;
use super::node::{Result, said};
use super::text::mid_in;

const DIGEST: &str = "b3f5d7796b63fe3ed063b74a117a1888843aadf5c8b079c44cd9c895be2a9f82";

/// What a hostile member knows.
#[derive(Debug)]
pub(super) struct Enemy {
    pub(super) id: MemberId,
    /// The number of its next own id.
    next: u64,
    /// Ids that it has heard of.
    heard: Vec<Mid>,
}

impl Enemy {
    /// Takes a frame that the host sent to the hostile member.
    pub(super) fn hears(&mut self, text: &str) {
        if self.heard.len() < 100 {
            self.heard.extend(mid_in(text, "mid"));
        }
    }

    /// Returns an id: its own next one, one that another member may make, one that was used, or any.
    fn id(&mut self, rng: &mut Rng) -> String {
        match rng.below(10) {
            0..5 => {
                self.next += 1;
                format!("{}{:09}", self.id, 1000 + self.next)
            }
            5..7 => self.id_of_another(rng),
            7..9 => {
                let at = rng.below(self.heard.len() as u64) as usize;
                let heard = self.heard.get(at).map(ToString::to_string);
                heard.unwrap_or_else(|| "abcdef012345".into())
            }
            _ => format!("{:012x}", rng.next_u64() >> 16),
        }
    }

    fn id_of_another(&self, rng: &mut Rng) -> String {
        let others = u64::from(self.id.number() - MemberId::HOST.number());
        let member = u64::from(MemberId::HOST.number()) + rng.below(others);
        let (epoch, counter) = (1 + rng.below(6), 1 + rng.below(60));
        format!("{member}{epoch:06}{counter:03}")
    }

    /// Returns a frame of the session. `seq` is the number that the host expects.
    fn frame(&mut self, rng: &mut Rng, seq: u64, ts: i64, last: u64) -> String {
        let id = self.id;
        let head = match rng.below(16) {
            0..4 => "@x>req:plan{}".into(),
            4 => "@x>done:plan{}".into(),
            5 => "@x>end:plan{}".into(),
            6..8 => "@x>cancel:task{}".into(),
            8 => format!("@x>qry:lookup{{see:$cold.p{}}}", rng.below(last + 3)),
            9 => "@x>sync:state{state:{}|v:#18446744073709551615}".into(),
            10 => format!(
                "@x>sync:state{{delta:{{k0:x}}|v:{}}}",
                1_000_000 + rng.below(9)
            ),
            11 => format!("@x>sync:put{{keys:[[k101_1,{DIGEST},60]]}}"),
            12 => format!("@x>sync:put{{keys:[[k{id}_1,{DIGEST},4611686018427387904]]}}"),
            13 => "@x>sync:leave{n:101}".into(),
            14 => "@hub>req:plan{}".into(),
            _ => "@a1>req:plan{}".into(),
        };
        let mid = self.id(rng);
        let seq = if rng.per_mille(800) {
            seq
        } else {
            rng.below(2 * seq + 3)
        };
        let mut pairs = vec![format!("mid:{mid},seq:{seq}")];
        for key in ["cid", "aid"] {
            if rng.per_mille(400) {
                pairs.push(format!("{key}:{}", self.id(rng)));
            }
        }
        if rng.per_mille(200) {
            let of = if rng.per_mille(500) {
                mid
            } else {
                self.id(rng)
            };
            let total = 1 + rng.below(2);
            pairs.push(format!("pt:{}/{total},of:{of}", 1 + rng.below(total)));
        }
        match rng.below(8) {
            0 => pairs.push(format!("ts:{},ttl:1", ts - 1000)),
            1 => pairs.push(format!("ts:{}", ts + 1_000_000)),
            2 => pairs.push(format!("ts:{ts},ttl:{}", i64::MAX)),
            _ => {}
        }
        format!("{head}[{}]", pairs.join(","))
    }

    /// Returns a frame about the link.
    fn link(&mut self, rng: &mut Rng, last: u64) -> String {
        let position = rng.below(last + 3);
        let of = self.id(rng);
        let about = match rng.below(9) {
            0..2 => format!("@x>sync:registry{{ext:[log,parts]|hash:ffffff|pos:{position}|v:1}}"),
            2 => "@x>ack:frame{}".into(),
            3 => "@x>ping:link{}".into(),
            4 => format!("@x>qry:bytes{{at:{}|key:p{position}}}", rng.below(50)),
            5 => format!("@x>qry:bytes{{key:k101_{}}}", rng.below(9)),
            6 => format!("@x>qry:bytes{{key:snap_{position}}}"),
            7 => format!(
                "@x>sync:bytes{{at:0|d:eHg=|key:k101_{}|len:2|sha:{DIGEST}}}",
                rng.below(9)
            ),
            _ => {
                return format!(
                    "@x>fail:error{{code:E3003|msg:no|retry:true|exp:1|schema:ER}}[mid:900000000001,seq:{position},of:{of}]"
                );
            }
        };
        let of = if rng.per_mille(300) {
            format!(",of:{of},at:{position}")
        } else {
            String::new()
        };
        format!("{about}[mid:900000000001,seq:{position}{of}]")
    }
}

impl World {
    /// Lets a hostile member in.
    pub(super) fn invite_enemy(&mut self) -> Result {
        let now = self.room.now;
        let agent = AgentId::new("x").map_err(said)?;
        let id = self.room.host.driver.join(&agent, now).map_err(said)?;
        self.observer.enemy = Some(id);
        self.enemy = Some(Enemy {
            id,
            next: 0,
            heard: Vec::new(),
        });
        Ok(())
    }

    /// Lets the hostile member send some frames.
    pub(super) fn attack(&mut self) {
        let (now, last) = (self.room.now, self.observer.log.len() as u64);
        let ts = self.room.host.clock(now).as_secs();
        let Some(enemy) = &mut self.enemy else { return };
        let id = enemy.id;
        let mut seq = self.observer.next_sequence(id);
        for _ in 0..self.rng.below(4) {
            let text = if self.rng.per_mille(600) {
                seq += 1;
                enemy.frame(&mut self.rng, seq - 1, ts, last)
            } else {
                enemy.link(&mut self.rng, last)
            };
            self.counts.forged += 1;
            self.room.wire.send(now, id, MemberId::HOST, text);
        }
    }

    /// Takes the hostile member out.
    pub(super) fn expel_enemy(&mut self) -> Result {
        if self.room.host.session().lost_time().is_some() {
            return Ok(()); // the operator decides first
        }
        let Some(enemy) = self.enemy.take() else {
            return Ok(());
        };
        let now = self.room.now;
        let host = self.room.host.driver.session_mut().map_err(said)?;
        host.handle(Input::Leave(enemy.id), now).map_err(said)?;
        Ok(())
    }
}
