use std::collections::HashMap;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(schema = "TC", intent = "req", operation = "tool")]
struct Call {
    tool_name: String,
    arguments: HashMap<u32, i64>,
}

fn main() {}
