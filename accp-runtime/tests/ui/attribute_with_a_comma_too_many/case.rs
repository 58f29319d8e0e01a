use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x",, new)]
struct Task {
    #[accp(, rename = "b")]
    a: i64,
}

#[derive(AccpFrame)]
#[accp(intent = "req" "done", operation = "x")]
struct Other {
    a: i64,
}

fn main() {}
