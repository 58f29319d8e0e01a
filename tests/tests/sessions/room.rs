//! A host and its members, on a link that the test controls.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use accp_runtime::session::{Mid, Options, Outbound, Rules};
pub(crate) use accp_testkit::Delivery as Passed;
use accp_testkit::Shared;

use crate::sessions::sides::{NOW, Node, counting, member, options};

/// A host, `@hub`, and its members, with all frames that passed between them.
pub(crate) struct Room {
    room: accp_testkit::Room,
    /// All sent frames, in order.
    pub(crate) passed: Vec<Passed>,
}

impl Deref for Room {
    type Target = accp_testkit::Room;

    fn deref(&self) -> &Self::Target {
        &self.room
    }
}

impl DerefMut for Room {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.room
    }
}

impl Room {
    /// Opens a room with all members. No side counts tokens.
    pub(crate) fn new(agents: &[&'static str]) -> Self {
        Self::with(options("hub"), Rules::default(), agents)
    }

    /// Opens a room whose host counts tokens. Its members do not.
    pub(crate) fn counting(agents: &[&'static str]) -> Self {
        Self::with(counting("hub"), Rules::default(), agents)
    }

    /// Opens a room of a host and `@dev`. Both count tokens.
    pub(crate) fn pair() -> Self {
        let mut room = Self::open(counting("hub"), Rules::default());
        room.enter(counting("dev"));
        room
    }

    pub(crate) fn with(host: Options, rules: Rules, agents: &[&'static str]) -> Self {
        let mut room = Self::open(host, rules);
        for &agent in agents {
            room.enter(options(agent));
        }
        room
    }

    /// Opens a room without members.
    pub(crate) fn open(host: Options, rules: Rules) -> Self {
        Self::of(Shared::default(), host, rules)
    }

    /// Opens a room without members, whose host goes on from this store.
    pub(crate) fn of(store: Shared, host: Options, rules: Rules) -> Self {
        Self {
            room: accp_testkit::Room::open(store, host, rules, NOW).unwrap(),
            passed: Vec::new(),
        }
    }

    /// Lets a member join.
    pub(crate) fn enter(&mut self, options: Options) {
        let id = self.room.enter(Shared::default(), options).unwrap();
        assert_eq!(usize::from(id.number()), 100 + self.members.len());
        self.settle();
    }

    /// Makes the link lose nothing from now on.
    pub(crate) fn heal(&mut self) {
        self.on_the_way(|passed| vec![passed.text.clone()]);
    }

    /// Delivers all frames until no side sends any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            let left = self.step(Duration::ZERO).unwrap();
            if left.is_empty() {
                return;
            }
            self.passed.extend(left);
        }
        panic!("they do not come to rest");
    }

    /// Lets time pass on all sides.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.settle();
    }

    /// Lets this time pass again and again.
    pub(crate) fn pass_often(&mut self, times: usize, time: Duration) {
        for _ in 0..times {
            self.pass(time);
        }
    }

    /// Sends a member's frame, and delivers it to all sides.
    pub(crate) fn say(&mut self, index: usize, outbound: &Outbound<'_>) -> Mid {
        let now = self.now;
        let member = self.members[index].session_mut();
        let mid = member.send(outbound, now).unwrap();
        self.settle();
        mid
    }

    /// Sends the host's frame, and delivers it to all sides.
    pub(crate) fn host_says(&mut self, outbound: &Outbound<'_>) -> Mid {
        let now = self.now;
        let mid = self.host.session_mut().send(outbound, now).unwrap();
        self.settle();
        mid
    }

    /// Returns the frames from one side to another.
    pub(crate) fn passed(&self, from: u16, to: u16) -> impl Iterator<Item = &str> {
        let is_it = move |passed: &&Passed| (passed.from, passed.to) == (member(from), member(to));
        self.passed
            .iter()
            .filter(is_it)
            .map(|passed| passed.text.as_str())
    }

    /// Checks that all sides have the same state, and that no frame is under way.
    pub(crate) fn check_replicas(&mut self) {
        let all: Vec<_> = (0..self.members.len()).collect();
        self.check_replicas_of(&all);
    }

    /// The same as [`check_replicas`](Self::check_replicas), for these members only.
    pub(crate) fn check_replicas_of(&mut self, members: &[usize]) {
        let host = self.host.session();
        assert!(host.is_quiet());
        for node in members.iter().map(|index| &self.members[*index]) {
            assert!(node.session().is_quiet());
            assert_eq!(node.session().state(), host.state());
            assert_eq!(node.session().context(), host.context());
        }
    }
}
