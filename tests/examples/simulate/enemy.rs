//! A hostile member. It sends well-formed frames with forged fields, which it makes by a grammar of frames.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::AgentId;
use accp_runtime::session::{Input, MemberId, Mid, Scope};
use accp_testkit::Rng;

use super::World;
use super::node::{Result, said};
use super::plan::USUAL;
use super::seen::Seen;
use super::text::{is_a, mid_in};

/// The SHA-256 of `x`.
const DIGEST: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
/// The same digest, except for its last digit.
const NEARLY: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4880";
/// The most bytes of a host with one hostile member: the sum of the bounds in docs/limits.md for one member.
const MOST: usize = 16 << 20;
/// The turns within which honest members must come to rest while a hostile member is in the session.
const TURNS: usize = 300;
/// Additional turns if the host may be put back to an older copy.
const TURNS_PUT_BACK: usize = 800;
/// Additional turns for each member, with shared numbering. There, each frame in an outbox waits while the other
/// members have their turns to send.
const TURNS_SHARED: usize = 120;
/// The turns for each member, with shared numbering in a flood. The hostile member always has a frame to send there,
/// so the turns of the other members do not depend on chance.
const TURNS_FLOODED: usize = 45;
/// Additional turns for each waiting frame, with shared numbering in a flood.
const TURNS_EACH: usize = 6;

/// What a hostile member knows.
#[derive(Debug)]
pub(super) struct Enemy {
    pub(super) id: MemberId,
    /// The number in the next id that the hostile member makes.
    next: u64,
    /// The number of the hostile member's next value.
    puts: u64,
    /// How many cancellations the hostile member has sent.
    cancels: u64,
    /// Ids that the hostile member has read in frames.
    pub(super) heard: Vec<Mid>,
    /// The last proof of its log that the host has sent.
    proof: Option<String>,
    /// Keys of values that the host has asked the hostile member for.
    wanted: Vec<String>,
    /// Whether the hostile member changes every proof of the host before it sends the proof back.
    lies: bool,
    /// The newest requests for one agent that the hostile member has read, each with its chain.
    pub(super) asked: Vec<(String, String)>,
}

impl Enemy {
    /// Takes a frame that the host sent to the hostile member.
    pub(super) fn hears(&mut self, text: &str) {
        if self.heard.len() < 100 {
            self.heard.extend(mid_in(text, "mid"));
        }
        self.hears_of_a_request(text);
        let after = |name: &str| {
            let rest = text.split(name).nth(1)?;
            rest.split(['|', '}', ',']).next().map(String::from)
        };
        if is_a(text, ">sync:registry{") {
            self.proof = after("proof:").or(self.proof.take());
        } else if is_a(text, ">qry:bytes{") && self.wanted.len() < 100 {
            self.wanted.extend(after("key:"));
        }
    }

    /// Returns an id: the hostile member's own next id, an id that another member may make, a used id, or any id.
    pub(super) fn id(&mut self, rng: &mut Rng) -> String {
        match rng.below(11) {
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
            9 => self.nearly(rng),
            _ => format!("{:012x}", rng.next_u64() >> 16),
        }
    }

    pub(super) fn id_of_another(&self, rng: &mut Rng) -> String {
        let others = u64::from(self.id.number() - MemberId::HOST.number());
        let member = u64::from(MemberId::HOST.number()) + rng.below(others);
        let (epoch, counter) = (1 + rng.below(6), 1 + rng.below(60));
        format!("{member}{epoch:06}{counter:03}")
    }

