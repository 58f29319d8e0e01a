use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TX")]
struct Payment {
    transaction_id: String,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
struct Move {
    item: String,
    target: Payment,
}

fn main() {}
