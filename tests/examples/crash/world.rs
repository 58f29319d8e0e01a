//! The session of one file: the process that is killed, the others, and an observer who notes
//! what has left it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accp_runtime::session::{Entry, EntryKind, MemberId, Mid, Scope, State, Time, Transmit};
use accp_runtime::testing::Rng;
use accp_store::{MemoryStore, SideId, Store};
use tempfile::TempDir;

use super::check;
use super::file::{self, Contents};
use super::life::{Fuse, Life};
use super::plant::Plant;
use super::side::{AGENTS, Done, Kind, SESSION, Side, number};

/// Turns after which a session without kills has come to rest.
const TURNS: u64 = 2000;

/// What is done to one file.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// The side that is killed.
    pub(crate) side: Kind,
    pub(crate) scope: Scope,
    pub(crate) kills: u64,
    /// How long after a line a kill may come.
    pub(crate) delay: Duration,
    pub(crate) plant: Option<Plant>,
}

/// What was counted over all files.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) kills: u64,
    files: u64,
    opening: u64,
    in_hand: u64,
    untold: u64,
    output_lost: u64,
    frames: u64,
    acknowledged: u64,
    handled: u64,
    said: u64,
    values: u64,
    snapshots: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("kills", self.kills),
            ("  before it had opened", self.opening),
            ("  with frames in hand that were not kept", self.in_hand),
            ("  with frames kept of which nothing had left", self.untold),
            ("  and its last words were lost", self.output_lost),
            ("files", self.files),
            ("  with snapshots", self.snapshots),
            ("frames accepted", self.frames),
            ("acknowledgements that had left", self.acknowledged),
            ("frames that the killed side handled", self.handled),
            ("frames that it said", self.said),
            ("values", self.values),
        ];
        for (name, count) in rows {
            writeln!(f, "{name:<46}{count:>9}")?;
        }
        Ok(())
    }
}

/// What has left the process: it counts for ever.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) said: BTreeSet<u64>,
    pub(crate) handled: BTreeSet<u64>,
    /// Frames that it has acknowledged, as a host.
    pub(crate) acknowledged: BTreeSet<Mid>,
    /// How often it has acknowledged anything.
    acks: u64,
    /// The last position that it has relayed, or said to hold.
    pub(crate) position: u64,
}

/// A side in this process, which is never killed.
pub(crate) trait Peer {
    fn hear(&mut self, from: MemberId, frame: &str, now: Time) -> Result<(), String>;
    fn say(&mut self, n: u64, length: usize, now: Time) -> Result<(), String>;
    fn turn(&mut self, now: Time) -> Result<(Done, Vec<Transmit>), String>;
    fn is_quiet(&self) -> bool;
    fn id(&self) -> &SideId;
    fn state(&self) -> &State;
}

type Shared = Arc<Mutex<MemoryStore>>;

impl Peer for Side<Shared, Vec<Transmit>> {
    fn hear(&mut self, from: MemberId, frame: &str, now: Time) -> Result<(), String> {
        self.hear(from, frame, now)
            .map_err(|error| error.to_string())
    }

    fn say(&mut self, n: u64, length: usize, now: Time) -> Result<(), String> {
        self.say(n, length, now).map_err(|error| error.to_string())
    }

    fn turn(&mut self, now: Time) -> Result<(Done, Vec<Transmit>), String> {
        let mut all = Done::default();
        let turn = self.turn(now, &mut |done: Done| {
            all.said.extend(done.said);
            all.handled.extend(done.handled);
            all.acknowledged.extend(done.acknowledged);
        });
        turn.map_err(|error| error.to_string())?;
        Ok((all, std::mem::take(self.driver.link_mut())))
    }

    fn is_quiet(&self) -> bool {
        self.is_quiet()
    }

    fn id(&self) -> &SideId {
        self.driver.side()
    }

    fn state(&self) -> &State {
        self.driver.session().state()
    }
}

