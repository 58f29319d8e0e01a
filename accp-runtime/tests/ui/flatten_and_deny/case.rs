use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule", deny_unknown_fields)]
struct Task {
    assignee: String,
    task: String,
    #[accp(flatten)]
    more: std::collections::BTreeMap<String, accp_runtime::Value<'static>>,
}

fn main() {}
