use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "GET IT", dom = "H|R")]
struct Fetch {
    r#return: String,
}

fn main() {}
