use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
    #[accp(flatten)]
    more: Option<accp_runtime::Map<'static>>,
}

fn main() {}
