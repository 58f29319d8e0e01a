//! The socket between an agent and its hub: it carries frames, and connects again when the link breaks.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use accp_frame::{Typed, profiles::ErrorFail};
use accp_session::MemberId;
use futures_util::{SinkExt, StreamExt};
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{Connector, MaybeTlsStream, WebSocketStream};
use url::Url;

use crate::command::Command;
use crate::error::Error;
use crate::handle::Handle;
use crate::tls::tls_settings;
use crate::wire::{Frame, Wire};

/// The time for which a hub may take to answer a connection.
const CONNECT: Duration = Duration::from_secs(20);
/// The time for which a link may be silent. A hub pings every 30 seconds.
const SILENCE: Duration = Duration::from_secs(75);
/// How long an acknowledgement may wait for later ones. A later acknowledgement includes the earlier ones.
const GATHER: Duration = Duration::from_millis(50);
/// The most acknowledgements that wait to be sent as one.
const GATHERED: u32 = 16;
/// The time before the first attempt to connect again; it doubles up to [`LATEST`].
const FIRST: Duration = Duration::from_millis(100);
const LATEST: Duration = Duration::from_secs(10);
/// If another socket takes the place of an agent's socket twice within this time, the agent does not connect
/// again.
const TWICE: Duration = Duration::from_secs(60);

/// The code with which a hub closes the socket of an agent when another socket of that agent has taken its
/// place. RFC 6455 leaves the codes from 4000 on to applications (section 7.4.2).
pub const REPLACED: u16 = 4000;

/// The code with which a hub closes the socket of an agent that was taken out of its session. An agent that connects
/// again is let in again.
pub const REMOVED: u16 = 4001;

/// The path of a hub's sockets, below the address of the hub.
const SOCKET: &str = "/accp/v1/ws";

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// The address of a hub, the token to show there, and the settings of TLS.
pub(super) struct Target {
    url: Url,
    token: Option<HeaderValue>,
    tls: Option<Arc<ClientConfig>>,
}

impl Target {
    pub(super) fn new(
        hub: &str,
        session: &str,
        agent: &str,
        token: Option<String>,
        authority: Option<&Path>,
    ) -> Result<Self, Error> {
        let refuse = |why: String| Error::Address(hub.to_owned(), why);
        let mut url = Url::parse(hub).map_err(|error| match error {
            url::ParseError::RelativeUrlWithoutBase => refuse(other_scheme(hub)),
            url::ParseError::EmptyHost => refuse(other_scheme("")),
            other => refuse(other.to_string()),
        })?;
        let scheme = match url.scheme() {
            "ws" | "http" => "ws",
            "wss" | "https" => "wss",
            // `Url` takes the host of `host:port` for a scheme. The error text covers this case.
            _ => return Err(refuse(other_scheme(hub))),
        };
        // `set_scheme` cannot fail between these schemes, so its result is ignored.
        let _ = url.set_scheme(scheme);
        // The address may already end with the path of the socket. The path must not be added
        // twice.
        let path = url.path().trim_end_matches('/');
        let path = format!("{}{SOCKET}", path.strip_suffix(SOCKET).unwrap_or(path));
        url.set_path(&path);
        url.query_pairs_mut()
            .append_pair("session", session)
            .append_pair("agent", agent);
        let token = token.map(|token| HeaderValue::try_from(format!("Bearer {token}")));
        let token = token.transpose();
        let mut token =
            token.map_err(|_| refuse("the token has other than visible characters".into()))?;
        if let Some(token) = &mut token {
            token.set_sensitive(true);
        }
        let tls = (scheme == "wss")
            .then(|| tls_settings(authority))
            .transpose();
        let tls = tls.map_err(|why| refuse(why.clone()))?;
        Ok(Self { url, token, tls })
    }

    pub(super) async fn connect(&self) -> Result<Socket, Error> {
        let failed = |why: &dyn fmt::Display| Error::Unreachable(self.hub(), why.to_string());
        let request = self.url.as_str().into_client_request();
        let mut request = request.map_err(|error| failed(&error))?;
        if let Some(token) = &self.token {
            request.headers_mut().insert("authorization", token.clone());
        }
        let connector = match &self.tls {
            Some(tls) => Connector::Rustls(Arc::clone(tls)),
            None => Connector::Plain,
        };
        let connecting =
            tokio_tungstenite::connect_async_tls_with_config(request, None, true, Some(connector));
        // The future that connects is large. The box frees it once the connection is open.
        match timeout(CONNECT, Box::pin(connecting)).await {
            Err(_) => Err(failed(&format_args!("no answer within {CONNECT:?}"))),
            Ok(Ok((socket, _))) => Ok(socket),
            Ok(Err(tungstenite::Error::Http(answer))) if answer.status().is_client_error() => {
                let body = answer.body().as_deref().unwrap_or_default();
                let reason = reason(&String::from_utf8_lossy(body));
                let why = reason.unwrap_or_else(|| format!("it answers {}", answer.status()));
                Err(Error::Denied(self.hub(), why))
            }
            Ok(Err(error)) => {
                let cure = cure_of_tls(&error, self.tls.is_some());
                Err(failed(&format_args!("{error}{cure}")))
            }
        }
    }

