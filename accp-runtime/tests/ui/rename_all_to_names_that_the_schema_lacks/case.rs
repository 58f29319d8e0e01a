use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TA", intent = "done", operation = "schedule", rename_all = "UPPERCASE")]
struct Task {
    task: String,
}

fn main() {}
