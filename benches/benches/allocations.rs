//! Counts the allocations of a typed decode that borrows:
//! `cargo bench --manifest-path benches/Cargo.toml --bench allocations`.
//!
//! Apart from the speed, for the counting takes time.

use std::borrow::Cow;

use accp_runtime::{AccpFrame, AgentId, Typed};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct ScheduleTask<'a> {
    assignee: AgentId<'a>,
    task: Cow<'a, str>,
    priority: Cow<'a, str>,
    deadline: Option<Cow<'a, str>>,
    deps: Vec<Cow<'a, str>>,
}

const FRAME: &str = "@planner>req:schedule{asgn:dev|task:impl_auth_module|pri:high|dead:sprint_14\
    |deps:[design_review,db_schema]|schema:TA}[mid:100001000008,seq:8,ts:1714000000,\
    cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]";

fn main() {
    let region = Region::new(ALLOCATOR);
    let decoded = Typed::<ScheduleTask<'_>>::decode(FRAME).expect("the frame is valid");
    let allocations = region.change().allocations;
    println!("allocations of one borrowed decode: {allocations} (the Vec of `deps` is one)");
    drop(decoded);
}
