//! Values that only newer peers know.

use accp_runtime::{AccpFrame, DynamicFrame, Registry, Typed, Value};
use proptest::prelude::*;

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum Trend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
    Level,
    #[accp(other)]
    Other(String),
}

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum ClosedTrend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
    Level,
}

macro_rules! moves {
    ($($name:ident: $trend:ty;)*) => {$(
        #[derive(AccpFrame, Debug, PartialEq)]
        #[accp(registry = "registry/warehouse.json", schema = "SV")]
        #[accp(intent = "req", operation = "move")]
        #[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
        struct $name {
            item: String,
            target: Place,
            trend: Option<$trend>,
        }
    )*};
}

moves! {
    Open: Trend;
    Closed: ClosedTrend;
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place {
    aisle: String,
    note: Option<String>,
}

fn warehouse() -> Registry {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/registry/warehouse.json");
    Registry::load(path).unwrap()
}

#[test]
fn an_unknown_value_is_written_as_it_was_read() {
    let text = "@a>req:move{item:x|who:{z:b}|trend:sideways|schema:SV}";
    let moved = Typed::<Open>::decode(text).unwrap();
    assert_eq!(moved.frame.trend, Some(Trend::Other("sideways".to_owned())));
    assert_eq!(moved.encode().unwrap(), text);
    // A closed enumeration and a registry refuse the unknown value.
    insta::assert_snapshot!(Typed::<Closed>::decode(text).unwrap_err(), @"E1004 at byte 35 in Closed.trend: expected one of up, down, level");
    insta::assert_snapshot!(DynamicFrame::decode(text, &warehouse()).unwrap_err(), @"E1004 at byte 35 in trend: expected a value of type enum(up=+,down=-,level)");
    let known = text.replace("sideways", "up");
    assert_eq!(
        Typed::<Open>::decode(&known).unwrap().frame.trend,
        Some(Trend::Up)
    );
}

/// Returns the registry of a newer peer, whose enumeration has one value more.
fn with_value(value: &str) -> Option<Registry> {
    let json = warehouse().to_json().to_string();
    let more = format!("enum(up=+,down=-,level,{value})");
    let more = serde_json::to_string(&more).unwrap();
    let json = json.replace("\"enum(up=+,down=-,level)\"", &more);
    Registry::from_json(&json).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// An open enumeration accepts any value of a newer registry, and writes the value back to the byte. The older
    /// registry of the reader refuses the value, and so do `check` and a host.
    #[test]
    fn a_value_of_a_newer_registry_comes_through(value in "[!-+.-<>-~-]{1,12}|level[a-z]|[a-z]{1,60}|-?[0-9]{1,4}|true") {
        let Some(newer) = with_value(&value) else { return Ok(()) };
        let message = DynamicFrame::decode("@a>req:move{item:x|who:{z:b}|schema:SV}", &newer).unwrap();
        let text = message.with("trend", value.clone()).encode(&newer).unwrap();
        let open = Typed::<Open>::decode(&text).unwrap();
        prop_assert_eq!(&open.frame.trend, &Some(Trend::Other(value)), "{}", text);
        prop_assert_eq!(open.encode().unwrap(), text.clone());
        prop_assert!(Typed::<Closed>::decode(&text).is_err(), "{}", text);
        prop_assert!(DynamicFrame::decode(&text, &warehouse()).is_err(), "{}", text);
    }

    /// Types, `check` and dynamic frames give one verdict and one value, whichever names the keys have. A type that
    /// takes unknown values also accepts frames that the others refuse only because of such a value.
    #[test]
    fn readers_agree_on_aliases_and_unknown_values(
        item in prop::sample::subsequence(vec!["item", "goods"], 0..=2),
        aisle in prop::sample::subsequence(vec!["z", "aisle", "row", "r"], 0..=2),
        note in prop::sample::subsequence(vec!["note", "comment"], 0..=2),
        trend in prop::option::of("[+-]|up|level|[a-z]{1,5}|~"),
    ) {
        let inner = aisle.iter().map(|key| format!("{key}:b"));
        let inner: Vec<_> = inner.chain(note.iter().map(|key| format!("{key}:far"))).collect();
        let mut params: Vec<_> = item.iter().map(|key| format!("{key}:x")).collect();
        params.push(format!("who:{{{}}}", inner.join(",")));
        params.extend(trend.iter().map(|value| format!("trend:{value}")));
        let text = format!("@a>req:move{{{}|schema:SV}}", params.join("|"));

        let registry = warehouse();
        let dynamic = DynamicFrame::decode(&text, &registry);
        let (closed, open) = (Typed::<Closed>::decode(&text), Typed::<Open>::decode(&text));
        prop_assert_eq!(dynamic.is_ok(), closed.is_ok(), "{}", text);
        let is_one = item.len() == 1 && aisle.len() == 1 && note.len() < 2;
        prop_assert_eq!(open.is_ok(), is_one, "{}", text);
        let Ok(open) = open else { return Ok(()) };
        prop_assert_eq!(closed.is_err(), matches!(open.frame.trend, Some(Trend::Other(_))));
        let written = open.encode().unwrap();
        prop_assert_eq!(&Typed::<Open>::decode(&written).unwrap(), &open);
        for alias in ["goods", "row:", "r:", "comment"] {
            prop_assert!(!written.contains(alias), "{}", written);
        }
        if let Ok(dynamic) = dynamic {
            prop_assert_eq!(dynamic.payload.get("item"), Some(&Value::from("x")));
            prop_assert_eq!(dynamic.encode(&registry).unwrap().replace("|trend:~", ""), written);
        }
    }
}
