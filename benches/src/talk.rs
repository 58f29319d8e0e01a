//! The sessions that the benches measure, and their messages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::session::{
    Answer, Inbound, Input, LogKey, MemberId, Options, Outbound, Rules, Scope, Session, Time,
};
use accp_runtime::{AgentId, DynamicFrame, Registry, TokenCounter};
use accp_session::{Batch, Output};
use accp_store::MemoryStore;
use accp_testkit::{Room, Side, Tapped};

/// The time in all benches. It never changes.
pub const NOW: Time = Time::from_secs(1_714_000_000);
/// The name of the session.
pub const SESSION: &str = "bench";

/// A counter of tokens; `None` if the session does not count tokens.
pub type Counter = Option<Arc<dyn TokenCounter + Send + Sync>>;

static STANDARD: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));

/// Returns an agent of the benches: `hub` is the host, `planner` its member.
pub fn agent(name: &'static str) -> AgentId<'static> {
    AgentId::new(name).expect("an agent")
}

/// Returns the options of a side.
pub fn options(name: &'static str, counter: &Counter) -> Options {
    let mut options = Options::new(SESSION, agent(name), Arc::clone(&STANDARD));
    options.counter.clone_from(counter);
    options
}

/// Returns the rules of a host.
pub fn rules(scope: Scope) -> Rules {
    Rules {
        scope,
        key: Some(LogKey::new([7; 32])),
        ..Rules::default()
    }
}

/// Opens a host with one member, whose frames the bench writes itself.
pub fn host_with_member(counter: &Counter) -> (Session, MemberId) {
    let mut host = Session::host(options("hub", counter), rules(Scope::Sender), NOW);
    let member = join(&mut host);
    while host.poll().is_some() {}
    (host, member)
}

/// Returns the id of a member's frame with this number.
pub fn mid(number: u64) -> String {
    format!(
        "101{:06}{:03}",
        1 + (number - 1) / 999,
        1 + (number - 1) % 999
    )
}

/// Lets the planner join and say hello. It sends both the requests to the host and the reports on them, so it must be
/// a supervisor.
pub fn join(host: &mut Session) -> MemberId {
    let agents = [agent("planner")];
    let join = Input::Join {
        agents: &agents,
        supervisor: true,
    };
    let member = match host.handle(join, NOW) {
        Ok(Answer::Joined(member)) => member,
        other => panic!("the planner does not join: {other:?}"),
    };
    let position = host.position();
    let hello = format!("@planner>sync:registry{{hash:ffffff|pos:{position}|v:1}}");
    host.receive(member, hello.as_bytes(), NOW);
    member
}

/// Returns the frame with this number. Requests and the reports on them alternate.
pub fn frame(number: u64) -> String {
    let request = mid(number - 1 + number % 2);
    frame_as(number, &mid(number), &request)
}

/// Returns the same frame with another id, as an answer to the request with this id.
pub fn frame_as(number: u64, mid: &str, request: &str) -> String {
    let mut text = String::new();
    let _ = if number % 2 == 1 {
        write!(
            text,
            "@planner>req:schedule{{asgn:hub|task:impl_auth|pri:high|dead:sprint_14|\
             deps:[plan,design]|schema:TA}}[mid:{mid},seq:{number},ts:1714000000,ttl:600]"
        )
    } else {
        write!(
            text,
            "@planner>done:schedule{{task:impl_auth|stat:complete|prog:100|schema:TA}}\
             [mid:{mid},seq:{number},ts:1714000000,cid:{request}]"
        )
    };
    text
}

/// Does the work of a handler: decodes the frame into its type.
pub fn read(inbound: &Inbound) {
    if inbound.text().contains(">req:") {
        black_box(&inbound.decode::<ScheduleReq<'_>>().expect("a task").frame);
    } else if inbound.text().contains(">done:") {
        black_box(
            &inbound
                .decode::<ScheduleDone<'_>>()
                .expect("a report")
                .frame,
        );
    }
}

/// Lets the host take and handle all texts, and gives each batch to `commit`. Returns the number of
/// handled frames.
pub fn take<'t>(
    host: &mut Session,
    member: MemberId,
    texts: impl IntoIterator<Item = &'t String>,
    mut commit: impl FnMut(Batch),
) -> usize {
    for text in texts {
        host.receive(member, text.as_bytes(), NOW);
    }
    let mut handled = 0;
    while let Some(Output::Batch(mut batch)) = host.poll() {
        let inbound = std::mem::take(&mut batch.inbound);
        commit(*batch);
        for inbound in inbound {
            read(&inbound);
            host.handled(inbound.position(), &[], NOW)
                .expect("it waits");
            handled += 1;
        }
    }
    handled
}

/// A store that writes nothing to a disk.
pub type Nowhere = Arc<Mutex<Tapped<MemoryStore>>>;

/// A host and its member, on a link that loses nothing, with stores in memory.
pub struct Pair {
    /// The room of the two.
    pub room: Room<Nowhere>,
}

impl Pair {
    /// Opens a pair, and lets its sides say hello.
    pub fn new(counter: &Counter, scope: Scope) -> Self {
        let nowhere = || {
            let tapped = Tapped::new(MemoryStore::new(), |_, _| Ok(()));
            Arc::new(Mutex::new(tapped))
        };
        let room = Room::open(nowhere(), options("hub", counter), rules(scope), NOW);
        let mut room = room.expect("a session");
        room.enter(nowhere(), options("planner", counter))
            .expect("room");
        let mut pair = Self { room };
        pair.settle();
        pair
    }

    /// Lets the member send this many requests, and the host report on them.
    pub fn exchange(&mut self, requests: usize) {
        let request = ScheduleReq {
            assignee: agent("hub"),
            task: "impl_auth".into(),
            priority: "high".into(),
            deadline: Some("sprint_14".into()),
            deps: vec!["plan".into(), "design".into()],
            status: None,
            progress: None,
        };
        for _ in 0..requests {
            let outbound = Outbound::frame(&request).expiring(600);
            let member = &mut self.room.members[0].driver;
            member.send(&outbound, NOW).expect("room");
        }
        self.settle();
    }

    /// Lets the member send frames without answers until hot state is nearly full.
    pub fn fill_hot(&mut self) {
        let limits = &self.room.host.options.context;
        let nearly = limits.trigger - limits.trigger / 10;
        while self.room.host.session().state().hot().tokens() < nearly {
            let number = self.room.host.session().position() as i64;
            let note = DynamicFrame::new("planner", "wait", "schedule")
                .expect("a message")
                .with("on", "build_machine")
                .with("number", number);
            let outbound = Outbound::message(&note);
            let member = &mut self.room.members[0].driver;
            member.send(&outbound, NOW).expect("room");
            self.settle();
        }
    }

    /// Delivers and handles all frames until nothing is left to do.
    pub fn settle(&mut self) {
        let report = ScheduleDone {
            task: "impl_auth".into(),
            status: Some("complete".into()),
            progress: Some(100),
        };
        loop {
            let left = self.room.step(Duration::ZERO).expect("nothing fails");
            let mut rests = left.is_empty();
            for side in [&mut self.room.host, &mut self.room.members[0]] {
                side.events.clear();
                let session = side.driver.session_mut().expect("nothing fails");
                for inbound in side.inbox.drain(..) {
                    rests = false;
                    read(&inbound);
                    let is_asked = session.is_host() && inbound.text().contains(">req:");
                    let reply = Outbound::frame(&report).answering(&inbound);
                    let reply = is_asked.then(|| reply.expect("a frame"));
                    let handled = session.handled(inbound.position(), reply.as_slice(), NOW);
                    handled.expect("it waits");
                }
            }
            if rests {
                break;
            }
        }
        assert!(self.room.sides().all(Side::is_quiet));
    }
}
