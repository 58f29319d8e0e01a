//! Generated code in use: every golden compiles, and its types read and write frames.

#[path = "generated/any.rs"]
mod any;
#[path = "generated/goldens.rs"]
pub mod goldens;
#[path = "generated/owned.rs"]
mod owned;
#[path = "generated/serde.rs"]
mod serde;
#[path = "generated/workflows.rs"]
mod workflows;

use std::fmt::Debug;

use accp_registry::Registry;
use accp_runtime::{
    AgentId, Decimal, DecodeFrame, EncodeFrame, Envelope, ErrorCode, Map, Typed, Value,
};

use goldens::{draft, enums, every_type, frames, names, nested};

fn agent(name: &str) -> AgentId<'_> {
    AgentId::new(name).unwrap()
}

/// Checks that the frame is written as this text, and that the text gives the frame back.
#[track_caller]
fn travels<'a, T>(frame: T, text: &'a str)
where
    T: EncodeFrame + DecodeFrame<'a> + PartialEq + Debug,
{
    let envelope = Envelope::new("100001000001", 1).answering("c1");
    let typed = Typed::new(agent("dev"), frame, envelope);
    assert_eq!(typed.encode().unwrap(), text);
    assert_eq!(Typed::decode(text).unwrap(), typed);
}

#[test]
fn the_constants_tell_the_registry() {
    macro_rules! check {
        ($($golden:ident)*) => {$(
            let loaded = Registry::load(concat!("goldens/", stringify!($golden), ".json")).unwrap();
            let loaded = loaded.with_profiles();
            assert_eq!(Registry::from_json($golden::REGISTRY_JSON).unwrap(), loaded);
            assert_eq!($golden::REGISTRY_HASH, loaded.hash().to_string());
            assert_eq!($golden::REGISTRY_VERSION, loaded.version);
        )*};
    }
    check!(draft enums every_type frames names nested);
}

#[test]
fn every_type_travels() {
    let full = every_type::StoreReq {
        id: "a1".into(),
        note: "two words".into(),
        count: -3,
        price: Decimal::parse("142.5").unwrap(),
        ratio: 0.1,
        active: true,
        owner: agent("ops"),
        level: every_type::SampleLevel::High,
        extra: Value::Integer(7),
        tags: vec!["x".into(), "42".into()],
        scores: vec![1.0, 40.712_775_3],
        labels: [("en".into(), "good day".into())].into(),
        options: [("max", Value::Integer(5))].into_iter().collect(),
        matrix: vec![vec![1, 2], vec![]],
        groups: [("qa".into(), vec![agent("a"), agent("b")])].into(),
    };
    travels(
        full,
        "@dev>req:store{id:a1|note:two_words|count:-3|price:142.5|ratio:0.1|active:true|owner:ops|level:high|extra:7|tags:[x,42]|scores:[1.0,#40.7127753]|labels:{en:good_day}|options:{max:5}|matrix:[[1,2],[]]|groups:{qa:[a,b]}|schema:SM}[mid:100001000001,seq:1,cid:c1]",
    );
    let empty = every_type::StoreDone {
        id: None,
        note: None,
        count: None,
        price: None,
        ratio: None,
        active: None,
        owner: None,
        level: None,
        extra: None,
        tags: None,
        scores: None,
        labels: None,
        options: None,
        matrix: None,
        groups: None,
    };
    travels(
        empty,
        "@dev>done:store{schema:SM}[mid:100001000001,seq:1,cid:c1]",
    );
    travels(
        every_type::CounterSync {
            total: 4,
            step: 1,
            exact: None,
        },
        "@dev>sync:counter{total:4|schema:CN}[mid:100001000001,seq:1,cid:c1]",
    );
    travels(
        every_type::CounterSync {
            total: 4,
            step: 2,
            exact: Some(vec![true]),
        },
        "@dev>sync:counter{total:4|step:2|exact:[true]|schema:CN}[mid:100001000001,seq:1,cid:c1]",
    );
}

#[test]
fn enumerations_travel_by_symbol() {
    let signal = enums::SignalSync {
        trend: enums::SignalTrend::Up,
        levels: vec![enums::SignalLevels::Low],
        by_region: Some([("eu".into(), enums::SignalByRegion::Closed)].into()),
        mode: enums::SignalMode::FastPath,
    };
    travels(
        signal,
        "@dev>sync:signal{trend:+|by_region:{eu:x}|schema:SG}[mid:100001000001,seq:1,cid:c1]",
    );
    let other = enums::SignalSync {
        trend: enums::SignalTrend::Flat,
        levels: vec![enums::SignalLevels::Medium, enums::SignalLevels::High],
        by_region: None,
        mode: enums::SignalMode::HttpOnly,
    };
    travels(
        other,
        "@dev>sync:signal{trend:flat|levels:[medium,high]|mode:HTTPOnly|schema:SG}[mid:100001000001,seq:1,cid:c1]",
    );
    // The reader also accepts the full name.
    let text = "@dev>sync:signal{trend:down|mode:self|schema:SG}[mid:100001000001,seq:1]";
    let signal = Typed::<enums::SignalSync<'_>>::decode(text).unwrap().frame;
    assert_eq!(signal.trend, enums::SignalTrend::Down);
    assert_eq!(signal.mode, enums::SignalMode::Self_);
}

