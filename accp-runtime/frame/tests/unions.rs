//! Unions: an enum with data and a message of the same registry must give the same text and the same verdict.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_runtime::formats::Date;
use accp_runtime::{
    AccpFrame, AgentId, Decimal, DynamicFrame, Envelope, ErrorCode, Map, Registry, Typed, Value,
};
use proptest::prelude::*;

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "../../tests/registry/payments.json", schema = "PM")]
enum Payment<'a> {
    Card {
        number: String,
        expires: Option<Date<'a>>,
        amount: Option<Decimal>,
    },
    BankTransfer {
        iban: String,
        #[accp(default)]
        retries: i64,
        amount: Option<Decimal>,
    },
    Cash,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "../../tests/registry/payments.json", schema = "OD")]
#[accp(intent = "req", operation = "order")]
struct Order<'a> {
    id: String,
    pay: Payment<'a>,
    others: Option<Vec<Payment<'a>>>,
}

/// A payment. The last variant stands for kinds of payment that only newer peers know.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "../../tests/registry/payments.json", schema = "PM")]
enum AnyPayment<'a> {
    Card {
        number: String,
        expires: Option<Date<'a>>,
        amount: Option<Decimal>,
    },
    BankTransfer {
        iban: String,
        #[accp(default)]
        retries: i64,
        amount: Option<Decimal>,
    },
    Cash,
    #[accp(other)]
    Other(Map<'a>),
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "../../tests/registry/payments.json", schema = "OD")]
#[accp(intent = "req", operation = "order")]
struct AnyOrder<'a> {
    id: String,
    pay: AnyPayment<'a>,
    others: Option<Vec<AnyPayment<'a>>>,
}

fn registry() -> Registry {
    Registry::from_json(include_str!("../../../tests/registry/payments.json")).unwrap()
}

fn order(pay: Payment<'_>) -> Typed<'_, Order<'_>> {
    let order = Order {
        id: "a".into(),
        pay,
        others: None,
    };
    Typed::new(AgentId::new("shop").unwrap(), order, Envelope::default())
}

