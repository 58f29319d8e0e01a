use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct A {
    m: Option<i64>,
}

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct B {
    n: Option<i64>,
}

#[derive(AccpFrame)]
enum Inner {
    A(A),
    #[accp(intent = "ack", operation = "y")]
    Y {},
}

#[derive(AccpFrame)]
enum Work {
    Inner(Inner),
    Second(B),
}

fn main() {}
