//! A host and its members, on a link that a test holds in its hands.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use accp_runtime::session::{Mid, Options, Outbound, Rules};
pub(crate) use accp_testkit::Delivery as Passed;
use accp_testkit::Shared;

use crate::sides::{NOW, Node, counting, member, options};

/// A host, `@hub`, and its members, with all that passed between them.
pub(crate) struct Room {
    room: accp_testkit::Room,
    /// All that went out, in order.
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
    /// A room in which all are there; nobody counts tokens.
    pub(crate) fn new(agents: &[&'static str]) -> Self {
        Self::with(options("hub"), Rules::default(), agents)
    }

    /// A room whose host counts tokens; its members need not.
    pub(crate) fn counting(agents: &[&'static str]) -> Self {
        Self::with(counting("hub"), Rules::default(), agents)
    }

    /// A host and `@dev`, who both count.
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

    /// A room without members.
    pub(crate) fn open(host: Options, rules: Rules) -> Self {
        Self {
            room: accp_testkit::Room::open(Shared::default(), host, rules, NOW).unwrap(),
            passed: Vec::new(),
        }
    }

    /// A member joins.
    pub(crate) fn enter(&mut self, options: Options) {
        let id = self.room.enter(Shared::default(), options).unwrap();
        assert_eq!(usize::from(id.number()), 100 + self.members.len());
        self.settle();
    }

    /// The link loses nothing again.
    pub(crate) fn heal(&mut self) {
        self.on_the_way(|passed| vec![passed.text.clone()]);
    }

    /// Lets all that leaves arrive, until nothing leaves any more.
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

    /// A member says something, and everybody hears it.
    pub(crate) fn say(&mut self, index: usize, outbound: &Outbound<'_>) -> Mid {
        let now = self.now;
        let member = self.members[index].session_mut();
        let mid = member.send(outbound, now).unwrap();
        self.settle();
        mid
    }

    /// The host says something, and everybody hears it.
    pub(crate) fn host_says(&mut self, outbound: &Outbound<'_>) -> Mid {
        let now = self.now;
        let mid = self.host.session_mut().send(outbound, now).unwrap();
        self.settle();
        mid
    }

    /// What went from one side to another.
    pub(crate) fn passed(&self, from: u16, to: u16) -> impl Iterator<Item = &str> {
        let is_it = move |passed: &&Passed| (passed.from, passed.to) == (member(from), member(to));
        self.passed
            .iter()
            .filter(is_it)
            .map(|passed| passed.text.as_str())
    }

    /// Everybody has the same, and nothing is under way.
    pub(crate) fn check_replicas(&mut self) {
        let host = self.host.session();
        assert!(host.is_quiet());
        for node in &self.members {
            assert!(node.session().is_quiet());
            assert_eq!(node.session().state(), host.state());
            assert_eq!(node.session().context(), host.context());
        }
    }
}
