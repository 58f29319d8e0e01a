use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TX", intent = "req", operation = "transaction")]
struct Pay {
    transaction_id: String,
    amount: accp_runtime::Decimal,
    status: String,
}

#[derive(AccpFrame)]
#[accp(registry = "registry/warehouse.json", schema = "LC")]
struct Place {
    aisle: String,
}

#[derive(AccpFrame)]
enum Work {
    #[accp(schema = "TA", intent = "req", operation = "execute")]
    Execute { assignee: String, task: String },
}

fn main() {}
