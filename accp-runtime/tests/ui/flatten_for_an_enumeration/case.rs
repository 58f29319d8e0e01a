use accp_runtime::{AccpFrame, Map};

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(intent = "req", operation = "move", ignore = "stops")]
struct Move<'a> {
    item: String,
    target: Place,
    #[accp(flatten)]
    more: Map<'a>,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC")]
struct Place {
    aisle: String,
    shelf: i64,
}

fn main() {}
