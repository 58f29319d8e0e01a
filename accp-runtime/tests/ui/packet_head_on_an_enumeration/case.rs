use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
enum Risk {
    Low,
    High,
}

fn main() {}
