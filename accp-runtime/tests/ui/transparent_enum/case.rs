use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
enum Trend {
    Up,
    Down,
}

fn main() {}
