use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA" intent = "done", operation = "schedule")]
struct Task {
    task: String,
}

fn main() {}
