use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
enum Risk {
    #[aacp(rename = "low|mid")]
    LowOrMid,
    #[aacp(rename = "a,b")]
    List,
    #[aacp(rename = "")]
    Empty,
    High,
    #[aacp(rename = "high")]
    VeryHigh,
}

fn main() {}
