//! Items whose generics, lifetimes and attributes are unusual: each item compiles, and a frame that it writes is read
//! back equal.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "items and helpers of tests"
)]

mod owned;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use accp_runtime::{
    AccpFrame, AgentId, DecodeFrame, DecodeValue, EncodeFrame, EncodeValue, Envelope, IntoOwned,
    Map, Typed, Value, kind,
};

use owned::Borrowing;

/// Returns the text of a frame.
fn text<T: EncodeFrame>(frame: T) -> String {
    let agent = AgentId::new("dev").unwrap();
    Typed::new(agent, frame, Envelope::default())
        .encode()
        .unwrap()
}

#[track_caller]
fn back<T>(frame: T)
where
    T: EncodeFrame + for<'a> DecodeFrame<'a> + PartialEq + Debug,
{
    let text = text(&frame);
    assert_eq!(Typed::<T>::decode(&text).unwrap().frame, frame, "{text}");
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct Unsized<U: ?Sized> {
    a: i64,
    #[accp(skip)]
    u: PhantomData<U>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct UnsizedInWhere<U>
where
    U: ?Sized + Debug,
{
    a: i64,
    #[accp(skip)]
    u: PhantomData<U>,
}

#[test]
fn a_parameter_may_be_unsized() {
    back(Unsized::<str> {
        a: 1,
        u: PhantomData,
    });
    back(UnsizedInWhere::<[u8]> {
        a: 1,
        u: PhantomData,
    });
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct HigherRanked<F: for<'x> Fn(&'x str) -> &'x str, G = u8>
where
    for<'y> G: PartialEq<G>,
{
    a: i64,
    #[accp(skip)]
    f: PhantomData<F>,
    #[accp(skip)]
    g: G,
}

#[test]
fn a_bound_may_be_higher_ranked() {
    back(HigherRanked::<fn(&str) -> &str> {
        a: 1,
        f: PhantomData,
        g: 0,
    });
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x", new)]
struct Constant<const N: usize = 3> {
    a: i64,
    #[accp(skip)]
    zeros: Filler<N>,
}

#[derive(Debug, Clone, PartialEq)]
struct Filler<const N: usize>([u8; N]);

impl<const N: usize> Default for Filler<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x")]
struct Array<T, const N: usize> {
    a: T,
    #[accp(skip)]
    zeros: [u8; N],
}

#[test]
fn a_parameter_may_be_a_constant() {
    back(Constant::<3>::new(1));
    back(Array::<i64, 4> {
        a: 1,
        zeros: [0; 4],
    });
}

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct Projected<I: Iterator>
where
    I::Item: Debug,
{
    a: I::Item,
    b: Option<<I as Iterator>::Item>,
}

#[test]
fn a_field_may_have_an_associated_type() {
    type Ours = Projected<std::vec::IntoIter<i64>>;
    let text = text(Ours { a: 7, b: None });
    let read = Typed::<Ours>::decode(&text).unwrap().frame.into_owned();
    assert_eq!((read.a, read.b), (7, None));
}

/// A trait that occurs only in bounds that the user writes. The derive does not know the trait.
trait Name {
    type Wire;
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(
    intent = "req",
    operation = "x",
    bound(
        encode = "N: Name, N::Wire: EncodeValue<kind::Any>",
        decode = "N: Name, N::Wire: DecodeValue<'accp, kind::Any>",
    )
)]
struct Bounded<N: Name> {
    a: N::Wire,
}

#[derive(Debug, Clone, PartialEq)]
struct Short;

impl Name for Short {
    type Wire = i64;
}

#[test]
fn a_bound_may_be_given() {
    back(Bounded::<Short> { a: 5 });
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(bound = "")]
enum Choice<T> {
    #[accp(intent = "req", operation = "x")]
    X {
        a: i64,
        #[accp(skip)]
        none: PhantomData<T>,
    },
}

/// The type has no codec and no default.
#[derive(Debug, Clone, PartialEq)]
struct Opaque;

#[test]
fn bounds_may_be_left_out() {
    back(Choice::<Opaque>::X {
        a: 1,
        none: PhantomData,
    });
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x", new)]
struct Shared {
    a: Box<str>,
    b: Option<Box<str>>,
    c: BTreeMap<Box<str>, std::sync::Arc<str>>,
}

#[test]
fn a_text_may_stand_behind_any_pointer() {
    back(Shared {
        a: "a b".into(),
        b: Some("".into()),
        c: BTreeMap::from([("k".into(), "v".into())]),
    });
}

/// A macro by example passes types on in invisible groups.
macro_rules! items {
    ($ty:ty, $frame:ty, $any:ty, $extra:path, $intent:literal) => {
        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        #[accp(transparent)]
        struct Wrapped($ty);

        #[derive(AccpFrame)]
        #[accp(intent = $intent, operation = "made", new)]
        struct Made<'a> {
            required: $ty,
            optional: Option<$ty>,
            list: Vec<Option<$ty>>,
            #[accp(skip)]
            ignored: Option<&'a $any>,
            #[accp(flatten)]
            rest: $extra,
        }

        #[derive(AccpFrame, Debug, Clone, PartialEq)]
        enum MadeFrames {
            Frame($frame),
            Done(Done),
        }
    };
}

items!(
    Value<'static>,
    Borrowing<'static, i64>,
    dyn Debug + Sync,
    Map<'static>,
    "req"
);

#[test]
fn a_type_may_come_from_a_macro() {
    let made = Made::new(1, vec![Some(Value::from(2))]).optional(3);
    let text = text(made);
    let read = Typed::<Made<'_>>::decode(&text).unwrap().frame;
    assert_eq!((read.required, read.optional), (1.into(), Some(3.into())));
    back(MadeFrames::Frame(Borrowing {
        a: "a".into(),
        t: 1,
        rest: Map::default(),
    }));
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(rename_all = "SCREAMING-KEBAB-CASE")]
enum Level {
    VeryLow,
    #[accp(rename = "top")]
    Top,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "req", operation = "x", rename_all = "camelCase")]
struct Renamed {
    sku_number: i64,
    #[accp(rename = "own")]
    own_name: Level,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum RenamedVariant {
    #[accp(intent = "req", operation = "x", rename_all = "PascalCase")]
    X { sku_number: i64 },
}

#[test]
fn names_may_have_another_case() {
    let renamed = |level| Renamed {
        sku_number: 1,
        own_name: level,
    };
    let shown = text(renamed(Level::VeryLow));
    assert_eq!(shown, "@dev>req:x{own:VERY-LOW|skuNumber:1}");
    back(renamed(Level::Top));
    let shown = text(RenamedVariant::X { sku_number: 1 });
    assert_eq!(shown, "@dev>req:x{SkuNumber:1}");
}

/// An enum whose variants hold only type parameters, so only the types in their places decide which frames it accepts.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum Either<A, B> {
    A(A),
    B(B),
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(intent = "done", operation = "x")]
struct Done {
    b: i64,
}

#[test]
fn an_enum_may_have_its_frames_as_parameters() {
    back(Either::<Done, Array<i64, 2>>::A(Done { b: 1 }));
}

/// A module in which every primitive type and every name of the prelude means another type.
mod shadowed {
    #![allow(non_camel_case_types, unreachable_pub, unused)]

    macro_rules! shadow {
        ($($name:ident)*) => { $(pub struct $name;)* };
    }

    shadow! {
        bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64
        Option Some None Result Ok Err String Vec Box Into From Default Iterator IntoIterator
        Clone Copy Send Sync Sized Drop Fn FnMut FnOnce ToOwned ToString AsRef AsMut Extend Eq Ord
        PartialEq PartialOrd TryFrom TryInto FromIterator DoubleEndedIterator ExactSizeIterator
        core std alloc
    }

    type Int = ::core::primitive::i64;
    type Text = ::std::string::String;

    #[derive(::accp_runtime::AccpFrame)]
    pub enum Level {
        Low,
        #[accp(symbol = "+")]
        High,
    }

    #[derive(::accp_runtime::AccpFrame)]
    #[accp(transparent)]
    pub struct Id(Int);

    #[derive(::accp_runtime::AccpFrame)]
    pub struct Nested {
        pub a: ::core::option::Option<Int>,
    }

    #[derive(::accp_runtime::AccpFrame)]
    #[accp(schema = "TA", intent = "done", operation = "schedule", new)]
    pub struct Task<'a> {
        pub task: Text,
        #[accp(flatten)]
        pub rest: ::accp_runtime::Map<'a>,
    }

    #[derive(::accp_runtime::AccpFrame)]
    #[accp(intent = "req", operation = "x", new)]
    pub struct Frame<T> {
        pub level: Level,
        pub id: Id,
        pub nested: ::std::vec::Vec<Nested>,
        pub t: T,
        #[accp(skip)]
        pub skipped: ::core::option::Option<Int>,
    }

    #[derive(::accp_runtime::AccpFrame)]
    pub enum Frames<'a> {
        Task(Task<'a>),
        #[accp(intent = "req", operation = "y")]
        Y {
            a: Int,
        },
    }
}

#[test]
fn names_of_the_language_may_be_shadowed() {
    let frame = shadowed::Frames::Y { a: 1 };
    assert_eq!(text(frame), "@dev>req:y{a:1}");
}
