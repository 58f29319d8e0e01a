//! The changes that a harness may make in a session: it ends phases, registers schemas, removes agents, and decides how
//! a session goes on whose store is an old copy.

use accp_client::{Error, Hub};
use accp_frame::Registry;
use accp_session::{InputError, Session};
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

/// `POST /accp/v1/sessions/{session}/recover`: takes what the store lacks from the member that has it.
pub(crate) async fn recover(State(app): State<Shared>, caller: Authorized) -> Response {
    answer(&app, take_back(&app, &caller).await)
}

/// `POST /accp/v1/sessions/{session}/fork`: goes on without what the store lacks.
pub(crate) async fn fork(State(app): State<Shared>, caller: Authorized) -> Response {
    answer(&app, go_on_without(&app, &caller).await)
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

/// Opens a session for one of its agents, which may send `comp` and schemas anyway, or for an administrator. A caller
/// who may be any agent has to name one that is in the session.
async fn to_govern(app: &App, caller: &Authorized) -> Result<Hub, Refused> {
    let agent = caller.speaker().map(str::to_owned).ok();
    if agent.is_none() {
        caller.check_admin()?;
    }
    app.check_able()?;
    let hub = caller.open_existing().await?;
    if let Some(agent) = agent.filter(|_| !caller.is_named_by_token()) {
        let is_in = move |session: &Session| {
            let mut members = session.state().members();
            members.any(|(_, party)| party.present && party.agents.contains(&agent))
        };
        let is_in = hub.look(is_in).await;
        if !is_in.map_err(|error| Refused::client(&error))? {
            caller.check_admin()?;
        }
    }
    Ok(hub)
}

async fn end_phase(app: &App, caller: &Authorized) -> Result<Json_, Refused> {
    let hub = to_govern(app, caller).await?;
    caller.takes(1, 0)?;
    let checkpoint = hub.phase().await;
    let checkpoint = checkpoint.map_err(|error| Refused::client(&error))?;
    let name = checkpoint.map(|checkpoint| format!("ckpt_{}", checkpoint.id()));
    Ok(json!({ "session": caller.session(), "checkpoint": name }))
}

/// Opens a session whose store may be an old copy, for an administrator; without tokens, for everybody.
async fn to_decide(app: &App, caller: &Authorized) -> Result<Hub, Refused> {
    if !app.access.is_open() {
        caller.check_admin()?;
    }
    app.check_able()?;
    caller.takes(1, 0)?;
    caller.open_existing().await
}

async fn take_back(app: &App, caller: &Authorized) -> Result<Json_, Refused> {
    let recovered = to_decide(app, caller).await?.recover().await;
    let recovered = recovered.map_err(|error| Refused::client(&error))?;
    let positions = [recovered.start(), recovered.end()];
    Ok(json!({ "session": caller.session(), "recovered": positions }))
}

async fn go_on_without(app: &App, caller: &Authorized) -> Result<Json_, Refused> {
    let hub = to_decide(app, caller).await?;
    let state = |session: &Session| (session.rolled_back(), session.position());
    let looked = hub.look(state).await;
    let (lost, position) = looked.map_err(|error| Refused::client(&error))?;
    let Some(lost) = lost else {
        // A fork takes out all members, so it must not happen by mistake.
        return Err(Refused::invalid(
            "a session whose store is an old copy; this one lacks nothing that a member has shown",
        ));
    };
    let forked = hub.fork().await;
    forked.map_err(|error| Refused::client(&error))?;
    Ok(json!({ "session": caller.session(), "position": position, "lost_until": lost }))
}

async fn take_out(app: &App, caller: &Authorized, name: &str) -> Result<Json_, Refused> {
    let is_own = caller.speaker().is_ok_and(|speaker| speaker == name);
    if !is_own {
        let expected = "a token with `admin = true`, or of the agent to take out; without tokens, its name as `?agent=NAME`";
        caller.check_admin().map_err(|refused| Refused {
            expected: expected.to_owned(),
            ..refused
        })?;
    }
    app.check_able()?;
    caller.takes(1, 0)?;
    let removed = caller.open_existing().await?.remove(name).await;
    let removed = removed.map_err(|error| Refused::client(&error))?;
    Ok(json!({ "session": caller.session(), "agent": name, "removed": removed }))
}

async fn take_schemas(app: &App, caller: &Authorized, body: Body) -> Result<Json_, Refused> {
    let hub = to_govern(app, caller).await?;
    let limits = &app.config.limits;
    let body = BodyFrames::value(body, limits.request, limits, caller.body_quota());
    let body = body.whole(Vec::new()).await?;
    caller.takes(1, body.len())?;
    let wrong = |why: String| {
        Refused::invalid(format!(
            "a registry, as `accp registry lint` checks it: {why}"
        ))
    };
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
