//! Packets as frames of ACCP, and back.
#![cfg(feature = "bridge")]

use crate::support::{EXAMPLES, HEAD};
use accp_aacp::{Kind, Packet, Vocabulary, bridge};
use accp_frame::{DynamicFrame, EncodeOptions, Value};
use accp_registry::{Registry, Type};
use proptest::collection::vec;
use proptest::prelude::*;

/// Returns the text of the frame of a packet.
fn frame(packet: &str) -> String {
    let packet = Packet::parse(packet).unwrap();
    let frame = bridge::to_frame(&packet, "planner").unwrap();
    frame.encode(bridge::profile()).unwrap()
}

/// Returns the packet of a frame, or the error.
fn packet(frame: &str) -> Result<String, String> {
    let frame = DynamicFrame::decode(frame, bridge::profile()).unwrap();
    let packet = bridge::to_packet(&frame).map_err(|error| error.to_string())?;
    Ok(packet.to_string())
}

#[test]
fn the_profile_has_the_vocabulary() {
    let registry = Registry::from_json(bridge::PROFILE).unwrap();
    let schema = registry.schema(bridge::CODE).unwrap();
    let vocabulary = Vocabulary::standard();
    for key in vocabulary.keys() {
        let (_, field) = schema.field(&key.name).unwrap();
        let is_list = matches!(&field.ty, Type::List(item) if **item == Type::String);
        assert_eq!(is_list, key.kind == Kind::List, "{}", key.name);
        assert_eq!((&field.short, field.inline), (&key.name, true));
        let doc = field.doc.as_deref().unwrap();
        assert_eq!(
            doc.to_lowercase(),
            format!("{}.", key.meaning).to_lowercase()
        );
    }
    let own = ["dom", "task", "more", "order"];
    assert!(own.iter().all(|name| vocabulary.key(name).is_none()));
    assert_eq!(schema.fields.len(), vocabulary.keys().len() + own.len());
    assert_eq!(schema.frames.len(), vocabulary.tasks().len());
    for task in vocabulary.tasks() {
        let text = frame(&HEAD.replace("FETCH", &task.name));
        let read = DynamicFrame::decode(&text, &registry).unwrap();
        let head = [read.intent.as_str(), &*read.operation];
        assert!(schema.frame(&head).is_some(), "{text}");
    }
}

#[test]
fn the_examples_of_the_draft_come_back() {
    for text in EXAMPLES {
        assert_eq!(packet(&frame(text)).unwrap(), text);
    }
    let fetch = "@planner>qry:fetch{dom:HR|return:HR-Agent|p:1|res:emp_salary|period:2024-08|\
                 filter:status=active|fmt:[json]|schema:AP}";
    assert_eq!(frame(EXAMPLES[0]), fetch);
    assert!(frame(EXAMPLES[1]).starts_with("@planner>req:merge{dom:HR|"));
    assert!(frame(EXAMPLES[2]).starts_with("@planner>esc:flag{dom:LEGAL|"));
    // The fields of this packet are not in the order of the vocabulary, so the frame states their
    // order.
    assert!(frame(EXAMPLES[5]).contains("|order:[return,p,aacp,actor,chain,status]|"));
}

