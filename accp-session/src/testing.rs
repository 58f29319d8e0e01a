//! What tests of sessions need: a link that fails as links do, from a seed.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{MemberId, Time};

/// Numbers from a seed, the same on every machine (`SplitMix64`).
///
/// ```
/// use accp_runtime::testing::Rng;
///
/// let (mut a, mut b) = (Rng::new(7), Rng::new(7));
/// assert_eq!(a.next_u64(), b.next_u64());
/// assert!(a.below(10) < 10);
/// ```
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// Numbers that depend on the seed alone.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 when that is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next_u64() % end }
    }

    /// True so many times in a thousand.
    pub const fn per_mille(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }
}

/// How often a [`Link`] fails, in a thousand frames, and how slow it is.
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
/// use accp_runtime::testing::{Faults, Link};
///
/// let (now, dev) = (Time::from_secs(0), MemberId::new(101).expect("a member"));
/// let mut link = Link::new(7, Faults::default());
/// link.send(now, MemberId::HOST, dev, "@hub>ping:link{}");
/// let frame = link.deliver(now).expect("at once");
/// assert_eq!((frame.to, frame.text.as_str()), (dev, "@hub>ping:link{}"));
/// assert!(link.deliver(now).is_none());
/// ```
#[derive(Debug)]
pub struct Link {
    rng: Rng,
    faults: Faults,
    under_way: BTreeMap<(Time, u64), Delivery>,
    count: u64,
    /// The newest frame that came out, for each way.
    newest: BTreeMap<(MemberId, MemberId), u64>,
    /// Members that are cut off, and until when.
    cut: BTreeMap<MemberId, Time>,
    faulted: Faulted,
}

/// A frame that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// Who sent it.
    pub from: MemberId,
    /// Who gets it.
    pub to: MemberId,
    /// The frame.
    pub text: String,
    number: u64,
}

impl Link {
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
            let delivery = Delivery {
                from,
                to,
                text: text.clone(),
                number,
            };
            self.count += 1;
            self.under_way.insert((at, self.count), delivery);
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
        let (key, _) = self
            .under_way
            .first_key_value()
            .filter(|((at, _), _)| *at <= now)?;
        let delivery = self.under_way.remove(&key.clone())?;
        self.faulted.delivered += 1;
        let newest = self.newest.entry((delivery.from, delivery.to)).or_default();
        if *newest > delivery.number {
            self.faulted.reordered += 1;
        }
        *newest = delivery.number.max(*newest);
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
