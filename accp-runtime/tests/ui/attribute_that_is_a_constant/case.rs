use accp_runtime::AccpFrame;

const OPERATION: &str = "schedule";

#[derive(AccpFrame)]
#[accp(intent = "req", operation = OPERATION)]
struct Task {
    task: String,
}

fn main() {}
