use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(scheme = "TA", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
