use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
