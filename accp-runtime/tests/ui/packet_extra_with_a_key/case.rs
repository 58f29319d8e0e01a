use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(extra, rename = "others")]
    others: Vec<(String, String)>,
    #[aacp(skip, rename = "seen")]
    seen: bool,
}

fn main() {}
