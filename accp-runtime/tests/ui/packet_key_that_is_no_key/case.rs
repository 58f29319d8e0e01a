use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(rename = "2nd")]
    second: String,
    #[aacp(rename = "data-ptr")]
    pointer: String,
    _private: String,
}

fn main() {}
