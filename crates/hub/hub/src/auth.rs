//! Authentication and authorisation, once for all protocols. Handlers and services get only its results.
//!
//! A request becomes [`Authenticated`] by its token. It becomes [`Authorized`] by the session and the agent that
//! it names: in its path, in its query, or in the frame that it brings. Both are valid as long as the right of
//! the caller.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use accp_client::{Hub, Meter};
use accp_frame::{AgentId, Envelope, Frame};
use accp_session::{InputError, JoinError, Mid};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;
use tokio::time::sleep;

use crate::access::{Denied, Identity, check_session_name};
use crate::answer::Refused;
use crate::app::{self, Shared};
use crate::metrics::add;
use crate::query::Parameters;
use crate::rates::Reservation;
use crate::spans;
use crate::tokens::Tokens;

/// How long the hub waits before it asks an access service again that did not answer.
const ASKS_AGAIN: Duration = Duration::from_secs(1);
/// The longest name of an agent that stands in a key of the rates. A longer name counts by its digest.
const LONGEST_KEY: usize = 128;

/// A requester, identified by its token.
#[derive(Clone)]
pub(crate) struct Authenticated {
    app: Shared,
    token: Option<Arc<str>>,
    identity: Identity,
    /// The digest of the token, under which the usage of the requester is counted. Without tokens everybody is one
    /// requester.
    key: Arc<str>,
    /// The revision of the hub's tokens and keys at which the requester was identified.
    seen: u64,
    /// The share of the request in the quota of open requests.
    _open: Option<Arc<Reservation>>,
}

impl Authenticated {
    pub(crate) async fn of(app: &Shared, headers: &HeaderMap) -> Result<Self, Refused> {
        // If a request had several headers `Authorization`, a proxy could read one and the hub
        // another. So the hub refuses it.
        if headers.get_all(header::AUTHORIZATION).iter().count() > 1 {
            return Err(Refused::invalid("one header `Authorization`"));
        }
        let token = bearer(headers).map(Arc::from);
        let seen = *app.revision.borrow();
        let identity = app.access.identify(token.as_deref()).await?;
        let digest = |token: &Arc<str>| Tokens::digest(token);
        let key: Arc<str> = token.as_ref().map(digest).unwrap_or_default().into();
        let open = if app.access.is_open() {
            None
        } else {
            let opened = app.requests.take(&key);
            Some(Arc::new(opened.ok_or_else(Refused::too_many_requests)?))
        };
        Ok(Self {
            app: Arc::clone(app),
            token,
            identity,
            key,
            seen,
            _open: open,
        })
    }

    /// Checks again whether the requester still has its right.
    pub(crate) async fn check(&mut self) -> Result<(), Denied> {
        let now = *self.app.revision.borrow();
        if self.has_expired() {
            return Err(Denied::Claims("that has not expired (`exp`)"));
        }
        if now == self.seen {
            return Ok(());
        }
        match self.app.access.identify(self.token.as_deref()).await {
            Ok(identity) if identity == self.identity => self.seen = now,
            Ok(_) => {
                let why = "whose rights have not changed since this began: begin again";
                return Err(Denied::Claims(why));
            }
            // The access service did not answer. The right may still be valid, so the caller stays
            // connected, and the hub asks again.
            Err(Denied::Unavailable) => {}
            Err(denied) => return Err(denied),
        }
        Ok(())
    }

    /// Waits until the right is over, and returns the reason.
    pub(crate) async fn over(mut self) -> Denied {
        let mut revision = self.app.revision.clone();
        loop {
            if let Err(denied) = self.check().await {
                return denied;
            }
            let is_open_question = self.seen != *revision.borrow();
            let asks_again = async {
                if is_open_question {
                    sleep(ASKS_AGAIN).await;
                } else {
                    std::future::pending::<()>().await;
                }
            };
            let expires = async {
                match self.identity.ends() {
                    None => std::future::pending().await,
                    Some(until) => {
                        let left = until.duration_since(SystemTime::now());
                        sleep(left.unwrap_or_default()).await;
                    }
                }
            };
            tokio::select! {
                changed = revision.changed() => if changed.is_err() {
                    // The sender is gone, because the hub is ending. The hub tells its clients
                    // itself, so this waits for ever.
                    std::future::pending::<()>().await;
                },
                () = asks_again => {}
                () = expires => {}
            }
        }
    }

    fn has_expired(&self) -> bool {
        let ends = self.identity.ends();
        ends.is_some_and(|until| until <= SystemTime::now())
    }

    /// Counts an answer that was broken off.
    pub(crate) fn count_aborted(&self) {
        add(&self.app.metrics.cut);
    }