#[test]
fn what_the_vocabulary_does_not_have_travels_in_params_of_its_own() {
    let cases = [
        (
            "ACK|HR|return:a|aacp:1.1",
            "@planner>req:ack{dom:HR|return:a|schema:AP}",
        ),
        (
            "Roll-Back|OPS|return:a|aacp:2.0",
            "@planner>req:roll_back{dom:OPS|return:a|aacp:2.0|task:Roll-Back|schema:AP}",
        ),
        (
            "proc|FIN|return:a|aacp:1.1",
            "@planner>req:proc{dom:FIN|return:a|task:proc|schema:AP}",
        ),
        (
            "SEND|HR|acme_cost:1:2|return:a|dom:b|aacp:1.1|order:",
            "@planner>req:send{dom:HR|return:a|more:[acme_cost\\:1\\:2,dom\\:b,order\\:]|\
             order:[_,return,_,aacp,_]|schema:AP}",
        ),
        (
            "SEND|HR|return:a|aacp:1.0||badge",
            "@planner>req:send{dom:HR|return:a|aacp:1.0|more:[\",badge]|schema:AP}",
        ),
        (
            "FETCH|HR|return:a|aacp:1.1|src:crm,hr db|fmt:|amt:01.50",
            "@planner>qry:fetch{dom:HR|return:a|fmt:[]|src:[crm,\"hr_db]|amt:01.50|order:[return,aacp,src,fmt,amt]|schema:AP}",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(frame(text), expected);
        assert_eq!(packet(expected).unwrap(), text);
    }
}

/// A frame whose params make no packet is refused with the name of the param.
#[test]
fn a_frame_that_is_no_packet_is_refused() {
    let cases = [
        (
            "qry:fetch{return:b|dom:HR|more:[return\\:c]",
            "`more`: a key of the vocabulary",
        ),
        (
            "qry:fetch{return:b|dom:HR|color:red",
            "`color`: the vocabulary has no such key",
        ),
        (
            "req:fetch{return:b|dom:HR",
            "`task`: the operation is not a task",
        ),
        (
            "qry:fetch{return:b|dom:HR|task:FETCH",
            "`task`: it is not the task",
        ),
        (
            "req:proc{return:b|dom:HR|task:LOG",
            "`task`: it is not the task",
        ),
        (
            "done:log{return:b|dom:HR",
            "`task`: the operation is not a task",
        ),
        ("req:log{return:b|dom:H/R", "`dom`: "),
        (
            "req:log{return:b|dom:HR|res:\"a%7Cb",
            "`res`: `|` separates fields",
        ),
        (
            "req:log{return:b|dom:HR|res:$hot.r",
            "`res`: it is a reference",
        ),
        (
            "req:log{return:b|dom:HR|fields:[a,\"b\\,c]",
            "`fields`: `,` separates",
        ),
        (
            "req:log{return:b|dom:HR|fields:[\"]",
            "`fields`: a list of one empty item",
        ),
        (
            "req:log{return:b|dom:HR|order:[return]",
            "`order`: it leaves out a field",
        ),
        (
            "req:log{return:b|dom:HR|order:[return,aacp,res]",
            "`order`: it names a key",
        ),
        (
            "req:log{return:b|dom:HR|order:[return,aacp,dom]",
            "`order`: it names a key",
        ),
        (
            "req:log{return:b|dom:HR|order:[return,aacp,_]",
            "`order`: it has more `_`",
        ),
        (
            "req:log{return:b|dom:HR|order:[return,return]",
            "`return`: ",
        ),
        ("req:log{return:\"|dom:HR", "`return`: "),
        ("req:log{return:b|dom:HR|more:[plain]", "key"),
        ("req:log{return:b|dom:HR|more:[a b\\:1]", "not a key"),
    ];
    for (params, expected) in cases {
        let text = format!("@a>{params}|schema:AP}}").replace("a b", "\"a_b");
        let error = packet(&text).unwrap_err();
        assert!(error.contains(expected), "{text}: {error}");
    }
    let other = DynamicFrame::decode(
        "@a>req:schedule{asgn:b|task:c|schema:TA}",
        &Registry::standard(),
    );
    let error = bridge::to_packet(&other.unwrap()).unwrap_err().to_string();
    assert_eq!(
        error,
        "`schema`: a packet is a frame of the schema AP, and this one is not"
    );
    let by_hand = DynamicFrame::new("a", "req", "log").unwrap().under("AP");
    let by_hand = by_hand.with("dom", "HR").with("p", Value::Integer(1));
    let error = bridge::to_packet(&by_hand).unwrap_err().to_string();
    assert_eq!(error, "`p`: a text is expected");
}

#[test]
fn aacp_66_refuses_what_a_person_does_not_see_in_a_frame() {
    for hidden in ["%0A", "%00", "%E2%80%AE", "%E2%80%8B"] {
        for param in [
            format!("res:\"a{hidden}b"),
            format!("fmt:[json,\"a{hidden}b]"),
            format!("more:[\"x\\:a{hidden}b]"),
        ] {
            let text = format!("@a>req:log{{return:b|dom:HR|{param}|schema:AP}}");
            let error = packet(&text).unwrap_err();
            assert!(error.contains("character"), "{text}: {error}");
            assert!(error.is_ascii(), "{error}");
        }
    }
}

/// Fields of a packet: known keys of each kind, unknown ones, fields without a key, in any order.
fn fields() -> impl Strategy<Value = Vec<String>> {
    let keys = Vocabulary::standard().keys().iter();
    let keys: Vec<_> = keys.map(|key| key.name.clone()).collect();
    let key = prop_oneof![
        6 => prop::sample::select(keys),
        2 => "(acme|dom|task|more|order|schema|RES)_?[0-9]?",
    ];
    let value = prop_oneof![
        3 => "[a-zA-Z0-9_.:/@$%\\\\~\\[\\]{}>-]{0,9}",
        2 => "[a-z,_ \"#~]{0,6}",
        1 => "[^\\p{C}|\\u{2028}\\u{2029}]{0,5}",
    ];
    let field = prop_oneof![
        8 => (key, value).prop_map(|(key, value)| format!("{key}:{}", value.trim_matches(' '))),
        1 => "([a-z_.]{0,5})".prop_map(|text| text),
    ];
    vec(field, 0..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_packet_comes_back_to_the_byte(
        task in prop_oneof![
            Just("FETCH".to_owned()), Just("FLAG".to_owned()), Just("MERGE".to_owned()),
            Just("SYNC".to_owned()), "[A-Za-z0-9_-]{1,8}",
        ],
        dom in "[A-Za-z0-9_-]{1,6}",
        version in prop_oneof![Just("1.1"), Just("1.0"), Just("1.2")],
        fields in fields(),
        at in any::<prop::sample::Index>(),
    ) {
        let mut slots = fields;
        let head = at.index(slots.len() + 1);
        slots.splice(head..head, [format!("aacp:{version}"), "return:b".to_owned()]);
        let text = format!("{task}|{dom}|{}", slots.join("|"));
        let Ok(read) = Packet::parse(&text) else {
            return Ok(());
        };
        let frame = bridge::to_frame(&read, "a").unwrap();
        let options = EncodeOptions::default();
        let written = frame.encode_with(bridge::profile(), options).unwrap();
        let back = DynamicFrame::decode(&written, bridge::profile()).unwrap();
        prop_assert_eq!(bridge::to_packet(&back).unwrap().to_string(), read.to_string(), "{}", written);
        // The frame gives the same packet before it is written and read.
        prop_assert_eq!(bridge::to_packet(&frame).unwrap().to_string(), read.to_string());
    }
}
