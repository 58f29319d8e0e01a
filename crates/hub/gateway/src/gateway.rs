//! The server of a gateway.

use std::fmt;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::get;
use futures_util::{StreamExt as _, stream};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

use crate::branches::Branches;
use crate::config::{Config, Keep, Policy};
use crate::ledger::{Ledger, LedgerError};
use crate::listen::Tasks;
use crate::proxy;
use crate::report::{By, Report};
use crate::route::Provider;
use crate::state::{App, Writer};
use crate::{answer, listen, origin};

/// How long the gateway waits for answers under way when it ends.
const DRAIN: Duration = Duration::from_secs(10);

/// A gateway that listens.
pub struct Gateway {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    /// Is dropped when the gateway ends ([`App::ends`]).
    ending: watch::Sender<()>,
    writing: thread::JoinHandle<()>,
    /// Keeps other gateways from the ledger.
    lock: Option<File>,
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The address cannot be listened on.
    #[error("{0}: {1}; choose another address with --listen")]
    Address(SocketAddr, #[source] io::Error),
    /// The gateway would be open to other machines.
    #[error(
        "{0} is not loopback, and requests and their keys would cross the network unencrypted: say --allow-remote if that is meant"
    )]
    Remote(SocketAddr),
    /// The policy changes requests, but nothing may be kept.
    #[error(
        "with --keep none the policy has to be off or shadow, found {0}: what leaves a request could not come back after a restart"
    )]
    NothingKept(Policy),
    /// Nothing may be kept, but the ledger has what earlier gateways have kept.
    #[error(
        "the ledger has parts of prompts from before, and --keep none promises that it has none: name another file with --ledger"
    )]
    PartsKept,
    /// A setting cannot be used.
    #[error("{0}")]
    Setting(String),
    /// The ledger cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl Gateway {
    /// Makes a gateway that listens at the address of the settings, with its ledger in this file. A gateway that cannot
    /// start makes no ledger.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub async fn bind(config: Config, ledger: impl AsRef<Path>) -> Result<Self, GatewayError> {
        let prepared = prepare(&config)?;
        let file = ledger.as_ref();
        let lock = Ledger::lock(file)?;
        let listener = listen_at(config.listen).await?;
        let mut gateway = Self::with(config, prepared, listener, Ledger::open(file)?)?;
        gateway.lock = lock;
        Ok(gateway)
    }

    /// Makes a gateway that listens at the address of the settings, with this ledger. No other gateway may use the
    /// ledger.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub async fn with_ledger(config: Config, ledger: Ledger) -> Result<Self, GatewayError> {
        let prepared = prepare(&config)?;
        let listener = listen_at(config.listen).await?;
        Self::with(config, prepared, listener, ledger)
    }

    fn with(
        config: Config,
        prepared: Prepared,
        listener: TcpListener,
        mut ledger: Ledger,
    ) -> Result<Self, GatewayError> {
        ledger.unlock(prepared.key.as_deref())?;
        if config.keep == Keep::None && ledger.has_parts()? {
            return Err(GatewayError::PartsKept);
        }
        let address = listener.local_addr().unwrap_or(config.listen);
        let ledger = Arc::new(ledger);
        let branches =
            Branches::new(&config, Arc::clone(&ledger)).map_err(GatewayError::Setting)?;
        let branches = Arc::new(branches);
        let (writer, writing) = Writer::start(Arc::clone(&ledger), Arc::clone(&branches));
        let (ending, ends) = watch::channel(());
        let app = App {
            client: prepared.client,
            sockets: prepared.sockets,
            branches,
            config,
            ledger,
            writer,
            ends,
        };
        Ok(Self {
            listener,
            address,
            app: Arc::new(app),
            ending,
            writing,
            lock: None,
        })
    }

    /// Returns the URL that clients use in the place of the provider's.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until `end` is ready. Then it waits for the answers under way, but not longer than ten seconds. After
    /// that, the ledger has a row for each of these answers. The row of an answer that broke off is not `whole`.
    ///
    /// # Errors
    /// None for now. A connection that cannot be accepted is told in the log.
    pub async fn run(self, end: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        let Self {
            listener,
            app,
            ending,
            writing,
            lock,
            ..
        } = self;
        let own = Router::new()
            .route("/ui/gateway", get(page))
            .route("/accp/v1/gateway/report", get(report))
            .route("/accp/v1/gateway/events", get(events))
            .route("/accp/v1/gateway/ready", get(async || "ready\n"))
            .layer(middleware::from_fn(for_this_machine));
        let (writer, ends) = (app.writer.clone(), app.ends.clone());
        let routes = own.fallback(proxy::pass).with_state(app);
        let over = async {
            end.await;
            drop(ending);
            tokio::time::sleep(DRAIN).await;
        };
        let tasks = Tasks::default();
        tokio::select! {
            () = listen::serve(listener, routes, ends, &tasks) => {}
            () = over => tracing::warn!("answers that are under way break off"),
        }
        // The row of an answer is written when nothing is left of the answer.
        tasks.end().await;
        let joined = tokio::task::spawn_blocking(move || {
            writer.end();
            writing.join()
        });
        let joined = joined.await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the thread of the ledger failed");
        }
        drop(lock);
        Ok(())
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Checks what the types of the settings do not say.
fn check(config: &Config) -> Result<(), GatewayError> {
    let at = config.listen;
    if !at.ip().is_loopback() && !config.allow_remote {
        return Err(GatewayError::Remote(at));
    }
    if config.keep == Keep::None && config.policy.changes() {
        return Err(GatewayError::NothingKept(config.policy));
    }
    if !(0.0..=1.0).contains(&config.holdout) {
        let message = format!("--holdout is a share from 0 to 1, found {}", config.holdout);
        return Err(GatewayError::Setting(message));
    }
    if !config.predict.changes() {
        let found = config.predict;
        let message = format!("--predict takes append, save or window, found {found}");
        return Err(GatewayError::Setting(message));
    }
    let effect = config.effect();
    if effect == Policy::Window && config.window.is_none() {
        let message = "the policy window needs the tokens of a list, such as --window 100000";
        return Err(GatewayError::Setting(message.to_owned()));
    }
    if config.window.is_some() && !effect.cuts() {
        let message =
            format!("--window is for --policy save or window, and the policy is {effect}");
        return Err(GatewayError::Setting(message));
    }
    for provider in [Provider::Anthropic, Provider::OpenAi] {
        let url = config.upstream(provider);
        let read = reqwest::Url::parse(url).ok();
        let read = read.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let expected = match read {
            None => "the URL of an API, such as https://api.example",
            Some(url) if url.query().is_some() || url.fragment().is_some() => {
                "a URL without `?` and `#`, because the paths of requests follow it"
            }
            Some(_) => continue,
        };
        let message = format!("--upstream {provider}={url}: expected {expected}");
        return Err(GatewayError::Setting(message));
    }
    Ok(())
}

