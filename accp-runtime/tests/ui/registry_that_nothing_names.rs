use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "OR", intent = "req", operation = "order")]
struct Order {
    sku: String,
}

#[derive(AccpFrame)]
#[accp(schema = "IN", intent = "req", operation = "invoice")]
struct Invoice {
    sum: i64,
}

#[derive(AccpFrame)]
#[accp(schema = "LN")]
struct Line {
    sku: String,
}

#[derive(AccpFrame)]
enum Frames {
    #[accp(schema = "OR", intent = "cancel", operation = "order")]
    Cancel { sku: String },
    Order(Order),
}

fn main() {}
