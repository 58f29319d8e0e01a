//! What a harness says of a session: a phase is over, and there are more schemas.

use accp_client::Error;
use accp_frame::Registry;
use accp_session::InputError;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json_, json};

use crate::answer::Refused;
use crate::app::{App, Shared};
use crate::gate::Caller;
use crate::metrics::add;
use crate::pieces::Pieces;

/// `POST /accp/v1/sessions/{session}/phase`: a phase of the work is over, so a checkpoint is due (draft section 5.2,
/// item 4).
pub(crate) async fn phase(State(app): State<Shared>, caller: Caller) -> Response {
    answer(&app, end_phase(&app, &caller).await)
}

/// `POST /accp/v1/sessions/{session}/registry`: registers schemas while the session runs (draft section 7.1).
pub(crate) async fn register(State(app): State<Shared>, caller: Caller, body: Body) -> Response {
    answer(&app, take_schemas(&app, &caller, body).await)
}

fn answer(app: &App, answer: Result<Json_, Refused>) -> Response {
    match answer {
        Ok(told) => Json(told).into_response(),
        Err(refused) => {
            add(&app.metrics.denied);
            refused.response(&app.config.agent)
        }
    }
}

/// Lets an agent of the session, which could say `comp` or bring schemas of its own as well, and an administrator.
fn may_govern(caller: &Caller) -> Result<(), Refused> {
    caller.speaker().map(drop).or_else(|_| caller.check_admin())
}

async fn end_phase(app: &App, caller: &Caller) -> Result<Json_, Refused> {
    may_govern(caller)?;
    app.check_able()?;
    caller.takes(1, 0)?;
    let checkpoint = caller.look().await?.phase().await;
    let checkpoint = checkpoint.map_err(|error| Refused::client(&error))?;
    let name = checkpoint.map(|checkpoint| format!("ckpt_{}", checkpoint.id()));
    Ok(json!({ "session": caller.session(), "checkpoint": name }))
}

async fn take_schemas(app: &App, caller: &Caller, body: Body) -> Result<Json_, Refused> {
    may_govern(caller)?;
    app.check_able()?;
    let hub = caller.look().await?;
    let limits = &app.config.limits;
    let body = Pieces::value(body, limits.request, limits, caller.room());
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
