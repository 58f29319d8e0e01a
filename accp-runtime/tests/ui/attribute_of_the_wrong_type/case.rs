use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = TA, intent = 7, operation("schedule"))]
struct Task {
    assignee: String,
    task: String,
}

fn main() {}
