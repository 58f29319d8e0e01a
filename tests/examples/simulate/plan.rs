//! The plan of one run: the sides, the faults of the link, and the messages.

use std::time::Duration;

use accp_runtime::session::Scope;
use accp_session::GroupLimits;
use accp_testkit::{Faults, Rng};

/// The most frames that a hostile member sends in a step of a usual run.
pub(super) const USUAL: u64 = 3;

/// The plan that a seed gives.
#[allow(clippy::struct_excessive_bools)] // independent switches
#[derive(Debug, Clone)]
pub(crate) struct RunPlan {
    pub(crate) scope: Scope,
    pub(crate) members: usize,
    /// Frames that the agents want to send, in total.
    pub(crate) sends: usize,
    /// Sends in a thousand steps.
    pub(crate) pace: u64,
    pub(crate) faults: Faults,
    /// Crashes in a thousand steps.
    pub(crate) host_crashes: u64,
    pub(crate) member_crashes: u64,
    pub(crate) partitions: u64,
    /// The drivers of both sides notice a partition.
    pub(crate) noticed: bool,
    /// Milliseconds between each member's clock and the host's clock.
    pub(crate) skew: Vec<i64>,
    /// The sides count tokens, so there are checkpoints.
    pub(crate) counted: bool,
    /// No agent sends the frames that trigger a checkpoint, so the context fills up.
    pub(crate) plain: bool,
    /// The last member joins only after half of the sends.
    pub(crate) late: bool,
    /// Only few frames may wait to be handled, and only few in an outbox.
    pub(crate) narrow: bool,
    /// The host only relays, and handles nothing itself.
    pub(crate) relays_only: bool,
    /// The host registers schemas during the run.
    pub(crate) learns: bool,
    /// A hostile member is in the session until the other members have come to rest.
    pub(crate) hostile: bool,
    /// The most frames that the hostile member sends in a step.
    pub(crate) flood: u64,
    /// How often a member stops hearing entries for a while, in a thousand steps.
    pub(crate) deafness: u64,
    /// How often a clock is set forward or back, in a thousand steps.
    pub(crate) clock_steps: u64,
    /// How often a store is copied or a copy is put back, in a thousand steps.
    pub(crate) copies: u64,
    /// The host's store is copied, too.
    pub(crate) host_copies: bool,
    /// The log has no key, so no side can prove what its log contains.
    pub(crate) keyless: bool,
    /// How often a member leaves or comes back, in a thousand steps.
    pub(crate) leaves: u64,
    /// The second member supervises.
    pub(crate) supervised: bool,
    /// Some members know schemas that the host learns from them.
    pub(crate) brings: bool,
    /// How often a store discards what is not needed, in a thousand steps.
    pub(crate) discards: u64,
    /// The smallest number of entries between two snapshots.
    pub(crate) snapshots: u64,
    /// All sides have one store, in SQLite.
    pub(crate) sqlite: bool,
    /// All sides have one store, behind a committer.
    pub(crate) queued: bool,
    /// Seconds that a clock may differ from that of the host.
    pub(crate) tolerance: u64,
    /// Frames in parts that a member may have under way.
    pub(crate) groups: usize,
    /// Agents send streams.
    pub(crate) streams: bool,
    /// Agents ask for transactions.
    pub(crate) pays: bool,
    /// Agents send requests for one agent.
    pub(crate) addresses: bool,
    /// All sides have a driver for asynchronous code, and a committer.
    pub(crate) awaited: bool,
    /// Agents send large frames, and more of them.
    pub(crate) bulky: bool,
    /// Every third member speaks the draft alone, the last one first.
    pub(crate) drafts: bool,
}

