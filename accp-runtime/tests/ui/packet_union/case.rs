use accp_aacp::AacpPacket;

#[derive(AacpPacket)]
union Bits {
    whole: u32,
    half: u16,
}

fn main() {}
