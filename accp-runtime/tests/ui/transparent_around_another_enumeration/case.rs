use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(transparent)]
struct Way(Trend);

#[derive(AccpFrame)]
enum Trend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
    Levels,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    trend: Option<Way>,
}

fn main() {}
