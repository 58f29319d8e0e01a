//! `#[derive(AacpPacket)]`: types that are packets are written, read and come back.

use std::borrow::Cow;

use accp_aacp::{AacpPacket, DecodePacket, EncodePacket, IntoOwned, Packet, PacketValue};
use proptest::prelude::*;

/// A struct with keys by the name of the field, by `rename` and by a raw name, with each kind of type, and with a
/// field for all other keys.
#[derive(Debug, Clone, PartialEq, AacpPacket)]
#[aacp(task = "FLAG", dom = "LEGAL")]
struct Review<'p> {
    r#type: Cow<'p, str>,
    #[aacp(rename = "party")]
    with: String,
    clauses: Vec<Cow<'p, str>>,
    pages: Option<Vec<u16>>,
    risk: Option<Risk>,
    amount: Option<i64>,
    urgent: Option<bool>,
    #[aacp(rename = "return")]
    to: Agent<'p>,
    p: Option<u8>,
    #[aacp(skip)]
    seen: u32,
    #[aacp(extra)]
    others: Vec<(Cow<'p, str>, Cow<'p, str>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, AacpPacket)]
enum Risk {
    Low,
    #[aacp(rename = "mid")]
    Medium,
    VeryHigh,
}

#[derive(Debug, Clone, PartialEq, AacpPacket)]
#[aacp(transparent)]
struct Agent<'p>(Cow<'p, str>);

#[derive(Debug, PartialEq, AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch<'p> {
    r#return: &'p str,
    res: &'p str,
    fields: Vec<&'p str>,
    period: Option<&'p str>,
}

fn text() -> impl Strategy<Value = String> {
    "[A-Za-z0-9:=/@.\u{e4}-]([A-Za-z0-9:,=/@. \u{e4}-]{0,8}[A-Za-z0-9:=/@.\u{e4}-])?"
}

fn item() -> impl Strategy<Value = String> {
    "[A-Za-z0-9:=/@.-]{1,8}"
}

fn extras() -> impl Strategy<Value = Vec<(String, String)>> {
    let value = prop_oneof![text(), Just(String::new())];
    let unique = prop::collection::btree_map("x_[a-z]{1,4}", value, 0..6);
    unique
        .prop_map(|map| map.into_iter().collect())
        .prop_shuffle()
}

prop_compose! {
    fn review()(
        r#type in text(), with in text(), to in text(), others in extras(),
        clauses in prop::collection::vec(item(), 0..4),
        pages in prop::option::of(prop::collection::vec(any::<u16>(), 0..4)),
        risk in prop::option::of(prop::sample::select(vec![Risk::Low, Risk::Medium, Risk::VeryHigh])),
        amount in any::<Option<i64>>(), urgent in any::<Option<bool>>(), p in any::<Option<u8>>(),
    ) -> Review<'static> {
        let cow = |text: String| Cow::Owned(text);
        Review {
            r#type: cow(r#type),
            with,
            clauses: clauses.into_iter().map(cow).collect(),
            pages, risk, amount, urgent, p,
            to: Agent(cow(to)),
            seen: 0,
            others: others.into_iter().map(|(key, value)| (cow(key), cow(value))).collect(),
        }
    }
}

