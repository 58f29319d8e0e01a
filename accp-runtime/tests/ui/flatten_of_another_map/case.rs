use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task {
    assignee: String,
    task: String,
    #[accp(flatten)]
    rest: std::collections::BTreeMap<u8, String>,
}

fn main() {}