#[test]
fn schemas_nest() {
    let finding = nested::Finding {
        topic: "churn".into(),
        delta: Decimal::parse("0.5").unwrap(),
        span: Some(nested::Span { start: 1, end: 2 }),
    };
    let leaf = nested::Node {
        name: "leaf".into(),
        first: None,
        children: Vec::new(),
    };
    let report = nested::ReportDone {
        title: "What we found".into(),
        findings: vec![
            finding.clone(),
            nested::Finding {
                span: None,
                ..finding.clone()
            },
        ],
        sources: Some(
            [(
                "crm".into(),
                nested::Source {
                    uri: "crm.example".into(),
                    agent: agent("root"),
                },
            )]
            .into(),
        ),
        lead: Some(finding),
        tree: Some(nested::Node {
            name: "root".into(),
            first: Some(Box::new(leaf.clone())),
            children: vec![leaf],
        }),
    };
    travels(
        report,
        "@dev>done:report{title:What_we_found|f:[{span:{end:2,start:1},topic:churn},{topic:churn}]|sources:{crm:{uri:crm.example}}|lead:{span:{end:2,start:1},topic:churn}|tree:{children:[{name:leaf}],first:{name:leaf},name:root}|schema:RP}[mid:100001000001,seq:1,cid:c1]",
    );
    let alone = nested::FindingSync {
        topic: "churn".into(),
        delta: Decimal::parse("-1").unwrap(),
        span: None,
    };
    travels(
        alone,
        "@dev>sync:finding{topic:churn|delta:-1.0|schema:FD}[mid:100001000001,seq:1,cid:c1]",
    );
}

#[test]
fn a_frame_has_the_fields_that_its_entry_lists() {
    use frames::{JobFrame, JobRunReq, NotifyReq, ProbeRunReq, RunDone};

    let run = JobRunReq {
        name: "etl".into(),
        priority: "medium".into(),
        retries: 3,
        queue: None,
        state: None,
        progress: None,
    };
    travels(
        JobFrame::JobRunReq(run),
        "@dev>req:run{name:etl|pri:medium|schema:JB}[mid:100001000001,seq:1,cid:c1]",
    );
    let notify = NotifyReq {
        name: "etl".into(),
        priority: "medium".into(),
        retries: 5,
        queue: Some("night".into()),
        state: None,
        progress: None,
    };
    travels(
        JobFrame::NotifyReq(notify),
        "@dev>req:notify{name:etl|rt:5|queue:night|schema:JB}[mid:100001000001,seq:1,cid:c1]",
    );
    let done = RunDone {
        state: "done".into(),
        progress: Some(100),
    };
    travels(
        JobFrame::RunDone(done.clone()),
        "@dev>done:run{st:done|prog:100|schema:JB}[mid:100001000001,seq:1,cid:c1]",
    );
    travels(
        ProbeRunReq {
            target: agent("db"),
            depth: 2,
        },
        "@dev>req:run{who:db|depth:2|schema:PB}[mid:100001000001,seq:1,cid:c1]",
    );

    let without_cid = Typed::new(agent("dev"), done, Envelope::new("100001000001", 1));
    assert_eq!(
        without_cid.encode().unwrap_err().code(),
        ErrorCode::INVALID_TYPE
    );
    let probe = "@dev>req:run{target:db|depth:2|schema:PB}[mid:100001000001,seq:1]";
    assert!(Typed::<JobFrame<'_>>::decode(probe).is_err());
}

#[test]
fn names_that_rust_does_not_take_keep_their_spelling_on_the_wire() {
    use names::{N2dViewReq, N3dModelFrame, SelfReq, Value_, ValueGen};

    let value = Value_ {
        type_: "mesh".into(),
        self_: Some(1),
        n2fa: Some(true),
        user_id: Some("u1".into()),
        gen_: Some(ValueGen::Type),
        x: Some(Value::Integer(7)),
    };
    let plain = Value_ {
        type_: "mesh".into(),
        self_: None,
        n2fa: None,
        user_id: None,
        gen_: None,
        x: None,
    };
    let map: Map<'_> = [("k", Value::Boolean(false))].into_iter().collect();
    let view = N2dViewReq {
        map: Some(map),
        vec: Some(vec![plain]),
    };
    travels(
        N3dModelFrame::N2dViewReq(view),
        "@dev>req:2d_view{map:{k:false}|vec:[{type:mesh}]|schema:3D}[mid:100001000001,seq:1,cid:c1]",
    );
    travels(
        SelfReq {
            map: None,
            vec: Some(vec![value]),
        },
        "@dev>req:self{vec:[{2fa:true,_x:7,gen:type,self:1,type:mesh,userId:u1}]|schema:3D}[mid:100001000001,seq:1,cid:c1]",
    );
}

#[test]
fn a_schema_without_frames_is_a_struct() {
    let report = draft::SalesReport {
        period: "quarterly".into(),
        revenue: Some(Value::Integer(1)),
        growth_pct: None,
        segments: Vec::new(),
        notes: None,
    };
    assert_eq!(report.period, "quarterly");
}
