//! `POST /accp/v1/sessions/{session}/erase`: erases the data of a person, on request.

use std::collections::BTreeSet;

use accp_store::{EraseError, ErasurePlan, ErasureRequest};
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value as Json_, json};

use crate::answer::{Fails, Refused};
use crate::app::{App, Shared};
use crate::auth::Authorized;
use crate::body::BodyFrames;
use crate::metrics::add;

/// What to erase. A range of positions is a pair of the first and the last.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    from: Option<String>,
    #[serde(default)]
    positions: Vec<[u64; 2]>,
    #[serde(default)]
    keys: BTreeSet<String>,
    /// True to erase also frames that wait for a handler. Such a frame lapses: no handler gets it.
    #[serde(default)]
    lapse: bool,
    /// True to return only what would be erased.
    #[serde(default)]
    dry_run: bool,
}

pub(crate) async fn erase(State(app): State<Shared>, caller: Authorized, body: Body) -> Response {
    match take(&app, &caller, body).await {
        Ok(outcome) => Json(outcome).into_response(),
        Err(refused) => {
            add(&app.metrics.denied);
            refused.response(&app.config.agent)
        }
    }
}

async fn take(app: &App, caller: &Authorized, body: Body) -> Result<Json_, Refused> {
    caller.check_admin()?;
    let session = caller.session();
    let body = BodyFrames::new(body, &app.config.limits, caller.body_quota())
        .whole(Vec::new())
        .await?;
    let asked: Asked = serde_json::from_slice(&body).map_err(|error| {
        let expected = "an object of `from`, `positions`, `keys`, `lapse` and `dry_run`";
        Refused::invalid(format!(
            "{expected}, as /openapi.json says (line {}, column {})",
            error.line(),
            error.column()
        ))
    })?;
    let wanted = ErasureRequest {
        from: asked.from,
        positions: asked
            .positions
            .iter()
            .map(|[from, to]| *from..=*to)
            .collect(),
        keys: asked.keys,
        lapses: asked.lapse,
    };
    let plan = app.sessions.erase(session, wanted, asked.dry_run).await?;
    let entries: usize = plan.sides().iter().map(|part| part.entries.len()).sum();
    tracing::info!(
        session,
        entries,
        dry_run = asked.dry_run,
        "an erasure was asked for"
    );
    Ok(describe_erasure(session, &plan, !asked.dry_run))
}

/// Returns what an erasure erases or has erased, as in the answer to `POST .../erase`.
pub fn describe_erasure(session: &str, plan: &ErasurePlan, erased: bool) -> Json_ {
    let sides = plan.sides().iter().map(|part| {
        let positions = part.entries.iter().map(|entry| entry.position);
        let bytes: u64 = part.entries.iter().map(|entry| entry.bytes).sum();
        json!({
            "side": part.side.agent(), "host": part.host, "bytes": bytes,
            "positions": positions.collect::<Vec<_>>(), "keys": part.keys,
        })
    });
    json!({ "session": session, "erased": erased, "sides": sides.collect::<Json_>() })
}

impl Fails for EraseError {
    fn is_damage(&self) -> bool {
        match self {
            Self::Store(error) => error.is_damage(),
            Self::Restore(..) => true,
            _ => false,
        }
    }
}

impl From<EraseError> for Refused {
    fn from(error: EraseError) -> Self {
        let code = accp_frame::ErrorCode::REF_NOT_FOUND;
        // Each text is what the hub expects, and then the error says why.
        match &error {
            EraseError::Session(_) => Self::unknown_session(),
            EraseError::Agent { .. } => {
                Self::not_found(code, format!("an agent of the session: {error}"))
            }
            EraseError::Key(_) => Self::not_found(code, format!("a key with a value: {error}")),
            EraseError::Nothing => Self::invalid(format!("something to erase: {error}")),
            EraseError::Position { .. } => Self::invalid(format!("positions of the log: {error}")),
            EraseError::Due(..) => Self::conflict(format!("frames that are handled: {error}")),
            EraseError::Outbox(_) => Self::conflict(format!("an empty outbox: {error}")),
            _ => Self::store(&error),
        }
    }
}
