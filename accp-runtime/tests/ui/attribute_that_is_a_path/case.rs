use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(accp::intent = "req", operation = "x")]
struct Task {
    task: String,
}

fn main() {}
