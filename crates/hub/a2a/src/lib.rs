//! ACCP over A2A, the protocol by which agents of different makers call each other (draft section 11.4;
//! A2A 1.0).
//!
//! [`router`] lets clients of A2A speak for the agents of sessions. A message of a client holds frames, as
//! parts of type `application/accp`, or text. Its request (`req`) begins a task, and the answer (`done`) ends
//! it. Each piece of a stream (ST frame) is one part of an artifact. [`Remote`] is the other direction: an
//! agent of a session stands for an agent of A2A.
//!
//! ```
//! use accp_a2a::{Agents, Config, Principal, Remote, TrustPath, router};
//! use accp_client::{Agent, Error, Hub};
//! use accp_runtime::profiles::{ChatDone, ChatReq};
//! use accp_store::MemoryStore;
//!
//! /// The agents for which clients speak: here, one of one session.
//! struct Guest(Agent);
//!
//! impl Agents for Guest {
//!     async fn agent(&self, who: &Principal) -> Result<Agent, Error> {
//!         match (who.session(), who.agent()) {
//!             ("lunch", "guest") => Ok(self.0.clone()),
//!             _ => Err(Error::Denied("this server".into(), "no such agent".into())),
//!         }
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
//! let hub = Hub::open("lunch", MemoryStore::new()).await?;
//! let (cook, guest) = (hub.agent("cook")?, hub.agent("guest")?);
//! cook.serve(|request: ChatReq, cx| async move {
//!     cx.reply(ChatDone::new(request.content.to_uppercase())).await
//! });
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let url = format!("http://{}/a2a", listener.local_addr()?);
//! let routes = router(Config::new(&url), Guest(guest)); // any client of A2A can call them
//! // Everybody may be anybody here: the path says who.
//! let app = axum::Router::new().nest_service("/a2a", TrustPath::new(routes));
//! tokio::spawn(async { axum::serve(listener, app).await });
//!
//! // An agent of another session that stands for this one.
//! let elsewhere = Hub::open("office", MemoryStore::new()).await?;
//! let (boss, chef) = (elsewhere.agent("boss")?, elsewhere.agent("chef")?);
//! let chef = Remote::connect(chef, format!("{url}/lunch/guest")).await?;
//! let done: ChatDone = boss.ask(ChatReq::new("soup, please")).await?;
//! assert_eq!(done.content, "SOUP, PLEASE");
//! # drop(chef);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! # }).map_err(|error| error.to_string())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a client of A2A sees
//!
//! | In the session | For the client |
//! |---|---|
//! | a chain that `req` of the agent begins | a task; the name of the chain is its id |
//! | `done`, `end` | completed; the frame is the artifact `answer` |
//! | `fail` | failed; the frame is the message of the status |
//! | nothing, and the `ttl` of the request is over | failed, with E3001, until somebody answers late |
//! | `wait` | input-required; the frame is the message of the status |
//! | `cancel` | canceled |
//! | ST frames of an agent | parts of the artifact `stream-AGENT`, one to one |
//! | the session | the context of all its tasks |
//!
//! The router reads the tasks from the log of the session, so tasks survive a restart. Push notifications are not
//! supported.

mod call;
mod card;
mod config;
mod expand;
mod fault;
mod frame;
mod index;
mod left_out;
mod log;
mod message;
mod params;
mod pool;
mod reader;
mod remote;
mod render;
mod repeat;
mod router;
mod stream;
mod task;
mod updates;
mod writer;

pub use accp_client::{Agents, Principal, TrustPath};
pub use config::Config;
pub use remote::{Remote, RemoteConnect, RemoteError};
pub use router::router;

/// The examples of the README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