/// What a gateway has before it opens its ledger.
struct Prepared {
    /// The key that seals parts of prompts.
    key: Option<Vec<u8>>,
    client: reqwest::Client,
    sockets: reqwest::Client,
}

/// Checks the settings, and reads the files that they name.
fn prepare(config: &Config) -> Result<Prepared, GatewayError> {
    check(config)?;
    let key = config.key_file.as_ref().map(|file| {
        let read = std::fs::read(file);
        read.map_err(|error| format!("--key-file {}: {error}", file.display()))
    });
    Ok(Prepared {
        key: key.transpose().map_err(GatewayError::Setting)?,
        client: client(config, false).map_err(GatewayError::Setting)?,
        sockets: client(config, true).map_err(GatewayError::Setting)?,
    })
}

async fn listen_at(address: SocketAddr) -> Result<TcpListener, GatewayError> {
    let listener = TcpListener::bind(address).await;
    listener.map_err(|error| GatewayError::Address(address, error))
}

/// Returns a client for requests. It uses the proxies that the environment names.
fn client(config: &Config, for_sockets: bool) -> Result<reqwest::Client, String> {
    let mut tls =
        rustls::ClientConfig::clone(&*accp_client::tls_settings(config.authority.as_deref())?);
    let mut client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true);
    if for_sockets {
        client = client.http1_only();
    } else {
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    let client = client.tls_backend_preconfigured(tls).build();
    client.map_err(|error| format!("the client of the providers cannot start: {error}"))
}

