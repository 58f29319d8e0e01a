//! The server of a hub: its socket, its connections, its shutdown.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use accp_client::{Agent, Busy, Hub, Principal};
use accp_frame::Registry;
use accp_session::Outbound;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::IntoResponse;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tower_service::Service as _;

use crate::abort::Abort;
use crate::access::Access;
use crate::answer::Refused;
use crate::app::{App, Room, Shared, over};
use crate::certificates::Certificate;
use crate::config::Config;
use crate::hubs::Forward;
use crate::layers;
use crate::metrics::{Metrics, Up};
use crate::rates::{Quota, Rate};
use crate::routes;
use crate::sessions::Sessions;
use crate::write_timeout::WriteTimeout;

/// How long the sockets may take to close.
const CLOSE: Duration = Duration::from_secs(3);
/// How often the hub checks that the store can keep data.
const PROBES: Duration = Duration::from_secs(2);

/// A hub that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    end: watch::Sender<bool>,
    close: watch::Sender<bool>,
    revision: watch::Sender<u64>,
    unable: watch::Sender<Option<String>>,
    tls: Option<Certificate>,
    mounts: Vec<Router<Shared>>,
}

/// The agents of a hub's sessions, for a service that is [mounted](Server::mount) on it.
#[derive(Clone)]
pub struct Agents {
    app: Shared,
}

impl accp_client::Agents for Agents {
    /// Opens a session, and an agent in it. If an agent of this name is open already, that agent ends.
    async fn agent(&self, who: &Principal) -> Result<Agent, accp_client::Error> {
        let sessions = &self.app.sessions;
        let hub = sessions
            .get(who.session(), false, Some(who.counted_as()))
            .await;
        let hub = hub.map_err(|why| refused(who.session(), why))?;
        let agent = hub.agent(who.agent())?;
        // If the agent may not join, this error gives the reason.
        agent.joined().await?;
        Ok(agent)
    }

    /// A session that has not begun has the registry of the hub. This call does not begin the session.
    async fn registry(&self, who: &Principal) -> Result<Arc<Registry>, accp_client::Error> {
        let registry = self.app.sessions.registry(who.session()).await;
        registry.map_err(|why| refused(who.session(), why))
    }

    async fn has_begun(&self, who: &Principal) -> Result<bool, accp_client::Error> {
        let begun = self.app.sessions.has_begun(who.session()).await;
        begun.map_err(|why| refused(who.session(), why))
    }

    async fn check_frame(
        &self,
        who: &Principal,
        first: &Outbound<'static>,
    ) -> Result<(), accp_client::Error> {
        let (session, sessions) = (who.session(), &self.app.sessions);
        let begins = sessions.may_begin(session).await;
        if begins.map_err(|why| refused(session, why))? {
            return sessions.check_first_frame(session, who.agent(), first);
        }
        let hub = sessions.get(session, false, None).await;
        let hub = hub.map_err(|why| refused(session, why))?;
        hub.check_frame(who.agent(), first.clone()).await
    }

    async fn hub(&self, who: &Principal) -> Result<Option<Hub>, accp_client::Error> {
        let hub = self.app.sessions.get(who.session(), false, None).await;
        hub.map(Some).map_err(|why| refused(who.session(), why))
    }
}

/// Returns the error of an agent that cannot be opened, because the hub has refused its session.
fn refused(session: &str, refused: Refused) -> accp_client::Error {
    if let Some(seconds) = refused.again {
        return accp_client::Error::Busy(Box::new(Busy {
            code: refused.code,
            expected: refused.expected,
            again: Duration::from_secs(seconds),
            is_limit: refused.status == StatusCode::TOO_MANY_REQUESTS,
        }));
    }
    if refused.status.is_server_error() {
        // Neither the caller nor a later attempt can mend this.
        let why = format!("{session}: expected {}", refused.expected);
        return accp_client::Error::Damaged(why);
    }
    let session = session.to_owned();
    if refused.status == StatusCode::NOT_FOUND {
        return accp_client::Error::NoSession(session);
    }
    accp_client::Error::Denied(session, refused.expected)
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").finish_non_exhaustive()
    }
}

/// Why a hub does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// The address cannot be listened on.
    #[error("{0}: {1}; choose another address with --listen")]
    Address(SocketAddr, #[source] io::Error),
    /// The hub would let everybody in from other machines.
    #[error(
        "{0} is not loopback, and without tokens everybody there could be any agent: give the hub \
         tokens (--tokens FILE, --jwks FILE), or say --anybody-from-anywhere"
    )]
    Open(SocketAddr),
    /// Other hubs cannot reach this hub at this address.
    #[error("{0}: {1}; say where other hubs reach this one: --advertise http://10.0.0.5:7337")]
    Advertised(String, String),
    /// The certificate or its key cannot be used.
    #[error("{0}")]
    Tls(String),
}

