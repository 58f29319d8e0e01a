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

use super::fact::{Fact, Fate};
use super::file::{self, Contents};
use super::frames::{metadata, number_in};
use super::ledger::Ledger;
use super::life::{Fuse, Life};
use super::log::Log;
use super::plan::CrashPlan;
use super::side::{AGENTS, Kind, SESSION, Side, fault, ids};
use super::words::{Chore, Word};

/// The promises that the process has sent. A promise holds in all later lives of the process.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    /// The frames that the process has acknowledged, as a host.
    pub(crate) acknowledged: BTreeSet<Mid>,
    /// The number of acknowledgements of any kind.
    pub(crate) acks: u64,
    /// The last position that the process has relayed, or has claimed to hold.
    pub(crate) position: u64,
    /// The frames that the process has dropped, as a host.
    pub(crate) dropped: BTreeSet<Mid>,
    /// The positions of the frames whose handlers a cancellation has stopped.
    pub(crate) stopped: BTreeSet<u64>,
    /// The keys whose bytes have arrived.
    pub(crate) supplied: BTreeSet<String>,
    /// The keys that a handler could not read, because they had expired.
    pub(crate) gone: BTreeSet<String>,
    /// The number of values that handlers have read and compared.
    pub(crate) read: u64,
    /// The last checkpoint.
    pub(crate) checkpoint: u64,
    /// The number of texts and the number of bytes that retention has deleted.
    pub(crate) freed: (u64, u64),
}

impl Promises {
    fn take(&mut self, fact: Fact) {
        match fact {
            Fact::Stopped(position) => drop(self.stopped.insert(position)),
            Fact::Dropped(mid) => drop(self.dropped.insert(mid)),
            Fact::Supplied(key) => drop(self.supplied.insert(key)),
            Fact::Gone(key) => drop(self.gone.insert(key)),
            Fact::Read(_) => self.read += 1,
            Fact::Checkpoint(id) => self.checkpoint = self.checkpoint.max(id),
            Fact::Freed(texts, bytes) => {
                self.freed.0 += texts;
                self.freed.1 += bytes;
            }
            _ => {}
        }
    }
}

/// The peers, who are never killed, and the promises of the process.
pub(crate) struct World<'p> {
    pub(crate) plan: &'p CrashPlan,
    pub(crate) rng: Rng,
    pub(crate) now: Time,
    folder: TempDir,
    /// The member that the process plays.
    pub(crate) own: MemberId,
    pub(crate) peers: BTreeMap<MemberId, Side<Shared>>,
    /// The store of the peers.
    store: Shared,
    /// For each side, the number of the last message that it got the order to send.
    numbers: BTreeMap<MemberId, u64>,
    /// The facts that each side has reported.
    pub(crate) ledgers: BTreeMap<MemberId, Ledger>,
    pub(crate) told: Promises,
    /// The frames of the process whose end the process did not report, because it was killed before.
    pub(crate) untold: BTreeSet<Mid>,
    /// The log of the host.
    pub(crate) log: Log,
    /// The contents of the file after the last kill.
    pub(crate) before: Contents,
    /// Whether the process has opened its session in this life.
    pub(crate) opened: bool,
    /// The lines that the process got in this turn.
    pub(crate) handed: Vec<String>,
    /// Whether the last lines of the process reach no peer.
    pub(crate) lossy: bool,
}

