//! Generated types that own their texts: they outlive the frame that they were read from.

use std::fmt::Debug;
use std::thread;

use accp_runtime::{AgentId, DecodeFrame, EncodeFrame, Envelope, Map, Typed, Value};

use super::goldens::{every_type_owned as every_type, nested_owned as nested};

/// Reads a frame from the text, drops the text, and checks that another thread writes the same text again.
#[track_caller]
fn outlives<T>(text: &str) -> T
where
    T: EncodeFrame + for<'a> DecodeFrame<'a> + Clone + Debug + Send + 'static,
{
    let line = text.to_owned();
    let frame = Typed::<T>::decode(&line).unwrap().frame;
    drop(line);
    let kept = frame.clone();
    let write = || {
        let envelope = Envelope::new("100001000001", 1);
        let typed = Typed::new(AgentId::new("dev").unwrap(), kept, envelope);
        typed.encode().unwrap()
    };
    assert_eq!(thread::spawn(write).join().unwrap(), text);
    frame
}

#[test]
fn every_type_is_kept() {
    let frame: every_type::StoreReq = outlives(
        "@dev>req:store{id:a\\@1|note:two_words|count:-3|price:142.5|ratio:0.1|active:true|owner:ops|level:high|extra:[x,{k:y}]|tags:[x,42]|scores:[1.0]|labels:{en:good_day}|options:{a:[z],max:5}|matrix:[[1,2],[]]|groups:{qa:[a,b]}|schema:SM}[mid:100001000001,seq:1]",
    );
    let owner: AgentId<'static> = frame.owner;
    assert_eq!((owner.as_str(), frame.id.as_str()), ("ops", "a@1"));
    let inner: Map<'static> = [("k", Value::from("y"))].into_iter().collect();
    let extra = vec![Value::from("x"), Value::Map(inner)];
    assert_eq!(frame.extra, Value::Array(extra));

    outlives::<every_type::StoreDone>("@dev>done:store{schema:SM}[mid:100001000001,seq:1]");
    outlives::<every_type::StoreDone>(
        "@dev>done:store{owner:ops|extra:\"\"|tags:[]|options:{k:v}|groups:{qa:[a]}|schema:SM}[mid:100001000001,seq:1]",
    );
    let any: every_type::SampleFrame =
        outlives("@dev>done:store{note:kept|schema:SM}[mid:100001000001,seq:1]");
    assert!(matches!(any, every_type::SampleFrame::StoreDone(_)));
}

#[test]
fn what_is_nested_is_kept() {
    let report: nested::ReportDone = outlives(
        "@dev>done:report{title:What_we_found|f:[{topic:churn}]|sources:{crm:{agent:ops,uri:crm.example}}|tree:{children:[{name:leaf}],first:{name:leaf},name:root}|schema:RP}[mid:100001000001,seq:1]",
    );
    assert_eq!(report.title, "What we found");
    assert_eq!(nested::Source::new("crm.example").agent.as_str(), "root");
}

#[test]
fn a_struct_by_hand_may_own_what_it_holds() {
    use std::borrow::Cow;

    use accp_runtime::AccpFrame;

    #[derive(AccpFrame, Debug, Clone, PartialEq)]
    #[accp(intent = "req", operation = "keep")]
    struct Keep {
        any: Value<'static>,
        list: Vec<Option<Map<'static>>>,
        name: Cow<'static, str>,
        twice: std::collections::BTreeMap<String, Vec<Value<'static>>>,
    }
    let keep: Keep = outlives(
        "@dev>req:keep{any:$warm.x|list:[{a:b},~]|name:Ada|twice:{k:[a,1]}}[mid:100001000001,seq:1]",
    );
    assert_eq!(keep.any, Value::Ref("warm.x".into()));
    assert_eq!(keep.name, "Ada");
}

#[test]
fn a_constructor_takes_what_is_required() {
    let counter = every_type::CounterSync::new(4).exact([true]);
    assert_eq!((counter.total, counter.step), (4, 1));
    let done = every_type::StoreDone::default()
        .note("kept")
        .owner(AgentId::new("ops").unwrap());
    let text = "@dev>done:store{note:kept|owner:ops|schema:SM}[mid:100001000001,seq:1]";
    assert_eq!(outlives::<every_type::StoreDone>(text), done);
}
