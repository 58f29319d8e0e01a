//! The session as resources of MCP.

use std::borrow::Cow;

use accp_client::address_part;
use accp_context::Digest;
use accp_session::{Reference, Session};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::ACCP;
use crate::desk::Desk;
use crate::seat::Seat;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// The resource that holds the registry.
const REGISTRY: &str = "accp://registry";

/// Why a resource has no content.
pub(crate) enum Missing {
    /// There is no resource of this name.
    Unknown(String),
    /// The agent has ended.
    Agent(accp_client::Error),
}

impl From<accp_client::Error> for Missing {
    fn from(error: accp_client::Error) -> Self {
        match error {
            accp_client::Error::Reference(..) => Self::Unknown(error.to_string()),
            other => Self::Agent(other),
        }
    }
}

fn base(session: &str) -> String {
    format!("accp://session/{}", address_part(session))
}

/// Where a resource is. There may be none.
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

    /// Returns whether a client may watch the resource: it has one address, and changes.
    pub(crate) fn changes(self) -> bool {
        matches!(self, Self::Context | Self::Hot | Self::Warm)
    }
}

/// Returns the resources that have one address.
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

/// Returns the families of resources.
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
    seat: &Seat,
    uri: &str,
    address: &Address,
) -> Result<ResourceContents, Missing> {
    if let Address::Registry = address {
        let registry = seat.registry().await?.to_json().to_string();
        return Ok(ResourceContents::text(registry, uri).with_mime_type(JSON));
    }
    let desk = seat.desk().await?;
    let (text, kind) = match address {
        Address::Registry => (desk.agent.registry().await?.to_json().to_string(), JSON),
        Address::Context => (desk.agent.context().await?, TEXT),
        Address::Hot => (desk.agent.look(hot).await?, ACCP),
        Address::Warm => (desk.agent.look(warm).await?, ACCP),
        Address::Frame(position) => {
            let unknown = || Missing::Unknown(format!("there is no resource {uri}"));
            let frame = frame(&desk, *position).await?;
            (frame.ok_or_else(unknown)?, ACCP)
        }
        Address::Cold(key) => (desk.agent.expand(key).await?.to_json().to_string(), JSON),
    };
    Ok(ResourceContents::text(text, uri).with_mime_type(kind))
}

fn hot(session: &Session) -> String {
    // The lines that the budget counts: a frame that is too long for it is a preview here, too.
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
async fn frame(desk: &Desk, position: u64) -> Result<Option<String>, accp_client::Error> {
    let last = desk.agent.look(Session::position).await?;
    if position == 0 || position > last {
        return Ok(None);
    }
    // What stands there may be for no reader, and so may all behind it.
    let next = desk.agent.frames(position).next_ready().await?;
    let entry = next.filter(|entry| entry.position == position);
    Ok(entry.map(|entry| entry.text.to_string()))
}