    /// Returns the address of the hub.
    fn hub(&self) -> String {
        let path = self.url.path();
        let path = path.strip_suffix(SOCKET).unwrap_or(path);
        self.url.origin().ascii_serialization() + path
    }
}

/// Returns what to do about an error where one side speaks TLS and the other does not, or where the certificate is not
/// trusted. The text is empty for every other error. `is_tls` says that this side speaks TLS.
fn cure_of_tls(error: &tungstenite::Error, is_tls: bool) -> &'static str {
    match error {
        tungstenite::Error::Io(error) => {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause {
                Some(rustls::Error::InvalidMessage(_)) => "; use ws:// if the hub speaks no TLS",
                Some(rustls::Error::InvalidCertificate(_)) => {
                    "; name the file with the certificate of the hub's authority (`authority`, or `--authority` of a \
                     command), and the hub by a name that stands in its certificate"
                }
                _ => "",
            }
        }
        // A hub that speaks TLS answers a request without TLS by an alert, which is not HTTP.
        tungstenite::Error::Protocol(ProtocolError::HttparseError(_)) if !is_tls => {
            "; use wss:// if the hub speaks TLS"
        }
        _ => "",
    }
}

/// Says how to write an address that does not begin with `ws://` or `wss://`.
fn other_scheme(hub: &str) -> String {
    let place = hub.split_once("://").map_or(hub, |(_, place)| place);
    let place = match place.trim_start_matches('/') {
        "" => "127.0.0.1:7337",
        place => place,
    };
    format!("begin it with ws:// or wss://, as in ws://{place}")
}

/// Returns the reason that a hub gives for refusing a request, if it gives one.
fn reason(body: &str) -> Option<String> {
    const MOST: usize = 500;
    if let Ok(answer) = Typed::<ErrorFail<'_>>::decode(body) {
        return Some(format!(
            "{}: expected {}",
            answer.frame.code, answer.frame.msg
        ));
    }
    // The body is not a frame of the hub, so another program has sent it, such as a proxy.
    let text = body.trim();
    let begin = text
        .char_indices()
        .nth(MOST)
        .map_or(text, |(end, _)| &text[..end]);
    (!text.is_empty()).then(|| format!("it answers {begin:?}"))
}

/// Carries the frames of an agent to its hub and back.
pub(super) struct Carrier {
    target: Target,
    handle: Weak<Handle>,
    /// The channels to the side and from it.
    side: Wire,
    frames: mpsc::Receiver<Frame>,
    /// When another socket of the agent took the place of this one.
    replaced: Option<Instant>,
    /// Why the hub does not let the agent in, once the hub has said it.
    refusal: Arc<OnceLock<String>>,
}

/// Why a socket is not used any more.
enum Broken {
    /// The link is lost.
    Lost,
    /// The agent has ended.
    Over,
    /// The hub does not want the agent, for this reason.
    Denied(String),
}

impl Carrier {
    pub(super) fn new(
        target: Target,
        handle: Weak<Handle>,
        side: Wire,
        frames: mpsc::Receiver<Frame>,
    ) -> Self {
        Self {
            target,
            handle,
            side,
            frames,
            replaced: None,
            refusal: Arc::default(),
        }
    }

    /// Returns the place where the reason stands, once the hub has said that it does not let the agent in.
    pub(super) fn refusal(&self) -> Arc<OnceLock<String>> {
        Arc::clone(&self.refusal)
    }

    /// Carries frames until the agent ends. `first` is `None` if the hub could not be reached.
    pub(super) async fn run(mut self, first: Option<Socket>) {
        let mut next = first;
        let denied = loop {
            if let Some(socket) = next.take() {
                match self.carry(socket).await {
                    Broken::Over => return,
                    Broken::Denied(why) => break why,
                    Broken::Lost => {}
                }
            }
            match self.again().await {
                Ok(again) => next = Some(again),
                Err(Broken::Denied(why)) => break why,
                Err(_) => return,
            }
        };
        self.tell(Command::End(denied));
    }

    /// Connects again, with more time between attempts.
    async fn again(&mut self) -> Result<Socket, Broken> {
        let mut pause = FIRST;
        loop {
            // Each agent waits for a random time, so that not all agents of a restarted hub connect
            // at once.
            let wait = pause.mul_f64(0.5 + share());
            tokio::select! {
                () = sleep(wait) => {}
                () = self.side.closed() => return Err(Broken::Over),
            }
            pause = LATEST.min(pause * 2);
            let connecting = tokio::select! {
                connected = self.target.connect() => connected,
                () = self.side.closed() => return Err(Broken::Over),
            };
            match connecting {
                Ok(socket) => return Ok(socket),
                Err(Error::Denied(hub, why)) => {
                    self.refused(&why);
                    return Err(Broken::Denied(Error::Denied(hub, why).to_string()));
                }
                Err(error) => tracing::debug!(%error, "the hub cannot be reached"),
            }
        }
    }

