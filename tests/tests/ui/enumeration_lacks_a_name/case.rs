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
struct Move {
    item: String,
    target: Place,
    trend: Option<Trend>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC")]
struct Place {
    aisle: String,
}

fn main() {}
