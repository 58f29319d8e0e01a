//! Access control: the agents and sessions that a caller may use.

use std::future::Future;
use std::pin::Pin;
use std::time::SystemTime;

use accp_frame::ErrorCode;

/// Decides who a caller is. [`Open`] lets everybody speak as any agent; [`Tokens`](crate::Tokens) reads tokens
/// from a file; [`Jwt`](crate::Jwt) checks tokens that somebody else has signed; [`AnyOf`] combines several.
pub trait Access: Send + Sync + 'static {
    /// Returns the identity behind this token (`Authorization: Bearer`), or behind no token. The hub asks at each
    /// request. When the [revision](Self::revision) changes, the hub asks again for all open requests and sockets, so
    /// that a token can be withdrawn. If the answer is then [`Denied::Unavailable`], the requests and sockets stay
    /// open, and the hub asks again once a second until it gets another answer.
    fn identify<'a>(&'a self, token: Option<&'a str>) -> Identified<'a>;

    /// Returns a number that changes when the answers of [`identify`](Self::identify) change. The hub reads the
    /// number four times a second. `None`, the default: the hub asks again for all open requests and sockets once
    /// a second.
    fn revision(&self) -> Option<u64> {
        None
    }

    /// Returns whether everybody may speak as any agent. Then the hub listens on loopback alone, unless its
    /// settings allow more.
    fn is_open(&self) -> bool {
        false
    }
}

/// The answer of [`Access::identify`].
pub type Identified<'a> = Pin<Box<dyn Future<Output = Result<Identity, Denied>> + Send + 'a>>;

/// What a caller may do.
///
/// ```
/// use accp_hub::{Denied, Identity};
///
/// let dev = Identity::agent("dev", ["lunch", "team-*"]);
/// assert_eq!(dev.check("lunch", Some("dev")), Ok(()));
/// assert_eq!(dev.check("team-7", None), Ok(()));
/// assert_eq!(dev.check("lunch", Some("planner")), Err(Denied::Agent));
/// assert_eq!(dev.check("payroll", Some("dev")), Err(Denied::Session));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `None`: any agent.
    agent: Option<String>,
    /// Names of sessions. A name that ends in `*` stands for all names with the same beginning.
    sessions: Vec<String>,
    admin: bool,
    /// When the right is over, if it is not withdrawn before.
    ends: Option<SystemTime>,
}

impl Identity {
    /// Makes an identity that may speak as any agent in any session.
    pub fn anybody() -> Self {
        Self::any_agent(["*"])
    }

    /// Makes the identity of one agent, with the sessions that it may enter. A name that ends in `*` stands for
    /// all names with the same beginning.
    pub fn agent<S: Into<String>>(
        agent: impl Into<String>,
        sessions: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            agent: Some(agent.into()),
            sessions: sessions.into_iter().map(Into::into).collect(),
            admin: false,
            ends: None,
        }
    }

    /// Makes an identity that may speak as any agent in these sessions.
    pub fn any_agent<S: Into<String>>(sessions: impl IntoIterator<Item = S>) -> Self {
        Self {
            agent: None,
            sessions: sessions.into_iter().map(Into::into).collect(),
            admin: false,
            ends: None,
        }
    }

    /// Sets when the right ends. The caller's open requests and sockets end then, too.
    pub fn until(self, ends: SystemTime) -> Self {
        Self {
            ends: Some(ends),
            ..self
        }
    }

    /// Returns when the right is over, if it has an end.
    pub fn ends(&self) -> Option<SystemTime> {
        self.ends
    }

    /// Makes an identity that may also erase data of these sessions.
    pub fn administrating(self) -> Self {
        Self {
            admin: true,
            ..self
        }
    }

    /// Checks that the caller may erase data.
    ///
    /// # Errors
    /// [`Denied::Admin`] (E5001).
    pub fn check_admin(&self) -> Result<(), Denied> {
        self.admin.then_some(()).ok_or(Denied::Admin)
    }

    /// Returns the agent. `None`: any agent.
    pub fn name(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Checks that the caller may enter a session, and speak as this agent there.
    ///
    /// # Errors
    /// [`Denied::Session`] (E5002), [`Denied::Agent`] (E5001).
    pub fn check(&self, session: &str, agent: Option<&str>) -> Result<(), Denied> {
        let fits = |pattern: &String| match pattern.strip_suffix('*') {
            Some(start) => session.starts_with(start),
            None => pattern == session,
        };
        if !self.sessions.iter().any(fits) {
            return Err(Denied::Session);
        }
        match (&self.agent, agent) {
            (Some(own), Some(agent)) if own != agent => Err(Denied::Agent),
            _ => Ok(()),
        }
    }
}

