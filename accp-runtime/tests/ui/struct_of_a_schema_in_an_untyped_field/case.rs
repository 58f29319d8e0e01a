use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TX")]
#[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
struct Payment {
    transaction_id: String,
}

#[derive(AccpFrame)]
#[accp(intent = "qry", operation = "lookup")]
struct Lookup {
    data: Payment,
}

fn main() {}
