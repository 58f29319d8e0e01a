//! The enum over all frames of a registry.

use accp_runtime::profiles;
use accp_runtime::{AgentId, EncodeFrame, ErrorCode, Typed};

use super::goldens::{every_type_owned, frames, names, nested};

fn decode(text: &str) -> Typed<'_, frames::AnyFrame<'_>> {
    Typed::decode(text).unwrap()
}

fn refused(text: &str) -> String {
    let text = format!("@dev>{text}[mid:100001000001,seq:1,cid:c1]");
    let error = Typed::<frames::AnyFrame<'_>>::decode(&text).unwrap_err();
    assert_eq!(error.at(), 5);
    error.to_string()
}

#[test]
fn a_frame_is_told_by_its_header_and_its_schema() {
    use frames::AnyFrame;

    let job = "@dev>req:run{name:etl|pri:low|schema:JB}[mid:100001000001,seq:1]";
    assert!(matches!(decode(job).frame, AnyFrame::JobRunReq(run) if run.name == "etl"));
    let probe = "@dev>req:run{who:db|depth:2|schema:PB}[mid:100001000001,seq:1]";
    assert!(matches!(decode(probe).frame, AnyFrame::ProbeRunReq(run) if run.depth == 2));
    let done = "@dev>done:run{st:done|schema:JB}[mid:100001000001,seq:1,cid:c1]";
    assert!(matches!(decode(done).frame, AnyFrame::RunDone(_)));
    for text in [job, probe, done] {
        assert_eq!(decode(text).encode().unwrap(), text);
    }
    // The enum requires the same fields of the envelope as its variant.
    let without_cid = done.replace(",cid:c1", "");
    let error = Typed::<AnyFrame<'_>>::decode(&without_cid).unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
}

#[test]
fn a_frame_that_is_none_of_them_is_named_with_the_nearest() {
    insta::assert_snapshot!(refused("req:notifi{name:etl|schema:JB}"), @"E1004 at byte 5: expected a frame of AnyFrame, which `req:notifi` of schema JB is not; did you mean `req:notify` of schema JB?");
    insta::assert_snapshot!(refused("req:run{name:etl}"), @"E1004 at byte 5: expected a frame of AnyFrame, which `req:run` without a schema is not; there is `req:run` of schema JB, `req:run` of schema PB");
    insta::assert_snapshot!(refused("req:run{name:etl|schema:TA}"), @"E1004 at byte 5: expected a frame of AnyFrame, which `req:run` of schema TA is not; there is `req:run` of schema JB, `req:run` of schema PB");
    insta::assert_snapshot!(refused("done:notify{name:etl|schema:JB}"), @"E1004 at byte 5: expected a frame of AnyFrame, which `done:notify` of schema JB is not; this schema has req:run, done:run, req:notify");
    insta::assert_snapshot!(refused("qry:elsewhere{schema:ZZ}"), @"E1004 at byte 5: expected a frame of AnyFrame, which `qry:elsewhere` of schema ZZ is not; there are req:run, done:run, req:notify, req:run");
    insta::assert_snapshot!(refused("rek:run{name:etl|schema:JB}"), @"E1002 at byte 5: expected a frame of AnyFrame, which `rek:run` of schema JB is not; did you mean `req:run` of schema JB?");
    insta::assert_snapshot!(refused("req:run{name:etl|schema:[a,b]}"), @"E1004 at byte 5: expected a frame of AnyFrame, which this one is not; there is `req:run` of schema JB, `req:run` of schema PB");
    let long = format!("req:{}{{schema:JB}}", "run".repeat(20));
    insta::assert_snapshot!(refused(&long), @"E1004 at byte 5: expected a frame of AnyFrame, which this one is not; this schema has req:run, done:run, req:notify");
    let text = "@dev>req:nothing{}[mid:100001000001,seq:1]";
    let error = Typed::<profiles::AnyFrame<'_>>::decode(text).unwrap_err();
    insta::assert_snapshot!(error, @"E1004 at byte 5: expected a frame of AnyFrame, which `req:nothing` without a schema is not; there are req:chat, done:chat, fail:error, stream:infer, req:schedule, req:execute, done:schedule, done:execute and 4 more");
}

/// A frame of a schema that lists no frames may have any operation, so no type holds the frame.
#[test]
fn a_frame_of_a_schema_that_lists_none_is_none_of_them() {
    let text = "@dev>sync:sources{uri:crm.example|schema:SC}[mid:100001000001,seq:1]";
    let error = Typed::<nested::AnyFrame<'_>>::decode(text).unwrap_err();
    insta::assert_snapshot!(error, @"E1004 at byte 5: expected a frame of AnyFrame, which `sync:sources` of schema SC is not; there are sync:finding, done:report");
}

#[test]
fn the_variant_tells_its_type() {
    let text = "@dev>done:store{note:kept|schema:SM}[mid:100001000001,seq:1]";
    let any = Typed::<every_type_owned::AnyFrame>::decode(text).unwrap();
    let of = any.frame.frame_type();
    assert_eq!((of.name, of.operation), ("StoreDone", "store"));
}

#[test]
fn it_borrows_only_if_a_frame_does() {
    fn is_static<T: 'static>() {}
    is_static::<every_type_owned::AnyFrame>();
    let text = "@dev>req:self{schema:3D}[mid:100001000001,seq:1]";
    let any = Typed::<names::AnyFrame<'_>>::decode(text).unwrap();
    assert_eq!(any.agent, AgentId::new("dev").unwrap());
}
