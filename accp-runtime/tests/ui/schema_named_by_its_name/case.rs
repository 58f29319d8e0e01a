use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "task_assignment", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
