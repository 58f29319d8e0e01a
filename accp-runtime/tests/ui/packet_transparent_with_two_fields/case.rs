use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
#[aacp(transparent)]
struct Agent(String, String);

fn main() {}
