//! Every packet becomes a frame, and that frame becomes the same packet again, byte for byte. The same must be true
//! for the packets that the bridge makes from other frames.
#![no_main]

use accp_aacp::{Packet, bridge};
use accp_runtime::DynamicFrame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(packet) = Packet::parse_bytes(bytes) {
        comes_back(&packet);
    }
    // The target also reads the same bytes as a frame.
    let Ok(message) = DynamicFrame::decode_bytes(bytes, bridge::profile()) else {
        return;
    };
    if let Ok(packet) = bridge::to_packet(&message) {
        let packet = Packet::parse(packet.text()).expect("the bridge makes packets");
        comes_back(&packet);
    }
});

fn comes_back(packet: &Packet<'_>) {
    let message = bridge::to_frame(packet, "agent").expect("every packet is a frame");
    let frame = message
        .encode(bridge::profile())
        .expect("and can be written");
    let read = DynamicFrame::decode(&frame, bridge::profile()).expect("and read");
    let back = bridge::to_packet(&read).expect("and is a packet");
    assert_eq!(back.text(), packet.to_string(), "{frame}");
}
