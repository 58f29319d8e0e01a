//! A stub of a model's server. The stub answers a call only when the test tells it to.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::json;

/// The answer of the model.
const PACKET: &str = "FETCH|CS|return:AGENT|p:2|aacp:1.1|res:parking_permit";

/// The longest wait for a call.
const PATIENCE: Duration = Duration::from_secs(120);

/// The style of a server's answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Style {
    OpenAi,
    Anthropic,
}

impl Style {
    /// Returns the name of the style on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }

    fn body(self) -> String {
        let json = match self {
            Self::OpenAi => json!({ "choices": [{
                "finish_reason": "stop", "message": { "role": "assistant", "content": PACKET },
            }] }),
            Self::Anthropic => json!({
                "stop_reason": "end_turn", "content": [{ "type": "text", "text": PACKET }],
            }),
        };
        json.to_string()
    }
}

/// The stub, listening on a port of this machine.
pub(crate) struct Stub {
    pub(crate) style: Style,
    pub(crate) url: String,
    calls: Arc<AtomicUsize>,
    arrived: Receiver<TcpStream>,
}

impl Stub {
    pub(crate) fn start(style: Style) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let calls = Arc::<AtomicUsize>::default();
        let (counted, (arrive, arrived)) = (Arc::clone(&calls), channel());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The stub does not count a process that was killed before it sent its request.
                if read(&stream).is_ok() {
                    counted.fetch_add(1, Ordering::SeqCst);
                    if arrive.send(stream).is_err() {
                        break;
                    }
                }
            }
        });
        Ok(Self {
            style,
            url,
            calls,
            arrived,
        })
    }

    /// Returns the number of calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Waits for the next call.
    pub(crate) fn called(&self) -> Result<Call, RecvTimeoutError> {
        let stream = self.arrived.recv_timeout(PATIENCE)?;
        let style = self.style;
        Ok(Call { style, stream })
    }
}

/// Reads a request to its end.
fn read(stream: &TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(found) = line.to_lowercase().strip_prefix("content-length:") {
            length = found.trim().parse().map_err(io::Error::other)?;
        }
    }
    reader.read_exact(&mut vec![0; length])
}

/// A call that waits for its answer. Dropping it closes the connection.
pub(crate) struct Call {
    style: Style,
    stream: TcpStream,
}

impl Call {
    /// Sends the answer.
    pub(crate) fn answer(mut self) {
        let body = self.style.body();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        // A killed process does not read the answer, so the write may fail.
        let _ = self.stream.write_all((head + &body).as_bytes());
    }
}
