//! The text of the frames. A change of this text is a change for every peer.

use accp_runtime::{AgentId, Decimal, Envelope, Typed};

use frames::{AnyFrame, RefundDone, RefundReq};

#[test]
fn a_request_is_read_as_it_was_written() -> Result<(), Box<dyn std::error::Error>> {
    let refund = RefundReq::new("A-1042", Decimal::parse("12.5")?).reason("it came late");
    let frame = Typed::new(AgentId::new("shop")?, refund, Envelope::default());
    let text = frame.encode()?;
    assert_eq!(Typed::<RefundReq>::decode(&text)?, frame);
    assert!(text.starts_with("@shop>req:refund{order:A-1042|amount:12.5|"));
    Ok(())
}

#[test]
fn an_answer_is_found_among_all_frames() -> Result<(), Box<dyn std::error::Error>> {
    let done = RefundDone::new("A-1042");
    let done = Typed::new(AgentId::new("bank")?, done, Envelope::default());
    let text = done.encode()?;
    let frame = Typed::<AnyFrame>::decode(&text)?.frame;
    assert!(matches!(frame, AnyFrame::RefundDone(RefundDone { order }) if order == "A-1042"));
    Ok(())
}
