//! Types that are not those of the runtime: newtypes, conversions by a module, foreign types.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::time::Duration;

use accp_runtime::{
    AccpFrame, AgentId, Decimal, DecodeError, EncodeError, Envelope, ErrorCode, Typed,
};

/// Seconds on the wire.
mod seconds {
    use std::num::TryFromIntError;
    use std::time::Duration;

    pub(super) fn encode(value: &Duration) -> Result<i64, TryFromIntError> {
        value.as_secs().try_into()
    }

    pub(super) fn decode(seconds: i64) -> Result<Duration, TryFromIntError> {
        seconds.try_into().map(Duration::from_secs)
    }
}

/// An address in a text, which is read without a copy.
#[expect(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    clippy::unnecessary_wraps,
    reason = "the contract of `with`"
)]
mod address {
    use std::borrow::Cow;
    use std::convert::Infallible;
    use std::net::{AddrParseError, Ipv4Addr};

    pub(super) fn encode(value: &Ipv4Addr) -> Result<String, Infallible> {
        Ok(value.to_string())
    }

    pub(super) fn decode(text: Cow<'_, str>) -> Result<Ipv4Addr, AddrParseError> {
        text.parse()
    }
}

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
#[accp(transparent)]
struct Weight(Decimal);

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(transparent)]
struct Name<'a> {
    text: Cow<'a, str>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(transparent)]
struct Tags<T>(Vec<T>);

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
#[accp(transparent)]
struct Way(Option<Trend>);

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum Trend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
    Level,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "SV", new)]
#[accp(
    intent = "req",
    operation = "move",
    ignore = "fragile",
    ignore = "speed"
)]
struct Move<'a> {
    item: Name<'a>,
    target: Place,
    trend: Way,
    #[accp(with = seconds)]
    count: Duration,
    weight: Option<Weight>,
    tags: Tags<Name<'a>>,
    #[accp(with = self::address)]
    remark: Option<Ipv4Addr>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", new)]
struct Place {
    #[accp(with = address)]
    aisle: Ipv4Addr,
    #[accp(with = "seconds", default)]
    shelf: Duration,
}

fn text(frame: &Move<'_>) -> Result<String, EncodeError> {
    Typed::new(AgentId::new("a")?, frame, Envelope::default()).encode()
}

fn read(text: &str) -> Result<Move<'_>, DecodeError> {
    Typed::decode(text).map(|typed| typed.frame)
}

#[test]
fn a_newtype_and_a_converted_field_are_written_and_read() {
    let place = Place::new(Ipv4Addr::new(10, 0, 0, 1));
    let name = |text| Name {
        text: Cow::Borrowed(text),
    };
    let plain = Move::new(name("crate_7"), place.clone(), Way(None));
    assert_eq!(plain.count, Duration::from_secs(1));
    assert_eq!(
        text(&plain).unwrap(),
        "@a>req:move{item:crate_7|who:{z:10.0.0.1}|schema:SV}"
    );

    let full = Move {
        trend: Way(Some(Trend::Up)),
        weight: Some(Weight(Decimal::from(2))),
        remark: Some(Ipv4Addr::LOCALHOST),
        count: Duration::from_secs(90),
        tags: Tags(vec![name("x")]),
        target: place.shelf(Duration::from_secs(5)),
        ..plain.clone()
    };
    let written = text(&full).unwrap();
    insta::assert_snapshot!(written, @"@a>req:move{item:crate_7|who:{sh:5,z:10.0.0.1}|trend:+|count:90|weight:2.0|tags:[x]|remark:127.0.0.1|schema:SV}");
    assert_eq!(read(&written).unwrap(), full);
    assert_eq!(read(&text(&plain).unwrap()).unwrap(), plain);
    assert!(matches!(
        read(&written).unwrap().item.text,
        Cow::Borrowed("crate_7")
    ));
    assert_eq!(full.clone().into_owned(), full);
}

#[test]
fn a_value_that_does_not_convert_is_told_in_its_place() {
    let error = |fields: &str| {
        let text = format!("@a>req:move{{item:crate_7|{fields}|schema:SV}}");
        let error = read(&text).unwrap_err();
        (error.code(), error.to_string())
    };
    let (code, told) = error("target:{z:10.0.0}");
    assert_eq!(code, ErrorCode::INVALID_TYPE);
    insta::assert_snapshot!(told, @"E1004 at byte 35 in Move.target.aisle: expected a value that its type takes (invalid IPv4 address syntax)");
    insta::assert_snapshot!(error("target:{z:~}").1, @"E1004 at byte 35 in Move.target.aisle: expected a value, which schema LC requires; null is none");
    insta::assert_snapshot!(error("target:{sh:2}").1, @"E1004 at byte 37 in Move.target: expected the field `aisle`, which schema LC requires");
    insta::assert_snapshot!(error("target:{z:10.0.0.1}|count:-1").1, @"E1004 at byte 51 in Move.count: expected a value that its type takes (out of range integral type conversion attempted)");
    insta::assert_snapshot!(error("target:{z:10.0.0.1}|count:many").1, @"E1004 at byte 51 in Move.count: expected an integer that fits i64");
    insta::assert_snapshot!(error("target:{z:10.0.0.1}|count:1|count:2").1, @"E1001 at byte 59 in Move.count: expected every key once, under its full or its short name");

    let place = Place::new(Ipv4Addr::LOCALHOST);
    let name = Name {
        text: Cow::Borrowed("crate_7"),
    };
    let late = Move::new(name, place, Way(None)).count(Duration::MAX);
    insta::assert_snapshot!(text(&late).unwrap_err(), @"Move.count: out of range integral type conversion attempted");
}
