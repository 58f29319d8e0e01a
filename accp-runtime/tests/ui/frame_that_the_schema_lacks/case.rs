use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "req", operation = "shedule")]
struct Near {
    assignee: String,
    task: String,
}

#[derive(AccpFrame)]
#[accp(schema = "ER", intent = "req", operation = "plan")]
struct Far {
    code: String,
}

fn main() {}
