use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(extra)]
    others: Vec<(String, String)>,
    #[aacp(extra)]
    more: Vec<(String, String)>,
}

fn main() {}