    async fn carry(&mut self, mut socket: Socket) -> Broken {
        // These frames belong to the last link. The session sends them again on the new link, which begins with a
        // hello.
        while self.frames.try_recv().is_ok() {}
        self.tell(Command::Connected);
        let mut has_greeted = false;
        let mut silent = Instant::now() + SILENCE;
        let mut last = Gathered::default();
        loop {
            tokio::select! {
                () = sleep_until(last.due.unwrap_or(silent)), if last.due.is_some() => {
                    let message = last.take().map(Message::text);
                    if let Some(message) = message
                        && !is_sent(&timeout(SILENCE, socket.send(message)).await)
                    {
                        return Broken::Lost;
                    }
                }
                frame = self.frames.recv() => {
                    let Some(frame) = frame else {
                        let _ = timeout(CONNECT, socket.close(None)).await;
                        return Broken::Over;
                    };
                    let mut next = Some(frame);
                    while let Some(frame) = next {
                        has_greeted |= is_hello(&frame.text);
                        let text = last.gather(frame.text);
                        if let Some(text) = text.filter(|_| has_greeted)
                            && !is_sent(&timeout(SILENCE, socket.feed(Message::text(text))).await)
                        {
                            return Broken::Lost;
                        }
                        next = self.frames.try_recv().ok();
                    }
                    if !is_sent(&timeout(SILENCE, socket.flush()).await) {
                        return Broken::Lost;
                    }
                }
                message = timeout_at(silent, socket.next()) => {
                    silent = Instant::now() + SILENCE;
                    match message {
                        Ok(Some(Ok(Message::Text(text)))) => {
                            if !self.side.send(MemberId::HOST, text.to_string()).await {
                                return Broken::Over;
                            }
                        }
                        Ok(Some(Ok(Message::Close(Some(close))))) => return self.closed(&close),
                        Ok(Some(Ok(_))) => {}
                        Ok(Some(Err(_)) | None) | Err(_) => return Broken::Lost,
                    }
                }
            }
        }
    }

    /// Returns what a close by the hub means: the agent connects again (`Lost`), or gives up (`Denied`).
    fn closed(&mut self, close: &CloseFrame) -> Broken {
        tracing::debug!(code = u16::from(close.code), reason = %close.reason, "the hub closes the socket");
        if close.code == CloseCode::Policy {
            self.refused(&close.reason);
        }
        let is_over = match u16::from(close.code) {
            // The first replacement may be this agent's own earlier socket, which a proxy has
            // passed on too late. So the agent connects again. A second replacement soon after
            // shows that another program uses the agent's name, so the agent gives up.
            REPLACED => {
                let now = Instant::now();
                let before = self.replaced.replace(now);
                before.is_some_and(|before| now.duration_since(before) < TWICE)
            }
            // The hub will never take a frame that is too long for it, so sending it again does not help.
            code => [CloseCode::Policy, CloseCode::Size]
                .map(u16::from)
                .contains(&code),
        };
        if is_over {
            Broken::Denied(close.reason.to_string())
        } else {
            Broken::Lost
        }
    }

    /// Keeps the reason why the hub does not let the agent in.
    fn refused(&self, why: &str) {
        // The agent ends with the first reason, so no second one comes.
        let _ = self.refusal.set(why.to_owned());
    }

    fn tell(&self, command: Command) {
        if let Some(handle) = self.handle.upgrade() {
            let _ = handle.tell(command);
        }
    }
}

fn is_sent<E>(sent: &Result<Result<(), E>, tokio::time::error::Elapsed>) -> bool {
    matches!(sent, Ok(Ok(())))
}

/// The last acknowledgement that was not sent yet. It names the end of this side's log, so it replaces all
/// earlier acknowledgements.
#[derive(Default)]
struct Gathered {
    last: Option<String>,
    count: u32,
    due: Option<Instant>,
}

impl Gathered {
    /// Takes a frame. Returns the frame to send now, if any.
    fn gather(&mut self, frame: String) -> Option<String> {
        let names_a_frame = frame.contains(",of:") || frame.contains(",cid:");
        if !frame.contains(">ack:frame{}[") || names_a_frame {
            return Some(frame);
        }
        self.last = Some(frame);
        self.count += 1;
        self.due.get_or_insert_with(|| Instant::now() + GATHER);
        (self.count == GATHERED).then(|| self.take())?
    }

    fn take(&mut self) -> Option<String> {
        (self.count, self.due) = (0, None);
        self.last.take()
    }
}

fn is_hello(frame: &str) -> bool {
    let operation = frame.split_once('>').map(|(_, rest)| rest);
    operation.is_some_and(|operation| operation.starts_with("sync:registry{"))
}

/// Returns a number from 0 to 1 that differs between processes.
fn share() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    let number = RandomState::new().hash_one(0_u8) as u32;
    f64::from(number) / f64::from(u32::MAX)
}
