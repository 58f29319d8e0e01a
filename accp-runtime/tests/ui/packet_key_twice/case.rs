use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    res: String,
    #[aacp(rename = "res")]
    resource: String,
    #[aacp(rename = "return")]
    to: String,
}

fn main() {}