/// The parts to leave out of a run, to see whether it still fails.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trim {
    /// Names from [`RunPlan::PIECES`].
    pub(crate) without: Vec<String>,
    /// The highest number of sends.
    pub(crate) sends: Option<usize>,
    /// Every third seed whose members share one numbering has members that speak the draft alone.
    pub(crate) drafts: bool,
    /// The most frames that a hostile member sends in a step. If this is set, each run has a hostile member. If it
    /// is more than [`USUAL`], no store is put back to an older copy.
    pub(crate) flood: Option<u64>,
    /// Returns the bytes that the program has allocated.
    pub(crate) weigh: Option<fn() -> usize>,
}

impl RunPlan {
    /// The parts that a run can do without.
    pub(crate) const PIECES: [&str; 32] = [
        "partitions",
        "host-crashes",
        "member-crashes",
        "duplication",
        "delay",
        "loss",
        "slowness",
        "skew",
        "late",
        "narrow",
        "learning",
        "counting",
        "company",
        "enemy",
        "deafness",
        "clocks",
        "copies",
        "host-copies",
        "keyless",
        "leaving",
        "supervision",
        "bringing",
        "discarding",
        "snapshots",
        "sqlite",
        "queue",
        "streams",
        "transactions",
        "addresses",
        "awaiting",
        "bulk",
        "drafts",
    ];

    /// Returns the bounds on frames in parts.
    pub(crate) fn group_limits(&self) -> GroupLimits {
        GroupLimits {
            groups: self.groups,
            ..GroupLimits::default()
        }
    }

    pub(crate) fn new(rng: &mut Rng) -> Self {
        let pair = rng.per_mille(650);
        let crowd = rng.per_mille(60).then(|| 10 + rng.below(41) as usize);
        let members = if pair { 1 } else { crowd.unwrap_or(5) };
        // A long run has enough sends for a snapshot of the log, which comes every thousand
        // entries.
        let long = rng.per_mille(20);
        let late_ones = rng.per_mille(400);
        let hostile = rng.per_mille(250);
        let mut some = |most: u64, often: u64| {
            if rng.per_mille(often) {
                rng.below(most + 1)
            } else {
                0
            }
        };
        let longest = if late_ones { 20_000 } else { 4_000 };
        let faults = Faults {
            loss: some(300, 800),
            duplication: some(300, 800),
            delay: some(300, 800),
            latency: Duration::from_millis(some(50, 800)),
            jitter: Duration::from_millis(some(200, 600)),
            delayed_by: Duration::from_millis(some(longest, 1000)),
        };
        let clock_steps = some(30, 250);
        let deafness = some(15, 150);
        let copies = some(30, 350);
        let leaves = some(30, 250);
        let discards = some(60, 400);
        let crashes = if long { 5 } else { 1 };
        let skew = |rng: &mut Rng| {
            if rng.per_mille(500) {
                rng.below(40_000) as i64 - 20_000
            } else {
                0
            }
        };
        let mut plan = Self {
            host_crashes: some(20, 500) / crashes,
            member_crashes: some(30, 500) / crashes,
            partitions: some(10, 500),
            noticed: rng.per_mille(500),
            faults,
            scope: if rng.per_mille(400) {
                Scope::Shared
            } else {
                Scope::Sender
            },
            members: if long { 1 } else { members },
            sends: {
                let sends = if long { 700 } else { 50 } + rng.below(20) as usize;
                // Every member of a crowd gets the frames of all others, so a crowd sends as many frames in all as ten
                // members do.
                sends * 10 / members.max(10)
            },
            pace: if long { 900 } else { 200 + rng.below(500) },
            skew: (0..members).map(|_| skew(rng)).collect(),
            counted: rng.per_mille(600),
            plain: rng.per_mille(250),
            late: !pair && !long && !hostile && rng.per_mille(300),
            narrow: rng.per_mille(150),
            relays_only: rng.per_mille(100),
            learns: rng.per_mille(300),
            hostile,
            flood: if rng.per_mille(80) { 20 } else { USUAL },
            deafness,
            clock_steps,
            copies,
            host_copies: rng.per_mille(600),
            keyless: copies == 0 && rng.per_mille(250),
            leaves,
            supervised: rng.per_mille(300),
            brings: rng.per_mille(200),
            discards,
            snapshots: [20, 100, 1000][rng.below(3) as usize],
            sqlite: copies == 0 && rng.per_mille(200),
            queued: copies == 0 && rng.per_mille(150),
            streams: rng.per_mille(400),
            pays: rng.per_mille(400),
            awaited: rng.per_mille(200),
            drafts: false,
            tolerance: if rng.per_mille(300) { 1 } else { 30 },
            groups: if rng.per_mille(700) { 1 } else { 8 },
            bulky: {
                let mut own = rng.clone();
                own.next_u64();
                own.per_mille(45)
            },
            // This draw uses a copy of the generator, so that the other choices of a seed stay as they are.
            addresses: rng.clone().per_mille(300),
        };
        plan.bulky &= !plan.counted;
        if plan.bulky {
            plan.sends += 200;
            plan.deafness = plan.deafness.max(15);
        }
        if plan.tolerance == 1 {
            // If the tolerance is one second, a clock that stays ahead would delay every frame.
            // So the clocks differ less.
            plan.skew.iter_mut().for_each(|skew| *skew /= 25);
        }
        plan
    }

