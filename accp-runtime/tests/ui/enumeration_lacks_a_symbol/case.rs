use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Trend {
    Up,
    #[accp(symbol = "-")]
    Down,
    Level,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    trend: Option<Trend>,
}

fn main() {}
