use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "please", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
