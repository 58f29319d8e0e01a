use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV", intent = "req", operation = "move")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    target: Option<Place>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place {
    aisle: String,
}

fn main() {}
