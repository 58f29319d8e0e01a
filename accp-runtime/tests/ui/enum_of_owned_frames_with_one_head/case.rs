use accp_runtime::AccpFrame;
use std::borrow::Cow;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct Task<'a> {
    task: Cow<'a, str>,
}

#[derive(AccpFrame)]
enum Inner<'a> {
    Boxed(Box<Task<'a>>),
}

#[derive(AccpFrame)]
enum Outer {
    Inner(Inner<'static>),
    #[accp(intent = "req", operation = "y")]
    Other {},
    Task(Box<Task<'static>>),
}

fn main() {}
