//! The routes by which participants read a session.

use accp_client::{Error, Frames, Hub};
use accp_frame::ErrorCode;
use accp_registry::Change;
use accp_session::{InputError, JoinError, ReadError, SendError, Session, Time};
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;
use serde_json::{Value as Json_, json};
use tokio::sync::watch;

use crate::abort;
use crate::answer::Refused;
use crate::app::{App, Shared, over};
use crate::auth::{Authenticated, Authorized};
use crate::entry::{Form, digest};
use crate::query::{Asked, Parameters};

/// Returns the response, or the refusal as a response.
fn answer(app: &App, made: Result<Response, Refused>) -> Response {
    made.unwrap_or_else(|refused| refused.response(&app.config.agent))
}

pub(crate) async fn sessions(State(app): State<Shared>, requester: Authenticated) -> Response {
    let made = app.sessions.list().await.map(|(all, damaged)| {
        let damaged = damaged
            .iter()
            .filter(|session| requester.may_enter(session));
        let damaged = damaged.map(|session| {
            let open = app.sessions.is_open(session).is_some();
            json!({ "session": session, "open": open, "damaged": true })
        });
        let mine = all
            .iter()
            .filter(|side| requester.may_enter(side.side.session()));
        let mine = mine.map(|side| {
            json!({
                "session": side.side.session(),
                "open": app.sessions.is_open(side.side.session()).is_some(),
                "last": side.last,
                "bytes": side.bytes,
                "at": side.at.map(Time::as_secs),
            })
        });
        Json(Json_::Array(mine.chain(damaged).collect())).into_response()
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
    /// True to wait for new entries. If false, the response ends with the entries that are there now.
    #[serde(default)]
    follow: bool,
    /// The most frames that are returned.
    limit: Option<usize>,
}

impl Parameters for Log {
    const EXPECTED: &'static str = "a query of `after=POSITION`, `follow=true` or `follow=false`, and `limit=NUMBER`, each \
                                    once at most";
}

pub(crate) async fn frames(
    State(app): State<Shared>,
    Asked(log): Asked<Log>,
    headers: HeaderMap,
    caller: Authorized,
) -> Response {
    let looked = async {
        let hub = caller.open_existing().await?;
        let client = |error| Refused::client(&error);
        let last = hub.look(Session::position).await.map_err(client)?;
        let form = Form::of(&headers, &hub).await.map_err(client)?;
        Ok(Reading {
            read: hub.frames(log.after.saturating_add(1)),
            last: (!log.follow).then_some(last),
            left: log.limit.unwrap_or(usize::MAX),
            ends: app.ends.clone(),
            hub,
            form,
        })
    };
    let reading = match looked.await {
        Ok(reading) => reading,
        Err(refused) => return answer(&app, Err(refused)),
    };
    let kind = reading.form.media_type();
    let lines = stream::unfold(reading, |mut reading| async move {
        let line = reading.next().await.transpose()?;
        Some((line, reading))
    });
    abort::response(&app, kind, ("the log", caller.session()), lines)
}

/// The log of a session, as one reader gets it.
struct Reading {
    hub: Hub,
    read: Frames,
    form: Form,
    ends: watch::Receiver<bool>,
    /// The position at which the reader stops; `None` if it follows the log.
    last: Option<u64>,
    /// How many entries the reader still wants.
    left: usize,
}

impl Reading {
    /// Returns the next entry; `None` after the last. If the log cannot be read, returns an error with the position,
    /// because `None` would mean that the log ends there.
    async fn next(&mut self) -> Result<Option<Bytes>, Refused> {
        let is_beyond = |position: u64| self.last.is_some_and(|last| position > last);
        if self.left == 0 || is_beyond(self.read.position()) {
            return Ok(None);
        }
        let at = self.read.position();
        let next = async {
            match self.last {
                // With a last position, the reader does not wait: the last entries may hold no frames.
                Some(_) => self.read.next_ready().await,
                None => self.read.next().await,
            }
        };
        let next = tokio::select! {
            next = next => next,
            () = over(&mut self.ends) => return Err(Refused::ending()),
        };
        let unreadable = |error: Error| {
            tracing::error!(session = self.hub.session(), at, %error, "a log cannot be read on");
            Refused::unreadable(at)
        };
        let Some(entry) = next.map_err(unreadable)? else {
            let is_read = self.last.is_some_and(|last| self.read.position() > last);
            let busy = || Refused::busy("a session that goes on");
            return is_read.then_some(None).ok_or_else(busy);
        };
        if self.last.is_some_and(|last| entry.position > last) {
            return Ok(None);
        }
        self.left -= 1;
        let line = self
            .form
            .line(&entry, &self.hub)
            .await
            .map_err(unreadable)?;
        Ok(Some(line))
    }
}

pub(crate) async fn context(State(app): State<Shared>, caller: Authorized) -> Response {
    let read = async {
        let hub = caller.open_existing().await?;
        let text = hub.look(Session::context).await;
        let text = text.map_err(|error| Refused::client(&error))?;
        Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response())
    };
    answer(&app, read.await)
}

pub(crate) async fn state(State(app): State<Shared>, caller: Authorized) -> Response {
    let read = async {
        let hub = caller.open_existing().await?;
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
        let put = state.last_put(id).unwrap_or_default();
        let clashes = session.schema_clashes(id).iter().map(Change::to_string);
        json!({
            "number": id.number(), "agents": party.agents, "present": party.present, "put": put,
            "clashes": clashes.collect::<Vec<_>>(),
        })
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

pub(crate) async fn registry(State(app): State<Shared>, caller: Authorized) -> Response {
    let read = async {
        let hub = caller.open_existing().await?;
        let registry = hub.registry().await;
        let registry = registry.map_err(|error| Refused::client(&error))?;
        Ok(Json(registry.to_json()).into_response())
    };
    answer(&app, read.await)
}

pub(crate) async fn value(
    State(app): State<Shared>,
    Path((_, key)): Path<(String, String)>,
    caller: Authorized,
) -> Response {
    let read = async {
        let hub = caller.open_existing().await?;
        // Clients send a key as in `sync:put`, or a reference as in frames.
        let reference = if key.contains('.') {
            key
        } else {
            format!("cold.{key}")
        };
        let mut ends = app.ends.clone();
        let value = tokio::select! {
            biased;
            value = hub.expand(&reference) => value.map_err(|error| match error {
                Error::Damaged(why) => {
                    let session = caller.session();
                    tracing::error!(session, reference, why, "a value is damaged in the store");
                    Refused::damaged_value(&reference)
                }
                error => Refused::client(&error),
            })?,
            // The bytes of the value may be on their way to the hub for long.
            () = over(&mut ends) => return Err(Refused::ending()),
        };
        Ok((StatusCode::OK, Json(value.to_json())).into_response())
    };
    answer(&app, read.await)
}

/// Returns what a read expects that has found no value. The refusal has the code beside it.
fn expected_of(why: ReadError) -> &'static str {
    match why {
        ReadError::Unavailable => {
            "bytes that somebody has supplied for this reference; read it again later"
        }
        ReadError::Expired => "a reference whose value has not expired",
        ReadError::Unauthorized => "a reference into a session that has granted access",
        _ => "a reference to something that the session holds",
    }
}

impl Refused {
    /// A session failed.
    pub(crate) fn client(error: &Error) -> Self {
        match error {
            Error::Reference(_, why @ ReadError::Unavailable) => Self::busy(expected_of(*why)),
            Error::Reference(_, why) => Self::not_found(why.code(), expected_of(*why)),
            Error::Name(_, why) => Self::invalid(why.to_string()),
            Error::Input(why) => Self {
                code: match why {
                    InputError::Join(_) => ErrorCode::POLICY_DENIED,
                    _ => why.code(),
                },
                ..Self::invalid(expected(why))
            },
            Error::Refused(why) => Self {
                code: why.code,
                at: why.at.and_then(|at| usize::try_from(at).ok()),
                ..Self::invalid(why.message.clone())
            },
            other => Self::store(other),
        }
    }
}

/// Returns the agent that the hub expects in the place of one that cannot join.
fn joinable(error: &JoinError) -> String {
    match error {
        JoinError::Full => "a session with room for another agent: this one has as many members as its host lets in"
            .to_owned(),
        JoinError::Host(agent) => {
            format!("another name for the agent: {agent} is the name of the host of this session")
        }
        JoinError::Taken(agent) => {
            format!("another name for the agent: {agent} is an agent of another member")
        }
        other => format!("an agent that can join: {other}"),
    }
}

/// Returns what the session expected instead of the input, as it stands after "the hub expects".
fn expected(why: &InputError) -> String {
    match why {
        InputError::Send(SendError::Stopped(position)) => format!(
            "a session whose store lacks nothing: this store is an old copy, and an agent holds the log up to \
             position {position}; `accp recover` fetches the rest from the agent, and `accp recover --fork` goes on \
             without it"
        ),
        InputError::Send(SendError::Refused { expected, .. }) => expected.clone(),
        InputError::Join(why) => joinable(why),
        InputError::Recover(why) => {
            format!("a store that lacks entries, and an agent that has them: {why}")
        }
        other => other.to_string(),
    }
}
