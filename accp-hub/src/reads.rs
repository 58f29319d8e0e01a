//! What participants may read of a session.

use accp_client::{Error, Hub};
use accp_runtime::session::{Session, Time};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value as Json_, json};

use crate::answer::Refused;
use crate::app::{App, Caller, Shared, over};
use crate::entry::{Form, digest};
use crate::post::chunks;
use crate::spans;

/// Returns the response, or the refusal as one.
fn answer(app: &App, made: Result<Response, Refused>) -> Response {
    made.unwrap_or_else(|refused| refused.response(&app.config.agent))
}

/// Opens a session that the caller may enter. One that is not there is not begun.
async fn enter(app: &App, caller: &Caller, session: &str) -> Result<Hub, Refused> {
    caller.check(session, None)?;
    spans::goes_to(session, caller.identity.name());
    app.sessions.existing(session).await
}

pub(crate) async fn sessions(State(app): State<Shared>, caller: Caller) -> Response {
    let made = app.sessions.list().await.map(|all| {
        let mine = all
            .iter()
            .filter(|side| caller.check(side.side.session(), None).is_ok());
        let mine = mine.map(|side| {
            json!({
                "session": side.side.session(),
                "open": app.sessions.is_open(side.side.session()).is_some(),
                "last": side.last,
                "bytes": side.bytes,
                "at": side.at.map(Time::as_secs),
            })
        });
        Json(Json_::Array(mine.collect())).into_response()
    });
    answer(&app, made)
}

/// The query of a log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Log {
    /// The position after which the log is read; 0 by default.
    #[serde(default)]
    after: u64,
    /// False to end with what is there now.
    #[serde(default)]
    follow: bool,
    /// The most frames that are returned.
    limit: Option<usize>,
}

pub(crate) async fn frames(
    State(app): State<Shared>,
    Path(session): Path<String>,
    Query(log): Query<Log>,
    headers: HeaderMap,
    caller: Caller,
) -> Response {
    let made = enter(&app, &caller, &session).await;
    let hub = match made {
        Ok(hub) => hub,
        Err(refused) => return refused.response(&app.config.agent),
    };
    let looked = async {
        Ok((
            hub.look(Session::position).await?,
            Form::of(&headers, &hub).await?,
        ))
    };
    let (last, form) = match looked.await {
        Ok(looked) => looked,
        Err(error) => return Refused::client(&error).response(&app.config.agent),
    };
    let kind = form.media_type();
    let read = hub.frames(log.after.saturating_add(1));
    let ends = app.ends.clone();
    let left = log.limit.unwrap_or(usize::MAX);
    let state = (hub, read, form, ends, left);
    let lines = stream::unfold(
        state,
        move |(hub, mut read, mut form, mut ends, left)| async move {
            if left == 0 || !log.follow && read.position() > last {
                return None;
            }
            let next = tokio::select! {
                next = read.next() => next,
                () = over(&mut ends) => return None,
            };
            let entry = next.ok().flatten()?;
            if !log.follow && entry.position > last {
                return None;
            }
            let line = form.line(&entry, &hub).await.ok()?;
            Some((line, (hub, read, form, ends, left - 1)))
        },
    );
    chunks(kind, lines)
}

pub(crate) async fn context(
    State(app): State<Shared>,
    Path(session): Path<String>,
    caller: Caller,
) -> Response {
    let read = async {
        let hub = enter(&app, &caller, &session).await?;
        let text = hub.look(Session::context).await;
        let text = text.map_err(|error| Refused::client(&error))?;
        Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
    };
    answer(&app, read.await)
}

pub(crate) async fn state(
    State(app): State<Shared>,
    Path(session): Path<String>,
    caller: Caller,
) -> Response {
    let read = async {
        let hub = enter(&app, &caller, &session).await?;
        let text = hub.look(describe).await;
        let text = text.map_err(|error| Refused::client(&error))?;
        Ok(Json(text).into_response())
    };
    answer(&app, read.await)
}

fn describe(session: &Session) -> Json_ {
    let (state, budget) = (session.state(), session.budget());
    let shared = state.shared();
    let entries = shared.entries().iter();
    let entries: serde_json::Map<_, _> = entries
        .map(|(key, value)| (key.to_string(), value.to_json()))
        .collect();
    let members = state.members().map(|(id, party)| {
        json!({ "number": id.number(), "agents": party.agents, "present": party.present })
    });
    json!({
        "session": session.id(),
        "position": session.position(),
        "level": session.level(),
        "scope": state.scope().as_str(),
        "version": shared.version(),
        "state": entries,
        "tokenizer": state.tokenizer(),
        "budget": {
            "hot": { "used": budget.hot.used, "limit": budget.hot.allowed, "trigger": session.options().context.trigger },
            "warm": { "used": budget.warm.used, "limit": budget.warm.allowed },
        },
        "hot": state.hot().positions().collect::<Vec<_>>(),
        "warm": state.warm().digests().iter().map(digest).collect::<Vec<_>>(),
        "members": members.collect::<Vec<_>>(),
    })
}

pub(crate) async fn registry(
    State(app): State<Shared>,
    Path(session): Path<String>,
    caller: Caller,
) -> Response {
    let read = async {
        let hub = enter(&app, &caller, &session).await?;
        let registry = hub.registry().await;
        let registry = registry.map_err(|error| Refused::client(&error))?;
        Ok(Json(registry.to_json()).into_response())
    };
    answer(&app, read.await)
}

pub(crate) async fn value(
    State(app): State<Shared>,
    Path((session, key)): Path<(String, String)>,
    caller: Caller,
) -> Response {
    let read = async {
        let hub = enter(&app, &caller, &session).await?;
        let value = hub
            .expand(&key)
            .await
            .map_err(|error| Refused::client(&error))?;
        Ok((StatusCode::OK, Json(value.to_json())).into_response())
    };
    answer(&app, read.await)
}

impl Refused {
    /// A session could not do what it was asked.
    pub(crate) fn client(error: &Error) -> Self {
        match error {
            Error::Reference(_, why) => Self::not_found(why.code(), why.to_string()),
            Error::Name(_, why) => Self::invalid(why.to_string()),
            Error::Input(why) => Self {
                code: why.code(),
                ..Self::invalid(why.to_string())
            },
            other => Self::store(other),
        }
    }
}