impl<'p> World<'p> {
    pub(crate) fn new(plan: &'p CrashPlan) -> Result<Self, String> {
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
            folder: tempfile::tempdir().map_err(fault)?,
            own,
            peers,
            store,
            numbers: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            told: Promises::default(),
            untold: BTreeSet::new(),
            log: Log::default(),
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
        // With shared numbering, only one frame of a member is under way at a time, so a member
        // writes fewer messages.
        let often = match self.plan.scope {
            Scope::Shared => 100,
            Scope::Sender => 300,
        };
        for id in ids() {
            let word = (talk && self.rng.per_mille(often)).then(|| self.word(id));
            let chore = self.chore(id).filter(|_| talk);
            let Some(peer) = self.peers.get_mut(&id) else {
                let now = self.now.as_millis();
                if let Some((n, word)) = word {
                    life.tell(&format!("{now} say {n} {word}"));
                }
                if let Some(chore) = chore {
                    life.tell(&format!("{now} do {chore}"));
                }
                continue;
            };
            if let Some((n, word)) = word {
                peer.say(n, word, self.now)?;
            }
            if let Some(chore) = chore {
                peer.work(&chore, self.now)?;
            }
            let (ledger, told) = (self.ledgers.entry(id).or_default(), &mut self.told);
            let is_host = self.plan.side == Kind::Host;
            peer.turn(self.now, &mut |fact: Fact| {
                if let Fact::Ended(mid, Fate::Acknowledged) = &fact
                    && is_host
                {
                    told.acknowledged.insert(mid.clone());
                }
                ledger.take(&fact)
            })?;
            for frame in peer.inner.left() {
                self.carry(id, frame, life)?;
            }
        }
        life.tell(&format!("{} go", self.now.as_millis()));
        while let Some(line) = life.hear()? {
            let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match verb {
                "open" => self.opened = true,
                "to" => self.left(rest)?,
                "done" => return Ok(Some(rest == "quiet")),
                _ => self.learn(line.parse()?)?,
            }
        }
        Ok(None)
    }

    /// Records a fact that the process has reported.
    fn learn(&mut self, fact: Fact) -> Result<(), String> {
        self.ledgers.entry(self.own).or_default().take(&fact)?;
        self.told.take(fact);
        Ok(())
    }

    /// Returns the number and the form of a side's next message.
    fn word(&mut self, id: MemberId) -> (u64, Word) {
        let n = self.numbers.entry(id).or_default();
        *n += 1;
        match Word::draw(&mut self.rng) {
            // Only members send frames in parts.
            Word::Wide if id == MemberId::HOST => (*n, Word::Short),
            word => (*n, word),
        }
    }

    /// Returns the work that a side does in addition to its messages, if any.
    fn chore(&mut self, id: MemberId) -> Option<Chore> {
        let chance = self.rng.below(1000);
        let pick = self.rng.next_u64();
        let is_host = id == MemberId::HOST;
        match chance {
            // A side may only discard entries that this program has seen, so that the program's
            // copy of the log stays complete.
            0..60 => Some(Chore::Retain(self.log.entries.len() as u64)),
            60..80 if is_host => Some(Chore::Phase),
            80..90 if is_host => Some(Chore::Grant(format!("other_{}", pick % 9))),
            90..110 if is_host => {
                let mut keys = self.log.keys();
                let at = pick as usize % keys.len().max(1);
                (at < keys.len()).then(|| Chore::Expire(keys.swap_remove(at)))
            }
            _ => None,
        }
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
        peer.map_or(Ok(()), |peer| peer.hear(self.own, frame, self.now))
    }

    /// Copies the log of the host, whether the process or a peer is the host.
    pub(crate) fn copy_log(&mut self, contents: &Contents) -> Result<(), String> {
        let scope = self.plan.scope;
        match self.plan.side {
            Kind::Host => self
                .log
                .grow(&contents.entries, contents.stored.last, scope),
            Kind::Member => {
                let host = side_of(AGENTS[0]);
                let entries = self.log_of(&host)?;
                let mut store = self.store.lock().map_err(fault)?;
                let summary = store.summary(&host).map_err(fault)?;
                self.log
                    .grow(&entries, summary.map_or(0, |host| host.last), scope)
            }
        }
    }

    /// Returns the log of a peer.
    pub(crate) fn log_of(&self, side: &SideId) -> Result<Vec<Entry>, String> {
        let mut store = self.store.lock().map_err(fault)?;
        let log = store.entries(side, 0, usize::MAX);
        log.map_err(fault)
    }
}

/// Returns the side of an agent.
fn side_of(agent: &str) -> SideId {
    SideId::new(SESSION, agent)
}
