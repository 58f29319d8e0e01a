//! The changes that a harness may make in a session: it ends phases, registers schemas, and removes agents.

use accp_client::Error;
use accp_frame::Registry;
use accp_session::InputError;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json_, json};

use crate::answer::Refused;
use crate::app::{App, Shared};
use crate::auth::Authorized;
use crate::body::BodyFrames;
use crate::metrics::add;

/// `POST /accp/v1/sessions/{session}/phase`: a phase of the work is over, so a checkpoint is due (draft section 5.2,
/// item 4).
pub(crate) async fn phase(State(app): State<Shared>, caller: Authorized) -> Response {
    answer(&app, end_phase(&app, &caller).await)
}

/// `POST /accp/v1/sessions/{session}/registry`: registers schemas while the session runs (draft section 7.1).
pub(crate) async fn register(
    State(app): State<Shared>,
    caller: Authorized,
    body: Body,
) -> Response {
    answer(&app, take_schemas(&app, &caller, body).await)
}

/// `DELETE /accp/v1/sessions/{session}/agents/{name}`: an agent is taken out of the session.
pub(crate) async fn remove(
    State(app): State<Shared>,
    Path((_, name)): Path<(String, String)>,
    caller: Authorized,
) -> Response {
    answer(&app, take_out(&app, &caller, &name).await)
}

fn answer(app: &App, answer: Result<Json_, Refused>) -> Response {
    match answer {
        Ok(outcome) => Json(outcome).into_response(),
        Err(refused) => {
            add(&app.metrics.denied);
            refused.response(&app.config.agent)
        }
    }
}

/// Allows agents of the session, which may send `comp` and schemas anyway, and administrators.
fn may_govern(caller: &Authorized) -> Result<(), Refused> {
    caller.speaker().map(drop).or_else(|_| caller.check_admin())
}

async fn end_phase(app: &App, caller: &Authorized) -> Result<Json_, Refused> {
    may_govern(caller)?;
    app.check_able()?;
    caller.takes(1, 0)?;
    let checkpoint = caller.open_existing().await?.phase().await;
    let checkpoint = checkpoint.map_err(|error| Refused::client(&error))?;
    let name = checkpoint.map(|checkpoint| format!("ckpt_{}", checkpoint.id()));
    Ok(json!({ "session": caller.session(), "checkpoint": name }))
}

async fn take_out(app: &App, caller: &Authorized, name: &str) -> Result<Json_, Refused> {
    let is_own = caller.speaker().is_ok_and(|speaker| speaker == name);
    if !is_own {
        caller.check_admin()?;
    }
    app.check_able()?;
    caller.takes(1, 0)?;
    let removed = caller.open_existing().await?.remove(name).await;
    let removed = removed.map_err(|error| Refused::client(&error))?;
    Ok(json!({ "session": caller.session(), "agent": name, "removed": removed }))
}

async fn take_schemas(app: &App, caller: &Authorized, body: Body) -> Result<Json_, Refused> {
    may_govern(caller)?;
    app.check_able()?;
    let hub = caller.open_existing().await?;
    let limits = &app.config.limits;
    let body = BodyFrames::value(body, limits.request, limits, caller.body_quota());
    let body = body.whole(Vec::new()).await?;
    caller.takes(1, body.len())?;
    let wrong =
        |why: String| Refused::invalid(format!("a registry, as `accp lint` checks it: {why}"));
    let text = std::str::from_utf8(&body).map_err(|error| wrong(error.to_string()))?;
    let schemas = Registry::from_json(text).map_err(|error| wrong(error.to_string()))?;
    let registered = hub.register(schemas).await;
    registered.map_err(|error| match &error {
        Error::Input(InputError::Schema(_)) => Refused {
            status: StatusCode::CONFLICT,
            ..wrong(error.to_string())
        },
        _ => Refused::client(&error),
    })?;
    let registry = hub.registry().await;
    let registry = registry.map_err(|error| Refused::client(&error))?;
    Ok(json!({ "session": caller.session(), "hash": registry.hash().to_string() }))
}
