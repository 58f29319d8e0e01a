use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = b"req", operation = "x", schema = 'c')]
struct Task {
    task: String,
}

fn main() {}
