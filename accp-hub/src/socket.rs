//! `GET /accp/v1/ws`: frames over a WebSocket (draft section 11.2).

use std::collections::VecDeque;
use std::future::{Future, ready};
use std::pin::pin;
use std::time::Duration;

use accp_client::{Link, REPLACED};
use accp_runtime::Frame;
use axum::Extension;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Deserialize;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, interval_at, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite;
use tracing::Instrument as _;

use crate::answer::Refused;
use crate::app::{App, Caller, Room, Shared, over};
use crate::forward::{self, There};
use crate::metrics::{Up, add};
use crate::spans;

/// The time in which a peer has to take a frame.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that a socket reads and writes at a time. Most sockets are idle.
const BUFFER: usize = 4 * 1024;
/// Messages that a peer may send while its session is opened. What comes after them waits in the network.
const EARLY: usize = 4;

/// The query of a socket.
#[derive(Debug, Deserialize)]
pub(crate) struct In {
    /// The session, for a peer whose first frame has no `sid`.
    session: Option<String>,
    /// The agent; the first frame has to be one of it.
    agent: Option<String>,
}

pub(crate) async fn open(
    State(app): State<Shared>,
    Query(within): Query<In>,
    caller: Caller,
    Extension(room): Extension<Room>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    if let Some(session) = &within.session
        && let Err(refused) = caller.check(session, within.agent.as_deref())
    {
        add(&app.metrics.denied);
        return refused.response(&app.config.agent);
    }
    let upgrade = upgrade
        .max_message_size(app.config.limits.frame)
        .max_frame_size(app.config.limits.frame)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_write_buffer_size(4 * app.config.limits.frame);
    upgrade.on_upgrade(move |socket| async move {
        let (_up, _room) = (Up::new(&app.metrics.sockets), room);
        let mut peer = Peer {
            app: &app,
            socket,
            early: VecDeque::new(),
        };
        // A socket carries for as long as it is open, and does the rest for a moment: that has its memory
        // apart.
        let end = match Box::pin(peer.greet(&within, &caller)).await {
            Ok((link, hello, first)) => {
                drop((uri, headers, within));
                peer.carry(&caller, link, &hello, first).await
            }
            Err(End::Elsewhere(hello, there, first)) => {
                let way = (&*there, &uri, &headers);
                Box::pin(peer.pass_on(&hello, way, first)).await
            }
            Err(end) => end,
        };
        Box::pin(peer.close(end)).await;
    })
}

/// Why a socket ends.
enum End {
    /// The peer has closed it, or is gone.
    Gone,
    /// The peer is silent, or takes nothing.
    Silent,
    /// The peer is refused, with an error frame and this reason.
    Refused(Refused),
    /// The hub at this address runs this session; the first frame is for that hub.
    Elsewhere(Hello, String, String),
    /// Another link of the agent has opened.
    Replaced,
    /// Another hub has closed the socket in this way.
    There(CloseFrame),
    /// A message that is no text.
    NotText,
    /// The session has ended, or the hub ends; the peer may come again.
    Restart,
}

/// What has come while a socket is handed on.
enum Came {
    Peer(Option<Result<Message, axum::Error>>),
    /// From the other hub, if it was not silent for too long.
    There(Result<Option<Result<tungstenite::Message, tungstenite::Error>>, Elapsed>),
    /// Nothing more, for now.
    Nothing,
}

/// Returns whether a peer takes something in time.
async fn takes<E>(sending: impl Future<Output = Result<(), E>>) -> bool {
    matches!(timeout(PATIENCE, sending).await, Ok(Ok(())))
}

struct Peer<'a> {
    app: &'a App,
    socket: WebSocket,
    /// What the peer has sent while its session was opened.
    early: VecDeque<Message>,
}