proptest! {
    /// AACP-35, AACP-60
    #[test]
    fn aacp_60_a_typed_packet_comes_back_with_its_extra_fields_in_order(review in review()) {
        let text = review.to_packet().unwrap();
        let packet = Packet::parse(&text).unwrap();
        let read = Review::decode(&text).unwrap();
        prop_assert_eq!(&read, &review);
        prop_assert_eq!(read.to_packet().unwrap(), &*text);

        // The text has exactly the fields that the struct has.
        let written: Vec<&str> = packet.fields().iter().map(|field| field.0).collect();
        let others: Vec<&str> = review.others.iter().map(|field| &*field.0).collect();
        prop_assert!(written.ends_with(&others));
        prop_assert_eq!(packet.get("return"), Some(&*review.to.0));
        prop_assert_eq!(packet.get("aacp"), Some("1.1"));
        prop_assert_eq!(packet.get("party"), Some(&*review.with));
        prop_assert_eq!(packet.get("clauses").is_some(), !review.clauses.is_empty());
        prop_assert_eq!(packet.get("pages").is_some(), review.pages.is_some());
        prop_assert_eq!(packet.get("amount").map(str::to_owned), review.amount.map(|n| n.to_string()));
        prop_assert_eq!(packet.get("seen"), None);
    }

    /// The order of the fields carries no meaning, but the order of the extra fields is kept.
    #[test]
    fn aacp_60_fields_are_found_in_any_order(review in review(), seed in any::<prop::sample::Index>()) {
        let text = review.to_packet().unwrap();
        let packet = Packet::parse(&text).unwrap();
        let mut fields = packet.fields().to_vec();
        let by = seed.index(fields.len());
        fields.rotate_left(by);
        let turned: Vec<String> = fields.iter().map(|(key, value)| format!("|{key}:{value}")).collect();
        let turned = format!("FLAG|LEGAL{}", turned.concat());
        let read = Review::decode(&turned).unwrap();
        let extra = fields.iter().filter(|(key, _)| key.starts_with("x_"));
        let expected: Vec<_> = extra.map(|&(k, v)| (Cow::Borrowed(k), Cow::Borrowed(v))).collect();
        prop_assert_eq!(&read.others, &expected);
        prop_assert_eq!(Review { others: review.others.clone(), ..read }, review);
    }

    /// Each field in turn is missing, or stands twice. A missing field is an error, unless the type allows it. A field
    /// that stands twice is always an error.
    #[test]
    fn aacp_35_a_packet_without_a_field_is_read_only_if_the_type_allows(review in review()) {
        let text = review.to_packet().unwrap();
        let packet = Packet::parse(&text).unwrap();
        for (index, (key, _)) in packet.fields().iter().enumerate() {
            let kept = packet.fields().iter().enumerate().filter(|(other, _)| *other != index);
            let kept: Vec<String> = kept.map(|(_, (key, value))| format!("|{key}:{value}")).collect();
            let without = format!("FLAG|LEGAL{}", kept.concat());
            let is_needed = ["return", "aacp", "type", "party"].contains(key);
            prop_assert_eq!(Review::decode(&without).is_err(), is_needed, "{}", key);
            let twice = format!("{text}|{key}:again");
            prop_assert!(Review::decode(&twice).is_err());
        }
    }
}

#[test]
fn aacp_01_a_derived_packet_has_the_head_of_its_type() {
    assert_eq!((Fetch::TASK, Fetch::DOM), ("FETCH", "HR"));
    let fetch = Fetch {
        r#return: "HR-Agent",
        res: "emp_salary",
        fields: vec!["dept", "base"],
        period: None,
    };
    let text = "FETCH|HR|return:HR-Agent|aacp:1.1|res:emp_salary|fields:dept,base";
    assert_eq!(fetch.to_packet().unwrap(), text);
    assert_eq!(Fetch::decode(text), Ok(fetch));
    for other in [text.replace("FETCH", "fetch"), text.replace("HR|", "FIN|")] {
        let error = Fetch::decode(&other).unwrap_err();
        assert_eq!(error.to_string(), "expected a packet FETCH|HR");
    }
}

