use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    #[accp(rename = "colour")]
    color: String,
}

fn main() {}
