//! Floods of WebSocket connections: messages that break the protocol or are too long, and sockets that do not read.

use std::net::SocketAddr;

use crate::each;
use crate::raw::{Raw, framed, message, now, number, op};

/// The number of sockets at the same time.
const AT_ONCE: u64 = 64;
/// The length of the text in each frame of a flood.
const TEXT: usize = 1000;

/// Sockets without a first frame. The hub has to end them.
pub(crate) async fn mute(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, times, move |_| async move {
        Raw::socket(hub, "calm").await?.ends().await
    })
    .await?;
    Ok(format!("{times} sockets"))
}

/// Messages that break the rules of RFC 6455. The hub has to end each socket, whether the socket has joined a
/// session or not.
pub(crate) async fn broken(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let mut raw = if at % 2 == 0 {
            Raw::socket(hub, "calm").await?
        } else {
            // A session has a bounded number of members, so the sockets use several sessions.
            let session = format!("broken{}", at / 1000);
            Raw::member(hub, &session, &format!("m{at}"), 'c').await?
        };
        let message = match at / 2 % 8 {
            0 => framed(0x80 | op::TEXT, false, 5, b"hello"),
            1 => message(op::TEXT, b"\xff\xfe\xc3("),
            2 => message(op::BINARY, b"@a>req:note{text:x}[mid:f00000000001,seq:1]"),
            // The next message has a reserved bit, and the message after it has an undefined opcode.
            3 => framed(0xc0 | op::TEXT, true, 5, b"hello"),
            4 => message(3, b"hello"),
            // A control message must be short, and must not be split.
            5 => message(op::PING, &[b'x'; 300]),
            6 => framed(op::PING, true, 1, b"x"),
            _ => message(op::CLOSE, b"\x00"),
        };
        raw.send(&message).await;
        raw.ends().await
    })
    .await?;
    Ok(format!("{times} sockets"))
}

/// Messages that are too long: by the length in their header, in one frame, and in pieces.
pub(crate) async fn long(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(times, AT_ONCE, move |at| async move {
        let mut raw = Raw::member(hub, "long", &format!("m{at}"), 'c').await?;
        let piece = vec![b'x'; 1 << 14];
        match at % 3 {
            0 => drop(
                raw.send(&framed(0x80 | op::TEXT, true, 1 << 40, &piece))
                    .await,
            ),
            1 => drop(raw.send(&message(op::TEXT, &vec![b'x'; 4 << 20])).await),
            _ => {
                let mut kind = op::TEXT;
                for _ in 0..256 {
                    let length = piece.len() as u64;
                    if !raw.send(&framed(kind, true, length, &piece)).await {
                        break;
                    }
                    kind = op::CONTINUED;
                }
            }
        }
        raw.ends().await
    })
    .await?;
    Ok(format!("{times} messages"))
}

/// Messages in pieces of one byte or no byte, which stay within the size limit and never end.
pub(crate) async fn pieces(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut open = Vec::new();
    for at in 0..times {
        let mut raw = Raw::socket(hub, "calm").await?;
        let one = if at % 2 == 0 { &b"x"[..] } else { b"" };
        let more = framed(op::CONTINUED, true, one.len() as u64, one).repeat(60_000);
        raw.send(&framed(op::TEXT, true, 1, b"x")).await;
        raw.send(&more).await;
        open.push(raw);
    }
    Ok(format!("{times} messages of 60,000 pieces"))
}

/// Members of a busy session that never read, while another member sends.
pub(crate) async fn slow(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut slow = Vec::new();
    for at in 0..times / 100 {
        slow.push(Raw::member(hub, "calm", &format!("slow{at}"), 'c').await?);
    }
    let mut sender = Raw::member(hub, "calm", "sender", 'd').await?;
    for at in 1..=times {
        let text = format!(
            "@sender>req:note{{text:{}}}[mid:e{at:011x},seq:{at},ts:{}]",
            "x".repeat(TEXT),
            now()
        );
        if !sender.text(&text).await {
            return Err("the hub has closed the socket of the sender".to_owned());
        }
        if at % 16 == 0 {
            let until = format!("[mid:e{at:011x},");
            hold(&mut sender, at, &until).await?;
        }
    }
    if let Some(refusal) = sender.refusals.first() {
        return Err(format!("a frame was refused: {refusal}"));
    }
    Ok(format!(
        "{times} frames of {TEXT} bytes to {} members",
        slow.len()
    ))
}

/// Reads frames of the session until a frame contains `until`. Acknowledges each frame, as members do.
async fn hold(sender: &mut Raw, at: u64, until: &str) -> Result<(), String> {
    loop {
        let heard = sender.hears("pos:").await?;
        if let Some(held) = number(&heard, "pos:") {
            let ack = format!(
                "@sender>ack:frame{{}}[mid:d{at:011x},seq:{held},ts:{}]",
                now()
            );
            sender.text(&ack).await;
        }
        if heard.contains(until) {
            return Ok(());
        }
    }
}

/// Pings of RFC 6455, as fast as the hub takes them.
pub(crate) async fn pings(hub: SocketAddr, times: u64) -> Result<String, String> {
    each(8, 8, move |at| async move {
        let mut raw = Raw::member(hub, "pings", &format!("m{at}"), 'c').await?;
        let many = message(op::PING, &[b'x'; 125]).repeat(100);
        for _ in 0..times / 800 {
            // Half of the sockets do not read the answers.
            if !raw.send(&many).await || at % 2 == 0 && raw.next().await?.is_none() {
                return Err("the hub has closed a socket that pings".to_owned());
            }
        }
        Ok(())
    })
    .await?;
    Ok(format!("{times} pings"))
}
