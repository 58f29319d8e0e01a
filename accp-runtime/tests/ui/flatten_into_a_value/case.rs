use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task<'a> {
    assignee: String,
    task: String,
    #[accp(flatten)]
    more: accp_runtime::Value<'a>,
}

fn main() {}
