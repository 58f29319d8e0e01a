use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", intent = "req", operation = "move")]
struct Task {
    item: String,
}

fn main() {}