impl Server {
    /// Listens. Without authentication ([`Access::is_open`]) only on loopback, unless
    /// [`Config::anybody_from_anywhere`] says otherwise.
    ///
    /// # Errors
    /// [`ListenError`].
    pub async fn bind(
        config: Config,
        mut sessions: Sessions,
        access: impl Access,
    ) -> Result<Self, ListenError> {
        let at = config.listen;
        if access.is_open() && !at.ip().is_loopback() && !config.anybody_from_anywhere {
            return Err(ListenError::Open(at));
        }
        let tls = config.tls.as_ref().map(Certificate::open);
        let tls = tls.transpose().map_err(ListenError::Tls)?;
        let listener = TcpListener::bind(at).await;
        let listener = listener.map_err(|error| ListenError::Address(at, error))?;
        let address = listener.local_addr().unwrap_or(at);
        sessions.listen(address);
        let (end, ends) = watch::channel(false);
        let (close, closes) = watch::channel(false);
        let forward = match &config.replica {
            None => None,
            Some(replica) => {
                let own = url(address, tls.is_some());
                let name = replica.advertise.clone().unwrap_or(own);
                check_advertised(&name)?;
                sessions.shared(name.clone(), Duration::from_secs(replica.lease.max(1)));
                let forward = Forward::new(replica);
                Some(forward.map_err(|why| ListenError::Tls(format!("{name}: {why}")))?)
            }
        };
        let first = access.revision().unwrap_or_default();
        let (revision, watched) = watch::channel(first);
        let (unable, able) = watch::channel(None);
        let app = Arc::new(App {
            frames: Rate::new(f64::from(config.limits.frames_per_second), 1.0),
            bytes: Rate::new(f64::from(config.limits.bytes_per_second), 1.0),
            requests: Arc::new(Quota::new(config.limits.requests)),
            bodies: Arc::new(Quota::new(config.limits.bodies)),
            revision: watched,
            unable: able,
            forward,
            config,
            sessions,
            access: Box::new(access),
            metrics: Metrics::default(),
            on_request: OnceLock::new(),
            ends,
            closes,
        });
        Ok(Self {
            listener,
            address,
            app,
            end,
            close,
            revision,
            unable,
            tls,
            mounts: Vec::new(),
        })
    }

    /// Returns the agents of the hub's sessions.
    pub fn agents(&self) -> Agents {
        Agents {
            app: Arc::clone(&self.app),
        }
    }

    /// Lets a service answer requests to `path/{session}/{agent}` and below, of callers who may speak as that
    /// agent in that session. The service gets the [`Principal`](accp_client::Principal) in the extensions of
    /// the request, and the rest of the path.
    pub fn mount<S>(mut self, path: &str, service: S) -> Self
    where
        S: tower_service::Service<Request, Error = Infallible> + Clone + Send + Sync + 'static,
        S::Response: IntoResponse,
        S::Future: Send + 'static,
    {
        self.mounts.push(layers::mount(&self.app, path, service));
        self
    }

    /// Calls `hook` with the headers of each request and its span, before the span begins. So a program can
    /// set the parent of the span. Only the first `hook` of a server counts.
    ///
    /// A request has a span of the target `accp::spans` and the level `INFO`. A frame over a WebSocket has a span
    /// of the level `DEBUG`. The fields of these spans have the names of OpenTelemetry, and hold no payload.
    pub fn on_request(
        self,
        hook: impl Fn(&HeaderMap, &tracing::Span) + Send + Sync + 'static,
    ) -> Self {
        let _ = self.app.on_request.set(Box::new(hook));
        self
    }

    /// Returns the address, with the port that the system has chosen if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL at which clients reach the hub.
    pub fn url(&self) -> String {
        url(self.address, self.tls.is_some())
    }

