//! Tests that two crates with the same registry can share one set of types.

use accp_runtime::{AgentId, Decimal, Envelope, Typed};

use frames::Refund;
use shift::{CaseNumber, closed, own, team};

/// A value of the crate `frames` can be in a frame of this crate, and is read back unchanged.
#[test]
fn a_frame_holds_a_type_of_the_other_crate() -> Result<(), Box<dyn std::error::Error>> {
    let refund = Refund::new("A-1042").amount(Decimal::parse("12.5")?);
    let case = CaseNumber("7".into());
    let ours = closed(case.clone(), vec![refund.clone()]);
    let clerk = AgentId::new("clerk")?;
    let text = Typed::new(clerk, ours, Envelope::default()).encode()?;

    // The team reads the text, and gets the same refund.
    let theirs = Typed::<frames::CaseDone>::decode(&text)?;
    assert_eq!(theirs.frame.refunds, std::slice::from_ref(&refund));
    // The team writes the same text as this crate.
    assert_eq!(theirs.encode()?, text);
    let back = Typed::<team::CaseDone>::decode(&text)?.frame;
    assert_eq!(back, closed(case, theirs.frame.refunds));
    Ok(())
}

/// A whole frame of the crate `frames` is a variant of the enum here.
#[test]
fn a_frame_of_the_other_crate_is_one_of_this() -> Result<(), Box<dyn std::error::Error>> {
    let request = frames::RefundReq::new("A-1042", Decimal::parse("12.5")?);
    let any = team::AnyFrame::RefundReq(request.clone());
    let text = Typed::new(AgentId::new("shop")?, any, Envelope::default()).encode()?;
    let theirs = Typed::<frames::AnyFrame>::decode(&text)?.frame;
    assert_eq!(theirs, frames::AnyFrame::RefundReq(request.clone()));
    let ours = Typed::<team::AnyFrame>::decode(&text)?.frame;
    assert_eq!(ours, team::AnyFrame::RefundReq(request));
    Ok(())
}

/// Both crates have the whole registry of the team, so a session with either crate has the same
/// hash.
#[test]
fn the_registry_is_the_same() {
    assert_eq!(team::REGISTRY_HASH, frames::REGISTRY_HASH);
    assert_eq!(team::REGISTRY_JSON, frames::REGISTRY_JSON);
    assert_ne!(own::REGISTRY_HASH, team::REGISTRY_HASH);
}

#[test]
fn the_own_registry_stands_beside_it() -> Result<(), Box<dyn std::error::Error>> {
    let shift = own::ShiftSync::new("7", AgentId::new("night")?);
    let shift = Typed::new(AgentId::new("day")?, shift, Envelope::default());
    let text = shift.encode()?;
    assert_eq!(text, "@day>sync:shift{case:7|to:night|schema:SH}");
    assert_eq!(
        Typed::<own::AnyFrame>::decode(&text)?.frame,
        own::AnyFrame::ShiftSync(shift.frame)
    );
    Ok(())
}
