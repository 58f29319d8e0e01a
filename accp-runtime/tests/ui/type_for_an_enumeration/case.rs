use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    trend: Option<String>,
    target: String,
    stops: String,
    weight: f64,
}

fn main() {}
