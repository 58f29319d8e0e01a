use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Work {
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    First { task: String },
    #[accp(intent = "done", operation = "schedule")]
    Other { task: String },
    #[accp(schema = "TA", intent = "done", operation = "schedule")]
    Second { task: String },
}

fn main() {}
