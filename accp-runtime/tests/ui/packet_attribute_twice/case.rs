use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR", task = "SEND")]
struct Fetch {
    r#return: String,
}

fn main() {}
