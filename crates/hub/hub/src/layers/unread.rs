//! Requests that are answered before their body was read. hyper closes their connection after the answer, unless the
//! rest of the body is there already. So the answer says that the connection closes: a client would otherwise send its
//! next request there, and lose it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};

/// Whether the body of a request was read to its end. `None` for a request without a body.
pub(super) struct BodyRead(Option<Arc<AtomicBool>>);

impl BodyRead {
    /// Watches the body of a request.
    pub(super) fn watch(request: &mut Request) -> Self {
        if request.body().is_end_stream() {
            return Self(None);
        }
        let was_read = Arc::new(AtomicBool::new(false));
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(WatchedBody {
            body,
            was_read: Arc::clone(&was_read),
        });
        Self(Some(was_read))
    }

    /// Adds to a refusal that its connection closes, if the body of the request was not read. An answer that is no
    /// refusal may go out while the body still comes, so it stays as it is.
    pub(super) fn tell(self, mut response: Response) -> Response {
        let status = response.status();
        let refuses = status.is_client_error() || status.is_server_error();
        let is_unread = |read: Arc<AtomicBool>| !read.load(Ordering::Acquire);
        if refuses && self.0.is_some_and(is_unread) {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        response
    }
}

/// The body of a request, which notes that it was read to its end.
struct WatchedBody {
    body: Body,
    was_read: Arc<AtomicBool>,
}

impl HttpBody for WatchedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let is_over = match &polled {
            Poll::Ready(None) => true,
            Poll::Ready(Some(Ok(_))) => self.body.is_end_stream(),
            Poll::Ready(Some(Err(_))) | Poll::Pending => false,
        };
        if is_over {
            self.was_read.store(true, Ordering::Release);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
