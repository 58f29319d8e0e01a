use accp_runtime::AccpFrame;

struct Percent(u8);

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
#[accp(ignore = "priority", ignore = "deps")]
struct Task {
    assignee: String,
    task: String,
    progress: Percent,
}

fn main() {}
