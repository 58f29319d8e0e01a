use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    res: String,
}

fn main() {}
