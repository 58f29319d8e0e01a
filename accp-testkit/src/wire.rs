//! The link of a room.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_runtime::session::{MemberId, Time};

use crate::Rng;

/// How often a [`Wire`] fails, in a thousand frames, and how slow it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Frames that never arrive.
    pub loss: u64,
    /// Frames that arrive twice, at two times.
    pub duplication: u64,
    /// Frames that take much longer than others, so that later ones overtake them.
    pub delay: u64,
    /// How long a frame takes at least.
    pub latency: Duration,
    /// How much longer it may take.
    pub jitter: Duration,
    /// How much longer a delayed one may take.
    pub delayed_by: Duration,
}

/// How often each fault has occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faulted {
    /// Frames that went in.
    pub sent: u64,
    /// Frames that came out.
    pub delivered: u64,
    /// Frames lost.
    pub lost: u64,
    /// Frames that came out twice.
    pub duplicated: u64,
    /// Frames that were delayed.
    pub delayed: u64,
    /// Frames that came out before one that went in earlier on the same way.
    pub reordered: u64,
    /// Frames that a partition kept.
    pub partitioned: u64,
}

/// A link between the sides of a session that loses, repeats, reorders and delays frames.
///
/// ```
/// use accp_runtime::session::{MemberId, Time};
/// use accp_testkit::{Faults, Wire};
///
/// let (now, dev) = (Time::from_secs(0), MemberId::new(101).expect("a member"));
/// let mut wire = Wire::new(7, Faults::default());
/// wire.send(now, MemberId::HOST, dev, "@hub>ping:link{}");
/// let frame = wire.deliver(now).expect("at once");
/// assert_eq!((frame.to, frame.text.as_str()), (dev, "@hub>ping:link{}"));
/// assert!(wire.deliver(now).is_none());
/// ```
#[derive(Debug)]
pub struct Wire {
    rng: Rng,
    faults: Faults,
    /// By when they arrive, each with its place in the order in which frames went in.
    under_way: BTreeMap<(Time, u64), (u64, Delivery)>,
    count: u64,
    /// The newest frame that came out, for each way.
    newest: BTreeMap<(MemberId, MemberId), u64>,
    /// Members that are cut off, and until when.
    cut: BTreeMap<MemberId, Time>,
    faulted: Faulted,
}

/// A frame on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Who sent it.
    pub from: MemberId,
    /// Who gets it.
    pub to: MemberId,
    /// The frame.
    pub text: String,
}

impl Wire {
    /// A link whose faults depend on the seed.
    pub fn new(seed: u64, faults: Faults) -> Self {
        Self {
            rng: Rng::new(seed),
            faults,
            under_way: BTreeMap::new(),
            count: 0,
            newest: BTreeMap::new(),
            cut: BTreeMap::new(),
            faulted: Faulted::default(),
        }
    }

    /// From now on it fails like this.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Cuts a member off until then.
    pub fn partition(&mut self, member: MemberId, until: Time) {
        self.cut.insert(member, until);
    }

    /// Ends all partitions.
    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// Takes a frame.
    pub fn send(&mut self, now: Time, from: MemberId, to: MemberId, text: impl Into<String>) {
        let text = text.into();
        self.faulted.sent += 1;
        self.count += 1;
        let number = self.count;
        let is_cut = |member| self.cut.get(&member).is_some_and(|until| *until > now);
        if is_cut(from) || is_cut(to) {
            self.faulted.partitioned += 1;
            return;
        }
        if self.rng.per_mille(self.faults.loss) {
            self.faulted.lost += 1;
            return;
        }
        let copies = if self.rng.per_mille(self.faults.duplication) {
            self.faulted.duplicated += 1;
            2
        } else {
            1
        };
        for _ in 0..copies {
            let at = now + self.time_under_way();
            let text = text.clone();
            self.count += 1;
            let delivery = Delivery { from, to, text };
            self.under_way.insert((at, self.count), (number, delivery));
        }
    }

    fn time_under_way(&mut self) -> Duration {
        let mut upto = |most: Duration| {
            let millis = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
            Duration::from_millis(self.rng.below(millis.saturating_add(1)))
        };
        let usual = self.faults.latency + upto(self.faults.jitter);
        let longer = upto(self.faults.delayed_by);
        if self.rng.per_mille(self.faults.delay) {
            self.faulted.delayed += 1;
            usual + longer
        } else {
            usual
        }
    }

    /// The next frame that has arrived by now.
    pub fn deliver(&mut self, now: Time) -> Option<Delivery> {
        let first = self.under_way.first_entry()?;
        if first.key().0 > now {
            return None;
        }
        let (number, delivery) = first.remove();
        self.faulted.delivered += 1;
        let newest = self.newest.entry((delivery.from, delivery.to)).or_default();
        if *newest > number {
            self.faulted.reordered += 1;
        }
        *newest = number.max(*newest);
        Some(delivery)
    }

    /// When the next frame arrives; `None` when nothing is under way.
    pub fn next_arrival(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// How often each fault has occurred.
    pub fn faulted(&self) -> Faulted {
        self.faulted
    }
}
