//! The link of a room.

use std::collections::BTreeMap;
use std::time::Duration;

use accp_session::{MemberId, Time};

use crate::rng::Rng;

/// The faults of a [`Wire`], as frames in a thousand, and its delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Faults {
    /// Frames that never arrive.
    pub loss: u64,
    /// Frames that arrive twice, at two times.
    pub duplication: u64,
    /// Frames that take much longer than others, so that later frames overtake them.
    pub delay: u64,
    /// The shortest time that a frame takes.
    pub latency: Duration,
    /// The longest random time added to the latency.
    pub jitter: Duration,
    /// The longest random time added to a delayed frame.
    pub delayed_by: Duration,
}

/// Counts of the frames and of each fault.
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
    /// Frames that came out after a frame that went in later, with the same sender and receiver.
    pub reordered: u64,
    /// Frames lost in a partition.
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
    /// Frames by their time of arrival, each with its number in the order of sending.
    under_way: BTreeMap<(Time, u64), (u64, Delivery)>,
    count: u64,
    /// The number of the newest frame that came out, for each sender and receiver.
    newest: BTreeMap<(MemberId, MemberId), u64>,
    /// Members that are cut off, each with the end of its partition.
    cut: BTreeMap<MemberId, Time>,
    faulted: Faulted,
}

/// A frame on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The sender.
    pub from: MemberId,
    /// The receiver.
    pub to: MemberId,
    /// The frame.
    pub text: String,
}

impl Wire {
    /// Makes a link whose faults depend on the seed.
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

    /// Sets the faults from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// Cuts a member off until this time.
    pub fn partition(&mut self, member: MemberId, until: Time) {
        self.cut.insert(member, until);
    }

    /// Ends all partitions.
    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// Loses all frames under way to and from a member.
    pub fn cut(&mut self, member: MemberId) {
        self.under_way
            .retain(|_, (_, frame)| frame.from != member && frame.to != member);
    }

    /// Sends a frame.
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

    /// Takes the next frame that has arrived by now.
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

    /// Returns the time of the next arrival, or `None` when no frame is under way.
    pub fn next_arrival(&self) -> Option<Time> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// Returns the counts of the frames and of each fault.
    pub fn faulted(&self) -> Faulted {
        self.faulted
    }
}
