use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC", ignore = "shelf")]
struct Place {
    aisle: Option<String>,
}

fn main() {}
