//! The Rust of the README, as it stands there. `structure::book` sees that it does.
#![allow(
    elided_lifetimes_in_paths,
    reason = "the README is for programs without our lints"
)]

use std::error::Error;

use accp_client::Hub;
use accp_runtime::profiles::{ScheduleDone, ScheduleReq};
use accp_runtime::{AgentId, Decimal, Envelope, Typed};
use accp_store::SqliteStore;

/// What the build script makes of `goldens/readme`.
pub mod frames {
    include!(concat!(env!("OUT_DIR"), "/frames.rs"));
}

type Tested = Result<(), Box<dyn Error + Send + Sync>>;

#[test]
fn typed_frames_from_a_registry() -> Tested {
    use frames::{AnyFrame, RefundDone, RefundReq};

    let refund = RefundReq::new("A-1042", Decimal::parse("12.5")?).reason("it came late");
    let text = Typed::new(AgentId::new("shop")?, refund, Envelope::default()).encode()?;
    assert_eq!(
        text,
        "@shop>req:refund{order:A-1042|amount:12.5|reason:it_came_late|schema:RF}"
    );
    match Typed::<AnyFrame>::decode(&text)?.frame {
        // by intent, operation and schema
        AnyFrame::RefundReq(RefundReq { order, .. }) => println!("{order} is to be refunded"),
        AnyFrame::RefundDone(RefundDone { order }) => println!("{order} is refunded"),
    }
    Ok(())
}

#[tokio::test]
async fn agents_that_lose_nothing() -> Tested {
    let folder = tempfile::tempdir()?;
    std::env::set_current_dir(&folder)?;
    let hub = Hub::open("lunch", SqliteStore::open("lunch.accp")?).await?;
    let (planner, dev) = (hub.agent("planner")?, hub.agent("dev")?);
    dev.serve(|task: ScheduleReq, cx| async move {
        cx.reply(ScheduleDone::new(task.task).status("done")).await // mark and reply: one commit
    });
    let task = ScheduleReq::new(AgentId::new("dev")?, "impl_auth").priority("high");
    let done: ScheduleDone = planner.ask(task).await?;
    assert_eq!(done.task, "impl_auth");
    Ok(())
}
