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
enum Work {
    First(A),
    Second(B),
}

fn main() {}