    /// Returns how many frames an outbox has room for, and how many may wait for their handlers.
    pub(crate) fn room(&self) -> (usize, usize) {
        if self.narrow { (12, 6) } else { (40, 200) }
    }

    /// Returns whether a side speaks the draft alone.
    pub(crate) fn is_plain(&self, who: usize) -> bool {
        self.drafts && who > 0 && (self.members - who).is_multiple_of(3)
    }

    pub(crate) fn trim(&mut self, trim: &Trim) {
        for piece in &trim.without {
            match piece.as_str() {
                "partitions" => self.partitions = 0,
                "host-crashes" => self.host_crashes = 0,
                "member-crashes" => self.member_crashes = 0,
                "duplication" => self.faults.duplication = 0,
                "delay" => self.faults.delay = 0,
                "loss" => self.faults.loss = 0,
                "slowness" => {
                    self.faults.latency = Duration::ZERO;
                    self.faults.jitter = Duration::ZERO;
                }
                "skew" => self.skew.fill(0),
                "late" => self.late = false,
                "narrow" => self.narrow = false,
                "learning" => self.learns = false,
                "counting" => self.counted = false,
                "enemy" => self.hostile = false,
                "deafness" => self.deafness = 0,
                "clocks" => self.clock_steps = 0,
                "copies" => self.copies = 0,
                "host-copies" => self.host_copies = false,
                "keyless" => self.keyless = false,
                "leaving" => self.leaves = 0,
                "supervision" => self.supervised = false,
                "bringing" => self.brings = false,
                "discarding" => self.discards = 0,
                "snapshots" => self.snapshots = 1000,
                "sqlite" => self.sqlite = false,
                "queue" => self.queued = false,
                "streams" => self.streams = false,
                "transactions" => self.pays = false,
                "addresses" => self.addresses = false,
                "awaiting" => self.awaited = false,
                "bulk" => self.bulky = false,
                "drafts" => self.drafts = false,
                "company" => {
                    self.members = 1;
                    self.late = false;
                }
                _ => {}
            }
        }
        if self.drafts {
            // Members that speak only the draft are simulated without these faults
            // (docs/design/next.md).
            (self.leaves, self.narrow) = (0, false);
        }
        self.sends = trim.sends.map_or(self.sends, |most| self.sends.min(most));
        if let Some(flood) = trim.flood {
            (self.hostile, self.flood) = (true, flood);
        }
        if self.hostile && self.flood > USUAL {
            // A side that takes only six frames at a time would need long for the frames of the
            // hostile member, so there is no such side.
            (self.late, self.narrow, self.copies) = (false, false, 0);
            (self.sends, self.pace) = (self.sends.min(70), self.pace.min(700));
        } else {
            self.flood = USUAL;
        }
    }
}
