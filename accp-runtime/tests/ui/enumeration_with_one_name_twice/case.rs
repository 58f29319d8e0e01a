use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Trend {
    Up,
    #[accp(rename = "up")]
    Rising,
    #[accp(symbol = "a,b")]
    Level,
}

fn main() {}
