//! A host and its members, on a link that a test holds in its hands.

use std::time::Duration;

use accp_runtime::session::Time;
use accp_runtime::session::{Input, MemberId, Mid, Options, Outbound, Rules, Session, Transmit};

use crate::sides::{NOW, Node, counting, member, options};

/// A frame on its way.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) from: MemberId,
    pub(crate) to: MemberId,
    pub(crate) text: String,
}

/// What a link makes of a frame: the texts that arrive.
type Way = Box<dyn FnMut(&Passed) -> Vec<String>>;

/// A host, `@hub`, and its members on one link.
pub(crate) struct Room {
    pub(crate) now: Time,
    pub(crate) host: Node,
    /// Those of the numbers from 101 on.
    pub(crate) members: Vec<Node>,
    /// All that went out, in order.
    pub(crate) passed: Vec<Passed>,
    way: Way,
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
            now: NOW,
            host: Node::new(Session::host(host, rules, NOW)),
            members: Vec::new(),
            passed: Vec::new(),
            way: Box::new(|passed| vec![passed.text.clone()]),
        }
    }

    /// A member joins.
    pub(crate) fn enter(&mut self, options: Options) {
        let agent = options.agent.clone();
        let id = self.host.session.join(&agent, self.now).unwrap();
        assert_eq!(usize::from(id.number()), 101 + self.members.len());
        self.members.push(Node::new(Session::member(options, NOW)));
        self.settle();
    }

    /// From now on the link does this.
    pub(crate) fn on_the_way(&mut self, way: impl FnMut(&Passed) -> Vec<String> + 'static) {
        self.way = Box::new(way);
    }

    /// The link loses nothing again.
    pub(crate) fn heal(&mut self) {
        self.on_the_way(|passed| vec![passed.text.clone()]);
    }

    /// Lets all that leaves arrive, until nothing leaves any more.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut sends = Vec::new();
            for send in self.host.carry_out(self.now) {
                sends.push((MemberId::HOST, send));
            }
            for (id, node) in (101..).zip(&mut self.members) {
                for send in node.carry_out(self.now) {
                    sends.push((member(id), send));
                }
            }
            if sends.is_empty() {
                return;
            }
            for (from, Transmit { to, text }) in sends {
                let passed = Passed { from, to, text };
                for text in (self.way)(&passed) {
                    self.arrive(from, to, &text);
                }
                self.passed.push(passed);
            }
        }
        panic!("they do not come to rest");
    }

    fn arrive(&mut self, from: MemberId, to: MemberId, text: &str) {
        if to == MemberId::HOST {
            self.host.session.receive(from, text.as_bytes(), self.now);
        } else {
            let node = &mut self.members[usize::from(to.number()) - 101];
            node.session
                .receive(MemberId::HOST, text.as_bytes(), self.now);
        }
    }

    /// Lets time pass on all sides.
    pub(crate) fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        for node in std::iter::once(&mut self.host).chain(&mut self.members) {
            node.session.handle(Input::Timeout, self.now).unwrap();
        }
        self.settle();
    }

    /// A member says something, and everybody hears it.
    pub(crate) fn say(&mut self, index: usize, outbound: &Outbound<'_>) -> Mid {
        let mid = self.members[index]
            .session
            .send(outbound, self.now)
            .unwrap();
        self.settle();
        mid
    }

    /// The host says something, and everybody hears it.
    pub(crate) fn host_says(&mut self, outbound: &Outbound<'_>) -> Mid {
        let mid = self.host.session.send(outbound, self.now).unwrap();
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
        assert!(self.host.session.is_quiet());
        for node in &mut self.members {
            assert!(node.session.is_quiet());
            assert_eq!(node.session.state(), self.host.session.state());
            assert_eq!(node.session.context(), self.host.session.context());
        }
    }
}