    /// Returns the header and the params of a frame of the session.
    fn head(&mut self, rng: &mut Rng, facts: Facts) -> String {
        let id = self.id;
        let Facts { last, version, .. } = facts;
        match rng.below(28) {
            20.. => self.forged(rng, facts.last),
            0 => "@x>req:chat{role:user|schema:CH}".into(),
            1 => "@x>req:chat{content:hi|schema:CH}".into(),
            2..4 => "@x>req:plan{}".into(),
            4 => "@x>done:plan{}".into(),
            5 => "@x>end:plan{}".into(),
            6..8 if self.cancels < 500 => {
                self.cancels += 1;
                "@x>cancel:task{}".into()
            }
            8 => format!("@x>qry:lookup{{see:$cold.p{}}}", rng.below(last + 3)),
            9 => "@x>sync:state{state:{}|v:#18446744073709551615}".into(),
            10 => format!(
                "@x>sync:state{{delta:{{k0:x}}|v:{}}}",
                1_000_000 + rng.below(9)
            ),
            11 => {
                let key = 6 + rng.below(4);
                let long = if rng.per_mille(500) { 20_000 } else { 1 };
                let value = "x".repeat(long);
                format!(
                    "@x>sync:state{{delta:{{k{key}:{value}}}|v:{}}}",
                    version + 1
                )
            }
            12 => format!("@x>sync:put{{keys:[[k101_1,{DIGEST},60]]}}"),
            13 => format!("@x>sync:put{{keys:[[k{id}_1,{DIGEST},4611686018427387904]]}}"),
            14..16 if rng.per_mille(30) => {
                let first = self.puts + 1;
                self.puts += 66;
                let keys = (first..=self.puts).map(|n| format!("[k{id}_{n},{DIGEST},1]"));
                format!(
                    "@x>sync:put{{keys:[{}]}}",
                    keys.collect::<Vec<_>>().join(",")
                )
            }
            14..16 => {
                self.puts += 1 + rng.below(2);
                let digest = if rng.per_mille(200) { NEARLY } else { DIGEST };
                format!("@x>sync:put{{keys:[[k{id}_{},{digest},1]]}}", self.puts)
            }
            16 => "@x>sync:leave{n:101}".into(),
            17 => format!(
                "@x>req:plan{{text:{}}}",
                "y".repeat(rng.below(2000) as usize)
            ),
            18 => "@hub>req:plan{}".into(),
            _ => "@a1>req:plan{}".into(),
        }
    }

    /// Returns a frame of the session.
    fn frame(&mut self, rng: &mut Rng, facts: Facts) -> String {
        let head = self.head(rng, facts);
        let (mid, ts) = (self.id(rng), facts.ts);
        let seq = if rng.per_mille(800) {
            facts.seq
        } else {
            rng.below(2 * facts.seq + 3)
        };
        let mut pairs = vec![format!("mid:{mid},seq:{seq}")];
        for key in ["cid", "aid"] {
            if rng.per_mille(400) {
                pairs.push(format!("{key}:{}", self.id(rng)));
            } else if rng.per_mille(30) {
                pairs.push(format!("{key}:{}", "n".repeat(1 + rng.below(140) as usize)));
            }
        }
        self.forge(rng, &head, &mut pairs);
        if rng.per_mille(200) {
            let of = if rng.per_mille(500) {
                mid
            } else {
                self.id(rng)
            };
            let total = [1, 2, 100][rng.below(3) as usize];
            pairs.push(format!("pt:{}/{total},of:{of}", 1 + rng.below(total)));
        }
        match rng.below(8) {
            0 => pairs.push(format!("ts:{},ttl:1", ts - 1000)),
            1 => pairs.push(format!("ts:{}", ts + 1_000_000)),
            2 => pairs.push(format!("ts:{ts},ttl:{}", i64::MAX)),
            3 if facts.seq.is_multiple_of(3) => pairs.push(format!("ts:{ts},ttl:-5")),
            4 if facts.seq.is_multiple_of(3) => pairs.push("ttl:5".into()),
            _ => {}
        }
        // The id decides whether the frame is for `a1`. A random number would change the other choices of a seed.
        if pairs.first().is_some_and(|pair| pair.contains("7,seq:")) {
            pairs.push("to:a1".to_owned());
        }
        format!("{head}[{}]", pairs.join(","))
    }

    /// Returns a frame of the session that the host accepts, and for which the host has to keep something in memory.
    fn filler(&mut self, rng: &mut Rng, facts: Facts) -> String {
        self.next += 1;
        let mid = format!("{}{:09}", self.id, 1000 + self.next);
        let long = "n".repeat(110);
        let (head, more) = match rng.below(8) {
            0 => ("@x>req:plan{}".into(), String::new()),
            1 => ("@x>req:plan{}".into(), format!(",cid:{long}{}", self.next)),
            // After more cancellations the host would forget the first ones: see the test
            // bounds::cancelled_chains.
            2 if self.cancels < 500 => {
                self.cancels += 1;
                let chain = format!(",cid:{long}{}", self.next);
                ("@x>cancel:task{}".into(), chain)
            }
            3 => (
                "@x>qry:lookup{}".into(),
                format!(",aid:{}{:09}", self.id, 999 + self.next),
            ),
            4 => {
                let text = "y".repeat(2000);
                let part = format!(",pt:1/100,of:{mid}");
                (format!("@x>req:plan{{text:{text}}}"), part)
            }
            5 => {
                self.puts += 1;
                let key = format!("k{}_{}", self.id, self.puts);
                (
                    format!("@x>sync:put{{keys:[[{key},{DIGEST},1]]}}"),
                    String::new(),
                )
            }
            6 => (
                "@x>stream:infer{idx:0|tot:2|d:x|schema:ST}".into(),
                format!(",cid:{long}{}", self.next),
            ),
            _ => {
                let mid = rng.next_u64() >> 16;
                return format!("@x>req:plan{{}}[mid:{mid:012x},seq:{}]", facts.seq);
            }
        };
        format!("{head}[mid:{mid},seq:{}{more}]", facts.seq)
    }

