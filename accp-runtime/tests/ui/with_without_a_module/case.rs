use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    #[accp(with)]
    deadline: Option<std::time::Duration>,
}

fn main() {}
