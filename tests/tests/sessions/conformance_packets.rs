//! AACP packets in a session: frames of the profile AP (AACP draft sections 11, 15 and 16).

use std::sync::Arc;

use accp_aacp::{MEDIA_TYPE, Packet, bridge};
use accp_runtime::session::{Options, Rules};
use accp_runtime::{DynamicFrame, ErrorCode, Registry};
use rmcp::model::ResourceContents;

use crate::sessions::sides::{Node as _, frame, open_host, options};

const PACKETS: [&str; 3] = [
    "FETCH|HR|return:HR-Agent|p:1|aacp:1.1|res:emp_salary|period:2024-08|filter:status=active|fmt:json",
    "LOG|HR|return:AUD-Agent|p:2|aacp:1.1|actor:ORCHESTRATOR|chain:A,B|status:review_required",
    "ROLL-BACK|OPS|return:a|aacp:1.1|acme_note:\u{e9}t\u{e9} 2024, 100 %|att:rpt://payroll/2024-08:pdf",
];

/// A host whose sessions carry packets.
fn host_options() -> Options {
    let mut registry = Registry::standard();
    registry.merge(bridge::profile().clone()).unwrap();
    Options {
        registry: Arc::new(registry),
        ..options("hub")
    }
}

/// Returns the frame of a packet, without its metadata.
fn bare(packet: &str) -> String {
    let packet = Packet::parse(packet).unwrap();
    let message = bridge::to_frame(&packet, "dev").unwrap();
    message.encode(bridge::profile()).unwrap()
}

/// A session keeps the exact bytes of a packet, also after a restart.
#[test]
fn aacp_67_accepts_packets_that_a_session_numbers() {
    let mut host = open_host(host_options(), Rules::default());
    for (packet, n) in PACKETS.iter().zip(1..) {
        host.takes(101, &frame(&bare(packet), n, n.into(), ""));
    }
    host.restart_as(host_options());
    let registry = host_options().registry;
    let frames = host.frames();
    assert_eq!(frames.len(), PACKETS.len());
    for (entry, (packet, n)) in frames.iter().zip(PACKETS.iter().zip(1..)) {
        let message = DynamicFrame::decode(&entry.text, &registry).unwrap();
        assert_eq!(message.envelope.sequence, Some(n));
        assert_eq!(bridge::to_packet(&message).unwrap().text(), *packet);
    }
}

/// The packet has no number of its own. Only the frame around it has one, so a repeated frame does
/// not count twice.
#[test]
fn aacp_67_refuses_a_packet_that_is_played_again() {
    let mut host = open_host(host_options(), Rules::default());
    let sent = frame(&bare(PACKETS[0]), 1, 1, "");
    host.takes(101, &sent);
    for _ in 0..2 {
        assert_eq!(host.refuses(101, &sent).code, ErrorCode::DUPLICATE);
        host.restart_as(host_options());
    }
    assert_eq!(host.frames().len(), 1);
    let docs = include_str!("../../../docs/aacp.md");
    assert!(docs.contains("A packet has no protection against replay"));
}

/// A packet is one text part of a message, and comes back from its JSON to the byte.
#[test]
fn aacp_59_accepts_packets_as_parts_of_mcp_and_a2a() {
    for packet in PACKETS {
        let part = a2a::Part::text(packet).with_media_type(MEDIA_TYPE);
        let message = a2a::Message::new(a2a::Role::User, vec![part]);
        let json = serde_json::to_string(&message).unwrap();
        let message: a2a::Message = serde_json::from_str(&json).unwrap();
        let [part] = &message.parts[..] else {
            panic!("{json}");
        };
        let a2a::PartContent::Text(text) = &part.content else {
            panic!("{json}");
        };
        assert_eq!(part.media_type.as_deref(), Some(MEDIA_TYPE));
        assert_eq!(Packet::parse(text).unwrap().text(), packet);

        let content = ResourceContents::text(packet, "aacp://1").with_mime_type(MEDIA_TYPE);
        let json = serde_json::to_value(&content).unwrap();
        assert_eq!(json["mimeType"], MEDIA_TYPE);
        let ResourceContents::TextResourceContents { text, .. } =
            serde_json::from_value(json).unwrap()
        else {
            panic!("the content is text");
        };
        assert_eq!(Packet::parse(&text).unwrap().text(), packet);
    }
}

/// A part that was cut, or that holds two packets, is not a packet.
#[test]
fn aacp_59_refuses_a_part_that_is_not_one_packet() {
    let two = PACKETS[..2].join("\n");
    for text in [&two, &PACKETS[0][..30], "Please fetch the salaries."] {
        let part = a2a::Part::text(text).with_media_type(MEDIA_TYPE);
        let a2a::PartContent::Text(text) = &part.content else {
            panic!("the part is text");
        };
        assert!(Packet::parse(text).is_err(), "{text}");
    }
}

/// `application/aacp` is private: it is in no registry of media types, and the documentation says so.
#[test]
fn aacp_71_accepts_the_private_media_type() {
    assert_eq!(MEDIA_TYPE, "application/aacp");
    let docs = include_str!("../../../docs/aacp.md");
    assert!(
        docs.contains(
            "No registration is needed. The media type is the private `application/aacp`."
        )
    );
}

/// A session does not take a packet that is not in a frame, whatever its media type.
#[test]
fn aacp_71_refuses_a_bare_packet_in_a_session() {
    let mut host = open_host(host_options(), Rules::default());
    let refused = host.refuses(101, &frame(PACKETS[0], 1, 1, ""));
    assert_eq!(refused.code, ErrorCode::PARSE_ERROR);
}