#[track_caller]
fn travels(pay: Payment<'static>, text: &str) {
    let frame = format!("@shop>req:order{{id:a|pay:{text}|schema:OD}}");
    let typed = order(pay);
    assert_eq!(typed.encode().unwrap(), frame);
    assert_eq!(Typed::<Order<'_>>::decode(&frame).unwrap(), typed);
    let message = DynamicFrame::decode(&frame, &registry()).unwrap();
    assert_eq!(message.encode(&registry()).unwrap(), frame);
}

#[test]
fn a_variant_has_its_tag_and_its_fields() {
    travels(Payment::Cash, "{k:cash}");
    travels(
        Payment::Card {
            number: "4111-1".into(),
            expires: Some("2028-02-29".parse().unwrap()),
            amount: None,
        },
        "{expires:2028-02-29,k:card,no:4111-1}",
    );
    travels(
        Payment::BankTransfer {
            iban: "DE02".into(),
            retries: 3,
            amount: Some(Decimal::parse("4.1").unwrap()),
        },
        "{amount:4.1,iban:DE02,k:bank_transfer}",
    );
}

/// Returns the verdicts of the type and of the registry on a payment.
fn verdicts(pay: &str) -> [Result<String, ErrorCode>; 2] {
    let frame = format!("@shop>req:order{{id:a|pay:{pay}|schema:OD}}");
    let typed = Typed::<Order<'_>>::decode(&frame);
    let typed = typed.map(|typed| typed.encode().unwrap());
    let message = DynamicFrame::decode(&frame, &registry());
    let message = message.map(|message| message.encode(&registry()).unwrap());
    [
        typed.map_err(|error| error.code()),
        message.map_err(|error| error.code()),
    ]
}

#[test]
fn a_record_without_a_tag_or_with_a_field_of_another_variant_is_refused() {
    for text in [
        "{}",
        "{no:1}",
        "{k:~}",
        "{k:coin}",
        "{k:[cash]}",
        "{k:card}",
        "{k:card,no:~}",
        "{k:cash,no:x}",
        "{k:cash,number:~}",
        "{iban:x,k:card,no:y}",
        "{iban:x,k:bank_transfer,retries:often}",
    ] {
        let refused = Err(ErrorCode::INVALID_TYPE);
        assert_eq!(verdicts(text), [refused.clone(), refused], "{text}");
    }
    assert_eq!(
        verdicts("{k:cash,kind:cash}"),
        [Err(ErrorCode::PARSE_ERROR), Err(ErrorCode::PARSE_ERROR)]
    );
    let error = Typed::<Order<'_>>::decode("@shop>req:order{id:a|pay:{k:coin}|schema:OD}");
    insta::assert_snapshot!(error.unwrap_err(), @"E1004 at byte 25 in Order.pay.kind: expected a variant of PM: card, bank_transfer, cash");
    let error = Typed::<Order<'_>>::decode("@shop>req:order{id:a|pay:{iban:x,k:cash}|schema:OD}");
    insta::assert_snapshot!(error.unwrap_err(), @"E1004 at byte 31 in Order.pay.iban: expected a field of the variant `cash`");
    let error = DynamicFrame::decode(
        "@shop>req:order{id:a|pay:{iban:x,k:cash}|schema:OD}",
        &registry(),
    );
    insta::assert_snapshot!(error.unwrap_err(), @"E1004 at byte 25 in pay.iban: expected a field of the variant `cash`");
}

#[test]
fn a_record_of_a_newer_variant_is_kept_where_the_type_has_a_place_for_it() {
    let frame =
        "@shop>req:order{id:a|pay:{coins:[1,2],k:coin,no:x}|others:[{k:cash},{k:coin}]|schema:OD}";
    let typed = Typed::<AnyOrder<'_>>::decode(frame).unwrap();
    let AnyPayment::Other(pay) = &typed.frame.pay else {
        unreachable!("no variant is called `coin`: {typed:?}");
    };
    assert_eq!(pay.get("k").and_then(Value::as_str), Some("coin"));
    assert_eq!(typed.frame.others.as_ref().unwrap()[0], AnyPayment::Cash);
    assert_eq!(typed.encode().unwrap(), frame);
    assert_eq!(typed.into_owned().encode().unwrap(), frame);
    // A message is read only with the registry, so a host refuses a variant that the registry does not declare.
    let error = DynamicFrame::decode(frame, &registry()).unwrap_err();
    insta::assert_snapshot!(error, @"E1004 at byte 40 in pay.k: expected a value of type enum(card,bank_transfer,cash)");
    // A tag is a name: neither null nor a reference, nor missing.
    for pay in ["{}", "{no:x}", "{k:~}", "{k:$ab}", "{k:[coin]}"] {
        let frame = format!("@shop>req:order{{id:a|pay:{pay}|schema:OD}}");
        assert!(Typed::<AnyOrder<'_>>::decode(&frame).is_err(), "{pay}");
    }
}

/// A type refuses to write a record that it would refuse to read.
#[test]
fn the_variant_for_other_records_needs_the_name_of_another_variant() {
    let write = |record: Map<'static>| {
        let frame = AnyOrder {
            id: "a".into(),
            pay: AnyPayment::Cash,
            others: Some(vec![AnyPayment::Cash, AnyPayment::Other(record)]),
        };
        let typed = Typed::new(AgentId::new("shop").unwrap(), frame, Envelope::default());
        let text = typed.encode()?;
        assert_eq!(Typed::<AnyOrder<'_>>::decode(&text).unwrap(), typed);
        Ok::<_, accp_runtime::EncodeError>(text)
    };
    let record = |key: &'static str, value: Value<'static>| {
        let mut record = Map::new();
        record.insert("coins", Value::from(2));
        record.insert(key, value);
        record
    };
    for key in ["k", "kind"] {
        assert!(write(record(key, Value::from("coin"))).is_ok());
        let error = write(record(key, Value::from("card"))).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
        assert_eq!(error.path(), "AnyOrder.others[1].kind");
    }
    for pay in [
        Map::new(),
        record("id", Value::from("x")),
        record("k", Value::Null),
        record("k", Value::Array(vec![Value::from("coin")])),
    ] {
        let error = write(pay).unwrap_err();
        assert_eq!(error.path(), "AnyOrder.others[1].kind");
    }
    insta::assert_snapshot!(write(record("k", Value::from("cash"))).unwrap_err(), @"AnyOrder.others[1].kind: the variant `cash` is known here, so it cannot be the one for other records");
    insta::assert_snapshot!(write(Map::new()).unwrap_err(), @"AnyOrder.others[1].kind: a record of schema PM has the name of its variant here, as a text");
}

#[test]
fn no_frame_is_a_record_of_a_union() {
    let error = DynamicFrame::decode("@shop>req:pay{k:cash|schema:PM}", &registry()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::UNKNOWN_SCHEMA);
    assert_eq!(error.expected(), "a schema of the registry: OD");
    let frame = DynamicFrame::new("shop", "req", "pay")
        .unwrap()
        .under("PM")
        .with("kind", "cash");
    assert_eq!(
        frame.encode(&registry()).unwrap_err().code(),
        ErrorCode::UNKNOWN_SCHEMA
    );
}

/// Generates texts that are payments, or nearly so.
fn near() -> impl Strategy<Value = String> {
    let entry = prop::sample::select(
        &[
            "k:card",
            "k:cash",
            "k:bank_transfer",
            "kind:card",
            "kind:coin",
            "k:~",
            "no:x",
            "number:y",
            "no:~",
            "iban:z",
            "iban:~",
            "expires:2028-02-29",
            "expires:~",
            "expires:soon",
            "amount:4.1",
            "amount:x",
            "retries:3",
            "retries:4",
            "other:1",
            "other:[a]",
        ][..],
    );
    prop::collection::vec(entry, 0..5).prop_map(|entries| format!("{{{}}}", entries.join(",")))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5_000) })]

    #[test]
    fn a_type_and_a_message_give_one_verdict(pay in near()) {
        let [typed, message] = verdicts(&pay);
        // A type passes over unknown fields, so it does not notice that one of them occurs twice.
        prop_assume!(pay.matches("other").count() < 2);
        // A type leaves out unknown fields and those that are null.
        if pay.contains("other") || pay.contains('~') || typed.is_err() {
            prop_assert_eq!(typed.is_ok(), message.is_ok(), "{} {:?} {:?}", pay, typed, message);
        } else {
            prop_assert_eq!(typed, message, "{}", pay);
        }
    }
}
