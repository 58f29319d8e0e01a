//! A client that sends any bytes, also those that no client should send.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest wait for anything that the hub has to do.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Kinds of WebSocket messages (RFC 6455, section 5.2).
pub(crate) mod op {
    pub(crate) const CONTINUED: u8 = 0;
    pub(crate) const TEXT: u8 = 1;
    pub(crate) const BINARY: u8 = 2;
    pub(crate) const CLOSE: u8 = 8;
    pub(crate) const PING: u8 = 9;
}

/// A connection to the hub.
pub(crate) struct Raw {
    stream: TcpStream,
    held: Vec<u8>,
    /// The errors that the hub has sent.
    pub(crate) refusals: Vec<String>,
    /// The member number of this client; 0 if the client is not a member.
    pub(crate) number: u64,
}

impl Raw {
    pub(crate) async fn open(hub: SocketAddr) -> Result<Self, String> {
        let stream = timeout(PATIENCE, TcpStream::connect(hub)).await;
        let stream = stream.map_err(|_| "the hub takes no connection")?;
        let stream = stream.map_err(|error| format!("connect: {error}"))?;
        let _ = stream.set_nodelay(true);
        Ok(Self {
            stream,
            held: Vec::new(),
            refusals: Vec::new(),
            number: 0,
        })
    }

    /// Opens a WebSocket, without a first frame.
    pub(crate) async fn socket(hub: SocketAddr, session: &str) -> Result<Self, String> {
        let mut raw = Self::open(hub).await?;
        let head = format!(
            "GET /accp/v1/ws?session={session} HTTP/1.1\r\nHost: {hub}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        raw.send(head.as_bytes()).await;
        match raw.status().await? {
            Some(101) => Ok(raw),
            other => Err(format!("a WebSocket was answered with {other:?}")),
        }
    }

    /// Opens a WebSocket, and lets an agent join a session over it.
    pub(crate) async fn member(
        hub: SocketAddr,
        session: &str,
        agent: &str,
        first: char,
    ) -> Result<Self, String> {
        let mut raw = Self::socket(hub, session).await?;
        let mut held = 0;
        for made in 0..2 {
            let hello = format!(
                "@{agent}>sync:registry{{v:1|hash:a32838|pos:{held}|ext:[]|next:1}}\
                 [mid:{first}{made:011x},seq:{held},ts:{}]",
                now()
            );
            raw.text(&hello).await;
            let said = raw.hears(">sync:registry{").await?;
            held = number(&said, "pos:").ok_or_else(|| format!("no position in {said}"))?;
            raw.number = number(&said, "|n:").unwrap_or_default();
        }
        Ok(raw)
    }

    /// Sends bytes. Returns false if the hub has closed the connection, or does not take the bytes in time.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> bool {
        matches!(
            timeout(PATIENCE, self.stream.write_all(bytes)).await,
            Ok(Ok(()))
        )
    }

    pub(crate) async fn text(&mut self, text: &str) -> bool {
        self.send(&message(op::TEXT, text.as_bytes())).await
    }

    /// Reads the head of a response. Returns its status; `None` if the hub has closed the connection.
    pub(crate) async fn status(&mut self) -> Result<Option<u16>, String> {
        let end = loop {
            let end = self.held.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
            if !self.more().await? {
                return Ok(None);
            }
        };
        let head: Vec<u8> = self.held.drain(..end).collect();
        let status = head.get(9..12).and_then(|status| {
            let status = std::str::from_utf8(status).ok()?;
            status.parse().ok()
        });
        let head = || String::from_utf8_lossy(&head).into_owned();
        status.map(Some).ok_or_else(head)
    }

    /// Reads messages until a message contains these words, and returns this message.
    pub(crate) async fn hears(&mut self, words: &str) -> Result<String, String> {
        let mut last = String::new();
        loop {
            let Some(text) = self.next().await? else {
                return Err(format!(
                    "the hub closed a socket that waited for {words}; it said last: {last}"
                ));
            };
            if text.contains(words) {
                return Ok(text);
            }
            if text.contains(">fail:error{") {
                self.refusals.push(text.clone());
            }
            last = text;
        }
    }

    /// Reads a WebSocket message of the hub; `None` if the hub has closed the connection.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, String> {
        loop {
            if let Some((length, from)) = header(&self.held)
                && self.held.len() >= from + length
            {
                let payload = self.held[from..from + length].to_vec();
                self.held.drain(..from + length);
                return Ok(Some(String::from_utf8_lossy(&payload).into_owned()));
            }
            if !self.more().await? {
                return Ok(None);
            }
        }
    }

    /// Reads until the hub closes the connection.
    pub(crate) async fn ends(&mut self) -> Result<(), String> {
        while self.more().await? {
            self.held.clear();
        }
        Ok(())
    }

    /// Waits for bytes and reads them. Returns false if the hub has closed the connection.
    async fn more(&mut self) -> Result<bool, String> {
        self.held.reserve(16 * 1024);
        match timeout(PATIENCE, self.stream.read_buf(&mut self.held)).await {
            Ok(read) => Ok(matches!(read, Ok(1..))),
            Err(_) => Err(format!("the hub kept a connection for {PATIENCE:?}")),
        }
    }
}

/// Returns a number in a frame: the digits after `key`, such as `pos:`.
pub(crate) fn number(frame: &str, key: &str) -> Option<u64> {
    let (_, rest) = frame.rsplit_once(key)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Returns the length of the first message and the place where its payload begins, if its header is complete.
fn header(bytes: &[u8]) -> Option<(usize, usize)> {
    let short = usize::from(*bytes.get(1)? & 0x7f);
    match short {
        126 => {
            let length = bytes.get(2..4)?.try_into().ok()?;
            Some((u16::from_be_bytes(length).into(), 4))
        }
        127 => {
            let length = bytes.get(2..10)?.try_into().ok()?;
            Some((usize::try_from(u64::from_be_bytes(length)).ok()?, 10))
        }
        length => Some((length, 2)),
    }
}

/// Writes a whole message, as clients have to.
pub(crate) fn message(kind: u8, payload: &[u8]) -> Vec<u8> {
    framed(0x80 | kind, true, payload.len() as u64, payload)
}

/// Writes a WebSocket frame with this first byte, whose header says that the payload has `length` bytes.
pub(crate) fn framed(first: u8, is_masked: bool, length: u64, payload: &[u8]) -> Vec<u8> {
    let mask = if is_masked { 0x80 } else { 0 };
    let mut bytes = vec![first];
    if length < 126 {
        bytes.push(mask | length as u8);
    } else if let Ok(length) = u16::try_from(length) {
        bytes.push(mask | 0x7e);
        bytes.extend(length.to_be_bytes());
    } else {
        bytes.push(mask | 0x7f);
        bytes.extend(length.to_be_bytes());
    }
    if is_masked {
        // A masking key of zeros leaves the payload unchanged.
        bytes.extend([0; 4]);
    }
    bytes.extend_from_slice(payload);
    bytes
}

pub(crate) fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