impl Peer<'_> {
    /// Waits for the first frame, which has to be `sync:registry`, and opens the session.
    async fn greet(&mut self, within: &In, caller: &Caller) -> Result<(Link, Hello, String), End> {
        let patience = Duration::from_secs(self.app.config.limits.header_seconds);
        let first = timeout(patience, self.socket.recv()).await;
        let first = match first.map_err(|_| End::Silent)? {
            Some(Ok(Message::Text(text))) => text.to_string(),
            Some(Ok(Message::Binary(_))) => return Err(End::NotText),
            _ => return Err(End::Gone),
        };
        let hello = Hello::read(&first, within).map_err(End::Refused)?;
        let Hello { session, agent, .. } = &hello;
        caller.check(session, Some(agent)).map_err(End::Refused)?;
        let app = self.app;
        let hub = self.during(app.sessions.get(session, hello.is_plain));
        let linked = match hub.await? {
            Ok(hub) => hub
                .link(agent)
                .await
                .map_err(|error| Refused::client(&error)),
            Err(refused) => Err(refused),
        };
        match linked {
            Ok(link) => Ok((link, hello, first)),
            Err(Refused {
                there: Some(there), ..
            }) => Err(End::Elsewhere(hello, there, first)),
            Err(refused) => Err(End::Refused(refused)),
        }
    }

    /// Does something for the peer that may take long, and gives signs of life meanwhile. What is begun is
    /// finished even if the peer goes away; then this is an error, because a link that opens for a socket
    /// that is gone would take the place of the next one.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let heartbeat = Duration::from_secs(self.app.config.heartbeat.max(1));
        let mut beats = interval_at(Instant::now() + heartbeat, heartbeat);
        let mut work = pin!(work);
        let (mut end, mut asked) = (None, 0_usize);
        loop {
            tokio::select! {
                // What the peer has said is known before the work is done.
                biased;
                message = self.socket.recv(), if end.is_none() && self.early.len() < EARLY => {
                    match message {
                        Some(Ok(Message::Pong(_))) if asked > 0 => asked -= 1,
                        Some(Ok(Message::Close(_)) | Err(_)) | None => end = Some(End::Gone),
                        Some(Ok(message)) => self.early.push_back(message),
                    }
                }
                done = work.as_mut() => return match end {
                    Some(end) => Err(end),
                    None => Ok(done),
                },
                _ = beats.tick(), if end.is_none() => {
                    asked += 1;
                    if !takes(self.socket.send(Message::Ping(Bytes::new()))).await {
                        end = Some(End::Silent);
                    }
                }
            }
        }
    }

    /// Returns the next message. Nothing is lost if this future is dropped.
    async fn recv(&mut self) -> Option<Result<Message, axum::Error>> {
        match self.early.pop_front() {
            Some(message) => Some(Ok(message)),
            None => self.socket.recv().await,
        }
    }

    /// Opens a socket of the hub that runs the session, and carries messages to it and back.
    async fn pass_on(
        &mut self,
        hello: &Hello,
        (there, uri, headers): (&str, &Uri, &HeaderMap),
        first: String,
    ) -> End {
        let there = forward::socket(self.app, &hello.session, there, uri, headers);
        match self.during(there).await {
            Ok(Ok(there)) => self.hand_on(&hello.agent, there, first).await,
            Ok(Err(refused)) => End::Refused(refused),
            Err(end) => end,
        }
    }

    /// Carries messages to another hub and back. That hub asks for signs of life, checks the token and
    /// counts frames; pings of the protocol below do not reach it.
    async fn hand_on(&mut self, agent: &str, mut there: There, first: String) -> End {
        let silence = 3 * Duration::from_secs(self.app.config.heartbeat.max(1));
        let mut ends = self.app.ends.clone();
        let mut ends = pin!(over(&mut ends));
        let mut silent = Instant::now() + silence;
        if !takes(there.send(tungstenite::Message::text(first))).await {
            return End::Restart;
        }
        // Whether messages wait until nothing more is there, to go out in one piece.
        let (mut down, mut up) = (false, false);
        loop {
            let from = async {
                tokio::select! {
                    message = self.recv() => Came::Peer(message),
                    message = timeout_at(silent, there.next()) => Came::There(message),
                }
            };
            let came = tokio::select! {
                biased;
                () = ends.as_mut() => return End::Restart,
                came = from => came,
                () = ready(()), if down || up => Came::Nothing,
            };
            match came {
                Came::Peer(Some(Ok(Message::Text(text)))) => {
                    let message = tungstenite::Message::text(text.as_str());
                    if !takes(there.feed(message)).await {
                        return End::Restart;
                    }
                    up = true;
                }
                Came::Peer(Some(Ok(Message::Binary(_)))) => return End::NotText,
                Came::Peer(Some(Ok(Message::Ping(_) | Message::Pong(_)))) => {
                    self.app.rates.wait(agent).await;
                }
                Came::Peer(Some(Ok(Message::Close(_)) | Err(_)) | None) => {
                    let _ = timeout(PATIENCE, there.close(None)).await;
                    return End::Gone;
                }
                Came::There(Ok(Some(Ok(tungstenite::Message::Text(text))))) => {
                    silent = Instant::now() + silence;
                    let message = Message::Text(text.as_str().into());
                    if !takes(self.socket.feed(message)).await {
                        return End::Silent;
                    }
                    down = true;
                }
                Came::There(Ok(Some(Ok(tungstenite::Message::Close(Some(close)))))) => {
                    return End::There(CloseFrame {
                        code: close.code.into(),
                        reason: close.reason.as_str().into(),
                    });
                }
                Came::There(Ok(Some(Ok(_)))) => silent = Instant::now() + silence,
                // The other hub is gone.
                Came::There(Ok(Some(Err(_)) | None) | Err(_)) => return End::Restart,
                Came::Nothing => {
                    if std::mem::take(&mut up) && !takes(there.flush()).await {
                        return End::Restart;
                    }
                    if std::mem::take(&mut down) && !takes(self.socket.flush()).await {
                        return End::Silent;
                    }
                }
            }
        }
    }

    /// Carries frames both ways until one side ends.
    async fn carry(
        &mut self,
        caller: &Caller,
        mut link: Link,
        hello: &Hello,
        first: String,
    ) -> End {
        let heartbeat = Duration::from_secs(self.app.config.heartbeat.max(1));
        let agent = &hello.agent;
        let mut heard = Instant::now();
        let mut ends = self.app.ends.clone();
        // One timer and one watch for all turns.
        let mut ends = pin!(over(&mut ends));
        let mut beat = pin!(sleep_until(heard + heartbeat));
        if !link.send(first).await {
            return End::Restart;
        }
        add(&self.app.metrics.received);
        loop {
            tokio::select! {
                frame = link.recv() => {
                    let Some(frame) = frame else {
                        return if link.has_ended() { End::Restart } else { End::Replaced };
                    };
                    if !self.send(frame, &mut link).await {
                        return End::Silent;
                    }
                }
                message = self.recv() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => {
                            add(&self.app.metrics.received);
                            self.app.rates.wait(agent).await;
                            let span = spans::frame(&hello.session, agent);
                            if !link.send(text.to_string()).instrument(span).await {
                                return End::Restart;
                            }
                        }
                        Some(Ok(Message::Binary(_))) => return End::NotText,
                        // A ping is answered, so it counts as a frame does.
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
                            self.app.rates.wait(agent).await;
                        }
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return End::Gone,
                    }
                }
                () = beat.as_mut() => {
                    let now = Instant::now();
                    if now.duration_since(heard) >= 2 * heartbeat {
                        return End::Silent;
                    }
                    // The token may have been withdrawn.
                    match self.app.access.identify(caller.token.as_deref()).await {
                        Ok(identity) if identity == caller.identity => {}
                        Ok(_) => return End::Refused(crate::Denied::Token.into()),
                        Err(crate::Denied::Unavailable) => {}
                        Err(denied) => return End::Refused(denied.into()),
                    }
                    // Each ping leaves the peer a whole heartbeat for its answer.
                    let next = if now.duration_since(heard) >= heartbeat {
                        link.ping();
                        now + heartbeat
                    } else {
                        heard + heartbeat
                    };
                    beat.as_mut().reset(next);
                }
                () = ends.as_mut() => return End::Restart,
            }
        }
    }

    /// Sends a frame, and those that are there already. Returns false if the peer does not take them.
    async fn send(&mut self, frame: String, link: &mut Link) -> bool {
        let mut next = Some(frame);
        while let Some(frame) = next {
            if !takes(self.socket.feed(Message::Text(frame.into()))).await {
                return false;
            }
            add(&self.app.metrics.sent);
            next = link.try_recv();
        }
        takes(self.socket.flush()).await
    }

    async fn close(mut self, end: End) {
        let (code, reason) = match &end {
            End::Gone | End::Elsewhere(..) => return,
            End::There(close) => (close.code, close.reason.to_string()),
            End::Silent => (close_code::NORMAL, "the peer is silent".to_owned()),
            End::Refused(refused) => {
                add(&self.app.metrics.denied);
                let again = refused.again.is_some();
                let code = if again {
                    close_code::AGAIN
                } else {
                    close_code::POLICY
                };
                let error = Message::Text(refused.frame(&self.app.config.agent).into());
                let _ = timeout(PATIENCE, self.socket.send(error)).await;
                (
                    code,
                    format!("{}: expected {}", refused.code, refused.expected),
                )
            }
            End::Replaced => (
                REPLACED,
                "another connection of this agent has opened".to_owned(),
            ),
            End::NotText => (
                close_code::UNSUPPORTED,
                "a frame is a text message".to_owned(),
            ),
            End::Restart => (
                close_code::RESTART,
                "the session is opened again".to_owned(),
            ),
        };
        if matches!(end, End::Silent) {
            add(&self.app.metrics.dropped);
        }
        // A reason has 123 bytes at most (RFC 6455).
        let reason: String = reason.chars().take(100).collect();
        let close = Message::Close(Some(CloseFrame {
            code,
            reason: reason.into(),
        }));
        let closing = async {
            if self.socket.send(close).await.is_ok() {
                // The peer answers, and has read everything by then.
                while let Some(Ok(_)) = self.socket.next().await {}
            }
        };
        let _ = timeout(Duration::from_secs(2), closing).await;
    }
}

/// What the first frame of a socket says of the peer.
struct Hello {
    session: String,
    agent: String,
    /// True if the peer knows the draft alone: it says nothing of our log.
    is_plain: bool,
}

impl Hello {
    fn read(text: &str, within: &In) -> Result<Self, Refused> {
        let frame = Frame::parse(text)?;
        if (&*frame.intent, &*frame.operation) != ("sync", "registry") {
            return Err(Refused::invalid(
                "sync:registry as the first frame (draft section 11.2)",
            ));
        }
        let envelope = frame.envelope()?;
        let named = envelope.session_id.as_deref();
        let session = within.session.as_deref().or(named).ok_or_else(|| {
            Refused::invalid("the session: `sid` in the metadata, or `?session=` in the URL")
        })?;
        if within
            .agent
            .as_deref()
            .is_some_and(|agent| agent != frame.agent)
        {
            return Err(crate::Denied::Agent.into());
        }
        let extra = ["pos", "n", "ext"];
        Ok(Self {
            session: session.to_owned(),
            agent: frame.agent.to_string(),
            is_plain: extra.iter().all(|key| frame.get(key).is_none()),
        })
    }
}
