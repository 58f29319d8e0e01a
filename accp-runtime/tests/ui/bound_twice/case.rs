use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x", bound = "T: Clone", bound(encode = "T: Copy"))]
struct Task<T> {
    task: T,
}

fn main() {}
