//! Agents of A2A elsewhere that take part in a session.

mod artifacts;
mod client;
mod events;
mod message;
mod task;

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;

use accp_client::{Agent, Error};

use client::RpcClient;
use task::TaskContext;

/// An agent of a session that stands for an agent of A2A elsewhere.
///
/// Each request (`req`) that comes to the agent becomes a task of the other agent. The reply is the `done` frame
/// of the other agent, or its text as `done:chat`. If the task fails, the reply is `fail:error`. Pieces of
/// artifacts become frames of a stream. When the chain of the request is cancelled, the task is cancelled too.
/// The agent does not get requests for other agents of the session.
///
/// ```no_run
/// # use accp_a2a::{Remote, RemoteError};
/// # async fn connect(agent: accp_client::Agent) -> Result<(), RemoteError> {
/// let remote = Remote::connect(agent, "https://cooks.example/a2a/kitchen/cook").await?;
/// println!("{} answers for {}", remote.agent().name(), remote.name());
/// # Ok(())
/// # }
/// ```
pub struct Remote {
    agent: Agent,
    name: String,
}

/// A connection to an agent of A2A, which is made when this value is awaited. See [`Remote::connect`].
#[must_use = "a connection is made when it is awaited"]
pub struct RemoteConnect {
    agent: Agent,
    url: String,
    token: Option<String>,
}

/// The reason why an agent of A2A cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// At this address nobody answers, or the answer is not one of A2A. The second text is the reason.
    #[error("no agent of A2A at {0}: {1}")]
    Unreachable(String, String),
    /// The agent at this address has no interface that this crate can call. The second text is the reason.
    #[error("the agent at {0}: {1}")]
    Card(String, String),
    /// The agent refuses a call.
    #[error("the agent refuses the call ({code}): {message}")]
    Refused {
        /// The code of JSON-RPC.
        code: i32,
        /// The code of the draft (section 3.6), if the agent names one.
        accp: Option<accp_frame::ErrorCode>,
        /// What the agent says.
        message: String,
    },
    /// The agent of the session has ended.
    #[error(transparent)]
    Agent(#[from] Error),
}

impl Remote {
    /// Lets an agent of a session stand for the agent of A2A at this URL. This reads the card of the other agent,
    /// at this URL or below it. From then on the agent of the session answers requests.
    ///
    /// The agent answers as long as one of its handles exists. The `Remote` is such a handle.
    ///
    /// # Errors
    /// [`RemoteError::Unreachable`] and [`RemoteError::Card`] when there is no agent that speaks JSON-RPC
    /// of A2A 1.0, [`RemoteError::Agent`] when the agent of the session has ended.
    pub fn connect(agent: Agent, url: impl Into<String>) -> RemoteConnect {
        RemoteConnect {
            agent,
            url: url.into(),
            token: None,
        }
    }

    /// Returns the agent of the session.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Returns the name of the agent of A2A, as its card says it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl RemoteConnect {
    /// Sends this token to the other agent (`Authorization: Bearer`).
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    async fn open(self) -> Result<Remote, RemoteError> {
        let client = Arc::new(RpcClient::open(&self.url, self.token.as_deref()).await?);
        let name = client.card.name.clone();
        let session = self.agent.look(|session| {
            let registry = Arc::clone(&session.options().registry);
            (session.id().to_owned(), registry)
        });
        let (session, registry) = session.await?;
        let session: Arc<str> = session.into();
        self.agent.serve_others(move |cx| {
            let context = TaskContext {
                client: Arc::clone(&client),
                session: Arc::clone(&session),
                registry: Arc::clone(&registry),
            };
            async move { context.run(cx).await }
        });
        Ok(Remote {
            agent: self.agent,
            name,
        })
    }
}

impl IntoFuture for RemoteConnect {
    type Output = Result<Remote, RemoteError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.open())
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote")
            .field("agent", &self.agent.name())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RemoteConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteConnect")
            .field("agent", &self.agent.name())
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}
