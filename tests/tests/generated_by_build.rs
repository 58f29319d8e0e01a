//! Frames from a folder of registries, through a build script. `build.rs` exists for this test.
#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

/// The frames of the team.
pub mod team {
    #![deny(warnings)]

    include!(concat!(env!("OUT_DIR"), "/accp.rs"));
}

use accp_runtime::{AgentId, Envelope, Typed};

#[test]
fn a_conversation_in_generated_types() {
    let text = "@lead>req:review{subject:codec|schema:RV}[mid:100001000001,seq:1]";
    let request = Typed::<team::ReviewReq<'_>>::decode(text).unwrap();
    let answer = team::ReviewDone {
        subject: request.frame.subject,
        verdict: team::ReviewVerdict::Fail,
        findings: vec![team::Finding {
            topic: "limits".into(),
            score: Some(0.5),
        }],
    };
    let envelope = Envelope::new("100001000002", 2).answering("100001000001");
    let answer = Typed::new(AgentId::new("dev").unwrap(), answer, envelope);
    let text = "@dev>done:review{subject:codec|verdict:fail|f:[{score:0.5,topic:limits}]|schema:RV}\
                [mid:100001000002,seq:2,cid:100001000001]";
    assert_eq!(answer.encode().unwrap(), text);

    let frame = Typed::<team::ReviewFrame<'_>>::decode(text).unwrap().frame;
    assert_eq!(frame, team::ReviewFrame::ReviewDone(answer.frame));
}

#[test]
fn the_build_script_and_the_command_give_the_same_text() {
    let written = include_str!(concat!(env!("OUT_DIR"), "/accp.rs"));
    let builder = accp_build::Builder::new().registry("goldens/team");
    assert_eq!(written, builder.generate().unwrap());
}
