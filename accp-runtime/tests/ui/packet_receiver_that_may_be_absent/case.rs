use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: Option<String>,
}

fn main() {}
