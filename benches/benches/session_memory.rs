//! The memory of a session: `cargo bench --manifest-path benches/Cargo.toml --bench
//! session_memory`.
//!
//! Heap means the bytes that were requested from the allocator. The registry and the tokenizer do not count, because
//! all sessions of a process share them.

use std::mem::size_of;
use std::sync::Arc;

use accp_bench::talk::{self, Counter, Pair};
use accp_bench::{Goal, figure};
use accp_runtime::session::{Scope, Session};
use accp_testkit::Room;
use accp_tokens::Bpe;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

const KIB: f64 = 1024.0;
const MIB: f64 = KIB * KIB;
/// The number of requests, each with its answer, before the memory of a session is measured.
const EXCHANGES: usize = 50;
const FRAMES: u64 = 1_000_000;
/// The number of frames that the member sends before it waits for the host.
const WINDOW: u64 = 32;

fn main() {
    let counting: Counter = Some(Arc::new(Bpe::o200k_base()));
    at_rest(&None, Goal::AtMost(2.0));
    // There is no goal here: the context alone may have 2,500 tokens, which take four times the memory of the goal
    // above.
    at_rest(&counting, Goal::None);
    println!("a host with one member, after {FRAMES} entries of the log");
    long("ids of ours", &None, Scope::Sender);
    long("ids of ours, shared numbering", &None, Scope::Shared);
    long("ids of ours, counting", &counting, Scope::Sender);
    foreign();
}

/// Measures the memory of a host and a member that have exchanged frames and have nothing left to do.
fn at_rest(counter: &Counter, goal: Goal) {
    let mut pair = Pair::new(counter, Scope::Sender);
    for _ in 0..EXCHANGES {
        pair.exchange(1);
    }
    let what = if counter.is_some() {
        pair.fill_hot();
        "counting"
    } else {
        "nothing counted"
    };
    let host = pair.room.host.session();
    let (context, tokens) = (host.context().len(), host.state().hot().tokens());
    println!("a session at rest: {what}; a context of {context} bytes, {tokens} tokens hot");
    let Room {
        host, mut members, ..
    } = pair.room;
    weigh(
        "host with one member",
        host.driver,
        size_of::<Session>(),
        goal,
    );
    let member = members.pop().map(|member| member.driver);
    weigh("member", member, size_of::<Session>(), goal);
    println!();
}

/// Measures the memory of a session: the heap that is freed when the session is dropped, and the size of the value
/// itself.
fn weigh<T>(what: &str, session: T, size: usize, goal: Goal) {
    let region = Region::new(ALLOCATOR);
    drop(session);
    let heap = region.change().bytes_deallocated;
    let what = format!("{what}: itself {size} bytes, heap {heap}");
    figure(&what, (size + heap) as f64 / KIB, "KiB", goal);
}

fn long(what: &str, counter: &Counter, scope: Scope) {
    let mut peak = Peak::new();
    let mut pair = Pair::new(counter, scope);
    while pair.room.host.session().position() < FRAMES {
        pair.exchange(WINDOW as usize);
        peak.look();
    }
    let Room { host, members, .. } = pair.room;
    drop(members);
    peak.tell(what, host.driver, Goal::AtMost(32.0));
}

/// Measures the memory of a host whose member gives its frames random ids.
fn foreign() {
    let mut peak = Peak::new();
    let (mut host, member) = talk::host_with_member(&None);
    // Multiplying by an odd number gives each id only once. No generator of this crate makes an id with the letter
    // `f`.
    let mid = |number: u64| {
        format!(
            "f{:011x}",
            number.wrapping_mul(0x9E37_79B9_7F4B) & 0xFFF_FFFF_FFFF
        )
    };
    for first in (1..FRAMES).step_by(WINDOW as usize) {
        let texts: Vec<_> = (first..first + WINDOW)
            .map(|number| talk::frame_as(number, &mid(number), &mid(number - 1)))
            .collect();
        talk::take(&mut host, member, &texts, drop);
        peak.look();
    }
    assert!(host.position() > FRAMES, "the host has refused frames");
    peak.tell("ids by lot", host, Goal::None);
}

/// The highest use of the heap at any time.
struct Peak {
    start: Region<'static, std::alloc::System>,
    step: Region<'static, std::alloc::System>,
    most: usize,
}

impl Peak {
    fn new() -> Self {
        Self {
            start: Region::new(ALLOCATOR),
            step: Region::new(ALLOCATOR),
            most: 0,
        }
    }

    /// Updates the highest use. What was freed since the last call counts as if it were still in use, so the result
    /// is an upper bound.
    fn look(&mut self) {
        let now = self.held();
        let step = self.step.change_and_reset();
        self.most = self.most.max(now + step.bytes_deallocated);
    }

    fn held(&self) -> usize {
        let change = self.start.change();
        change
            .bytes_allocated
            .saturating_sub(change.bytes_deallocated)
    }

    fn tell<T>(&self, what: &str, host: T, goal: Goal) {
        let region = Region::new(ALLOCATOR);
        drop(host);
        let rest = region.change().bytes_deallocated as f64 / MIB;
        figure(&format!("{what}: at rest"), rest, "MiB", goal);
        let most = self.most as f64 / MIB;
        figure(&format!("{what}: all, at most"), most, "MiB", goal);
    }
}
