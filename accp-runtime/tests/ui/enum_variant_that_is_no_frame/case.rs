use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    Task(Task),
    Nothing,
    Pair(u8, u8),
    Fields { a: String },
}

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
