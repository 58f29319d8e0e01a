//! Aliases: frames of a peer that knows a field by another name.

use accp_runtime::{AccpFrame, AgentId, DynamicFrame, Envelope, Map, Registry, Typed, Value};

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place {
    #[accp(alias = "row", alias = "r")]
    aisle: String,
    note: Option<String>,
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(intent = "req", operation = "move", deny_unknown_fields)]
#[accp(
    ignore = "count",
    ignore = "fragile",
    ignore = "tags",
    ignore = "speed"
)]
struct Move {
    item: String,
    target: Place,
    by: Option<String>,
}

/// A struct that does not have the fields with aliases.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(
    intent = "req",
    operation = "move",
    ignore = "stops",
    ignore = "trend",
    ignore = "labels"
)]
struct Kept<'a> {
    item: String,
    #[accp(flatten)]
    more: Map<'a>,
    target: Place,
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(intent = "req", operation = "raise")]
struct Raise<'a> {
    #[accp(alias = "priority")]
    urgency: i64,
    more: Option<Inner>,
    #[accp(flatten)]
    others: Map<'a>,
}

#[derive(AccpFrame, Debug, PartialEq)]
struct Inner {
    #[accp(rename = "to", alias = "deadline", alias = "due")]
    until: String,
}

fn warehouse() -> Registry {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registry/warehouse.json");
    Registry::load(path).unwrap()
}

#[test]
fn an_alias_is_read_and_never_written() {
    let written = "@a>req:move{item:x|who:{comment:far,z:1A}|by:dev|schema:SV}";
    let canonical = "@a>req:move{item:x|who:{note:far,z:1A}|by:dev|schema:SV}";
    let registry = warehouse();
    for text in [
        written,
        "@a>req:move{goods:x|target:{row:1A,comment:far}|assignee:dev|schema:SV}",
        "@a>req:move{goods:x|who:{r:1A,note:far}|asgn:dev|schema:SV}",
    ] {
        let typed = Typed::<Move>::decode(text).unwrap();
        let again = typed.encode().unwrap();
        assert_eq!(typed, Typed::<Move>::decode(&again).unwrap());
        let message = DynamicFrame::decode(text, &registry).unwrap();
        assert_eq!(message.payload.get("item"), Some(&Value::from("x")));
        let kept = Typed::<Kept<'_>>::decode(text).unwrap();
        assert_eq!(kept.frame.more.get("by"), Some(&Value::from("dev")));
        let texts = [
            typed.encode().unwrap(),
            message.encode(&registry).unwrap(),
            kept.encode().unwrap(),
        ];
        for text in texts {
            assert_eq!(text, canonical);
        }
    }
}

#[test]
fn a_field_and_its_alias_are_one_key_twice() {
    let registry = warehouse();
    let typed = |text: &str| Typed::<Move>::decode(text).unwrap_err().to_string();
    let dynamic = |text: &str| {
        DynamicFrame::decode(text, &registry)
            .unwrap_err()
            .to_string()
    };
    let twice = "@a>req:move{item:x|who:{z:1}|goods:y|schema:SV}";
    insta::assert_snapshot!(typed(twice), @"E1001 at byte 35 in Move.item: expected every key once, under its full or its short name");
    insta::assert_snapshot!(dynamic(twice), @"E1001 at byte 35 in item: expected every key once, under its full or its short name");
    let nested = "@a>req:move{item:x|who:{z:1,row:2}|schema:SV}";
    insta::assert_snapshot!(typed(nested), @"E1001 at byte 32 in Move.target.aisle: expected every key once, under its full or its short name");
    insta::assert_snapshot!(dynamic(nested), @"E1001 at byte 23 in target.aisle: expected every key once, under its full or its short name");
    let unheld = "@a>req:move{item:x|who:{z:1}|by:b|asgn:c|schema:SV}";
    insta::assert_snapshot!(Typed::<Kept<'_>>::decode(unheld).unwrap_err(), @"E1001 at byte 39 in Kept.by: expected every key once, under its full or its short name");
}

/// A value under an alias would be read as the field, so a map of other params cannot have the
/// alias as a key.
#[test]
fn a_map_of_other_params_has_no_alias() {
    let text = "@a>req:move{item:x|who:{z:1}|schema:SV}";
    let mut kept = Typed::<Kept<'_>>::decode(text).unwrap();
    kept.frame.more.insert("asgn", Value::from("dev"));
    insta::assert_snapshot!(kept.encode().unwrap_err(), @"Kept.asgn: this key belongs to a field, or is reserved");
    let registry = warehouse();
    let message = DynamicFrame::decode(text, &registry).unwrap();
    let renamed = message.clone().with("assignee", "dev").encode(&registry);
    assert_eq!(
        renamed.unwrap(),
        "@a>req:move{item:x|who:{z:1}|by:dev|schema:SV}"
    );
    let both = message.with("assignee", "dev").with("by", "dev");
    insta::assert_snapshot!(both.encode(&registry).unwrap_err(), @"a map has one of the keys by, assignee, asgn");
}

#[test]
fn aliases_without_a_schema() {
    for text in [
        "@a>req:raise{priority:3|more:{due:now}|zz:1}",
        "@a>req:raise{pri:3|more:{deadline:now}|zz:1}",
        "@a>req:raise{urgency:3|more:{to:now}|zz:1}",
    ] {
        let raise = Typed::<Raise<'_>>::decode(text).unwrap();
        assert_eq!(raise.frame.urgency, 3);
        assert_eq!(
            raise.encode().unwrap(),
            "@a>req:raise{more:{to:now}|urgency:3|zz:1}"
        );
    }
    // A nested map has no abbreviations, so `dead` is an unknown key.
    let inner = Typed::<Raise<'_>>::decode("@a>req:raise{pri:3|more:{dead:now}}");
    insta::assert_snapshot!(inner.unwrap_err(), @"E1004 at byte 33 in Raise.more: expected the field `to`, which Inner requires");
    let twice = Typed::<Raise<'_>>::decode("@a>req:raise{pri:3|urgency:4}");
    insta::assert_snapshot!(twice.unwrap_err(), @"E1001 at byte 27 in Raise.urgency: expected every key once, under its full or its short name");
    let mut others = Map::new();
    others.insert("priority", Value::from(1));
    let frame = Raise {
        urgency: 3,
        more: None,
        others,
    };
    let typed = Typed::new(AgentId::new("a").unwrap(), frame, Envelope::default());
    insta::assert_snapshot!(typed.encode().unwrap_err(), @"Raise.priority: this key belongs to a field, or is reserved");
}
