//! A schema in its own file can hold values of another schema.

use accp_runtime::{AgentId, Decimal, Envelope, Typed};

use frames::{AnyFrame, CaseDone, CaseState, Refund};

#[test]
fn a_case_holds_refunds() -> Result<(), Box<dyn std::error::Error>> {
    let refund = Refund::new("A-1042").amount(Decimal::parse("12.5")?);
    let done = CaseDone::new("7", CaseState::Closed).refunds(vec![refund]);
    let done = Typed::new(AgentId::new("desk")?, done, Envelope::default());
    let text = done.encode()?;
    assert_eq!(
        text,
        "@desk>done:case{number:7|state:closed|refunds:[{amount:12.5,order:A-1042}]|schema:CS}"
    );
    let frame = Typed::<AnyFrame>::decode(&text)?.frame;
    assert_eq!(frame, AnyFrame::CaseDone(done.frame));
    Ok(())
}