    /// Counts input that is not a frame, and waits while the requester is over its rate.
    pub(crate) async fn waits(&self, bytes: usize) {
        wait(&self.app, &self.key, bytes).await;
    }

    /// Returns a reservation for the bytes of a body that the requester sends.
    pub(crate) fn body_quota(&self) -> Reservation {
        self.app.bodies.reservation(&self.key)
    }

    /// Returns the agent of the requester. `None`: any agent.
    pub(crate) fn name(&self) -> Option<&str> {
        self.identity.name()
    }

    /// Returns whether the requester may read a session.
    pub(crate) fn may_enter(&self, session: &str) -> bool {
        self.identity.check(session, None).is_ok()
    }

    /// Authorises the requester for a session: to speak as this agent, or only to read.
    pub(crate) fn enter(&self, session: &str, agent: Option<&str>) -> Result<Authorized, Refused> {
        check_session(session)?;
        if let Some(agent) = agent {
            check_agent(agent)?;
        }
        self.identity.check(session, agent)?;
        spans::record_target(session, agent.or(self.identity.name()));
        Ok(Authorized {
            requester: self.clone(),
            session: session.into(),
            agent: agent.map(Arc::from),
            key: key(session, agent.unwrap_or_default()),
            _body: None,
        })
    }

    /// Checks the session and the agent in the query of a socket, before anything comes over the socket.
    pub(crate) fn may_open(&self, named: &Named) -> Result<(), Refused> {
        match &named.session {
            Some(session) => self.enter(session, named.agent.as_deref()).map(drop),
            None => Ok(()),
        }
    }

    /// Authorises the requester as the sender of a frame. Also returns the chain that the frame names.
    pub(crate) fn send(
        &self,
        named: &Named,
        frame: &[u8],
    ) -> Result<(Authorized, Option<Mid>), Refused> {
        let limit = self.app.config.limits.frame;
        if frame.len() > limit {
            return Err(Refused::too_long(limit));
        }
        let frame = Frame::parse_bytes(frame)?;
        let envelope: Envelope<'_> = frame.envelope()?;
        let caller = self.sends(named, &frame, &envelope)?;
        let chain = envelope.correlation_id.as_deref().map(Mid::parse);
        Ok((caller, chain))
    }

    /// Authorises the requester as the sender of the first frame on a socket. Also returns whether the peer knows only
    /// the draft: then its frame names no position of a log.
    pub(crate) fn greet(&self, named: &Named, first: &str) -> Result<(Authorized, bool), Refused> {
        let frame = Frame::parse(first)?;
        if (&*frame.intent, &*frame.operation) != ("sync", "registry") {
            return Err(Refused::invalid(
                "sync:registry as the first frame (draft section 11.2)",
            ));
        }
        let caller = self.sends(named, &frame, &frame.envelope()?)?;
        let extra = ["pos", "n", "ext"];
        Ok((caller, extra.iter().all(|key| frame.get(key).is_none())))
    }

    fn sends(
        &self,
        named: &Named,
        frame: &Frame<'_>,
        envelope: &Envelope<'_>,
    ) -> Result<Authorized, Refused> {
        let (by_url, by_frame) = (named.session.as_deref(), envelope.session_id.as_deref());
        if by_url.is_some() && by_frame.is_some_and(|sid| by_url != Some(sid)) {
            return Err(Refused::invalid("one session, in `?session=` and in `sid`"));
        }
        let session = by_url.or(by_frame).ok_or_else(|| {
            Refused::invalid("the session: `sid` in the metadata, or `?session=` in the URL")
        })?;
        let is_same = |agent: &String| *agent == frame.agent;
        if !named.agent.as_ref().is_none_or(is_same) {
            return Err(Denied::Agent.into());
        }
        self.enter(session, Some(&frame.agent))
    }
}

impl FromRequestParts<Shared> for Authenticated {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let requester = parts.extensions.get::<Self>().cloned();
        requester.ok_or_else(|| Refused::from(Denied::Token).response(&app.config.agent))
    }
}

/// The session and the agent that a query names. What is missing here comes from the frames of the request.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Named {
    /// The session, for frames without `sid`.
    session: Option<String>,
    /// The agent, which has to send the first frame of a socket.
    pub(crate) agent: Option<String>,
}

impl Parameters for Named {
    const EXPECTED: &'static str =
        "a query of `session=NAME` and `agent=NAME`, each once at most, in the form of a URL";
}

/// A caller in a session, who speaks as an agent or only reads.
#[derive(Clone)]
pub(crate) struct Authorized {
    requester: Authenticated,
    session: Arc<str>,
    agent: Option<Arc<str>>,
    /// The key under which the frames of the caller are counted. An agent of a session has one key for all protocols.
    key: Arc<str>,
    /// The bytes of the request that the caller has made, as long as something works on it.
    _body: Option<Arc<Reservation>>,
}

