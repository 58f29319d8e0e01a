//! Unions: an enum with data, and a message of the same registry, have one text and one verdict.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use accp_runtime::formats::Date;
use accp_runtime::{
    AccpFrame, AgentId, Decimal, DynamicFrame, Envelope, ErrorCode, Registry, Typed,
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
    others: Vec<Payment<'a>>,
}

fn registry() -> Registry {
    Registry::from_json(include_str!("../../../tests/registry/payments.json")).unwrap()
}

fn order(pay: Payment<'_>) -> Typed<'_, Order<'_>> {
    let order = Order {
        id: "7".into(),
        pay,
        others: Vec::new(),
    };
    Typed::new(AgentId::new("shop").unwrap(), order, Envelope::default())
}

#[track_caller]
fn travels(pay: Payment<'static>, text: &str) {
    let frame = format!("@shop>req:order{{id:\"7|pay:{text}|schema:OD}}");
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
    let frame = format!("@shop>req:order{{id:\"7|pay:{pay}|schema:OD}}");
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
    let error = Typed::<Order<'_>>::decode("@shop>req:order{id:\"7|pay:{k:coin}|schema:OD}");
    insta::assert_snapshot!(error.unwrap_err(), @"");
    let error = DynamicFrame::decode(
        "@shop>req:order{id:\"7|pay:{iban:x,k:cash}|schema:OD}",
        &registry(),
    );
    insta::assert_snapshot!(error.unwrap_err(), @"");
}

/// Returns texts near those of payments.
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
        // A type leaves out unknown fields and those that are null.
        if pay.contains("other") || pay.contains('~') || typed.is_err() {
            prop_assert_eq!(typed.is_ok(), message.is_ok(), "{} {:?} {:?}", pay, typed, message);
        } else {
            prop_assert_eq!(typed, message, "{}", pay);
        }
    }
}