pub(crate) struct World<'p> {
    pub(crate) plan: &'p Plan,
    rng: Rng,
    pub(crate) now: Time,
    folder: TempDir,
    /// The member that the process is.
    pub(crate) own: MemberId,
    pub(crate) peers: BTreeMap<MemberId, Box<dyn Peer>>,
    /// Of the peers.
    store: Shared,
    /// The last number that each side was to say.
    numbers: BTreeMap<MemberId, u64>,
    /// What the peers have said.
    pub(crate) said: BTreeMap<MemberId, BTreeSet<u64>>,
    pub(crate) told: Told,
    /// What the file held after the last kill.
    pub(crate) before: Contents,
    /// Whether the process has opened its session in this life.
    opened: bool,
    /// What it was handed in this turn.
    handed: Vec<String>,
    /// Whether its last words reach nobody.
    lossy: bool,
}

impl<'p> World<'p> {
    /// Plays the plan, and adds to the counts what came of it.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn run(plan: &'p Plan, counts: &mut Counts) -> Result<(), String> {
        let mut world = Self::new(plan)?;
        for _ in 0..plan.kills {
            world.one_life(counts)?;
        }
        world.rest()?;
        let contents = world.contents()?;
        check::after_a_kill(&mut world, &contents)?;
        check::at_rest(&mut world, &contents)?;
        let log = world.host_log(&contents)?;
        counts.files += 1;
        counts.frames += log.iter().filter(|e| e.kind == EntryKind::Frame).count() as u64;
        counts.acknowledged += world.told.acks;
        counts.handled += world.told.handled.len() as u64;
        counts.said += world.told.said.len() as u64;
        counts.values += contents.values.0 as u64;
        counts.snapshots += u64::from(contents.stored.snapshot.is_some());
        Ok(())
    }

    fn new(plan: &'p Plan) -> Result<Self, String> {
        let now = Time::from_secs(1_714_000_000);
        let store = Shared::default();
        let [host, dev, ops] = ids();
        let member = |agent| Side::member(Arc::clone(&store), Vec::new(), agent, now);
        let mut peers: BTreeMap<MemberId, Box<dyn Peer>> = BTreeMap::new();
        peers.insert(ops, Box::new(member(AGENTS[2])?));
        let own = match plan.side {
            Kind::Host => {
                peers.insert(dev, Box::new(member(AGENTS[1])?));
                host
            }
            Kind::Member => {
                let side = Side::host(Arc::clone(&store), Vec::new(), plan.scope, now)?;
                peers.insert(host, Box::new(side));
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

    fn contents(&self) -> Result<Contents, String> {
        let side = side_of(match self.plan.side {
            Kind::Host => AGENTS[0],
            Kind::Member => AGENTS[1],
        });
        file::read(&self.file(), &side)
    }

    fn begin(&mut self, fuse: Option<Fuse>) -> Result<Life, String> {
        self.opened = false;
        self.handed.clear();
        let life = Life::begin(self.plan, &self.file(), self.now, fuse);
        life.map_err(|error| format!("it cannot be started: {error}"))
    }

    /// The process lives until it is killed; then its file is looked at.
    fn one_life(&mut self, counts: &mut Counts) -> Result<(), String> {
        let delay = self.plan.delay.as_micros() as u64;
        let fuse = Fuse {
            lines: self.rng.below(200).saturating_sub(10),
            at_work: self.rng.per_mille(700),
            delay: Duration::from_micros(self.rng.below(delay + 1)),
        };
        self.lossy = self.rng.per_mille(300);
        let mut life = self.begin(Some(fuse))?;
        while self.turn(&mut life, true)?.is_some() {}
        life.end()?;

        let contents = self.contents()?;
        check::after_a_kill(self, &contents)?;
        counts.kills += 1;
        counts.opening += u64::from(!self.opened);
        counts.output_lost += u64::from(self.lossy);
        let last = contents.stored.last;
        counts.untold += u64::from(last > self.told.position);
        counts.in_hand += u64::from(self.handed.iter().any(|frame| match self.plan.side {
            Kind::Host => {
                let mid = metadata(frame, "mid").filter(|mid| !mid.starts_with('9')); // no link frame
                let kept = |mid: &str| contents.entries.iter().any(|e| e.mid.to_string() == mid);
                mid.is_some_and(|mid| !kept(mid))
            }
            Kind::Member => number_in(frame, "pos").is_some_and(|position| position > last),
        }));
        self.before = contents;
        Ok(())
    }

    /// No more kills, and nothing new is said.
    fn rest(&mut self) -> Result<(), String> {
        self.lossy = false;
        let mut life = self.begin(None)?;
        for _ in 0..TURNS {
            let quiet = self.turn(&mut life, false)?;
            let quiet = quiet.ok_or("it died, and nobody has killed it")?;
            if quiet && self.peers.values().all(|peer| peer.is_quiet()) {
                return life.end();
            }
        }
        Err("it does not come to rest".into())
    }

    /// Everybody does what there is to do. Whether the process is quiet; `None` when it is
    /// dead.
    fn turn(&mut self, life: &mut Life, talk: bool) -> Result<Option<bool>, String> {
        let millis = 100 + self.rng.below(400);
        self.now = self.now + Duration::from_millis(millis);
        self.handed.clear();
        // With shared numbering one frame of a member is under way, and no more get through.
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
                peer.say(n, length, self.now)?;
            }
            let (done, frames) = peer.turn(self.now)?;
            self.said.entry(id).or_default().extend(done.said);
            if self.plan.side == Kind::Host {
                self.told.acknowledged.extend(done.acknowledged);
            }
            for frame in frames {
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

    /// What a side is to say.
    fn word(&mut self, id: MemberId) -> (u64, usize) {
        let n = self.numbers.entry(id).or_default();
        *n += 1;
        // Long ones go to cold state.
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
        peer.map_or(Ok(()), |peer| peer.hear(from, &text, self.now))
    }

    /// A frame has left the process: what it says holds, be it heard or not.
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
        peer.map_or(Ok(()), |peer| peer.hear(self.own, frame, self.now))
    }

    /// The log of the host, wherever that is.
    pub(crate) fn host_log(&self, contents: &Contents) -> Result<Vec<Entry>, String> {
        match self.plan.side {
            Kind::Host => Ok(contents.entries.clone()),
            Kind::Member => self.log_of(&side_of(AGENTS[0])),
        }
    }

    /// The log of a peer.
    pub(crate) fn log_of(&self, side: &SideId) -> Result<Vec<Entry>, String> {
        let mut store = self.store.lock().map_err(|error| error.to_string())?;
        let log = store.entries(side, 0, usize::MAX);
        log.map_err(|error| error.to_string())
    }
}

/// The side of an agent.
fn side_of(agent: &str) -> SideId {
    SideId::new(SESSION, agent)
}

/// The host, and the members in the order in which they join.
fn ids() -> [MemberId; 3] {
    [100, 101, 102].map(|number| MemberId::new(number).unwrap_or(MemberId::HOST))
}

/// The text of a pair in the metadata of a frame.
fn metadata<'f>(frame: &'f str, key: &str) -> Option<&'f str> {
    let (_, metadata) = frame.rsplit_once("}[")?;
    let mut pairs = metadata.trim_end_matches(']').split(',');
    pairs.find_map(|pair| pair.strip_prefix(key)?.strip_prefix(':'))
}

fn number_in(frame: &str, key: &str) -> Option<u64> {
    metadata(frame, key)?.parse().ok()
}

/// The number that a frame says.
pub(crate) fn said(entry: &Entry) -> Option<u64> {
    number(&entry.text, "n").filter(|_| entry.kind == EntryKind::Frame)
}
