use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/faulty.json", schema = "SV", intent = "req", operation = "move")]
struct Task {
    item: String,
}

fn main() {}
