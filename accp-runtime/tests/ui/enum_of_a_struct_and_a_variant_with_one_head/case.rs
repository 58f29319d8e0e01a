use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x")]
struct A {
    m: Option<i64>,
}

#[derive(AccpFrame)]
enum Work<'a> {
    First(A),
    #[accp(intent = "req", operation = "x")]
    Second { n: Option<accp_runtime::Value<'a>> },
}

fn main() {}
