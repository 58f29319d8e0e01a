//! Accepts connections, and serves their requests.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use crate::lock::lock;

/// The time in which the headers of a request have to be there. It begins with the connection, or with the end of the
/// answer before. So a connection without requests closes after this time.
const HEADERS: Duration = Duration::from_secs(75);
/// The most headers of a request.
const MOST_HEADERS: usize = 1_000;
/// How long the gateway waits after it could not accept a connection: the process may have too many open files.
const REST: Duration = Duration::from_millis(50);

/// The tasks of all connections. A connection of HTTP/2 has one for each of its requests, too.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, future: F) {
        let mut tasks = lock(&self.0);
        // Tasks that have ended leave the set.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async {
            future.await;
        });
    }
}

impl Tasks {
    /// Ends all tasks that go on, and waits until nothing is left of them.
    pub(crate) async fn end(&self) {
        loop {
            let mut tasks = std::mem::take(&mut *lock(&self.0));
            if tasks.is_empty() {
                return;
            }
            tasks.shutdown().await;
        }
    }
}

/// Serves until the sender of `ends` is dropped, and then waits for the requests under way.
pub(crate) async fn serve(
    listener: TcpListener,
    routes: Router,
    mut ends: watch::Receiver<()>,
    tasks: &Tasks,
) {
    let mut http = Builder::new(tasks.clone());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .max_headers(MOST_HEADERS);
    // Each connection holds a sender until it has ended.
    let (open, mut closed) = mpsc::channel::<()>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ends.changed() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a connection was not accepted");
                sleep(REST).await;
                continue;
            }
        };
        // An event must not wait for the next one to fill a packet.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "small packets of a connection wait");
        }
        let served = connection(http.clone(), routes.clone(), stream, ends.clone());
        let open = open.clone();
        tasks.execute(async move {
            served.await;
            drop(open);
        });
    }
    drop(listener);
    drop(open);
    // Nothing is sent on this channel, so this returns when the last connection has ended.
    closed.recv().await;
}

/// Serves the requests of a connection.
async fn connection(
    http: Builder<Tasks>,
    routes: Router,
    stream: TcpStream,
    mut ends: watch::Receiver<()>,
) {
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let service = service_fn(move |request: Request<Incoming>| {
        begins.notify_one();
        routes.clone().call(request)
    });
    let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = silence(&begun) => {
            tracing::debug!("a connection has ended, because no request came");
            return;
        }
        _ = ends.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection has ended");
    }
}

/// Returns if the first request of a connection does not begin in time. (The time of the server itself begins only
/// when the client has shown which version of HTTP it speaks.)
async fn silence(begun: &Notify) {
    if timeout(HEADERS, begun.notified()).await.is_ok() {
        pending::<()>().await;
    }
}
