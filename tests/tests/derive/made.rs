//! Values that a program makes: constructors, setters, owned values.

use std::borrow::Cow;
use std::collections::BTreeMap;

use accp_runtime::{
    AccpFrame, AgentId, Decimal, Envelope, ErrorCode, IntoOwned, Map, Typed, Value,
};

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(schema = "TA", intent = "req", operation = "schedule", new)]
struct ScheduleReq<'a> {
    assignee: Cow<'a, str>,
    task: Cow<'a, str>,
    priority: Priority,
    deadline: Option<Cow<'a, str>>,
    deps: Vec<Cow<'a, str>>,
    progress: Option<i64>,
    #[accp(skip)]
    seen: Option<&'static str>,
    #[accp(flatten)]
    more: Map<'a>,
}

#[derive(AccpFrame, Debug, Clone, Copy, PartialEq)]
enum Priority {
    Low,
    Medium,
    High,
}

/// Returns the text of a frame.
macro_rules! text {
    ($frame:expr) => {
        Typed::new(AgentId::new("a").unwrap(), $frame, Envelope::default())
            .encode()
            .unwrap()
    };
}

#[test]
fn a_constructor_takes_what_is_required() {
    let plain = ScheduleReq::new("dev", "impl_auth");
    assert_eq!(plain.priority, Priority::Medium);
    assert_eq!(
        text!(plain),
        "@a>req:schedule{asgn:dev|task:impl_auth|schema:TA}"
    );

    let dev = AgentId::new("dev").unwrap();
    let extra: Map<'_> = [("note", Value::from("soon"))].into_iter().collect();
    let full = ScheduleReq::new(&dev, String::from("impl_auth"))
        .priority(Priority::High)
        .deadline("friday")
        .deps(["db", "api"])
        .progress(40)
        .more(extra);
    insta::assert_snapshot!(text!(full), @"@a>req:schedule{asgn:dev|task:impl_auth|pri:high|dead:friday|deps:[db,api]|prog:40|note:soon|schema:TA}");
}

#[test]
fn a_reference_to_a_frame_is_written() {
    let frame = &ScheduleReq::new("dev", "impl_auth");
    assert_eq!(text!(frame), text!(&&frame));
    assert_eq!(text!(frame), text!(frame.clone()));
}

/// An agent id that is given as a text is checked only when it is written.
#[test]
fn a_name_that_is_no_agent_id_is_told_by_encode() {
    let frame = ScheduleReq::new("dev team", "impl_auth");
    let typed = Typed::new(AgentId::new("a").unwrap(), frame, Envelope::default());
    let error = typed.encode().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TYPE);
    insta::assert_snapshot!(error, @"ScheduleReq.assignee: `dev team` is not an agent id: letters, digits, '-' and '_' only");
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "SV", new)]
struct Every<'a> {
    item: String,
    count: u8,
    fragile: Option<bool>,
    tags: Vec<String>,
    speed: Cow<'a, str>,
    weight: Option<Decimal>,
    by: Option<AgentId<'a>>,
    labels: Option<BTreeMap<Cow<'a, str>, Value<'a>>>,
    target: Option<Place<'a>>,
    #[accp(rename = "stops")]
    new: Option<Vec<Place<'a>>>,
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
#[accp(registry = "registry/warehouse.json", schema = "LC", new)]
struct Place<'a> {
    #[accp(rename = "aisle")]
    default: Cow<'a, str>,
    shelf: Option<i64>,
}

#[test]
fn defaults_are_those_of_the_registry() {
    let made = Every::new("crate_7");
    assert_eq!(
        (made.count, made.fragile, &*made.speed),
        (1, Some(false), "normal")
    );
    assert!(made.tags.is_empty() && made.weight.is_none());
    let place = Place::new("a");
    assert_eq!(place.shelf, Some(1));
}

#[test]
fn a_setter_never_hides_another_method() {
    let made = Every::new("crate_7")
        .with_new([Place::new("b").shelf(3)])
        .weight(12)
        .by(AgentId::new("bob").unwrap())
        .fragile(true);
    assert_eq!(made.new.unwrap()[0].shelf, Some(3));
    assert_eq!(made.weight, Some(Decimal::from(12)));
}

#[derive(AccpFrame, Debug, PartialEq)]
#[accp(intent = "qry", operation = "lookup", new)]
struct Lookup<T> {
    from: Option<T>,
    others: Option<Vec<T>>,
}

#[test]
fn a_struct_that_requires_nothing_has_a_default() {
    assert_eq!(
        Lookup::<i64>::default(),
        Lookup {
            from: None,
            others: None
        }
    );
    assert_eq!(
        Lookup::new().from(5).others([1, 2]),
        Lookup {
            from: Some(5),
            others: Some(vec![1, 2])
        }
    );
}

#[derive(AccpFrame, Debug, Clone, PartialEq)]
enum Work<'a> {
    Schedule(ScheduleReq<'a>),
    #[accp(schema = "TA", intent = "done", operation = "execute")]
    Done {
        task: Cow<'a, str>,
        status: Option<String>,
    },
    #[accp(intent = "ping", operation = "link")]
    Ping {},
}

/// Reads a frame from a text that lives no longer than the call.
fn read<T>(text: &str) -> Typed<'static, T>
where
    for<'t> <T as accp_runtime::FrameFamily>::Frame<'t>: IntoOwned<Owned = T>,
    T: accp_runtime::FrameFamily,
{
    Typed::<T::Frame<'_>>::decode(text).unwrap().into_owned()
}

#[test]
fn an_owned_frame_crosses_threads() {
    for text in [
        "@a>req:schedule{asgn:dev|task:impl_auth|deps:[db]|note:{k:v}|schema:TA}[mid:100001000001]",
        "@a>done:execute{task:impl_auth|stat:ok|schema:TA}",
        "@a>ping:link{}",
    ] {
        let work = read::<Work<'static>>(text);
        let back = std::thread::spawn(move || work.encode().unwrap());
        assert_eq!(back.join().unwrap(), text);
    }
}

/// A type that contains itself and has a type parameter.
#[derive(AccpFrame, Debug, Clone, PartialEq)]
struct Tree<'a, T> {
    name: Cow<'a, str>,
    of: T,
    parts: Vec<Tree<'a, T>>,
    by_name: Option<BTreeMap<Cow<'a, str>, Priority>>,
}

#[test]
fn an_owned_value_is_equal() {
    let leaf = |name| Tree {
        name,
        of: 7,
        parts: Vec::new(),
        by_name: None,
    };
    let by_name = [(Cow::Borrowed("x"), Priority::Low)].into();
    let tree = Tree {
        parts: vec![leaf(Cow::Borrowed("leaf"))],
        by_name: Some(by_name),
        ..leaf(Cow::Borrowed("root"))
    };
    let owned: Tree<'static, i32> = tree.clone().into_owned();
    assert_eq!(owned, tree);
    assert!(matches!(owned.parts[0].name, Cow::Owned(_)));
}

/// A field that frames do not have may borrow. The derive accepts such a struct, but the struct has no owned form.
#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Near<'a> {
    source: Cow<'a, str>,
    #[accp(skip)]
    at: Option<&'a str>,
}

#[test]
fn a_frame_without_an_owned_form_can_be_derived() {
    let near = Typed::<Near<'_>>::decode("@a>qry:lookup{src:db}")
        .unwrap()
        .frame;
    assert_eq!((&*near.source, near.at), ("db", None));
}