    /// Serves until `shutdown` is ready. Then the hub accepts no more connections. Requests that wait for an answer
    /// of an agent are answered at once with what there is. The hub waits for all other requests to end,
    /// [`Config::drain`] seconds at most. Then the hub tells its sockets to connect again. By then the store has
    /// everything that the hub has acknowledged.
    pub async fn run(self, shutdown: impl Future<Output = ()> + Send) {
        let Self {
            listener,
            app,
            end,
            close,
            revision,
            unable,
            tls,
            mounts,
            ..
        } = self;
        let limits = &app.config.limits;
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(Duration::from_secs(limits.header_seconds))
            .max_buf_size(limits.headers.max(8 * 1024))
            .half_close(false);
        let connections = Arc::new(Semaphore::new(
            limits.connections.min(Semaphore::MAX_PERMITS),
        ));
        // Each connection holds a sender until its last request has ended. A connection that has become a socket
        // holds none.
        let (open, mut requests) = mpsc::channel::<()>(1);
        let routes = routes::router(Arc::clone(&app), mounts);
        let idle = Duration::from_secs(app.config.idle);
        tokio::spawn(renew(Arc::clone(&app)));
        tokio::spawn(layers::watch(Arc::clone(&app), revision));
        tokio::spawn(probe(Arc::clone(&app), unable));
        if let Some(tls) = &tls {
            tokio::spawn(tls.watch(app.ends.clone()));
        }
        let mut shutdown = std::pin::pin!(shutdown);
        // The timer is made before the loop, so that new connections do not delay its ticks.
        let mut rests = interval(idle / 4 + Duration::from_secs(1));
        rests.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let accepted = tokio::select! {
                () = &mut shutdown => break,
                _ = rests.tick() => {
                    let app = Arc::clone(&app);
                    tokio::spawn(async move { app.sessions.rest(idle).await });
                    continue;
                }
                accepted = accept(&listener, &connections) => accepted,
            };
            let (stream, room) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // The process may have too many open files. The pause lets it close some of
                    // them.
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let patience = Duration::from_secs(app.config.limits.write_seconds.max(1));
            let stream = WriteTimeout::new(stream, patience);
            let (http, routes, app) = (http.clone(), routes.clone(), Arc::clone(&app));
            let (tls, open) = (tls.as_ref().map(Certificate::acceptor), open.clone());
            tokio::spawn(async move {
                let _open = open;
                let _up = Up::new(&app.metrics.connections);
                match tls {
                    None => serve(&http, &app, routes, stream, room).await,
                    Some(tls) => {
                        let patience = Duration::from_secs(app.config.limits.header_seconds);
                        if let Ok(Ok(stream)) = timeout(patience, tls.accept(stream)).await {
                            serve(&http, &app, routes, stream, room).await;
                        }
                    }
                }
            });
        }
        drop(listener);
        let _ = end.send(true);
        drop(open);
        let drain = Duration::from_secs(app.config.drain);
        // Nothing is sent on this channel, so this returns when the last sender is dropped.
        if timeout(drain, requests.recv()).await.is_err() {
            tracing::warn!(?drain, "requests were cut off");
        }
        let _ = close.send(true);
        // Each connection and each socket holds a permit, so all permits are free when the last one
        // ends.
        let all = u32::try_from(app.config.limits.connections).unwrap_or(u32::MAX);
        if timeout(CLOSE, connections.acquire_many(all)).await.is_err() {
            tracing::debug!("sockets were cut off");
        }
        app.sessions.release().await;
    }
}

/// Renews the leases of the hub until it ends.
async fn renew(app: Shared) {
    let Some(every) = app.sessions.renews() else {
        return;
    };
    // Agents may still send over their sockets while requests end, so the leases are needed until then.
    let mut closes = app.closes.clone();
    loop {
        tokio::select! {
            () = sleep(every) => {}
            () = over(&mut closes) => return,
        }
        // If the store fails, its sessions end by themselves, so the result is ignored.
        let _ = app.sessions.renew().await;
    }
}

/// Checks regularly that the store can keep data.
async fn probe(app: Shared, unable: watch::Sender<Option<String>>) {
    let mut ends = app.ends.clone();
    loop {
        let probed = app.sessions.probe().await;
        let why = probed.err().map(|error| error.to_string());
        unable.send_if_modified(|before| {
            match &why {
                Some(why) if before.as_ref() != Some(why) => {
                    tracing::error!(why, "the store is not able to keep anything");
                }
                None if before.is_some() => tracing::info!("the store is able again"),
                _ => {}
            }
            let has_changed = *before != why;
            *before = why;
            has_changed
        });
        tokio::select! {
            () = sleep(PROBES) => {}
            () = over(&mut ends) => return,
        }
    }
}

fn url(address: SocketAddr, is_tls: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// Checks that other hubs can reach this hub under its name.
fn check_advertised(name: &str) -> Result<(), ListenError> {
    let refused = |why: &str| Err(ListenError::Advertised(name.to_owned(), why.to_owned()));
    let Ok(uri) = name.parse::<Uri>() else {
        return refused("this is not a URL");
    };
    match (uri.scheme_str(), uri.host()) {
        (Some("http" | "https"), Some("0.0.0.0" | "[::]")) => {
            refused("no other hub reaches this one there")
        }
        (Some("http" | "https"), Some(_)) if matches!(uri.path(), "" | "/") => Ok(()),
        _ => refused("this is not http:// or https://, a host and a port"),
    }
}

async fn accept(
    listener: &TcpListener,
    connections: &Arc<Semaphore>,
) -> io::Result<(TcpStream, Room)> {
    let room = Arc::clone(connections).acquire_owned().await;
    let room = room.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, Arc::new(room)))
}

async fn serve<S>(http: &http1::Builder, app: &App, routes: Router, stream: S, room: Room)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let abort = Abort::default();
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(Arc::clone(&room));
        request.extensions_mut().insert(Abort::clone(&abort));
        routes.clone().call(request)
    });
    let connection = http.serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    let mut ends = app.ends.clone();
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        // Without this branch, data that the peer does not read would keep the connection open.
        () = abort.notified() => return,
        () = over(&mut ends) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has ended");
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
