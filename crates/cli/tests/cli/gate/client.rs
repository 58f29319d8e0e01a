//! An HTTP client for the tests of the gate. The client gets each byte, can leave a request open, and knows whether
//! an answer is complete.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// The longest time that a test waits before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Client {
    /// The address of the hub, without `http://`.
    host: String,
    token: Option<String>,
}

/// An open request whose answer is read as it arrives.
pub(super) struct Open {
    stream: TcpStream,
    read: Vec<u8>,
    since: Instant,
}

#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
    /// Whether the whole body has arrived.
    pub(super) is_whole: bool,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Client {
    pub(super) fn new(url: &str, token: Option<&str>) -> Self {
        Self {
            host: url.trim_start_matches("http://").to_owned(),
            token: token.map(str::to_owned),
        }
    }

    /// Sends the head of a request, and this part of its body.
    pub(super) fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Open {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.host);
        if let Some(token) = &self.token {
            write!(head, "authorization: Bearer {token}\r\n").unwrap();
        }
        let given = |name: &str| headers.iter().any(|(key, _)| *key == name);
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() && !given("content-length") && !given("transfer-encoding") {
            write!(head, "content-length: {}\r\n", body.len()).unwrap();
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let read = Vec::new();
        let since = Instant::now();
        Open {
            stream,
            read,
            since,
        }
    }

    /// Makes a request, and reads its answer to the end. The hub closes the connection after the answer.
    pub(super) fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let mut headers = headers.to_vec();
        headers.push(("connection", "close"));
        self.open(method, path, &headers, body.as_bytes()).finish()
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[], "")
    }

    pub(super) fn post_frame(&self, frame: &str) -> Answer {
        let kind = [("content-type", "application/accp")];
        self.ask("POST", "/accp/v1/frames", &kind, frame)
    }

    /// Posts a frame that the hub has to take.
    #[track_caller]
    pub(super) fn posts(&self, head: &str, mid: &str, seq: u64, more: &str) {
        let answer = self.post_frame(&super::frame(head, mid, seq, more));
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    /// Calls a method of MCP. `session` is the id of the MCP session.
    pub(super) fn mcp(
        &self,
        path: &str,
        session: Option<&str>,
        method: &str,
        params: &Json,
    ) -> Answer {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut headers = MCP.to_vec();
        headers.extend(session.map(|session| ("mcp-session-id", session)));
        self.ask("POST", path, &headers, &call.to_string())
    }

    /// Begins a session of MCP.
    pub(super) fn initialize(&self, path: &str) -> Answer {
        let params = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "0" },
        });
        self.mcp(path, None, "initialize", &params)
    }

    /// Begins a session of MCP, and returns its id.
    pub(super) fn begin(&self, path: &str) -> String {
        let begun = self.initialize(path);
        assert_eq!(begun.status, 200, "{begun:?}");
        let session = begun.header("mcp-session-id").unwrap().to_owned();
        let call = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let mut headers = MCP.to_vec();
        headers.push(("mcp-session-id", &session));
        let told = self.ask("POST", path, &headers, &call.to_string());
        assert_eq!(told.status, 202, "{told:?}");
        session
    }

    /// Calls a method of A2A.
    pub(super) fn a2a(&self, path: &str, method: &str, params: &Json) -> Answer {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.ask("POST", path, &A2A, &call.to_string())
    }
}

pub(super) const MCP: [(&str, &str); 2] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
];

pub(super) const A2A: [(&str, &str); 2] =
    [("content-type", "application/json"), ("a2a-version", "1.0")];

/// Returns the params for an A2A message with one text.
pub(super) fn message(id: &str, text: &str) -> Json {
    json!({ "message": {
        "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text, "mediaType": "text/plain" }],
    } })
}

impl Open {
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads until this text has arrived.
    pub(super) fn until(&mut self, text: &str) {
        self.until_all(text, 1);
    }

    /// Reads until this text has arrived `count` times.
    pub(super) fn until_all(&mut self, text: &str, count: usize) {
        while self.so_far().matches(text).count() < count {
            assert!(self.more(), "{text:?} has not come: {}", self.so_far());
        }
    }

    /// Returns all bytes that were read so far, as text.
    pub(super) fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.read).into_owned()
    }

    /// Returns whether the hub has sent anything, or has closed the connection. Fails after [`PATIENCE`].
    pub(super) fn is_answered(&self) -> bool {
        assert!(self.since.elapsed() < PATIENCE, "no answer has come");
        self.stream.set_nonblocking(true).unwrap();
        let peeked = self.stream.peek(&mut [0]);
        self.stream.set_nonblocking(false).unwrap();
        peeked.is_ok()
    }

    /// Reads more bytes. Returns false at the end of the connection.
    fn more(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = loop {
            match self.stream.read(&mut bytes) {
                // When a child process ends, it interrupts a read that has a time limit.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.expect("the hub answers in time"),
            }
        };
        self.read.extend_from_slice(&bytes[..count]);
        count > 0
    }

    fn has_its_length(&self) -> bool {
        let text = self.so_far();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            return false;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        length.is_some_and(|length| length.parse() == Ok(body.len()))
    }

    /// Reads to the end of the answer, if the answer states its length, and otherwise to the end of the connection.
    /// After a complete answer, the hub keeps the connection open for some time.
    pub(super) fn finish(mut self) -> Answer {
        while !self.has_its_length() && self.more() {}
        let text = String::from_utf8_lossy(&self.read).into_owned();
        let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut answer = Answer {
            status: status.unwrap_or_default(),
            head: head.to_owned(),
            body: rest.to_owned(),
            is_whole: true,
        };
        if answer.header("transfer-encoding") == Some("chunked") {
            (answer.body, answer.is_whole) = unchunked(rest);
        } else if let Some(length) = answer.header("content-length") {
            answer.is_whole = length.parse() == Ok(rest.len());
        }
        answer
    }
}

/// Joins the chunks of a body. Also returns whether the last chunk has arrived.
fn unchunked(mut rest: &str) -> (String, bool) {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        match usize::from_str_radix(size, 16) {
            Ok(0) => return (body, true),
            Ok(size) if after.len() >= size => {
                body += &after[..size];
                rest = after[size..].trim_start_matches("\r\n");
            }
            _ => break,
        }
    }
    (body, false)
}
