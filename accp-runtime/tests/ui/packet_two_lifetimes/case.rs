use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch<'a, 'b> {
    r#return: &'a str,
    res: &'b str,
}

fn main() {}
