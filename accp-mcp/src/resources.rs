//! The session as resources of MCP.

use accp_client::address_part;
use accp_runtime::context::Digest;
use accp_runtime::session::{Reference, Session};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};

use crate::ACCP;
use crate::desk::Desk;

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

/// Returns whether a client may watch this resource: it has one address, and changes.
pub(crate) fn is_watched(session: &str, uri: &str) -> bool {
    let base = base(session);
    let path = uri.strip_prefix(&*base).unwrap_or_default();
    matches!(path, "/context" | "/hot" | "/warm")
}

/// Returns the resources that have one address.
pub(crate) fn list(desk: &Desk) -> Vec<Resource> {
    let base = base(&desk.session);
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
        resource("hot", "hot", "The frames in hot state, one a line", ACCP),
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
pub(crate) fn templates(desk: &Desk) -> Vec<ResourceTemplate> {
    let base = base(&desk.session);
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
pub(crate) async fn read(desk: &Desk, uri: &str) -> Result<ResourceContents, Missing> {
    let text = |text: String, kind: &str| ResourceContents::text(text, uri).with_mime_type(kind);
    if uri == REGISTRY {
        let registry = desk.agent.registry().await?;
        return Ok(text(registry.to_json().to_string(), JSON));
    }
    let unknown = || Missing::Unknown(format!("there is no resource {uri}"));
    let base = base(&desk.session);
    let path = uri
        .strip_prefix(&*base)
        .and_then(|path| path.strip_prefix('/'));
    match path.ok_or_else(unknown)?.split_once('/') {
        None => match path.unwrap_or_default() {
            "context" => Ok(text(desk.agent.context().await?, TEXT)),
            "hot" => Ok(text(desk.agent.look(hot).await?, ACCP)),
            "warm" => Ok(text(desk.agent.look(warm).await?, ACCP)),
            _ => Err(unknown()),
        },
        Some(("frames", position)) => {
            let position: u64 = position.parse().map_err(|_| unknown())?;
            let frame = frame(desk, position).await?;
            Ok(text(frame.ok_or_else(unknown)?, ACCP))
        }
        Some(("cold", key)) => {
            let key = format!("cold.{key}");
            Reference::parse(&key).ok_or_else(unknown)?;
            let value = desk.agent.expand(&key).await?;
            Ok(text(value.to_json().to_string(), JSON))
        }
        Some(_) => Err(unknown()),
    }
}

fn hot(session: &Session) -> String {
    let hot = session.state().hot();
    let frames = hot.positions().filter_map(|position| hot.frame(position));
    lines(frames.map(str::to_owned))
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
    let next = desk.agent.frames(position).next().await?;
    let entry = next.filter(|entry| entry.position == position);
    Ok(entry.map(|entry| entry.text.to_string()))
}
