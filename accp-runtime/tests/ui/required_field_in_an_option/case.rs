use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: Option<String>,
    task: String,
    deadline: Option<String>,
}

fn main() {}
