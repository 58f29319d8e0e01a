//! Hostile peers that know only the draft, and hostile members beside them.

use std::time::Duration;

use accp_registry::Hash;
use accp_runtime::session::{DraftPeers, Rules};
use accp_runtime::{AgentId, DynamicFrame, Value};
use accp_session::references;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use super::draft::{Draft, joined};
use crate::sessions::sides::{Node as _, hello, member, options, plan};

/// A member can put any bytes. Bytes that are not exactly one value are not written into the frame
/// of another member: the peer would read fields that the other member has not sent.
#[test]
fn bytes_that_are_no_value_do_not_change_a_frame() {
    for (bytes, is_value) in [
        ("a_text", true),
        ("[a,{b:1}]", true),
        ("a_text|amount:500", false),
        ("a_text|payee:mallory", false),
        ("1,2", false),
        ("a_text}[mid:0a0000000001,seq:9]", false),
        ("[", false),
    ] {
        let mut draft = joined();
        let pm = AgentId::new("pm").unwrap();
        assert_eq!(draft.room.let_in(&pm, false).unwrap(), member(103));
        let (digest, length) = (Hash::of(bytes.as_bytes()), bytes.len());
        let data = BASE64.encode(bytes);
        for text in [
            "@pm>sync:registry{v:1|hash:a32838}".to_owned(),
            format!(
                "@pm>sync:put{{keys:[[k103_1,{digest},{length}]]}}[mid:5e2f00000001,seq:1,ts:1714000000]"
            ),
            format!(
                "@pm>sync:bytes{{at:0|d:{data}|key:k103_1|len:{length}|sha:{digest}}}[mid:5e2f00000002,seq:1]"
            ),
        ] {
            draft.room.settle();
            let now = draft.room.now;
            let host = draft.room.host.session_mut();
            host.receive(member(103), text.as_bytes(), now);
        }
        draft.heard();
        let request = DynamicFrame::new("dev", "req", "pay").unwrap();
        let of = Value::Ref("cold.k103_1".into());
        let told = draft.dev(&request.with("amount", 5).with("of", of));
        let stands = if is_value { bytes } else { "$cold.k103_1" };
        let expected = format!("@dev>req:pay{{amount:5|of:{stands}}}[mid:");
        assert!(
            told.len() == 1 && told[0].starts_with(&expected),
            "{bytes}: {told:?}"
        );
    }
}

/// Thousands of references to one long value stay references. If the host wrote the value in place of each
/// reference, the frame would take gigabytes.
#[test]
fn many_references_to_one_value_take_no_memory() {
    let mut draft = joined();
    let long = Value::from("a long text ".repeat(100_000));
    let first = DynamicFrame::new("dev", "req", "plan").unwrap();
    draft.dev(&first.with("a", long));
    let text = draft.room.host.frames().pop().unwrap().text;
    let key = references(&text).next().unwrap().to_owned();
    let many = Value::Array(vec![Value::Ref(key.into()); 3_000]);
    let second = DynamicFrame::new("dev", "req", "plan").unwrap();
    let told = draft.dev(&second.with("all", many));
    assert_eq!(references(told.last().unwrap()).count(), 3_000);
}

/// During a flood of E3003, the host sends its frames again once in each retry time. It sends frames again earlier
/// only if the peer has got further.
#[test]
fn a_flood_of_complaints_has_one_answer() {
    let mut draft = joined();
    for n in 1..=9 {
        draft.dev(&plan("dev", n));
    }
    let lacks = |number: u64| {
        format!(
            "@qa>fail:error{{code:E3003|msg:gap|retry:true|exp:{number}|schema:ER}}[mid:5e1f00000004,seq:0,ts:1714000003]"
        )
    };
    assert_eq!(draft.says(&lacks(5)).len(), 5);
    for number in [4, 5, 1, 4, 5, 0, 10, 77] {
        assert!(draft.says(&lacks(number)).is_empty(), "{number}");
    }
    assert_eq!(draft.says(&lacks(8)).len(), 2);
    draft.room.now = draft.room.now + Duration::from_secs(2);
    draft.heard();
    assert_eq!(draft.says(&lacks(5)).len(), 5);
}

/// A peer that says one kind of hello and then the other, again and again, gets the schemas once in
/// a retry time.
#[test]
fn a_flood_of_hellos_of_two_kinds_brings_the_schemas_once() {
    let mut draft = Draft::new(options("hub"), Rules::default());
    draft.enters();
    let mut told = Vec::new();
    for _ in 0..5 {
        told.extend(draft.says("@qa>sync:registry{v:1|hash:a7f2c1}"));
        told.extend(draft.says(&hello("qa", 0)));
    }
    let has_schemas = |text: &&String| text.contains("schemas:{");
    let once = told.iter().filter(has_schemas).count();
    let mut other = Draft::new(options("hub"), Rules::default());
    other.enters();
    let first = other.says("@qa>sync:registry{v:1|hash:a7f2c1}");
    assert!(once > 0);
    assert_eq!(once, first.iter().filter(has_schemas).count());
}

/// A host that refuses peers of the draft does not take their schemas either.
#[test]
fn a_refused_peer_brings_no_schemas() {
    let rules = Rules {
        learn_schemas: true,
        draft_peers: DraftPeers::Refused,
        ..Rules::default()
    };
    let mut draft = Draft::new(options("hub"), rules);
    draft.enters();
    let schemas = "{parcel:{code:PC,version:1,fields:[weight]}}";
    draft.says(&format!(
        "@qa>sync:registry{{v:1|hash:a7f2c1|schemas:{schemas}}}"
    ));
    let registry = &draft.room.host.session().options().registry;
    assert!(registry.schema("PC").is_none());
}
