//! The memory of sessions: `cargo test --release -p accp-tests --test memory -- --all` weighs them at full
//! size and prints the figures. Without `--all` there are fewer hosts and fewer frames, and the bounds are
//! lower by the same factor.
//!
//! Heap is the number of bytes requested from the allocator. All sessions of a process share the
//! registry, which is not counted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use accp_runtime::session::{
    Event, Input, LogKey, MemberId, Options, Outbound, Rules, Scope, Session, Time,
};
use accp_runtime::{AgentId, DynamicFrame, Registry};
use accp_session::{Entry, Output, Read};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

static STANDARD: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(Registry::standard()));

const NOW: Time = Time::from_secs(1_714_000_000);
const MIB: usize = 1024 * 1024;

/// Hosts in a process, and the heap that they may take at rest.
const HOSTS: (usize, usize) = (100_000, 272 * MIB);
/// Frames that a member does not acknowledge, and the heap that the host may take for them.
const FRAMES: (u64, usize) = (1_000_000, 8 * MIB);
/// Refusals of a member's first frame, and the heap that the member may take for them. After each refusal the frame
/// needs a new id.
const REFUSALS: (u64, usize) = (1_000_000, MIB / 16);
/// Without `--all`, the test runs this fraction of its size.
const SAMPLE: usize = 100;

fn main() {
    let is_all = std::env::args().any(|arg| arg == "--all");
    let share = if is_all { 1 } else { SAMPLE };
    hosts_at_rest(share);
    a_member_that_never_acknowledges(share as u64);
    a_host_that_refuses_for_ever(share as u64);
}

fn hosts_at_rest(share: usize) {
    LazyLock::force(&STANDARD);
    let (count, bound) = (HOSTS.0 / share, HOSTS.1 / share);
    let region = Region::new(ALLOCATOR);
    let resident = resident();
    let hosts: Vec<_> = (0..count).map(host_at_rest).collect();
    let heap = held(&region);
    let resident = self::resident().saturating_sub(resident);
    tell(
        &format!("{count} hosts at rest, each with a member"),
        heap,
        bound,
    );
    println!("  resident: {:.1} MiB", resident as f64 / MIB as f64);
    assert_eq!(hosts.len(), count);
}

/// Returns a host that has talked with its member and has nothing left to do.
fn host_at_rest(number: usize) -> Session {
    let mut scripted = ScriptedMember::open(&format!("session_{number}"));
    for n in 1..=20 {
        scripted.hears(&frame(n), NOW);
    }
    let held = scripted.host.position();
    let ack = format!("@dev>ack:frame{{}}[mid:910100000002,seq:{held},ts:1714000000]");
    scripted.hears(&ack, NOW);
    assert!(scripted.host.is_quiet());
    scripted.host
}

/// The heap is bounded, and it does not grow with the frames. So fewer frames show the same as a million.
fn a_member_that_never_acknowledges(share: u64) {
    let (count, bound) = (FRAMES.0 / share, FRAMES.1);
    let region = Region::new(ALLOCATOR);
    let mut scripted = ScriptedMember::open("session");
    let (mut most, mut middle) = (0, 0);
    for n in 1..=count {
        // The time goes on, so that the host sends unacknowledged frames again.
        scripted.hears(&frame(n), NOW + Duration::from_millis(n / 10));
        if n == count / 2 {
            middle = held(&region);
        }
        most = most.max(held(&region));
    }
    assert_eq!(
        scripted.host.position(),
        scripted.first + count,
        "frames are refused"
    );
    // A window holds 64 entries. The host sends one window at first, and one more for each try.
    assert!(
        scripted.sent >= 2 * 64,
        "the host has sent {}",
        scripted.sent
    );
    tell(
        &format!("a member that does not acknowledge {count} frames"),
        most,
        bound,
    );
    let grown = held(&region).saturating_sub(middle);
    let bound = bound / 2 / share as usize;
    tell("  its growth from the middle on", grown, bound);
}

/// A member remembers only some of the ids that its frame has had, so its memory stays bounded.
fn a_host_that_refuses_for_ever(share: u64) {
    let (count, bound) = (REFUSALS.0 / share, REFUSALS.1);
    let mut member = greeted();
    let region = Region::new(ALLOCATOR);
    let message = DynamicFrame::decode("@dev>req:plan{goal:lunch}", &STANDARD).unwrap();
    let mut mid = member.send(&Outbound::message(&message), NOW).unwrap();
    // The member remembers the ids of a frame only if it has sent another frame later.
    member.send(&Outbound::message(&message), NOW).unwrap();
    let mut most = 0;
    for _ in 0..count {
        let refusal = format!(
            "@hub>fail:error{{code:E3002|msg:taken|retry:false|holder:102|schema:ER}}[mid:910000000099,seq:3,of:{mid}]"
        );
        member.receive(MemberId::HOST, refusal.as_bytes(), NOW);
        let (_, events) = told(&mut member);
        let new = events.into_iter().find_map(|event| match event {
            Event::Retried { old, new, .. } if old == mid => Some(new),
            _ => None,
        });
        mid = new.expect("the frame gets a new id");
        most = most.max(held(&region));
    }
    let what = format!("a member whose frame got {count} new ids");
    tell(&what, most, bound);
}

