use accp_aacp::EncodePacket;

struct Fetch {
    r#return: String,
}

fn main() {
    let fetch = Fetch {
        r#return: String::from("HR-Agent"),
    };
    print(&fetch);
}

fn print(packet: &impl EncodePacket) {
    println!("{:?}", packet.to_packet());
}
