use accp_runtime::AccpFrame;

#[derive(AccpFrame, Default)]
#[accp(intent = "req", operation = "x", new)]
struct Task {
    task: Option<i64>,
}

fn main() {}
