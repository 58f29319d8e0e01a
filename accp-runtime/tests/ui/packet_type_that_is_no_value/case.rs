use accp_aacp::AacpPacket;

struct Period;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    period: Period,
}

fn main() {}
