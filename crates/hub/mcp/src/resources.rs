//! The session as resources of MCP.

use std::borrow::Cow;

use accp_client::address_part;
use accp_context::Digest;
use accp_frame::ErrorCode;
use accp_session::{ReadError, Reference, Session};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::connection::Connection;
use crate::inbox::Inbox;
use crate::render::ACCP;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// The resource that holds the registry.
const REGISTRY: &str = "accp://registry";

/// Why a resource has no content.
pub(crate) enum Missing {
    /// There is no resource of this name, by this code of the draft.
    Unknown(ErrorCode, String),
    /// The agent has ended, or a value has not come in time.
    Agent(accp_client::Error),
}

impl From<accp_client::Error> for Missing {
    fn from(error: accp_client::Error) -> Self {
        match error {
            // The value is there, and only its bytes have not come yet.
            accp_client::Error::Reference(_, ReadError::Unavailable) => Self::Agent(error),
            accp_client::Error::Reference(_, why) => Self::Unknown(why.code(), error.to_string()),
            other => Self::Agent(other),
        }
    }
}

fn base(session: &str) -> String {
    format!("accp://session/{}", address_part(session))
}

/// The address of a resource, which need not exist.
pub(crate) enum Address {
    Registry,
    Context,
    Hot,
    Warm,
    /// The frame at a position.
    Frame(u64),
    /// The value with this key.
    Cold(String),
}

impl Address {
    /// Reads the address of a resource of this session.
    pub(crate) fn read(session: &str, uri: &str) -> Option<Self> {
        if uri == REGISTRY {
            return Some(Self::Registry);
        }
        let path = uri.strip_prefix(&*base(session))?.strip_prefix('/')?;
        match path.split_once('/') {
            None => match path {
                "context" => Some(Self::Context),
                "hot" => Some(Self::Hot),
                "warm" => Some(Self::Warm),
                _ => None,
            },
            Some(("frames", position)) => position.parse().ok().map(Self::Frame),
            Some(("cold", key)) => {
                let key = format!("cold.{key}");
                Reference::parse(&key).is_some().then_some(Self::Cold(key))
            }
            Some(_) => None,
        }
    }

    /// Returns whether a client may subscribe to the resource.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Context | Self::Hot | Self::Warm)
    }
}

/// Returns the resources with a fixed address.
pub(crate) fn list(session: &str) -> Vec<Resource> {
    let base = base(session);
    let resource = |path: &str, name: &str, words: &str, kind: &str| {
        Resource::new(format!("{base}/{path}"), name)
            .with_description(words)
            .with_mime_type(kind)
    };
    vec![
        resource(
            "context",
            "context",
            "The context as a model reads it: a view of the checkpoints and of the frames since",
            TEXT,
        ),
        resource(
            "hot",
            "hot",
            "The frames in hot state as the budget counts them, one a line; long ones as previews",
            ACCP,
        ),
        resource(
            "warm",
            "warm",
            "The checkpoints in warm state, one a line, as frames",
            ACCP,
        ),
        Resource::new(REGISTRY, "registry")
            .with_description("The registry of the session: its schemas, with their documents")
            .with_mime_type(JSON),
    ]
}

/// Returns the templates of all other resources.
pub(crate) fn templates(session: &str) -> Vec<ResourceTemplate> {
    let base = base(session);
    vec![
        ResourceTemplate::new(format!("{base}/frames/{{position}}"), "frame")
            .with_description("The frame at a position of the log, the first being 1")
            .with_mime_type(ACCP),
        ResourceTemplate::new(format!("{base}/cold/{{key}}"), "cold")
            .with_description("A value in cold state, as JSON, such as k101_1 or p57")
            .with_mime_type(JSON),
    ]
}

/// Reads a resource.
pub(crate) async fn read(
    connection: &Connection,
    uri: &str,
    address: &Address,
) -> Result<ResourceContents, Missing> {
    if let Address::Registry = address {
        let registry = connection.registry().await?.to_json().to_string();
        return Ok(ResourceContents::text(registry, uri).with_mime_type(JSON));
    }
    let inbox = connection.inbox().await?;
    let (text, kind) = match address {
        Address::Registry => (inbox.agent.registry().await?.to_json().to_string(), JSON),
        Address::Context => (inbox.agent.context().await?, TEXT),
        Address::Hot => (inbox.agent.look(hot).await?, ACCP),
        Address::Warm => (inbox.agent.look(warm).await?, ACCP),
        Address::Frame(position) => {
            let unknown = || {
                let text = format!("there is no resource {uri}");
                Missing::Unknown(ErrorCode::REF_NOT_FOUND, text)
            };
            let frame = frame(&inbox, *position).await?;
            (frame.ok_or_else(unknown)?, ACCP)
        }
        Address::Cold(key) => (inbox.agent.expand(key).await?.to_json().to_string(), JSON),
    };
    Ok(ResourceContents::text(text, uri).with_mime_type(kind))
}

fn hot(session: &Session) -> String {
    // The budget of hot state counts these lines. A frame that is too long for the budget is shown
    // as a preview.
    lines(session.state().hot().lines().map(Cow::into_owned))
}

fn warm(session: &Session) -> String {
    let digests = session.state().warm().digests();
    lines(digests.iter().map(Digest::line))
}

fn lines(all: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for line in all {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Returns the frame at this position, if the log has it.
async fn frame(inbox: &Inbox, position: u64) -> Result<Option<String>, accp_client::Error> {
    let last = inbox.agent.look(Session::position).await?;
    if position == 0 || position > last {
        return Ok(None);
    }
    // The entry at this position may hold no frame. Then `next_ready` returns a later frame, or
    // nothing.
    let next = inbox.agent.frames(position).next_ready().await?;
    let entry = next.filter(|entry| entry.position == position);
    Ok(entry.map(|entry| entry.text.to_string()))
}
