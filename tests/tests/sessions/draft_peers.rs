//! Peers that know only the draft (REG-03), at a host.

mod draft;
mod hostile;
mod links;
mod served;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use accp_registry::{Field, Schema, Type};
use accp_runtime::session::{DraftPeers, Event, Input, Outbound, Rules, Scope};
use accp_runtime::{DynamicFrame, Map, Registry, Value};

use self::draft::{Draft, joined, short_forms};
use crate::sessions::sides::{
    Node as _, STANDARD, counting, dynamic, envelope, member, options, plan, rules,
};

const WHY: &str = "The-customer-has-asked-twice-and-the-warehouse-says-that-it-was-never-sent.";

/// Plays the transcript of `docs/design/peers.md`, and compares each line.
#[test]
fn reg_03_a_peer_of_the_draft_alone_joins() {
    let mut hub = counting("hub");
    let mut registry = (*hub.registry).clone();
    registry.register(Schema::new("parcel", "PC")).unwrap();
    hub.registry = Arc::new(registry);
    let mut draft = Draft::new(hub, Rules::default());
    let state = DynamicFrame::new("dev", "sync", "state").unwrap();
    let changes: Map<'_> = [("order_7", Value::from("open"))].into_iter().collect();
    draft.dev(&state.with("version", 1).with("delta", changes));
    draft.dev(&plan("dev", 1));
    draft.dev(&dynamic("dev", "done", "plan").with("n", 1));
    draft.enters();
    draft.script.clear();
    draft.says("@qa>sync:registry{v:1|hash:a32838}");
    draft.says("@qa>ack:frame{}[mid:5e1f00000000,seq:3,ts:1714000000,cid:100000001994]");
    draft.says("@qa>req:lookup{order:7}[mid:5e1f00000001,seq:1,ts:1714000000]");
    draft.says("@qa>req:lookup{order:7}[mid:5e1f00000001,seq:4,ts:1714000000]");
    draft.says("@qa>ping:link{}[mid:5e1f00000002,seq:4,ts:1714000001]");
    draft.notes("@dev answers, with a text that it sends by reference");
    let done = dynamic("dev", "done", "lookup").with("why", WHY);
    draft
        .room
        .say(0, &Outbound::message(&done).in_chain("5e1f00000001"));
    draft.heard();
    draft.says("@qa>ack:frame{}[mid:5e1f00000003,seq:6,ts:1714000002,cid:5e1f00000001]");
    draft.notes("@dev sends another frame, and the link loses it");
    draft.room.say(0, &Outbound::message(&plan("dev", 2)));
    draft.seen = draft.room.passed.len();
    draft.room.now = draft.room.now + Duration::from_secs(2);
    draft.heard();
    draft.says("@qa>fail:error{code:E3003|msg:gap|retry:true|exp:7|schema:ER}[mid:5e1f00000004,seq:6,ts:1714000003]");
    draft.notes("the connection breaks, and @dev goes on");
    let now = draft.room.now;
    draft
        .room
        .host
        .session_mut()
        .handle(Input::Disconnected(member(102)), now)
        .unwrap();
    draft.dev(&plan("dev", 3));
    draft.says("@qa>sync:registry{v:1|hash:a32838}[mid:5e1f00000005,seq:7,ts:1714000009]");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/design/peers.md");
    let document = std::fs::read_to_string(root).unwrap();
    let section = document
        .split("### A session with a peer of the draft alone")
        .nth(1)
        .unwrap();
    let transcript = section.split("```").nth(1).unwrap();
    assert_eq!(transcript.strip_prefix("text\n").unwrap(), draft.script);
}

