use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "x", bound(serialize = "T: Clone"))]
struct Task<T> {
    task: T,
}

fn main() {}
