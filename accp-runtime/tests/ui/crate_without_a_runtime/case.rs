use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(crate = "std::fmt", intent = "req", operation = "x")]
struct Task {
    task: String,
}

fn main() {}