/// Refuses requests that pages of other sites make in a browser on this machine: such a page could reach the report
/// under another host name.
async fn for_this_machine(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let host = origin::host(headers, request.uri());
    if origin::is_address(host) && !headers.contains_key(header::ORIGIN) {
        return next.run(request).await;
    }
    let message = "expected an address or localhost as the host, and no page of another site";
    answer::error(Provider::OpenAi, StatusCode::FORBIDDEN, message)
}

#[derive(Debug, Deserialize)]
struct Asked {
    by: Option<String>,
}

/// Reads the report on a thread that may wait for the disk.
async fn read(app: Arc<App>, by: By) -> Result<Report, Response> {
    let read = tokio::task::spawn_blocking(move || {
        // Requests need the connection of the gateway, and must not wait for a report.
        let own = app.ledger.again();
        Report::of(own.as_ref().unwrap_or(&app.ledger), by)
    });
    let read = read.await;
    let failed = |message: String| {
        answer::error(
            Provider::OpenAi,
            StatusCode::INTERNAL_SERVER_ERROR,
            &message,
        )
    };
    match read {
        Ok(report) => report.map_err(|error| failed(error.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}

async fn report(State(app): State<Arc<App>>, Query(asked): Query<Asked>) -> Response {
    let by = match asked.by.as_deref().unwrap_or("session").parse() {
        Ok(by) => by,
        Err(message) => {
            let message: String = message;
            return answer::error(Provider::OpenAi, StatusCode::BAD_REQUEST, &message);
        }
    };
    match read(app, by).await {
        Ok(report) => answer::of_json(StatusCode::OK, report.to_json()),
        Err(response) => response,
    }
}

/// Answers with a stream of events: each says what leaves a list, from now on, until the gateway ends.
async fn events(State(app): State<Arc<App>>) -> Response {
    let from_now = (app.branches.events(), app.ends.clone());
    let events = stream::unfold(from_now, async |(mut events, mut ends)| {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                _ = ends.changed() => return None,
            };
            match event {
                Ok(event) => return Some((Ok::<_, io::Error>(event), (events, ends))),
                // A reader that is too slow misses some events.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    let lines = events.map(|event| event.map(|event| format!("event: leaves\ndata: {event}\n\n")));
    let mut response = Response::new(Body::from_stream(lines));
    let kind = header::HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn page(State(app): State<Arc<App>>) -> Response {
    let mut tables = String::new();
    for by in By::ALL {
        match read(Arc::clone(&app), by).await {
            Ok(report) => tables.push_str(&report.to_html()),
            Err(response) => return response,
        }
    }
    let policy = app.config.policy;
    let mut headers = HeaderMap::new();
    let only = header::HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
    headers.insert(header::CONTENT_SECURITY_POLICY, only);
    let page = format!(include_str!("page.html"), policy = policy, tables = tables);
    (headers, Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_does_not_wait_for_a_request() {
        let folder = tempfile::TempDir::new().unwrap();
        let ledger = Ledger::open(folder.path().join("gateway.accp")).unwrap();
        // A request has the connection of the gateway.
        let held = ledger.connection();
        let own = ledger.again().unwrap();
        let report = Report::of(&own, By::Session).unwrap();
        assert_eq!(report.all.requests, 0);
        drop(held);
        assert!(Ledger::in_memory().unwrap().again().is_none());
    }
}
