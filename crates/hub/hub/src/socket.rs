//! `GET /accp/v1/ws`: frames over a WebSocket (draft section 11.2).

mod end;

use std::collections::VecDeque;
use std::future::{Future, pending, ready};
use std::pin::{Pin, pin};
use std::time::Duration;

use accp_client::{Hub, Link};
use axum::Extension;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::time::error::Elapsed;
use tokio::time::{Instant, interval_at, sleep_until, timeout, timeout_at};
use tokio_tungstenite::tungstenite;
use tracing::Instrument as _;

use crate::access::Denied;
use crate::answer::Refused;
use crate::app::{self, App, Room, Shared};
use crate::auth::{Authenticated, Authorized, Named};
use crate::forward::{self, There};
use crate::metrics::{Up, add};
use crate::query::Asked;
use crate::{frame_log, spans};
use end::{End, broken};

/// How long a peer may take to read a frame.
const PATIENCE: Duration = Duration::from_secs(30);
/// The buffer sizes of a socket. They are small, because most sockets are idle.
const BUFFER: usize = 4 * 1024;
/// How many messages a peer may send while its session is opened. Later messages wait in the network.
const EARLY: usize = 4;

pub(crate) async fn open(
    State(app): State<Shared>,
    Asked(named): Asked<Named>,
    requester: Authenticated,
    Extension(room): Extension<Room>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    let upgrade = upgrade.map_err(|error| Refused::upgrade(error.status()));
    let upgrade = match requester.may_open(&named).and(upgrade) {
        Ok(upgrade) => upgrade,
        Err(refused) => {
            add(&app.metrics.denied);
            return refused.response(&app.config.agent);
        }
    };
    // The library panics unless the largest buffer is larger than what a socket gathers before it writes.
    let most = app.config.limits.frame.saturating_mul(4).max(2 * BUFFER);
    let upgrade = upgrade
        .max_message_size(app.config.limits.frame)
        .max_frame_size(app.config.limits.frame)
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER)
        .max_write_buffer_size(most);
    upgrade.on_upgrade(move |socket| async move {
        let (_up, _room) = (Up::new(&app.metrics.sockets), room);
        let mut peer = Peer {
            app: &app,
            socket,
            early: VecDeque::new(),
        };
        let mut over = pin!(requester.clone().over());
        // Only the exchange of frames lasts as long as the socket. The futures of the short steps
        // are boxed, so their memory is freed when the steps end.
        let greeted = Box::pin(peer.greet(&named, &requester));
        let end = match until(over.as_mut(), greeted).await {
            Ok((link, caller, first)) => {
                drop((uri, headers, named, requester));
                peer.carry(&caller, over.as_mut(), link, first).await
            }
            Err(End::Elsewhere(caller, there, first)) => {
                let way = (&*there, &uri, &headers);
                let passed = Box::pin(peer.pass_on(&caller, way, first));
                let passed = until(over.as_mut(), async { Ok::<End, End>(passed.await) });
                passed.await.unwrap_or_else(|end| end)
            }
            Err(end) => end,
        };
        Box::pin(peer.close(end)).await;
    })
}

/// Runs a future as long as the peer has the right.
async fn until<T>(
    over: Pin<&mut impl Future<Output = Denied>>,
    work: impl Future<Output = Result<T, End>>,
) -> Result<T, End> {
    tokio::select! {
        biased;
        denied = over => Err(End::Refused(denied.into())),
        done = work => done,
    }
}

/// The next event of a socket.
enum Turn {
    /// A frame of the session to send, if the link has not ended.
    Down(Option<String>),
    Up(Option<Result<Message, axum::Error>>),
    Beat,
}

/// The next event of a socket whose messages this hub forwards to another hub.
enum Came {
    Peer(Option<Result<Message, axum::Error>>),
    /// A message of the other hub, unless that hub was silent for too long.
    There(Result<Option<Result<tungstenite::Message, tungstenite::Error>>, Elapsed>),
    /// No message is ready at the moment.
    Nothing,
}

/// Returns whether the peer reads in time what this future sends.
async fn takes<E>(sending: impl Future<Output = Result<(), E>>) -> bool {
    matches!(timeout(PATIENCE, sending).await, Ok(Ok(())))
}

struct Peer<'a> {
    app: &'a App,
    socket: WebSocket,
    /// Messages that the peer sent while its session was being opened.
    early: VecDeque<Message>,
}

