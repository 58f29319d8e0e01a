use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
struct Move {
    item: String,
    trend: Option<String>,
    target: String,
    stops: String,
    weight: f64,
}

fn main() {}