/// A peer with an equal hash gets no schemas. A peer that knows the standard registry gets the
/// schemas that it lacks, and a peer with any other registry gets all schemas.
#[test]
fn reg_03_the_schemas_stand_in_the_hello() {
    let mut hub = options("hub");
    let mut registry = (*hub.registry).clone();
    for n in 0..60 {
        let mut schema = Schema::new(&format!("parcel_{n}"), &format!("P{n}"));
        for field in 0..40 {
            let name = format!("a_long_name_of_a_field_{n}_{field}");
            schema.fields.push(Field::new(&name, Type::String));
        }
        registry.register(schema).unwrap();
    }
    let own = registry.hash();
    hub.registry = Arc::new(registry.clone());
    for (hash, count) in [
        (own.short(6), 0),
        (own.to_string(), 0),
        (STANDARD.hash().short(6), 60),
        ("a7f2c1".to_owned(), 60 + STANDARD.schemas().len()),
    ] {
        let mut draft = Draft::new(hub.clone(), Rules::default());
        draft.enters();
        let replies = draft.says(&format!("@qa>sync:registry{{v:1|hash:{hash}}}"));
        assert_eq!(replies.len() > 1, count > 0, "{hash}");
        let mut codes = BTreeSet::new();
        for text in replies {
            assert!(text.len() <= 64 * 1024);
            let message = DynamicFrame::decode(&text, &STANDARD).unwrap();
            assert_eq!(
                message.payload.get("hash"),
                Some(&Value::from(own.short(6)))
            );
            let Some(Value::Map(schemas)) = message.payload.get("schemas") else {
                continue;
            };
            for (name, schema) in schemas.iter() {
                let document = serde_json::json!({ "schemas": { name: schema.to_json() } });
                let read = Registry::from_json(&document.to_string()).unwrap();
                let read = read.schemas().next().unwrap().clone();
                let known = registry.schema(&read.code).unwrap();
                assert_eq!(read.fields.len(), known.fields.len(), "{name}");
                assert!(codes.insert(read.code.clone()), "{name} twice");
            }
        }
        assert_eq!(codes.len(), count, "{hash}");
    }
}

/// A host that learns schemas takes the schemas in the hello of a peer that knows only the draft.
#[test]
fn a_host_learns_the_schemas_in_a_hello() {
    let learning = Rules {
        learn_schemas: true,
        ..Rules::default()
    };
    let hello =
        "@qa>sync:registry{v:1|hash:a7f2c1|schemas:{parcel:{code:PC,version:1,fields:[weight]}}}";
    let mut draft = Draft::new(options("hub"), learning.clone());
    draft.enters();
    draft.says(hello);
    assert!(
        draft
            .room
            .host
            .session()
            .options()
            .registry
            .schema("PC")
            .is_some()
    );
    assert!(
        draft.room.members[0]
            .session()
            .options()
            .registry
            .schema("PC")
            .is_some()
    );
    draft.room.members[0].session().state();
    for wrong in [
        "{parcel:{code:PC,fields:7}}",
        "{parcel:7}",
        "{parcel:{code:PC,fields:[$cold.p1]}}",
    ] {
        let mut draft = Draft::new(options("hub"), learning.clone());
        draft.enters();
        draft.says(&format!(
            "@qa>sync:registry{{v:1|hash:a7f2c1|schemas:{wrong}}}"
        ));
        let is_told = |event: &Event| matches!(event, Event::SchemasUnavailable(_));
        assert!(draft.room.host.events.iter().any(is_told), "{wrong}");
    }
}

/// A host refuses a peer that knows only the draft if each sender has its own numbers, or if the
/// rules forbid such peers. The refusal gives the reason.
#[test]
fn who_cannot_be_served_is_told_why() {
    let refused = Rules {
        draft_peers: DraftPeers::Refused,
        ..Rules::default()
    };
    for (rules, expected) in [
        (
            rules(Scope::Sender),
            "here_each_agent_numbers_its_own_frames",
        ),
        (refused, "a_hello_with_the_extensions_of_this_session"),
    ] {
        let mut draft = Draft::new(options("hub"), rules);
        draft.enters();
        let replies = draft.says("@qa>sync:registry{v:1|hash:a32838}");
        assert_eq!(replies.len(), 1);
        assert!(
            replies[0].contains("code:E5001") && replies[0].contains(expected),
            "{replies:?}"
        );
        assert!(draft.dev(&plan("dev", 1)).is_empty());
    }
}

