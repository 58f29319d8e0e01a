use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x", new)]
struct Task {
    task: i64,
}

impl Task {
    fn new() -> Self {
        Self { task: 1 }
    }
}

fn main() {}
