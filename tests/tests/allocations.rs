//! A borrowed decode allocates for the `Vec`s of the struct and for nothing else. The decode of a packet also
//! allocates for the list of its fields.

use accp_aacp::{AacpPacket, DecodePacket as _, Packet};
use accp_runtime::Typed;
use accp_runtime::profiles::ScheduleReq;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Counts the allocations of one decode of a frame with these `deps`.
fn allocations(deps: &str) -> usize {
    let text = format!(
        "@planner>req:schedule{{asgn:\\@dev|task:impl_auth|pri:high|dead:sprint_14{deps}|schema:TA}}\
         [mid:100001000008,seq:8,ts:1714000000,cid:100001000001,aid:100001000007,sid:abc-session,ttl:300]"
    );
    let region = Region::new(ALLOCATOR);
    let decoded = Typed::<ScheduleReq<'_>>::decode(&text);
    let allocations = region.change().allocations;
    assert!(decoded.is_ok());
    allocations
}

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
#[allow(dead_code, reason = "only read")]
struct Fetch<'p> {
    r#return: &'p str,
    p: Option<u8>,
    res: &'p str,
    fields: Vec<&'p str>,
}

/// Counts the allocations of one read of a packet with these fields: untyped, and typed.
fn allocations_of_packet(more: &str) -> [usize; 2] {
    let text = format!("FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary{more}");
    let region = Region::new(ALLOCATOR);
    let packet = Packet::parse(&text);
    let untyped = region.change().allocations;
    assert!(packet.is_ok());
    let region = Region::new(ALLOCATOR);
    let fetch = Fetch::decode(&text);
    let typed = region.change().allocations;
    assert!(fetch.is_ok());
    [untyped, typed]
}

fn main() {
    assert_eq!(allocations_of_packet(""), [1, 1]);
    assert_eq!(allocations_of_packet("|fields:email,dept,grp"), [1, 2]);
    assert_eq!(allocations(""), 0);
    assert_eq!(allocations("|deps:[]"), 0);
    assert_eq!(allocations("|deps:[design_review,db_schema]"), 1);
    // A field that the type does not know costs one allocation, because its name goes into a list.
    assert_eq!(allocations("|zzz:[x,{a:1}]"), 1);
    // An escape cannot be borrowed, so it costs one more string.
    assert_eq!(allocations(r"|deps:[a\:b,db_schema]"), 2);
    println!("a borrowed decode allocates for its Vecs alone");
}
