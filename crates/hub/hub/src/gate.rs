//! The gate: it decides who asks, once for all protocols. What comes out of it is the only thing that
//! handlers and services get.
//!
//! A request becomes an [`Asker`] by its token, and a [`Caller`] by the session and the agent that it names: in
//! its path, in its query, or in the frame that it brings. A caller holds for as long as its right does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::SystemTime;

use accp_client::{Hub, Meter};
use accp_frame::{AgentId, Envelope, Frame};
use accp_session::Mid;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;
use tokio::time::sleep;

use crate::access::{Denied, Identity};
use crate::answer::Refused;
use crate::app::Shared;
use crate::metrics::add;
use crate::rates::Opened;
use crate::spans;

/// Who makes a request, by its token.
#[derive(Clone)]
pub(crate) struct Asker {
    app: Shared,
    token: Option<Arc<str>>,
    identity: Identity,
    /// The token's digest: the name under which is counted what the asker uses. Without tokens everybody
    /// is one asker.
    key: Arc<str>,
    /// The revision of the hub's tokens and keys at which the asker was identified.
    seen: u64,
    /// The room of the request among those that the asker may have open.
    _open: Option<Arc<Opened>>,
}

impl Asker {
    pub(crate) async fn of(app: &Shared, headers: &HeaderMap) -> Result<Self, Refused> {
        // A proxy may look at another one than the hub.
        if headers.get_all(header::AUTHORIZATION).iter().count() > 1 {
            return Err(Refused::invalid("one header `Authorization`"));
        }
        let token = bearer(headers).map(Arc::from);
        let seen = *app.revision.borrow();
        let identity = app.access.identify(token.as_deref()).await?;
        let digest = |token: &Arc<str>| crate::Tokens::digest(token);
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

    /// Asks again whether the asker has the right with which it came.
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
            Ok(_) => return Err(Denied::Token),
            // Nobody has said that the right is over.
            Err(Denied::Unavailable) => {}
            Err(denied) => return Err(denied),
        }
        Ok(())
    }

    /// Returns once the right is over, with the reason.
    pub(crate) async fn over(mut self) -> Denied {
        let mut revision = self.app.revision.clone();
        loop {
            if let Err(denied) = self.check().await {
                return denied;
            }
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
                    // The hub ends, and says so itself.
                    std::future::pending::<()>().await;
                },
                () = expires => {}
            }
        }
    }

    fn has_expired(&self) -> bool {
        let ends = self.identity.ends();
        ends.is_some_and(|until| until <= SystemTime::now())
    }

    /// Counts an answer that stopped before its end.
    pub(crate) fn counts_a_cut(&self) {
        add(&self.app.metrics.cut);
    }

    /// Counts something that is no frame, and waits as long as the asker has sent too much.
    pub(crate) async fn waits(&self, bytes: usize) {
        wait(&self.app, &self.key, bytes).await;
    }

    /// Returns the room for bytes of a body that the asker sends.
    pub(crate) fn room(&self) -> Opened {
        self.app.bodies.room(&self.key)
    }

    /// Returns the agent that the asker is, unless it may be any.
    pub(crate) fn name(&self) -> Option<&str> {
        self.identity.name()
    }

    /// Returns whether the asker may look at a session.
    pub(crate) fn may_enter(&self, session: &str) -> bool {
        self.identity.check(session, None).is_ok()
    }

    /// Lets the asker into a session, as this agent or to look.
    pub(crate) fn enter(&self, session: &str, agent: Option<&str>) -> Result<Caller, Refused> {
        check_session(session)?;
        if let Some(agent) = agent {
            check_agent(agent)?;
        }
        self.identity.check(session, agent)?;
        spans::goes_to(session, agent.or(self.identity.name()));
        Ok(Caller {
            asker: self.clone(),
            session: session.into(),
            agent: agent.map(Arc::from),
            key: format!("{session}/{}", agent.unwrap_or_default()).into(),
        })
    }

    /// Checks what the query of a socket names, before anything comes over the socket.
    pub(crate) fn may_open(&self, named: &Named) -> Result<(), Refused> {
        match &named.session {
            Some(session) => self.enter(session, named.agent.as_deref()).map(drop),
            None => Ok(()),
        }
    }

    /// Lets the asker in as the sender of a frame. Returns the chain that the frame names, too.
    pub(crate) fn send(
        &self,
        named: &Named,
        frame: &[u8],
    ) -> Result<(Caller, Option<Mid>), Refused> {
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

    /// Lets the asker in as the peer whose first frame on a socket this is. Returns whether the peer knows
    /// the draft alone, too: it says nothing of our log.
    pub(crate) fn greet(&self, named: &Named, first: &str) -> Result<(Caller, bool), Refused> {
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
    ) -> Result<Caller, Refused> {
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

impl FromRequestParts<Shared> for Asker {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Response> {
        let asker = parts.extensions.get::<Self>().cloned();
        asker.ok_or_else(|| Refused::from(Denied::Token).response(&app.config.agent))
    }
}

/// The session and the agent that a query names, for a request whose frames say the rest.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Named {
    /// The session, for frames without `sid`.
    session: Option<String>,
    /// The agent; the first frame of a socket has to be one of it.
    pub(crate) agent: Option<String>,
}

/// Somebody in a session, as an agent or to look.
#[derive(Clone)]
pub(crate) struct Caller {
    asker: Asker,
    session: Arc<str>,
    agent: Option<Arc<str>>,
    /// The name under which is counted what the caller sends. An agent of a session has one for all
    /// protocols.
    key: Arc<str>,
}

impl Caller {
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Returns the room for bytes of a body that the caller sends.
    pub(crate) fn room(&self) -> Opened {
        self.asker.room()
    }

    /// Returns the agent as which the caller speaks.
    pub(crate) fn speaker(&self) -> Result<&str, Refused> {
        let agent = self.agent.as_deref();
        agent.ok_or_else(|| Refused::invalid("?agent=, the agent that speaks"))
    }

    pub(crate) fn check_admin(&self) -> Result<(), Refused> {
        Ok(self.asker.identity.check_admin()?)
    }

    /// Opens the session, or begins it. `is_plain` says that who begins it knows the draft alone.
    pub(crate) async fn open(&self, is_plain: bool) -> Result<Hub, Refused> {
        let app = &self.asker.app;
        app.check_able()?;
        app.sessions
            .get(&self.session, is_plain, Some(&*self.asker.key))
            .await
    }

    /// Opens the session, which is not begun if it is not there.
    pub(crate) async fn look(&self) -> Result<Hub, Refused> {
        self.asker.app.sessions.existing(&self.session).await
    }

    /// Counts frames and bytes that the caller sends.
    pub(crate) fn takes(&self, frames: u32, bytes: usize) -> Result<(), Refused> {
        let key = &*self.key;
        let app = &self.asker.app;
        let is_fine =
            app.frames.allows(key, f64::from(frames)) && app.bytes.allows(key, bytes as f64);
        is_fine.then_some(()).ok_or_else(Refused::too_many)
    }

    /// Counts a frame, and waits as long as the caller has sent too many.
    pub(crate) async fn waits(&self, bytes: usize) {
        wait(&self.asker.app, &self.key, bytes).await;
    }
}

impl Meter for Caller {
    fn takes(&self, frames: u32) -> bool {
        Self::takes(self, frames, 0).is_ok()
    }

    fn name(&self) -> &str {
        &self.asker.key
    }

    fn over(&self) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let over = self.asker.clone().over();
        Box::pin(async move { over.await.to_string() })
    }

    fn beyond_its_request(&self) -> Option<Arc<dyn Meter>> {
        let asker = Asker {
            _open: None,
            ..self.asker.clone()
        };
        Some(Arc::new(Self {
            asker,
            ..self.clone()
        }))
    }
}

impl FromRequestParts<Shared> for Caller {
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

/// Names that a session may have over a network: they stand in a URL and in a reference.
fn check_session(session: &str) -> Result<(), Refused> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !session.is_empty() && session.len() <= 128 && session.chars().all(is_fine) {
        Ok(())
    } else {
        Err(Refused::invalid(
            "a session of 1 to 128 letters, digits, `_`, `-` and `.`",
        ))
    }
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
