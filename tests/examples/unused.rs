//! A binary that uses one generated type. The types and constants that it leaves unused must give no
//! warning; in a library they would be public.
#![deny(warnings)]
#![allow(
    unreachable_pub,
    reason = "generated files do not know how far they reach"
)]

#[path = "../goldens/frames.rs"]
mod frames;

use accp_runtime::{AgentId, Envelope, Typed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let notify = frames::NotifyReq::new("etl").retries(5);
    let typed = Typed::new(AgentId::new("dev")?, notify, Envelope::default());
    println!("{}", typed.encode()?);
    Ok(())
}
