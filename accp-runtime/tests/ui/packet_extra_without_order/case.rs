use std::collections::BTreeMap;

use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(extra)]
    others: BTreeMap<String, String>,
}

#[derive(AacpPacket)]
#[aacp(task = "SEND", dom = "HR")]
struct Send {
    r#return: String,
    #[aacp(extra)]
    others: Vec<String>,
}

fn main() {}
