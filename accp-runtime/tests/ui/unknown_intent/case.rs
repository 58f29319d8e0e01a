use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "rqe", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