/// An answer to the host's own hello needs no answer. A hello after a while, or on a new connection, gets an
/// answer.
#[test]
fn two_sides_do_not_greet_each_other_for_ever() {
    let mut draft = joined();
    let hello = "@qa>sync:registry{v:1|hash:a32838}";
    assert!(draft.says(hello).is_empty());
    draft.room.now = draft.room.now + Duration::from_secs(2);
    assert_eq!(draft.says(hello).len(), 1);
    assert!(draft.says(hello).is_empty());
    let now = draft.room.now;
    let host = draft.room.host.session_mut();
    host.handle(Input::Disconnected(member(102)), now).unwrap();
    assert!(draft.dev(&plan("dev", 1)).is_empty());
    // The first frame on a new connection is not a hello, so the host sends one.
    draft.says("@qa>ping:link{}[mid:5e1f00000001,seq:0,ts:1714000000]");
    draft.room.now = draft.room.now + Duration::from_secs(2);
    let asked = draft.heard();
    assert!(
        asked.iter().any(|text| text.contains(">sync:registry{")),
        "{asked:?}"
    );
    assert_eq!(
        short_forms(&draft.says(hello)),
        [
            "@hub>sync:registry{hash:a32838|v:1} 0",
            "@dev>req:plan{n:1} 1"
        ]
    );
}

/// Some numbers belong to frames that the peer does not get: dropped frames, and parts. The host
/// sends an acknowledgement without an id under each of these, so the numbers have no gap.
#[test]
fn every_number_is_told() {
    let mut draft = joined();
    let request = draft.says("@qa>req:plan{}[mid:5e1f00000001,seq:1,ts:1714000000]");
    assert_eq!(short_forms(&request), ["@hub>ack:frame{} 1"]);
    let stop = "@qa>cancel:plan{}[mid:5e1f00000002,seq:2,ts:1714000000,cid:5e1f00000001]";
    assert_eq!(short_forms(&draft.says(stop)), ["@hub>ack:frame{} 2"]);
    // The host does not answer a frame of a cancelled chain, or an expired frame.
    assert!(
        draft
            .says("@qa>wait:plan{}[mid:5e1f00000003,seq:3,ts:1714000000,cid:5e1f00000001]")
            .is_empty()
    );
    assert!(
        draft
            .says("@qa>req:plan{}[mid:5e1f00000004,seq:4,ts:1713000000,ttl:5]")
            .is_empty()
    );
    let next = draft.says("@qa>req:plan{}[mid:5e1f00000005,seq:5,ts:1714000000]");
    assert_eq!(
        short_forms(&next),
        [
            "@hub>ack:frame{} 3",
            "@hub>ack:frame{} 4",
            "@hub>ack:frame{} 5"
        ]
    );
    let of = |text: &String| envelope(text).unwrap().correlation_id;
    assert_eq!(
        next.iter().map(of).collect::<Vec<_>>(),
        [None, None, Some("5e1f00000005".into())]
    );
    assert_eq!(draft.room.host.frames().len(), 3);

    // The member sends the frame in parts. The host sends the whole frame to the peer.
    let mut dev = counting("dev");
    dev.frame_tokens.body.hard = 30;
    draft.room.members[0].options = dev;
    draft.room.restart(member(101)).unwrap();
    draft.room.settle();
    draft.heard();
    let long = DynamicFrame::new("dev", "req", "plan").unwrap();
    let long = (0..20).fold(long, |long, n| long.with(format!("field_{n}"), n));
    let told = draft.dev(&long);
    let (whole, parts) = told.split_last().unwrap();
    assert!(
        whole.starts_with("@dev>req:plan{field_0:0|") && !parts.is_empty(),
        "{told:?}"
    );
    assert!(
        parts
            .iter()
            .all(|text| text.starts_with("@hub>ack:frame{}")),
        "{told:?}"
    );
    let numbers: Vec<_> = told
        .iter()
        .map(|text| envelope(text).unwrap().sequence.unwrap())
        .collect();
    assert_eq!(numbers, (6..6 + numbers.len() as u64).collect::<Vec<_>>());
}
