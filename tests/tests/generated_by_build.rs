//! Frames from a folder of registries, through a build script. `build.rs` exists for this test.

/// The types for the frames of the team, and owned types for the frames of the README.
pub mod registries {
    #![deny(warnings, missing_docs)]

    include!(concat!(env!("OUT_DIR"), "/registries.rs"));
}

use accp_runtime::session::{Inbound, MemberId, Options, Outbound, Rules, Time};
use accp_runtime::{AgentId, Decimal, Envelope, Typed};
use accp_store::{Driver, Handled, MemoryStore};

use registries::{frames, team};

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
    let written = include_str!(concat!(env!("OUT_DIR"), "/team.rs"));
    let builder = accp_build::Builder::new().registry("goldens/team");
    assert_eq!(written, builder.generate().unwrap());
}

/// Handles any frame of the README: answers a request, and notes each frame.
fn hear<'i>(inbound: &'i Inbound, heard: &mut Vec<frames::AnyFrame>) -> Handled<'i> {
    use frames::{AnyFrame, RefundDone};

    let frame = inbound.decode::<AnyFrame>()?.frame;
    heard.push(frame.clone());
    Ok(match frame {
        AnyFrame::RefundReq(request) => {
            let done = AnyFrame::RefundDone(RefundDone::new(request.order));
            vec![Outbound::owned(done)]
        }
        AnyFrame::RefundDone(_) => vec![],
    })
}

/// The example of generated code in the README.
#[test]
fn one_enum_and_one_call_for_a_session() {
    use frames::{AnyFrame, REGISTRY_JSON, RefundDone, RefundReq};

    let refund = RefundReq::new("A-1042", Decimal::parse("12.5").unwrap()).reason("it came late");
    let shop = AgentId::new("shop").unwrap();
    let text = Typed::new(shop, refund.clone(), Envelope::default());
    let text = text.encode().unwrap();
    let any = Typed::<AnyFrame>::decode(&text).unwrap().frame;
    assert_eq!(any, AnyFrame::RefundReq(refund));
    assert_eq!(
        serde_json::to_value(&any).unwrap(),
        serde_json::json!({ "RefundReq": { "order": "A-1042", "amount": 12.5, "reason": "it came late" } })
    );

    let now = Time::from_secs(1_714_000_000);
    let options = |agent: &'static str| {
        Options::from_json("shop", AgentId::new(agent).unwrap(), REGISTRY_JSON).unwrap()
    };
    let host = Driver::open_host(
        MemoryStore::new(),
        vec![],
        options("shop"),
        Rules::default(),
        now,
    );
    let mut host = host.unwrap();
    let mut desk = Driver::open_member(MemoryStore::new(), vec![], options("desk"), now).unwrap();
    let id = host.join(&AgentId::new("desk").unwrap(), now).unwrap();
    host.send(&Outbound::frame(&any), now).unwrap();
    let mut heard: Vec<AnyFrame> = Vec::new();
    for _ in 0..9 {
        let answered = host.serve(now, |inbound| hear(inbound, &mut heard));
        answered.unwrap();
        let frames = host.link_mut().drain(..);
        desk.receive_all(MemberId::HOST, frames, now).unwrap();
        let answered = desk.serve(now, |inbound| hear(inbound, &mut heard));
        answered.unwrap();
        let frames = desk.link_mut().drain(..);
        host.receive_all(id, frames, now).unwrap();
    }
    assert_eq!(
        heard,
        [any, AnyFrame::RefundDone(RefundDone::new("A-1042"))]
    );
}
