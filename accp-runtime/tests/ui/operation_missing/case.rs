use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