/// Returns a member whose host has answered its hello.
fn greeted() -> Session {
    let open = |agent| {
        Options::new(
            "session",
            AgentId::new(agent).unwrap(),
            Arc::clone(&STANDARD),
        )
    };
    let rules = Rules {
        scope: Scope::Sender,
        ..Rules::default()
    };
    let mut host = Session::host(open("hub"), rules, NOW);
    let dev = host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
    let mut member = Session::member(open("dev"), NOW);
    loop {
        let (up, down) = (told(&mut member).0, told(&mut host).0);
        if up.is_empty() && down.is_empty() {
            return member;
        }
        for text in up {
            host.receive(dev, text.as_bytes(), NOW);
        }
        for text in down {
            member.receive(MemberId::HOST, text.as_bytes(), NOW);
        }
    }
}

/// Returns the frames and the events that a session gives out.
fn told(session: &mut Session) -> (Vec<String>, Vec<Event>) {
    let (mut texts, mut events) = (Vec::new(), Vec::new());
    while let Some(output) = session.poll() {
        let Output::Batch(batch) = output else {
            panic!("{output:?}");
        };
        texts.extend(batch.sends.into_iter().map(|send| send.text));
        events.extend(batch.events);
    }
    (texts, events)
}

/// A host and a member whose frames are written here.
struct ScriptedMember {
    host: Session,
    member: MemberId,
    /// The position that the member holds.
    first: u64,
    /// The entries that the member lacks, as far as the host reads them from its store.
    next: Vec<Entry>,
    /// Frames of the log that were sent to the member.
    sent: usize,
}

impl ScriptedMember {
    /// Opens a host whose member has said hello.
    fn open(session: &str) -> Self {
        let hub = AgentId::new("hub").unwrap();
        let options = Options::new(session, hub, Arc::clone(&STANDARD));
        let rules = Rules {
            scope: Scope::Sender,
            key: Some(LogKey::new([7; 32])),
            ..Rules::default()
        };
        let mut host = Session::host(options, rules, NOW);
        let member = host.join(&AgentId::new("dev").unwrap(), NOW).unwrap();
        while host.poll().is_some() {}
        let first = host.position();
        let mut scripted = Self {
            host,
            member,
            first,
            next: Vec::new(),
            sent: 0,
        };
        let hash = scripted.host.options().registry.hash().short(6);
        let hello = format!(
            "@dev>sync:registry{{ext:[log,proof]|hash:{hash}|pos:{first}|v:1}}[mid:910100000001,seq:{first}]"
        );
        scripted.hears(&hello, NOW);
        scripted
    }

    /// Gives a text to the host, and does the work of its store and its handlers.
    fn hears(&mut self, text: &str, now: Time) {
        self.host.receive(self.member, text.as_bytes(), now);
        if self.host.next_timeout().is_some_and(|at| at <= now) {
            self.host.handle(Input::Timeout, now).unwrap();
        }
        while let Some(output) = self.host.poll() {
            match output {
                Output::Batch(batch) => {
                    let is_relay = |text: &str| text.contains(",pos:");
                    let sends = batch.sends.iter();
                    self.sent += sends.filter(|send| is_relay(&send.text)).count();
                    let room = 64 - self.next.len();
                    self.next.extend(batch.entries.into_iter().take(room));
                    for inbound in batch.inbound {
                        let position = inbound.position();
                        self.host.handled(position, &[], now).unwrap();
                    }
                }
                Output::Read(Read::Entries { from, .. }) => {
                    let at = self.next.iter().position(|entry| entry.position == from);
                    let entries = &self.next[at.unwrap()..];
                    let input = Input::Entries { from, entries };
                    self.host.handle(input, now).unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Returns the n-th frame of the member. Requests and the reports on them alternate.
fn frame(n: u64) -> String {
    let id = |n: u64| 101_000_001_000 + (n - 1) / 999 * 1_000 + 1 + (n - 1) % 999;
    let tail = format!("mid:{},seq:{n},ts:1714000000", id(n));
    if n % 2 == 1 {
        format!("@dev>req:schedule{{asgn:dev|task:impl_auth|pri:high|schema:TA}}[{tail}]")
    } else {
        let chain = id(n - 1);
        format!("@dev>done:schedule{{task:impl_auth|stat:complete|schema:TA}}[{tail},cid:{chain}]")
    }
}

fn tell(what: &str, bytes: usize, bound: usize) {
    let mib = |bytes: usize| bytes as f64 / MIB as f64;
    println!("{what}: {:.3} MiB, at most {:.3}", mib(bytes), mib(bound));
    assert!(bytes <= bound, "{what}: {bytes} bytes, at most {bound}");
}

/// Returns the bytes of the heap that were requested since the region began and are not freed.
fn held(region: &Region<'_, std::alloc::System>) -> usize {
    let change = region.change();
    change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated)
}

/// Returns the resident bytes of the process, or 0 if the system does not tell.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    kib.unwrap_or(0) * 1024
}
