use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "schedule")]
struct Task<'a> {
    assignee: String,
    task: String,
    #[accp(flatten, rename = "more")]
    rest: accp_runtime::Map<'a>,
}

fn main() {}
