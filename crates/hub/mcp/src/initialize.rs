//! The `initialize` request, and bodies that are not messages. rmcp treats an invalid `initialize` as some other
//! request, and does not say what is wrong. So this module checks `initialize` first, and says what is wrong with a
//! body that rmcp cannot read.

use std::io::Cursor;

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt as _;
use rmcp::model::{ErrorData, InitializeRequestParams, JsonRpcError, RequestId};
use serde_json::Value as Json;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
    Chain,
};

use crate::methods::wrong_field;

const METHOD: &str = "initialize";
/// The most bytes of `initialize`. A session of MCP keeps what the client says there of itself.
const MOST: usize = 32 * 1024;

/// The kind of a request, by its body.
pub(crate) enum Kind {
    /// A valid `initialize` request.
    Begins,
    /// An invalid `initialize` request, with the answer to it.
    Wrong(JsonRpcError),
    /// Something else, which rmcp reads.
    Other,
}

/// Returns the kind of a POST, by its body.
pub(crate) fn kind(body: &[u8]) -> Kind {
    let Ok(Json::Object(mut request)) = serde_json::from_slice(body) else {
        return Kind::Other;
    };
    if request.get("method").and_then(Json::as_str) != Some(METHOD) {
        return Kind::Other;
    }
    let id = request.remove("id").unwrap_or_default();
    let id = serde_json::from_value::<RequestId>(id).ok();
    let invalid = |what: &str| {
        let error = ErrorData::invalid_request(what.to_owned(), None);
        Kind::Wrong(JsonRpcError::new(id.clone(), error))
    };
    if request.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return invalid("`jsonrpc` of initialize is not \"2.0\"");
    }
    if id.is_none() {
        return invalid("`id` of initialize is missing, or is neither a string nor a whole number");
    }
    if body.len() > MOST {
        return invalid(&format!(
            "initialize has {} bytes; expected at most {MOST}",
            body.len()
        ));
    }
    match check(request.get("params")) {
        Ok(()) => Kind::Begins,
        Err(error) => Kind::Wrong(JsonRpcError::new(id, error)),
    }
}

/// Returns the error for a body that rmcp cannot read as a message. Where the body has no readable id, the error has
/// none: MCP lets an error leave `id` out, and its schema has no null there.
pub(crate) fn unreadable(body: &[u8]) -> JsonRpcError {
    let (id, error) = match serde_json::from_slice(body) {
        Err(error) => {
            let text = format!("expected a message of JSON-RPC as JSON: {error}");
            (None, ErrorData::parse_error(text, None))
        }
        Ok(Json::Array(_)) => {
            let text = "expected one message of JSON-RPC, as an object; a list of messages (a batch) is not taken: \
                        send each by itself";
            (None, ErrorData::invalid_request(text, None))
        }
        Ok(message) => {
            let text = "expected a message of JSON-RPC, as an object: `jsonrpc` is \"2.0\", and a request has an \
                        `id` that is a string or a whole number, a `method`, and the `params` of this method";
            let id = message.get("id").cloned();
            let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
            (id, ErrorData::invalid_request(text, None))
        }
    };
    JsonRpcError::new(id, error)
}

/// Checks the params of `initialize`, and names the field that is wrong.
fn check(params: Option<&Json>) -> Result<(), ErrorData> {
    let wrong = |text: String| Err(ErrorData::invalid_params(text, None));
    let params = match params {
        None => return wrong("`params` of initialize is missing".to_owned()),
        Some(params) if params.is_object() => params,
        Some(_) => return wrong("`params` of initialize is not an object".to_owned()),
    };
    // serde would accept a list for an object.
    for field in ["capabilities", "clientInfo"] {
        if params.get(field).is_some_and(|value| !value.is_object()) {
            return wrong(format!("`{field}` of initialize is not an object"));
        }
    }
    let Err(error) = serde_path_to_error::deserialize::<_, InitializeRequestParams>(params) else {
        return Ok(());
    };
    wrong(wrong_field(METHOD, &error))
}

/// Reads a body to its end. `None` if it has more than `most` bytes, or breaks off.
pub(crate) async fn read<B>(body: B, most: usize) -> Option<Bytes>
where
    B: Body + Send,
    B::Data: Send,
{
    let mut body = std::pin::pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(mut data) = frame.ok()?.into_data() else {
            continue;
        };
        let length = bytes::Buf::remaining(&data);
        if length > most.saturating_sub(whole.len()) {
            return None;
        }
        whole.extend_from_slice(&bytes::Buf::copy_to_bytes(&mut data, length));
    }
    Some(whole.freeze())
}

/// Reads the `initialize` request from a pipe. This answers an invalid request, and then the client may send
/// another. Returns the pipe as it was before the valid request.
///
/// # Errors
/// When the pipe breaks.
pub(crate) async fn pipe<R, W>(
    read: R,
    write: &mut W,
) -> std::io::Result<Chain<Cursor<Vec<u8>>, BufReader<R>>>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin,
{
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        read.read_until(b'\n', &mut line).await?;
        let Kind::Wrong(error) = kind(&line) else {
            return Ok(Cursor::new(line).chain(read));
        };
        let mut answer = serde_json::to_string(&error)?;
        answer.push('\n');
        write.write_all(answer.as_bytes()).await?;
        write.flush().await?;
    }
}
