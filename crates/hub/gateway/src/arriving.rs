//! The body of a request on its way from the client.

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use tokio::time::timeout;

/// How long a client may pause within the body of a request.
const PAUSE: Duration = Duration::from_secs(60);

/// The pieces of a body. If the body does not come whole, an error comes last.
pub(crate) type Arriving = BoxStream<'static, Result<Bytes, Cut>>;

/// Says that the body of a request did not come whole.
#[derive(Debug, thiserror::Error)]
#[error("the request did not come whole: {why}")]
pub(crate) struct Cut {
    why: String,
    is_late: bool,
}

impl Cut {
    fn late() -> Self {
        Self {
            why: format!(
                "nothing more of its body came within {} seconds",
                PAUSE.as_secs()
            ),
            is_late: true,
        }
    }

    /// Returns the cut that has caused an error, if one has.
    pub(crate) fn behind<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut cause = Some(error);
        while let Some(found) = cause {
            if let Some(cut) = found.downcast_ref() {
                return Some(cut);
            }
            cause = found.source();
        }
        None
    }

    /// Returns the status of the answer to a request that did not come whole.
    pub(crate) fn status(&self) -> StatusCode {
        if self.is_late {
            StatusCode::REQUEST_TIMEOUT
        } else {
            StatusCode::BAD_REQUEST
        }
    }
}

/// Returns the pieces of a body. A client that pauses for too long has cut its body off.
pub(crate) fn arriving(body: Body) -> Arriving {
    stream::unfold(Some(body.into_data_stream()), |rest| async {
        let mut rest = rest?;
        let cut = match timeout(PAUSE, rest.next()).await {
            Ok(None) => return None,
            Ok(Some(Ok(piece))) => return Some((Ok(piece), Some(rest))),
            Ok(Some(Err(error))) => Cut {
                why: innermost(&error),
                is_late: false,
            },
            Err(_) => Cut::late(),
        };
        Some((Err(cut), None))
    })
    .fuse()
    .boxed()
}

/// Returns the text of the innermost cause of an error, because the text of the error itself often says little.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
