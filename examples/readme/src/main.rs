use accp_runtime::{AgentId, Decimal, Envelope, Typed};

mod frames {
    include!(concat!(env!("OUT_DIR"), "/accp.rs"));
}
use frames::{AnyFrame, RefundDone, RefundReq};

fn main() -> Result<(), Box<dyn std::error::Error>> {
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
