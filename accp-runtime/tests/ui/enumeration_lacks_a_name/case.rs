use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Trend {
    #[accp(symbol = "+")]
    Up,
    #[accp(symbol = "-")]
    Down,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV", intent = "req", operation = "move")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    target: Place,
    trend: Option<Trend>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC")]
#[accp(ignore = "shelf")]
struct Place {
    aisle: String,
}

fn main() {}
