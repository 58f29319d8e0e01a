use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TX")]
#[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
struct Payment {
    transaction_id: String,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "SV")]
#[accp(ignore = "count", ignore = "fragile", ignore = "tags", ignore = "speed")]
struct Move {
    item: String,
    target: Payment,
}

fn main() {}
