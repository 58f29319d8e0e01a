//! What a type does with the fields of its schema that the type lacks.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use accp_runtime::{AccpFrame, DynamicFrame, Map, Registry, Typed, Value};
use proptest::prelude::*;

/// A struct that names two fields which it ignores. Both have a default.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TX", intent = "req", operation = "transaction")]
#[accp(ignore = "currency", ignore = "retryable")]
struct Pay {
    transaction_id: String,
    amount: accp_runtime::Decimal,
    status: String,
}

/// A struct that keeps all other fields in a map.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TX", intent = "req", operation = "transaction")]
struct Kept<'a> {
    transaction_id: String,
    amount: accp_runtime::Decimal,
    #[accp(flatten)]
    more: Map<'a>,
}

/// The same as [`Kept`], with a map of another type.
#[derive(AccpFrame, Debug, PartialEq)]
#[accp(schema = "TX", intent = "req", operation = "transaction")]
struct Sorted<'a> {
    amount: accp_runtime::Decimal,
    status: String,
    transaction_id: String,
    #[accp(flatten)]
    more: BTreeMap<String, Value<'a>>,
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place {
    aisle: String,
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
}

#[test]
fn what_is_dropped_is_told() {
    let text = "@a>req:transaction{txn:t1|amt:1.5|cur:eur|currency_of:x|acc:k|schema:TX}";
    let dropped = |text: &str| {
        let pay = Typed::<Pay>::decode(text).unwrap().into_owned();
        pay.dropped().to_vec()
    };
    assert_eq!(dropped(text), ["cur", "currency_of", "account"]);
    let text = "@a>req:transaction{acc:k|txn:t1|currency:eur|amt:1.5|retry:true|schema:TX}";
    assert_eq!(dropped(text), ["account", "currency", "retryable"]);
    let unknown = "@a>req:transaction{txn:t1|amt:1.5|stat:ok|zz:1|schema:TX}";
    assert_eq!(dropped(unknown), ["zz"]);
    let none = "@a>req:transaction{txn:t1|amt:1.5|stat:ok|schema:TX}";
    assert_eq!(dropped(none), [""; 0]);
    // A nested value drops fields, too. An ignored field is not refused as unknown.
    let text = "@a>req:move{item:x|who:{note:far,sh:3,z:b}|count:2|schema:SV}";
    let moved = Typed::<Move>::decode(text).unwrap();
    assert_eq!(moved.dropped(), ["note", "shelf", "count"]);
    assert_eq!(moved.frame.target.aisle, "b");
    // A value under an unknown key is dropped, too, also in the pairs form.
    let text = "@a>req:move{item:x|who:{_:[[aisle,b],[lane,4],[no-key,5]]}|schema:SV}";
    let moved = Typed::<Move>::decode(text).unwrap();
    assert_eq!(moved.dropped(), ["lane", "no-key"]);
    let unknown = "@a>req:move{item:x|who:{z:b}|remark:far|schema:SV}";
    insta::assert_snapshot!(Typed::<Move>::decode(unknown).unwrap_err(), @"E1004 at byte 29: expected a field of Move: item, target");
}

#[test]
fn a_map_holds_the_fields_that_the_struct_does_not_have() {
    let text =
        "@a>req:transaction{txn:t1|amt:1.5|currency:EUR|acc:007|stat:ok|retry:true|zz:1|schema:TX}";
    let kept = Typed::<Kept<'_>>::decode(text).unwrap();
    // The map holds values by the types of their fields: an account is a string.
    assert_eq!(kept.frame.more.get("account"), Some(&Value::from("007")));
    assert_eq!(kept.frame.more.get("retryable"), Some(&Value::from(true)));
    assert_eq!(kept.dropped(), [""; 0]);
    assert_eq!(kept.encode().unwrap(), text);
    let sorted = Typed::<Sorted<'_>>::decode(text).unwrap();
    assert_eq!(sorted.encode().unwrap(), text);
    let twice = "@a>req:transaction{txn:t1|amt:1.5|acc:1|account:2|schema:TX}";
    insta::assert_snapshot!(Typed::<Kept<'_>>::decode(twice).unwrap_err(), @"E1001 at byte 48 in Kept.account: expected every key once, under its full or its short name");
    let wrong = "@a>req:transaction{txn:t1|amt:1.5|retry:maybe|schema:TX}";
    insta::assert_snapshot!(Typed::<Kept<'_>>::decode(wrong).unwrap_err(), @"E1004 at byte 40 in Kept.retryable: expected a value of type boolean");
    let mut short = kept;
    short.frame.more.insert("acc", Value::from("1"));
    insta::assert_snapshot!(short.encode().unwrap_err(), @"Kept.acc: this key belongs to a field, or is reserved");
    short.frame.more = [("account", Value::from(7))].into_iter().collect();
    insta::assert_snapshot!(short.encode().unwrap_err(), @"Kept.account: the registry declares string, this is an integer");
}

proptest! {
    /// A struct with a map has the values of the message, whatever fields the message has.
    #[test]
    fn a_struct_with_a_map_loses_nothing(
        currency in prop::option::of("[A-Z]{3}|007|~|\\$cold\\.k1"),
        account in prop::option::of("[a-z0-9]{1,6}"),
        status in prop::option::of("pending|done"),
        retryable in prop::option::of("true|false"),
        extra in prop::option::of("[a-z]{1,4}|[0-9]{1,3}"),
    ) {
        let mut text = String::from("@a>req:transaction{txn:t1|amt:1.5");
        for (key, value) in [
            ("currency", currency), ("acc", account), ("stat", status), ("retry", retryable),
            ("zz", extra),
        ] {
            if let Some(value) = value {
                write!(text, "|{key}:{value}").unwrap();
            }
        }
        text.push_str("|schema:TX}");
        let message = DynamicFrame::decode(&text, Registry::shared()).unwrap();
        let written = message.encode(Registry::shared()).unwrap();
        let kept = Typed::<Kept<'_>>::decode(&text).unwrap();
        prop_assert_eq!(kept.encode().unwrap(), written);
    }
}
