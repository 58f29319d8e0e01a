//! `PUT /accp/v1/sessions/{session}/values/{key}`: the bytes of a value in cold state.

use accp_client::Supplied;
use accp_registry::Hash;
use accp_session::read_value;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::answer::Refused;
use crate::app::{App, Shared};
use crate::auth::Authorized;
use crate::body::BodyFrames;
use crate::query::{Asked, Parameters};
use crate::spans;

/// The query of a PUT: only the agent is allowed, and it is read elsewhere.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct By {
    #[serde(rename = "agent")]
    _agent: Option<String>,
}

impl Parameters for By {
    const EXPECTED: &'static str = "a query of `agent=NAME` alone";
}

pub(crate) async fn put(
    State(app): State<Shared>,
    Path((_, key)): Path<(String, String)>,
    Asked(_): Asked<By>,
    caller: Authorized,
    body: Body,
) -> Response {
    match take(&app, &key, &caller, body).await {
        Ok(status) => status.into_response(),
        Err(refused) => {
            spans::record_refusal(&app, &refused);
            refused.response(&app.config.agent)
        }
    }
}

async fn take(
    app: &App,
    key: &str,
    caller: &Authorized,
    body: Body,
) -> Result<StatusCode, Refused> {
    let agent = caller.speaker()?;
    app.check_able()?;
    let hub = caller.open_existing().await?;
    let key = key.strip_prefix("cold.").unwrap_or(key);
    let unknown = || {
        let code = accp_frame::ErrorCode::REF_NOT_FOUND;
        let expected = "a key that this agent has announced by `sync:put`";
        Refused::not_found(code, expected)
    };
    // The body may not be longer than announced, and the host has limited that length.
    let announced = app.sessions.announced(caller.session(), key).await?;
    let announced = announced.ok_or_else(unknown)?;
    let limit = usize::try_from(announced.length).unwrap_or(usize::MAX);
    caller.takes(1, limit)?;
    let bytes = BodyFrames::value(body, limit, &app.config.limits, caller.body_quota());
    let bytes = bytes.whole(Vec::new()).await?;
    if (Hash::of(&bytes), bytes.len()) != (announced.digest, limit) {
        return Err(Refused::conflict(
            "the bytes that `sync:put` has announced under this key, by SHA-256 and length",
        ));
    }
    // The hub checks the value here, so that its sender gets the error, not a later reader.
    read_value(&bytes)?;
    let supplied = hub.supply(agent, key, bytes).await;
    match supplied.map_err(|error| Refused::client(&error))? {
        Supplied::Kept => Ok(StatusCode::CREATED),
        Supplied::Here => Ok(StatusCode::NO_CONTENT),
        Supplied::Expired => {
            let code = accp_frame::ErrorCode::REF_EXPIRED;
            Err(Refused::not_found(code, "a value that has not expired"))
        }
        Supplied::Unknown => Err(unknown()),
        _ => Err(Refused::busy("a session that goes on")),
    }
}
