//! Generated types through serde (feature `serde` of the runtime).

use std::fmt::Debug;

use accp_runtime::{DecodeFrame, Typed};
use serde_json::json;

use super::goldens::{every_type_owned, every_type_serde, nested_owned};

const STORE: &str = "@dev>req:store{id:a\\@1|note:two_words|count:-3|price:142.5|ratio:0.1|active:true|owner:ops|level:low|extra:[x,$warm.x]|tags:[x,42]|scores:[1.0]|labels:{en:good_day}|options:{a:[z],max:5}|matrix:[[1,2],[]]|groups:{qa:[a,b]}|schema:SM}[mid:100001000001,seq:1]";

/// Reads a frame, and checks that the JSON of the frame gives the frame back.
#[track_caller]
fn through_json<'a, T>(text: &'a str) -> serde_json::Value
where
    T: DecodeFrame<'a> + serde::Serialize + serde::de::DeserializeOwned + PartialEq + Debug,
{
    let frame = Typed::<T>::decode(text).unwrap().frame;
    let json = serde_json::to_string(&frame).unwrap();
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), frame);
    serde_json::from_str(&json).unwrap()
}

#[test]
fn owned_types_come_back_from_json() {
    let json = through_json::<every_type_owned::StoreReq>(STORE);
    assert_eq!(json["price"], json!(142.5));
    assert_eq!(json["owner"], "ops");
    assert_eq!(json["extra"], json!(["x", { "$ref": "warm.x" }]));
    assert_eq!(json["options"], json!({ "a": ["z"], "max": 5 }));
    assert_eq!(json["level"], "Low");

    let done = "@dev>done:store{price:-9223372036854775808.999999|schema:SM}[mid:1,seq:1]";
    let json = through_json::<every_type_owned::SampleFrame>(&done.replace("mid:1", "mid:m1"));
    let price = &json["StoreDone"]["price"];
    assert_eq!(*price, "-9223372036854775808.999999");

    through_json::<nested_owned::ReportDone>(
        "@dev>done:report{title:What_we_found|f:[{topic:churn}]|sources:{crm:{agent:ops,uri:crm.example}}|tree:{children:[{name:leaf}],first:{name:leaf},name:root}|schema:RP}[mid:100001000001,seq:1]",
    );
}

#[test]
fn borrowed_types_have_the_attributes_of_their_fields() {
    let frame = Typed::<every_type_serde::StoreReq<'_>>::decode(STORE).unwrap();
    let json = serde_json::to_value(&frame.frame).unwrap();
    assert_eq!(json["remark"], "two words");
    assert_eq!(json["level"], "LOW");
    let back: every_type_serde::StoreReq<'static> = serde_json::from_value(json).unwrap();
    assert_eq!(back, frame.frame);

    let done: every_type_serde::StoreDone<'static> =
        serde_json::from_str(r#"{ "owner": "ops" }"#).unwrap();
    assert_eq!(done.owner.unwrap().as_str(), "ops");
}