    /// Returns a frame about the link.
    fn link(&mut self, rng: &mut Rng, last: u64) -> String {
        let position = rng.below(last + 3);
        let of = self.id(rng);
        let about = match rng.below(14) {
            0..2 => format!("@x>sync:registry{{ext:[log,parts]|hash:ffffff|pos:{position}|v:1}}"),
            2 => "@x>ack:frame{}".into(),
            3 => "@x>ping:link{}".into(),
            4 => format!("@x>qry:bytes{{at:{}|key:p{position}}}", rng.below(50)),
            5 => format!("@x>qry:bytes{{key:k101_{}}}", rng.below(9)),
            6 => format!("@x>qry:bytes{{key:snap_{position}}}"),
            7 => format!(
                "@x>sync:bytes{{at:0|d:eA==|key:k101_{}|len:1|sha:{DIGEST}}}",
                rng.below(9)
            ),
            8 => self.hello(rng, position),
            9 | 10 => Self::takes_falsely(rng),
            11 | 12 => {
                // The hostile member answers with the right bytes of one of its values, or with wrong bytes.
                let key = self.wanted.pop().unwrap_or_else(|| "k101_1".into());
                let data = if rng.per_mille(500) { "eA==" } else { "eQ==" };
                let digest = if rng.per_mille(200) { NEARLY } else { DIGEST };
                format!("@x>sync:bytes{{at:0|d:{data}|key:{key}|len:1|sha:{digest}}}")
            }
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

    /// Returns a hello that sends a proof of the host back, unchanged or changed.
    fn hello(&self, rng: &mut Rng, position: u64) -> String {
        let mut proof = self.proof.clone().unwrap_or_else(|| "0".repeat(144));
        if self.lies || rng.per_mille(100) {
            let at = rng.below(proof.len() as u64) as usize;
            proof.replace_range(at..=at, "e");
        }
        let next = rng.below(100);
        format!(
            "@x>sync:registry{{asks:[{}]|ext:[marks,log,bytes,parts,proof]|hash:a32838|next:{next}|pos:{position}|proof:{proof}|v:1}}",
            self.id_of_another(rng)
        )
    }
}

/// What a hostile member can learn from the log.
#[derive(Debug, Clone, Copy)]
struct Facts {
    /// The number that the host expects in the next frame of the hostile member.
    seq: u64,
    ts: i64,
    /// The last position of the log.
    last: u64,
    /// The version of the shared state.
    version: u64,
}

impl World {
    /// Lets a hostile member in.
    pub(super) fn invite_enemy(&mut self) -> Result {
        let now = self.host_clock();
        let agent = AgentId::new("x").map_err(said)?;
        let id = self.room.host.driver.join(&agent, now).map_err(said)?;
        self.observer.enemy = Some(id);
        self.enemy = Some(Enemy {
            id,
            next: 0,
            puts: 0,
            cancels: 0,
            heard: Vec::new(),
            proof: None,
            wanted: Vec::new(),
            lies: self.rng.per_mille(250),
            asked: Vec::new(),
        });
        Ok(())
    }

    /// Lets the hostile member send some frames.
    pub(super) fn attack(&mut self) -> Result {
        let (now, last) = (self.room.now, self.observer.log.len() as u64);
        let ts = self.room.host.clock(now).as_secs();
        let Some(enemy) = &mut self.enemy else {
            return Ok(());
        };
        let id = enemy.id;
        let mut facts = Facts {
            seq: self.observer.next_sequence(id),
            ts,
            last,
            version: self.observer.rights.version,
        };
        // At times the hostile member sends over a link of its own, which loses no frame.
        let fills = self.plan.flood > USUAL && self.rng.per_mille(400);
        for _ in 0..self.rng.below(1 + self.plan.flood) {
            self.counts.forged += 1;
            if fills {
                let text = enemy.filler(&mut self.rng, facts);
                facts.seq += 1;
                let at = self.room.host.clock(now);
                self.observer.heard(id, &text);
                let received = self.room.host.driver.receive(id, text.as_bytes(), at);
                received.map_err(said)?;
                continue;
            }
            let text = if self.rng.per_mille(600) {
                let text = enemy.frame(&mut self.rng, facts);
                facts.seq += u64::from(self.rng.per_mille(500));
                text
            } else {
                enemy.link(&mut self.rng, last)
            };
            self.room.wire.send(now, id, MemberId::HOST, text);
        }
        Ok(())
    }

    /// Lets the other sides come to rest while the hostile member goes on.
    pub(super) fn outlast_enemy(&mut self) -> Result {
        if self.enemy.is_none() {
            return Ok(());
        }
        // Notes the newest frame in the outbox of each side. Later frames do not count, because the sides keep
        // answering the hostile member.
        let last = |seen: &Seen| seen.outbox.values().map(|frame| frame.order).max();
        let last: Vec<_> = self.observer.sides.iter().map(last).collect();
        let is_settled = |(seen, last): (&Seen, &Option<u64>)| {
            let orders = seen.outbox.values().map(|frame| Some(frame.order));
            orders.min().flatten() > *last || last.is_none() || seen.outbox.is_empty()
        };
        let members = 2 + self.plan.members;
        let waiting: usize = self
            .observer
            .sides
            .iter()
            .map(|side| side.outbox.len())
            .sum();
        // Some runs need more turns. A side that takes few frames at a time is behind for longer. A host with an
        // older copy asks up to eight times for each value and each first part that it has lost, and waits up to 32
        // seconds before it asks again.
        let turns = if self.plan.narrow { 5 * TURNS } else { TURNS };
        let was_put_back = self.plan.copies > 0 && self.plan.host_copies;
        let turns = turns + if was_put_back { TURNS_PUT_BACK } else { 0 };
        let turns = match self.plan.scope {
            Scope::Sender => turns,
            Scope::Shared if self.plan.flood > USUAL => {
                TURNS_FLOODED * (3 + members) + TURNS_EACH * waiting
            }
            Scope::Shared => turns + TURNS_SHARED * members,
        };
        // The host tells a member the next number, and the member answers in the second step after that. The
        // member's turn to send ends after a second. So the steps are shorter with shared numbering.
        let steps = match self.plan.scope {
            Scope::Sender => 1,
            Scope::Shared => 2,
        };
        self.observer.told = Some(BTreeMap::new());
        for _ in 0..turns * steps as usize {
            self.attack()?;
            self.rest(Duration::from_millis(500) / steps)?;
            self.enter_late()?;
            self.let_all_in()?;
            let mut sides = self.observer.sides.iter().zip(&last);
            let has_lost = self.room.host.session().rolled_back().is_some();
            if !has_lost && sides.all(is_settled) {
                self.observer.told = None;
                return self.weigh_host();
            }
        }
        let sides = self.observer.sides.iter().zip(&last);
        let busy = sides.filter(|side| !is_settled(*side));
        let busy: Vec<_> = busy.map(|(side, _)| side.id.number()).collect();
        Err(format!("an enemy keeps {busy:?} from coming to rest"))
    }

    /// Checks how many bytes of memory the session of the host takes.
    fn weigh_host(&mut self) -> Result {
        let Some(weigh) = self.weigh else {
            return Ok(());
        };
        let now = self.host_clock();
        let before = self.room.host.reopen(now).map_err(said)?;
        let with_it = weigh();
        drop(before);
        let bytes = with_it.saturating_sub(weigh());
        self.counts.heaviest = self.counts.heaviest.max(bytes as u64);
        if bytes > MOST {
            return Err(format!("the host takes {bytes} bytes, and {MOST} at most"));
        }
        self.restart(0)
    }

    /// Removes the hostile member from the session, and lets its values expire.
    pub(super) fn expel_enemy(&mut self) -> Result {
        if self.room.host.session().rolled_back().is_some() {
            return Ok(()); // the operator decides first
        }
        let Some(enemy) = self.enemy.take() else {
            return Ok(());
        };
        let now = self.host_clock();
        let host = self.room.host.driver.session_mut().map_err(said)?;
        host.handle(Input::Leave(enemy.id), now).map_err(said)?;
        // If the hostile member did not send the bytes of a value, no side has them.
        let prefix = format!("k{}_", enemy.id);
        let keys = self.observer.keys();
        for key in keys.iter().filter(|key| key.starts_with(&prefix)) {
            self.observer.authority.wishes.expiries.insert(key.clone());
            host.handle(Input::Expire(&[key]), now).map_err(said)?;
        }
        Ok(())
    }
}
