use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
enum Work {
    Fetch { res: String },
    Send(String),
    Nothing,
}

fn main() {}
