//! Floods of well-formed frames from one member: streams, chains and frames in parts that never end, values that
//! never come, and pings.

use std::net::SocketAddr;

use crate::raw::{Raw, now, number};

/// The SHA-256 of `x`.
const DIGEST: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
/// How many pings the member sends before it reads the answers.
const AT_ONCE: u64 = 16;

/// A member that sends numbered frames and knows which number comes next.
struct Member {
    raw: Raw,
    name: &'static str,
    made: u64,
    seq: u64,
}

impl Member {
    async fn join(hub: SocketAddr, name: &'static str) -> Result<Self, String> {
        Ok(Self {
            raw: Raw::member(hub, "calm", name, 'c').await?,
            name,
            made: 1,
            seq: 0,
        })
    }

    async fn say(&mut self, rest: &str, is_numbered: bool, more: &str) -> Result<(), String> {
        self.made += 1;
        self.seq += u64::from(is_numbered);
        let (name, made) = (self.name, self.made);
        let seq = if is_numbered { self.seq } else { 0 };
        let text = format!(
            "@{name}>{rest}[mid:b{made:011x},seq:{seq},ts:{}{more}]",
            now()
        );
        if !self.raw.text(&text).await {
            return Err(format!("the hub has closed the socket of {name}"));
        }
        Ok(())
    }

    /// Waits until the hub has answered a ping, and so all frames that were sent before the ping. If the hub has
    /// refused a frame, the next frame gets the number of the refused frame.
    async fn settles(&mut self) -> Result<(), String> {
        let before = self.raw.refusals.len();
        self.say("ping:link{}", false, "").await?;
        self.raw.hears(">pong:link{").await?;
        if let Some(refusal) = self.raw.refusals.get(before) {
            let due = number(refusal, "|exp:").unwrap_or(self.seq);
            self.seq = due.saturating_sub(1);
        }
        Ok(())
    }
}

/// Streams without a last piece, frames of which only the first part is sent, and requests that nobody answers.
pub(crate) async fn unfinished(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut member = Member::join(hub, "opener").await?;
    let text = "x".repeat(1000);
    for at in 0..times {
        match at % 3 {
            0 => {
                let rest = format!("stream:infer{{idx:0|d:{text}|schema:ST}}");
                let chain = format!(",cid:f{at:011x}");
                member.say(&rest, true, &chain).await?;
            }
            1 => {
                let part = format!(",pt:1/100,of:b{:011x}", member.made + 1);
                let rest = format!("req:note{{text:{text}}}");
                member.say(&rest, true, &part).await?;
            }
            _ => member.say("req:plan{goal:x}", true, "").await?,
        }
        member.settles().await?;
    }
    Ok(format!(
        "{times} frames, {} refused",
        member.raw.refusals.len()
    ))
}

/// Values that are announced and never sent, and requests for values that are not there.
pub(crate) async fn values(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut member = Member::join(hub, "putter").await?;
    for at in 0..times {
        if at % 2 == 0 {
            let key = format!("k{}_{}", member.raw.number, at + 1);
            let rest = format!("sync:put{{keys:[[{key},{DIGEST},{}]]}}", 8 << 20);
            member.say(&rest, true, "").await?;
        } else {
            let rest = format!("qry:bytes{{at:0|key:k101_{at}}}");
            member.say(&rest, false, "").await?;
        }
        member.settles().await?;
    }
    Ok(format!(
        "{times} frames, {} refused",
        member.raw.refusals.len()
    ))
}

/// Pings of the draft, each of which the hub answers.
pub(crate) async fn pings(hub: SocketAddr, times: u64) -> Result<String, String> {
    let mut member = Member::join(hub, "pinger").await?;
    for _ in 0..times / AT_ONCE {
        for _ in 0..AT_ONCE {
            member.say("ping:link{}", false, "").await?;
        }
        for _ in 0..AT_ONCE {
            drop(member.raw.hears(">pong:link{").await?);
        }
    }
    Ok(format!("{times} pings"))
}
