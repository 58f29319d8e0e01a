//! A borrowed decode allocates for the `Vec`s of the struct and for nothing else.

use accp_runtime::Typed;
use accp_runtime::profiles::ScheduleReq;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Counts the allocations of one decode of a frame with these `deps`.
fn allocations(deps: &str) -> usize {
    let text = format!(
        "@planner>req:schedule{{asgn:\\@dev|task:impl_auth|pri:high|dead:sprint_14{deps}|zzz:[x,{{a:1}}]|schema:TA}}\
         [mid:100001000008,seq:8,ts:1714000000,cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]"
    );
    let region = Region::new(ALLOCATOR);
    let decoded = Typed::<ScheduleReq<'_>>::decode(&text);
    let allocations = region.change().allocations;
    assert!(decoded.is_ok());
    allocations
}

fn main() {
    assert_eq!(allocations(""), 0);
    assert_eq!(allocations("|deps:[]"), 0);
    assert_eq!(allocations("|deps:[design_review,db_schema]"), 1);
    // An escape cannot be borrowed, so it costs one more string.
    assert_eq!(allocations(r"|deps:[a\:b,db_schema]"), 2);
    println!("a borrowed decode allocates for its Vecs alone");
}
