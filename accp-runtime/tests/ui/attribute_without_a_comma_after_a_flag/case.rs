use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(new intent = "req", operation = "x")]
struct Task {
    task: String,
}

fn main() {}
