use std::collections::BTreeMap;

use accp_runtime::AccpFrame;
use rust_decimal::Decimal;

// The names of other crates, which need not be there for these errors.
mod chrono {
    pub struct DateTime<Zone>(Zone);
    pub struct Utc;
}
mod rust_decimal {
    pub struct Decimal;
}
mod time {
    pub struct Date;
}
mod url {
    pub struct Url;
}
mod uuid {
    pub struct Uuid;
}

#[derive(AccpFrame)]
#[accp(schema = "TX", intent = "req", operation = "transaction")]
#[accp(ignore = "currency", ignore = "status", ignore = "retryable")]
struct Payment {
    transaction_id: uuid::Uuid,
    amount: Decimal,
    account: Option<url::Url>,
    reference: chrono::DateTime<chrono::Utc>,
}

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "plan")]
struct Plan {
    day: time::Date,
    links: BTreeMap<String, url::Url>,
}

fn main() {}
