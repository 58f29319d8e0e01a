use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", opertaion = "x")]
struct Task {
    task: String,
}

fn main() {}
