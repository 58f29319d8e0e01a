//! Frames that own the values of user types, although these types borrow from the text in other frames.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use accp_runtime::{AccpFrame, Map, Typed, Value};

use super::{Done, back, text};

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct OwnedMap {
    a: Option<Value<'static>>,
    #[accp(flatten)]
    rest: Map<'static>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct OwnedTree {
    #[accp(flatten)]
    rest: BTreeMap<String, Value<'static>>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "done", operation = "schedule")]
struct OwnedHash {
    task: Cow<'static, str>,
    #[accp(flatten)]
    rest: HashMap<Cow<'static, str>, Value<'static>>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct OwnedKeys {
    #[accp(flatten)]
    rest: BTreeMap<Cow<'static, str>, String>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct OwnedBesideBorrowed<'a> {
    a: Cow<'a, str>,
    #[accp(flatten)]
    rest: Map<'static>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum OwnedInVariant {
    #[accp(intent = "req", operation = "x")]
    X {
        #[accp(flatten)]
        rest: Map<'static>,
    },
}

#[test]
fn extra_params_may_be_owned() {
    let rest = || -> Map<'static> { [("zz", Value::from(1))].into_iter().collect() };
    back(OwnedMap {
        a: Some(Value::from(1)),
        rest: rest(),
    });
    back(OwnedTree {
        rest: BTreeMap::from([("zz".to_owned(), Value::from(2))]),
    });
    back(OwnedHash {
        task: "a".into(),
        rest: HashMap::from([
            ("zz".into(), Value::from(2)),
            ("progress".into(), Value::from(3)),
        ]),
    });
    back(OwnedKeys {
        rest: BTreeMap::from([("zz".into(), "a".to_owned())]),
    });
    back(OwnedInVariant::X { rest: rest() });
    let text = text(OwnedBesideBorrowed {
        a: "a".into(),
        rest: rest(),
    });
    let read = Typed::<OwnedBesideBorrowed<'_>>::decode(&text).unwrap();
    assert_eq!(read.frame.rest, rest());
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
struct Held<'a, T = i64> {
    a: Cow<'a, str>,
    t: Option<T>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(transparent)]
struct Title<'a>(Cow<'a, str>);

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(transparent)]
struct OwnName(Title<'static>);

/// Another name for a type of the runtime.
type Texts<'a> = Vec<Cow<'a, str>>;

/// The `'static` fields own values of types that borrow in other frames.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct OwnedInside<T> {
    held: Held<'static>,
    more: Option<Vec<Held<'static, T>>>,
    by_name: BTreeMap<Cow<'static, str>, Title<'static>>,
    own_name: OwnName,
    texts: Option<Texts<'static>>,
    boxed: Option<Box<Value<'static>>>,
    hashed: HashMap<String, Value<'static>, std::hash::RandomState>,
}

/// A frame that borrows, and enums that own it.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "y")]
pub(crate) struct Borrowing<'accp, T> {
    pub(crate) a: Cow<'accp, str>,
    pub(crate) t: T,
    #[accp(flatten)]
    pub(crate) rest: Map<'accp>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum OwnedFrames<T> {
    Plain(Borrowing<'static, T>),
    Boxed(Box<Done>),
}

#[test]
fn an_owned_type_of_the_user_may_hold_what_borrows() {
    let held = |a: &'static str| Held {
        a: a.into(),
        t: Some(1),
    };
    let inside = OwnedInside::<i64> {
        held: held("a b"),
        more: Some(vec![held("c"), held("d")]),
        by_name: BTreeMap::from([("one".into(), Title("o".into()))]),
        own_name: OwnName(Title("own".into())),
        texts: Some(vec!["t".into()]),
        boxed: Some(Box::new(Value::from(1))),
        hashed: HashMap::from([("h".to_owned(), Value::from(2))]),
    };
    // The text is dropped before the value that was read from it.
    let read = {
        let text = text(&inside);
        Typed::<OwnedInside<i64>>::decode(&text).unwrap().frame
    };
    assert_eq!(read, inside);
    back(OwnedFrames::<i64>::Plain(Borrowing {
        a: "a".into(),
        t: 1,
        rest: [("zz", Value::from(1))].into_iter().collect(),
    }));
    back(OwnedFrames::<i64>::Boxed(Box::new(Done { b: 1 })));
}
