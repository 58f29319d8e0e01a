use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(new)]
enum Trend {
    Up,
    Down,
}

fn main() {}
