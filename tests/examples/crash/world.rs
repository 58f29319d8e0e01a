//! The session of one file: the process that is killed, its peers, and a record of the lines that
//! left the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accp_runtime::session::{MemberId, Mid, Scope, Time, Transmit};
use accp_session::Entry;
use accp_store::{SideId, Store};
use accp_testkit::{Rng, Shared};
use tempfile::TempDir;

use super::file::{self, Contents};
use super::life::{Fuse, Life};
use super::plan::Plan;
use super::side::{AGENTS, Done, Kind, SESSION, Side, ids};

/// The promises that have left the process. They count for ever.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) said: BTreeSet<u64>,
    pub(crate) handled: BTreeSet<u64>,
    /// The frames that the process has acknowledged, as a host.
    pub(crate) acknowledged: BTreeSet<Mid>,
    /// The number of acknowledgements of any kind.
    pub(crate) acks: u64,
    /// The last position that the process has relayed, or has claimed to hold.
    pub(crate) position: u64,
}

/// The peers, who are never killed, and the promises of the process.
pub(crate) struct World<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) rng: Rng,
    pub(crate) now: Time,
    folder: TempDir,
    /// The member that the process plays.
    pub(crate) own: MemberId,
    pub(crate) peers: BTreeMap<MemberId, Side<Shared>>,
    /// The store of the peers.
    store: Shared,
    /// The last number that each side was told to say.
    numbers: BTreeMap<MemberId, u64>,
    /// The numbers that the peers have said.
    pub(crate) said: BTreeMap<MemberId, BTreeSet<u64>>,
    pub(crate) told: Told,
    /// The contents of the file after the last kill.
    pub(crate) before: Contents,
    /// Whether the process has opened its session in this life.
    pub(crate) opened: bool,
    /// The lines that the process was given in this turn.
    pub(crate) handed: Vec<String>,
    /// Whether the last lines of the process reach no peer.
    pub(crate) lossy: bool,
}

