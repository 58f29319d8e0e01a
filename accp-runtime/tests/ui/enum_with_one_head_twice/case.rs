use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    #[accp(intent = "req", operation = "x")]
    First { m: Option<i64> },
    #[accp(intent = "req", operation = "x")]
    Second { n: Option<i64> },
}

fn main() {}
