use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(tasks = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(renam = "data_ptr")]
    pointer: String,
}

fn main() {}