#[test]
fn aacp_02_a_value_that_the_type_cannot_hold_is_refused_at_its_byte() {
    let error = |fields: &str| {
        let text = format!("FLAG|LEGAL|return:a|aacp:1.1|type:NDA|party:b|{fields}");
        Review::decode(&text).unwrap_err().to_string()
    };
    insta::assert_snapshot!([
        error("risk:high"), error("pages:1,x"), error("pages:1,,2"), error("amount:007"), error("urgent:yes"), error("p:256"),
    ].join("\n"), @r"
    in `risk` (field 6, byte 51): expected one of low, mid, very_high
    in `pages` (field 6, byte 52): expected a whole number from 0 to 65535
    in `pages` (field 6, byte 52): expected a whole number from 0 to 65535
    in `amount` (field 6, byte 53): expected a whole number from -2^63 to 2^63 - 1
    in `urgent` (field 6, byte 53): expected true or false
    in `p` (field 6, byte 48): expected a whole number from 0 to 255
    ");
}

#[test]
fn aacp_60_a_struct_without_a_place_for_an_unknown_field_refuses_it() {
    let text = "FETCH|HR|return:HR-Agent|aacp:1.1|res:emp_salary|fmt:json";
    let error = Fetch::decode(text).unwrap_err();
    assert_eq!((error.field(), error.at()), (Some(5), Some(49)));
    insta::assert_snapshot!(error, @r"
    the type has no field for the key (field 5, byte 49); give the type a field for extra keys
    ");
}

#[test]
fn aacp_03_extra_fields_cannot_make_a_packet_that_no_reader_takes() {
    let review = |key: &str, value: &str| Review {
        r#type: "NDA".into(),
        with: "Acme".into(),
        clauses: Vec::new(),
        pages: None,
        risk: None,
        amount: None,
        urgent: None,
        to: Agent("LEG-Agent".into()),
        p: None,
        seen: 0,
        others: vec![(key.to_owned().into(), value.to_owned().into())],
    };
    assert!(review("note", "a:b").to_packet().is_ok());
    for (key, value) in [
        ("return", "mallory"),
        ("aacp", "9.9"),
        ("party", "b"),
        ("note", "x|return:mallory"),
        ("note", "x\n"),
        ("a b", "x"),
        ("a|b", "x"),
        ("", "x"),
    ] {
        assert!(review(key, value).to_packet().is_err(), "{key} {value}");
    }
}

#[test]
fn the_version_is_filled_in_unless_the_struct_has_it() {
    #[derive(Debug, PartialEq, AacpPacket)]
    #[aacp(task = "ACK", dom = "IT")]
    struct Ack {
        note: String,
        aacp: String,
        r#return: String,
    }
    let text = "ACK|IT|return:a|aacp:1.2|note:done";
    let ack = Ack::decode(text).unwrap();
    assert_eq!(
        (&*ack.aacp, ack.to_packet().unwrap().as_str()),
        ("1.2", text)
    );
    let fetch = Fetch::decode("FETCH|HR|return:a|aacp:1.2|res:b").unwrap();
    assert_eq!(
        fetch.to_packet().unwrap(),
        "FETCH|HR|return:a|aacp:1.1|res:b"
    );
}

#[test]
fn types_have_parameters_owned_forms_and_constructors() {
    #[derive(Debug, PartialEq, AacpPacket)]
    #[aacp(task = "CALC", dom = "FIN", new)]
    struct Sum<'p, T: Clone>
    where
        T: PartialEq,
    {
        r#return: Cow<'p, str>,
        amounts: Vec<T>,
        total: Option<T>,
    }
    #[derive(Debug, Clone, PartialEq, AacpPacket)]
    #[aacp(transparent)]
    struct Wrapped<T>(T);

    fn owned(text: &str) -> Sum<'static, u32> {
        Sum::<u32>::decode(text).unwrap().into_owned()
    }
    fn is_owned<T: IntoOwned>() {}
    is_owned::<Review<'_>>();

    let sum = Sum::<u32>::new("FIN-Agent", [1_u32, 2]).total(3_u32);
    let text = sum.to_packet().unwrap();
    assert_eq!(
        text,
        "CALC|FIN|return:FIN-Agent|aacp:1.1|amounts:1,2|total:3"
    );
    assert_eq!(owned(&text), sum);
    let words = Sum::<&str>::decode(&text).unwrap();
    assert_eq!((words.amounts, words.total), (vec!["1", "2"], Some("3")));
    assert!(Sum::<Wrapped<u32>>::decode(&text).unwrap().amounts == [Wrapped(1), Wrapped(2)]);
    assert_eq!(Wrapped::<bool>::read("true"), Ok(Wrapped(true)));
    assert!(Sum::<Wrapped<bool>>::decode(&text).is_err());
}