impl<'p> World<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Result<Self, String> {
        let now = Time::from_secs(1_714_000_000);
        let store = Shared::default();
        let [host, dev, ops] = ids();
        let member = |at| Side::member(at, Arc::clone(&store), Vec::new(), now);
        let mut peers: BTreeMap<MemberId, Side<Shared>> = BTreeMap::new();
        peers.insert(ops, member(2)?);
        let own = match plan.side {
            Kind::Host => {
                peers.insert(dev, member(1)?);
                host
            }
            Kind::Member => {
                let side = Side::host(Arc::clone(&store), Vec::new(), plan.scope, now)?;
                peers.insert(host, side);
                dev
            }
        };
        Ok(Self {
            plan,
            rng: Rng::new(plan.seed),
            now,
            folder: tempfile::tempdir().map_err(|error| error.to_string())?,
            own,
            peers,
            store,
            numbers: BTreeMap::new(),
            said: BTreeMap::new(),
            told: Told::default(),
            before: Contents::default(),
            opened: false,
            handed: Vec::new(),
            lossy: false,
        })
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("session.accp")
    }

    pub(crate) fn contents(&self) -> Result<Contents, String> {
        let side = side_of(match self.plan.side {
            Kind::Host => AGENTS[0],
            Kind::Member => AGENTS[1],
        });
        file::read(&self.file(), &side)
    }

    pub(crate) fn begin(&mut self, fuse: Option<Fuse>) -> Result<Life, String> {
        self.opened = false;
        self.handed.clear();
        let life = Life::begin(self.plan, &self.file(), self.now, fuse);
        life.map_err(|error| format!("it cannot be started: {error}"))
    }

    /// Lets every side do its work. Returns whether the process is quiet, or `None` if it is dead.
    pub(crate) fn turn(&mut self, life: &mut Life, talk: bool) -> Result<Option<bool>, String> {
        let millis = 100 + self.rng.below(400);
        self.now = self.now + Duration::from_millis(millis);
        self.handed.clear();
        // With shared numbering only one frame of a member is under way, so more would not get
        // through.
        let often = match self.plan.scope {
            Scope::Shared => 100,
            Scope::Sender => 300,
        };
        for id in ids() {
            let word = (talk && self.rng.per_mille(often)).then(|| self.word(id));
            let Some(peer) = self.peers.get_mut(&id) else {
                if let Some((n, length)) = word {
                    life.tell(&format!("{} say {n} {length}", self.now.as_millis()));
                }
                continue;
            };
            if let Some((n, length)) = word {
                peer.say(n, length, self.now).map_err(fault)?;
            }
            let (all, told) = (self.said.entry(id).or_default(), &mut self.told);
            let turn = peer.turn(self.now, &mut |done: Done| {
                all.extend(done.said);
                if self.plan.side == Kind::Host {
                    told.acknowledged.extend(done.acknowledged);
                }
            });
            turn.map_err(fault)?;
            for frame in peer.side.left() {
                self.carry(id, frame, life)?;
            }
        }
        life.tell(&format!("{} go", self.now.as_millis()));
        while let Some(line) = life.hear()? {
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb {
                "open" => self.opened = true,
                "to" => self.left(rest)?,
                "said" => self.told.said.extend(rest.parse::<u64>()),
                "handled" => self.told.handled.extend(rest.parse::<u64>()),
                _ => return Ok(Some(rest == "quiet")),
            }
        }
        Ok(None)
    }

    /// Returns the number and the text length of a side's next message.
    fn word(&mut self, id: MemberId) -> (u64, usize) {
        let n = self.numbers.entry(id).or_default();
        *n += 1;
        // Long texts go to cold state.
        let length = if self.rng.per_mille(200) {
            60 + self.rng.below(400)
        } else {
            4
        };
        (*n, length as usize)
    }

    fn carry(&mut self, from: MemberId, frame: Transmit, life: &mut Life) -> Result<(), String> {
        let Transmit { to, text } = frame;
        if to == self.own {
            if life.tell(&format!("{} from {from} {text}", self.now.as_millis())) {
                self.handed.push(text);
            }
            return Ok(());
        }
        let peer = self.peers.get_mut(&to);
        let heard = peer.map_or(Ok(()), |peer| peer.hear(from, &text, self.now));
        heard.map_err(fault)
    }

    /// Records the promise of a frame that has left the process. The promise counts even if the
    /// frame is lost.
    fn left(&mut self, line: &str) -> Result<(), String> {
        let (to, frame) = line.split_once(' ').ok_or("half a line")?;
        let to = to.parse().ok().and_then(MemberId::new);
        let is_ack = frame.contains(">ack:frame{");
        let told = &mut self.told;
        told.acks += u64::from(is_ack);
        let position = match self.plan.side {
            Kind::Host => {
                let is_ack = is_ack || frame.contains("{code:E3002|");
                let mid = metadata(frame, "of").filter(|_| is_ack);
                told.acknowledged.extend(mid.map(Mid::parse));
                number_in(frame, "pos")
            }
            Kind::Member => number_in(frame, "seq").filter(|_| is_ack),
        };
        told.position = told.position.max(position.unwrap_or(0));
        let peer = to.and_then(|to| self.peers.get_mut(&to));
        let peer = peer.filter(|_| !self.lossy);
        let heard = peer.map_or(Ok(()), |peer| peer.hear(self.own, frame, self.now));
        heard.map_err(fault)
    }

    /// Returns the log of the host, whether the process or a peer is the host.
    pub(crate) fn host_log(&self, contents: &Contents) -> Result<Vec<Entry>, String> {
        match self.plan.side {
            Kind::Host => Ok(contents.entries.clone()),
            Kind::Member => self.log_of(&side_of(AGENTS[0])),
        }
    }

    /// Returns the log of a peer.
    pub(crate) fn log_of(&self, side: &SideId) -> Result<Vec<Entry>, String> {
        let mut store = self.store.lock().map_err(|error| error.to_string())?;
        let log = store.entries(side, 0, usize::MAX);
        log.map_err(|error| error.to_string())
    }
}

fn fault(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Returns the side of an agent.
fn side_of(agent: &str) -> SideId {
    SideId::new(SESSION, agent)
}

/// Returns the value of a metadata key of a frame.
pub(crate) fn metadata<'f>(frame: &'f str, key: &str) -> Option<&'f str> {
    let (_, metadata) = frame.rsplit_once("}[")?;
    let mut pairs = metadata.trim_end_matches(']').split(',');
    pairs.find_map(|pair| pair.strip_prefix(key)?.strip_prefix(':'))
}

pub(crate) fn number_in(frame: &str, key: &str) -> Option<u64> {
    metadata(frame, key)?.parse().ok()
}
