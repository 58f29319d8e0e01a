use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch(String, String);

fn main() {}
