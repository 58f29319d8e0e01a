use std::collections::BTreeMap;

use accp_runtime::AccpFrame;

#[derive(AccpFrame)]
#[accp(intent = "req", operation = "plan")]
struct Plan {
    steps: Vec<BTreeMap<char, String>>,
}

fn main() {}
