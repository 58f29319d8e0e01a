use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH")]
struct Fetch {
    r#return: String,
}

fn main() {}
