use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR", schema = "TA", deny_unknown_fields)]
struct Fetch {
    r#return: String,
    #[aacp(default)]
    res: String,
    #[aacp(flatten)]
    others: Vec<(String, String)>,
}

fn main() {}
