use std::time::Duration;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    weight: Option<Duration>,
    labels: Option<std::collections::HashMap<String, Duration>>,
}

fn main() {}
