//! Reading AACP packets, compared with serde_json on the same fields: `cargo bench --manifest-path
//! benches/Cargo.toml --bench packets`.
//!
//! `validate` looks for every finding of the draft; serde_json only reads. The serde struct has the same fields
//! with the same names, borrowed, and refuses unknown fields, as the packet's type does.

use accp_aacp::{AacpPacket, DecodePacket as _, EncodePacket as _, Packet, PacketBuf, validate};
use accp_bench::{Goal, contender, figure, race};
use serde::{Deserialize, Serialize};

#[derive(AacpPacket, Debug, PartialEq)]
#[aacp(task = "FETCH", dom = "FIN")]
struct FetchBudgets<'p> {
    r#return: &'p str,
    p: Option<u8>,
    aacp: &'p str,
    res: &'p str,
    period: &'p str,
    filter: Option<&'p str>,
    fields: Vec<&'p str>,
    fmt: Option<&'p str>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer<'p> {
    task: &'p str,
    dom: &'p str,
    r#return: &'p str,
    p: Option<u8>,
    aacp: &'p str,
    res: &'p str,
    period: &'p str,
    filter: Option<&'p str>,
    fields: Vec<&'p str>,
    fmt: Option<&'p str>,
}

const PACKET: &str = "FETCH|FIN|return:HR-Agent|p:1|aacp:1.1|res:budget_cc|period:2024-08|\
    filter:status=active|fields:cc_id,approved_budget,ytd_spend|fmt:json";

fn main() {
    let packet = FetchBudgets::decode(PACKET).expect("the packet is valid");
    assert_eq!(packet.to_packet().as_deref(), Ok(PACKET));
    let peer = Peer {
        task: "FETCH",
        dom: "FIN",
        r#return: packet.r#return,
        p: packet.p,
        aacp: packet.aacp,
        res: packet.res,
        period: packet.period,
        filter: packet.filter,
        fields: packet.fields.clone(),
        fmt: packet.fmt,
    };
    let json = serde_json::to_string(&peer).expect("JSON is written");
    println!("bytes: packet {}, JSON {}\n", PACKET.len(), json.len());

    let read = race(
        "read (x: times as fast as serde_json)",
        vec![
            contender("serde_json, borrowed", || {
                serde_json::from_str::<Peer<'_>>(&json).expect("valid")
            }),
            contender("accp-aacp, typed", || {
                FetchBudgets::decode(PACKET).expect("valid")
            }),
            contender("accp-aacp, validate", || validate(PACKET)),
            contender("accp-aacp, Packet", || {
                Packet::parse(PACKET).expect("valid")
            }),
            contender("serde_json::Value", || {
                serde_json::from_str::<serde_json::Value>(&json).expect("valid")
            }),
        ],
    );
    race(
        "write (x: times as fast as serde_json)",
        vec![
            contender("serde_json", || {
                serde_json::to_string(&peer).expect("written")
            }),
            contender("accp-aacp, typed", || packet.to_packet().expect("written")),
            contender("accp-aacp, PacketBuf", || {
                let fields = [
                    ("return", "HR-Agent"),
                    ("p", "1"),
                    ("aacp", "1.1"),
                    ("res", "budget_cc"),
                ];
                PacketBuf::new("FETCH", "FIN", fields).expect("written")
            }),
        ],
    );
    let [json, typed, validate, ..] = &read[..] else {
        return;
    };
    println!();
    let times = |finish: &accp_bench::Finish| json.least / finish.least;
    figure(
        "typed decode, times as fast as serde_json",
        times(typed),
        "",
        Goal::AtLeast(2.0),
    );
    figure(
        "validate, times as fast as serde_json",
        times(validate),
        "",
        Goal::AtLeast(2.0),
    );
}