/// Returns the key under which the frames of an agent are counted. The rates keep keys after their requests, and the
/// name of an agent may be as long as a frame.
fn key(session: &str, agent: &str) -> Arc<str> {
    if agent.len() <= LONGEST_KEY {
        format!("{session}/{agent}").into()
    } else {
        format!("{session}/#{}", Tokens::digest(agent)).into()
    }
}

impl Authorized {
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Returns a reservation for bytes of a body that the caller sends.
    pub(crate) fn body_quota(&self) -> Reservation {
        self.requester.body_quota()
    }

    /// Returns the agent as which the caller speaks. An error if the caller names no agent, or the host: nobody
    /// speaks as the host of the sessions.
    pub(crate) fn speaker(&self) -> Result<&str, Refused> {
        let agent = self.agent.as_deref();
        let agent = agent.ok_or_else(|| Refused::invalid("?agent=, the agent that speaks"))?;
        if agent == self.requester.app.config.agent {
            let host = InputError::Join(JoinError::Host(agent.to_owned()));
            return Err(Refused::client(&accp_client::Error::Input(host)));
        }
        Ok(agent)
    }

    /// Returns the caller with a reservation for the bytes of its request. The reservation ends when the last thing
    /// has ended that works on the request.
    pub(crate) fn with_body(&self, bytes: usize) -> Result<Self, Refused> {
        let mut body = self.body_quota();
        if !body.hold(bytes) {
            return Err(Refused::too_many_bytes());
        }
        Ok(Self {
            _body: Some(Arc::new(body)),
            ..self.clone()
        })
    }

    /// Returns whether the token of the caller names its agent. Otherwise the caller may be any agent.
    pub(crate) fn is_named_by_token(&self) -> bool {
        self.requester.name().is_some()
    }

    pub(crate) fn check_admin(&self) -> Result<(), Refused> {
        Ok(self.requester.identity.check_admin()?)
    }

    /// Opens the session, or begins it. `is_plain` says that the caller knows only the draft.
    pub(crate) async fn open(&self, is_plain: bool) -> Result<Hub, Refused> {
        let app = &self.requester.app;
        app.check_able()?;
        app.sessions
            .get(&self.session, is_plain, Some(&*self.requester.key))
            .await
    }

    /// Opens a session that exists.
    pub(crate) async fn open_existing(&self) -> Result<Hub, Refused> {
        self.requester.app.sessions.existing(&self.session).await
    }

    /// Counts frames and bytes that the caller sends.
    pub(crate) fn takes(&self, frames: u32, bytes: usize) -> Result<(), Refused> {
        let key = &*self.key;
        let app = &self.requester.app;
        if !app.frames.allows(key, f64::from(frames)) {
            return Err(Refused::too_many());
        }
        let is_fine = app.bytes.allows(key, bytes as f64);
        is_fine.then_some(()).ok_or_else(Refused::too_fast)
    }

    /// Counts a frame, and waits while the caller is over its rate.
    pub(crate) async fn waits(&self, bytes: usize) {
        wait(&self.requester.app, &self.key, bytes).await;
    }
}

impl Meter for Authorized {
    fn takes(&self, frames: u32) -> bool {
        Self::takes(self, frames, 0).is_ok()
    }

    fn name(&self) -> &str {
        &self.requester.key
    }

    fn over(&self) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let over = self.requester.clone().over();
        Box::pin(async move { over.await.to_string() })
    }

    fn ends(&self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let mut ends = self.requester.app.ends.clone();
        Box::pin(async move { app::over(&mut ends).await })
    }

    fn beyond_its_request(&self) -> Option<Arc<dyn Meter>> {
        let requester = Authenticated {
            _open: None,
            ..self.requester.clone()
        };
        Some(Arc::new(Self {
            requester,
            _body: None,
            ..self.clone()
        }))
    }
}

impl FromRequestParts<Shared> for Authorized {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let caller = parts.extensions.get::<Self>().cloned();
        caller.ok_or_else(|| Refused::from(Denied::Session).response(&app.config.agent))
    }
}

async fn wait(app: &Shared, key: &str, bytes: usize) {
    app.frames.wait(key, 1.0).await;
    app.bytes.wait(key, bytes as f64).await;
}

fn check_session(session: &str) -> Result<(), Refused> {
    check_session_name(session)
        .map_err(|expected| Refused::invalid(format!("a session of {expected}")))
}

fn check_agent(agent: &str) -> Result<(), Refused> {
    let known = AgentId::new(agent);
    known
        .map(drop)
        .map_err(|error| Refused::invalid(format!("the name of an agent: {error}")))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
