use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(crate = acp_runtime, intent = "req", operation = "x")]
struct Task {
    task: String,
}

fn main() {}