impl Peer<'_> {
    /// Waits for the first frame, which has to be `sync:registry`, and opens the session.
    async fn greet(
        &mut self,
        named: &Named,
        requester: &Authenticated,
    ) -> Result<(Link, Authorized, String), End> {
        let patience = Duration::from_secs(self.app.config.limits.header_seconds);
        let first = timeout(patience, self.socket.recv()).await;
        let first = match first.map_err(|_| End::Silent)? {
            Some(Ok(Message::Text(text))) => text.to_string(),
            Some(Ok(Message::Binary(_))) => return Err(End::NotText),
            Some(Err(error)) => return Err(broken(error, self.app.config.limits.frame)),
            _ => return Err(End::Gone),
        };
        let greeted = requester.greet(named, &first);
        if greeted.is_err() {
            frame_log::log("", &self.app.config.agent, "receives", first.as_bytes());
        }
        let (caller, is_plain) = greeted.map_err(End::Refused)?;
        caller.takes(1, first.len()).map_err(End::Refused)?;
        let agent = caller.speaker().map_err(End::Refused)?;
        let opened = open_for(self.app, &caller, is_plain, &first);
        let linked = match self.during(opened).await? {
            Ok(hub) => hub
                .link(agent)
                .await
                .map_err(|error| Refused::client(&error)),
            Err(refused) => Err(refused),
        };
        match linked {
            Ok(link) => Ok((link, caller, first)),
            Err(Refused {
                there: Some(there), ..
            }) => Err(End::Elsewhere(caller, there, first)),
            Err(refused) => Err(End::Refused(refused)),
        }
    }

    /// Runs a future that may take long, and pings the peer meanwhile. The future is finished even if the peer
    /// disconnects, because a link that opens later for a closed socket would replace the link of the next socket.
    /// After a disconnection, this returns an error.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, End> {
        let heartbeat = Duration::from_secs(self.app.config.heartbeat.max(1));
        let mut beats = interval_at(Instant::now() + heartbeat, heartbeat);
        let mut work = pin!(work);
        let (mut end, mut asked) = (None, 0_usize);
        loop {
            tokio::select! {
                // The peer's messages are read first, so that the loop notices at once when the
                // peer is gone.
                biased;
                message = self.socket.recv(), if end.is_none() && self.early.len() < EARLY => {
                    match message {
                        Some(Ok(Message::Pong(_))) if asked > 0 => asked -= 1,
                        Some(Ok(Message::Close(_))) | None => end = Some(End::Gone),
                        Some(Err(error)) => end = Some(broken(error, self.app.config.limits.frame)),
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

    /// Opens a socket to the hub that runs the session, and relays messages both ways.
    async fn pass_on(
        &mut self,
        caller: &Authorized,
        (there, uri, headers): (&str, &Uri, &HeaderMap),
        first: String,
    ) -> End {
        let there = forward::socket(self.app, caller.session(), there, uri, headers);
        match self.during(there).await {
            Ok(Ok(there)) => self.hand_on(caller, there, first).await,
            Ok(Err(refused)) => End::Refused(refused),
            Err(end) => end,
        }
    }

    /// Relays messages to another hub and back. The other hub sends the pings of the session, checks the token
    /// and counts frames. Pings of WebSocket do not reach the other hub.
    async fn hand_on(&mut self, caller: &Authorized, mut there: There, first: String) -> End {
        let silence = 3 * Duration::from_secs(self.app.config.heartbeat.max(1));
        let mut ends = self.app.closes.clone();
        let mut ends = pin!(app::over(&mut ends));
        let mut silent = Instant::now() + silence;
        if !takes(there.send(tungstenite::Message::text(first))).await {
            return End::Restart;
        }
        // `down` and `up` are true while messages wait to be sent together.
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
                    caller.waits(0).await;
                }
                Came::Peer(ended @ (Some(Ok(Message::Close(_)) | Err(_)) | None)) => {
                    let _ = timeout(PATIENCE, there.close(None)).await;
                    return match ended {
                        Some(Err(error)) => broken(error, self.app.config.limits.frame),
                        _ => End::Gone,
                    };
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
                // The other hub has ended the connection, so the peer has to connect again.
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

    /// Relays frames both ways until the socket or the link ends.
    async fn carry(
        &mut self,
        caller: &Authorized,
        mut over: Pin<&mut impl Future<Output = Denied>>,
        mut link: Link,
        first: String,
    ) -> End {
        let heartbeat = Duration::from_secs(self.app.config.heartbeat.max(1));
        let mut heard = Instant::now();
        let mut ends = self.app.closes.clone();
        // The watch and the timer are made once for the whole loop, and not for each frame.
        let mut ends = pin!(app::over(&mut ends));
        let mut beat = pin!(sleep_until(heard + heartbeat));
        if !link.send(first).await {
            return End::Restart;
        }
        add(&self.app.metrics.received);
        loop {
            let turn = async {
                tokio::select! {
                    frame = link.recv() => Turn::Down(frame),
                    message = self.recv() => Turn::Up(message),
                    () = beat.as_mut() => Turn::Beat,
                }
            };
            let turn = tokio::select! {
                // The caller's right is checked first, so that no frame passes after the right has
                // ended.
                biased;
                denied = over.as_mut() => return End::Refused(denied.into()),
                () = ends.as_mut() => return End::Restart,
                turn = turn => turn,
            };
            let done = match turn {
                Turn::Down(None) => {
                    return if link.has_ended() {
                        End::Restart
                    } else if link.was_removed() {
                        End::Removed
                    } else {
                        End::Replaced
                    };
                }
                Turn::Down(Some(frame)) => until(over.as_mut(), self.send(frame, &mut link)).await,
                Turn::Up(message) => {
                    heard = Instant::now();
                    until(over.as_mut(), take(self.app, caller, &link, message)).await
                }
                Turn::Beat => {
                    let now = Instant::now();
                    if now.duration_since(heard) >= 2 * heartbeat {
                        return End::Silent;
                    }
                    // The peer has a whole heartbeat to answer each ping.
                    let next = if now.duration_since(heard) >= heartbeat {
                        link.ping();
                        now + heartbeat
                    } else {
                        heard + heartbeat
                    };
                    beat.as_mut().reset(next);
                    Ok(())
                }
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Sends a frame and all others that are ready, if the peer reads them.
    async fn send(&mut self, frame: String, link: &mut Link) -> Result<(), End> {
        let mut next = Some(frame);
        while let Some(frame) = next {
            if !takes(self.socket.feed(Message::Text(frame.into()))).await {
                return Err(End::Silent);
            }
            add(&self.app.metrics.sent);
            next = link.try_recv();
        }
        let flushed = takes(self.socket.flush()).await;
        flushed.then_some(()).ok_or(End::Silent)
    }

    async fn close(mut self, end: End) {
        let Some((code, reason)) = end.close() else {
            return;
        };
        match &end {
            End::Refused(refused) => {
                add(&self.app.metrics.denied);
                let error = Message::Text(refused.frame(&self.app.config.agent).into());
                let _ = timeout(PATIENCE, self.socket.send(error)).await;
            }
            End::Silent => add(&self.app.metrics.dropped),
            _ => {}
        }
        let close = Message::Close(Some(CloseFrame {
            code,
            reason: reason.into(),
        }));
        let closing = async {
            if self.socket.send(close).await.is_ok() {
                // The peer answers the close after it has read everything, so the socket stays open
                // until then.
                while let Some(Ok(_)) = self.socket.next().await {}
                if matches!(end, End::Unreadable(..)) {
                    // The rest of the message is not read. A socket that closes with such bytes is reset, and
                    // the peer may lose the close frame.
                    pending::<()>().await;
                }
            }
        };
        let _ = timeout(Duration::from_secs(2), closing).await;
    }
}

/// Opens the session of a peer, or begins it, unless the session refuses the hello of the peer. So a hello that is
/// refused leaves no agent and no session behind.
async fn open_for(
    app: &App,
    caller: &Authorized,
    is_plain: bool,
    hello: &str,
) -> Result<Hub, Refused> {
    app.check_able()?;
    let session = caller.session();
    if app.sessions.may_begin(session).await? {
        app.sessions.check_first_hello(session, is_plain, hello)?;
    }
    let hub = caller.open(is_plain).await?;
    let checked = hub.check_hello(hello).await;
    checked.map_err(|error| Refused::client(&error))?;
    Ok(hub)
}

/// Passes a message of the peer to the session, when the rate allows that.
async fn take(
    app: &App,
    caller: &Authorized,
    link: &Link,
    message: Option<Result<Message, axum::Error>>,
) -> Result<(), End> {
    match message {
        Some(Ok(Message::Text(text))) => {
            add(&app.metrics.received);
            caller.waits(text.len()).await;
            let agent = caller.speaker().map_err(End::Refused)?;
            let span = spans::frame(caller.session(), agent);
            let sent = link.send(text.to_string()).instrument(span).await;
            sent.then_some(()).ok_or(End::Restart)
        }
        Some(Ok(Message::Binary(_))) => Err(End::NotText),
        // The hub answers a ping, so a ping counts as a frame against the caller's rate.
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {
            caller.waits(0).await;
            Ok(())
        }
        Some(Err(error)) => Err(broken(error, app.config.limits.frame)),
        Some(Ok(Message::Close(_))) | None => Err(End::Gone),
    }
}
