use std::collections::HashMap;

use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    amt: f64,
    filter: HashMap<String, String>,
    rows: Vec<Vec<String>>,
    pair: Option<(String, String)>,
    bytes: &'static [u8],
}

fn main() {}