/// Why a caller may not do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// There is no token, or it is unknown.
    #[error("a token that the hub knows (Authorization: Bearer)")]
    Token,
    /// The hub knows the token or who has signed it, but what it says of the caller does not let the caller in, or has
    /// changed since the request began.
    #[error("a token {0}")]
    Claims(&'static str),
    /// The caller speaks as another agent.
    #[error("the agent to whom the token belongs")]
    Agent,
    /// The caller may not enter the session.
    #[error("a session that the token opens")]
    Session,
    /// The call is for administrators, and for some calls also for agents of the session.
    #[error(
        "a token with `admin = true`, or for schemas and phases an agent of the session (`?agent=NAME`); a hub without tokens has no administrators: to erase from it, stop it and use `accp session erase`"
    )]
    Admin,
    /// The tokens cannot be read now.
    #[error("tokens that can be read; the hub's log says why they cannot")]
    Unavailable,
}

impl Denied {
    /// Returns the code of the draft (section 3.6).
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Session => ErrorCode::UNAUTHORIZED_REF,
            Self::Unavailable => ErrorCode::INTERNAL_ERROR,
            Self::Token | Self::Claims(_) | Self::Agent | Self::Admin => ErrorCode::POLICY_DENIED,
        }
    }
}

/// Lets everybody speak as any agent: for a hub on loopback.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Access for Open {
    fn identify<'a>(&'a self, _token: Option<&'a str>) -> Identified<'a> {
        Box::pin(async { Ok(Identity::anybody()) })
    }

    fn revision(&self) -> Option<u64> {
        Some(0)
    }

    fn is_open(&self) -> bool {
        true
    }
}

/// Combines several kinds of access. The first that knows the token identifies the caller.
///
/// ```
/// use accp_hub::{Access, AnyOf, Identity, Jwt, Tokens};
///
/// # let folder = tempfile::tempdir()?;
/// # let (tokens, keys) = (folder.path().join("tokens.toml"), folder.path().join("jwks.json"));
/// # let digest = Tokens::digest("secret");
/// # std::fs::write(&tokens, format!("[[token]]\nsha256 = \"{digest}\"\nagent = \"*\"\nsessions = [\"*\"]\n"))?;
/// # std::fs::write(&keys, r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"2026",
/// #     "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#)?;
/// let access = AnyOf::new([
///     Box::new(Tokens::read(&tokens)?) as Box<dyn Access>,
///     Box::new(Jwt::read(&keys)?),
/// ]);
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// assert_eq!(access.identify(Some("secret")).await, Ok(Identity::anybody()));
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnyOf(Vec<Box<dyn Access>>);

impl AnyOf {
    /// Combines several kinds of access. Without any, nobody has access.
    pub fn new(several: impl IntoIterator<Item = Box<dyn Access>>) -> Self {
        Self(several.into_iter().collect())
    }
}

impl Access for AnyOf {
    fn identify<'a>(&'a self, token: Option<&'a str>) -> Identified<'a> {
        Box::pin(async move {
            let mut why = Denied::Token;
            for access in &self.0 {
                match access.identify(token).await {
                    Err(Denied::Token) => {}
                    Err(denied) => why = denied,
                    known => return known,
                }
            }
            Err(why)
        })
    }

    fn revision(&self) -> Option<u64> {
        // Each revision only increases, so the sum changes whenever one revision changes.
        self.0.iter().map(|access| access.revision()).sum()
    }

    fn is_open(&self) -> bool {
        self.0.iter().any(|access| access.is_open())
    }
}

impl std::fmt::Debug for AnyOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AnyOf").field(&self.0.len()).finish()
    }
}

/// The names that a session of a hub may have.
const SESSION_NAMES: &str = "1 to 128 letters, digits, `_`, `-` and `.`";

/// Checks the name of a session, which is used in URLs and in references.
///
/// ```
/// use accp_hub::check_session_name;
///
/// assert_eq!(check_session_name("lunch-7"), Ok(()));
/// assert_eq!(check_session_name("a#b"), Err("1 to 128 letters, digits, `_`, `-` and `.`"));
/// ```
///
/// # Errors
/// The names that are expected.
pub fn check_session_name(name: &str) -> Result<(), &'static str> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = (1..=128).contains(&name.len()) && name.chars().all(is_fine);
    is_name.then_some(()).ok_or(SESSION_NAMES)
}
