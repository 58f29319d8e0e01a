use accp_aacp::AacpPacket;

struct Clock;

#[derive(AacpPacket)]
#[aacp(task = "FETCH", dom = "HR")]
struct Fetch {
    r#return: String,
    #[aacp(skip)]
    clock: Clock,
}

fn main() {}
