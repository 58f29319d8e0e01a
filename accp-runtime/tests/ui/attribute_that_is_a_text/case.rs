use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp("intent", operation = "x")]
struct Task {
    task: String,
}

fn main() {}
