use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
enum Trend {
    Up,
    Down,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    target: Option<Trend>,
}

fn main() {}
