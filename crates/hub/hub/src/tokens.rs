//! Tokens in a file.

use std::collections::HashMap;
use std::path::PathBuf;

use accp_frame::AgentId;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::access::{Access, Denied, Identified, Identity, check_session_name};
use crate::config::plain;
use crate::reload::{AccessFileError, Reloaded};

/// Tokens in a TOML file, each with its agent and the sessions that it opens. The file holds the SHA-256
/// of each token and not the token:
///
/// ```toml
/// [[token]]
/// sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" # of "secret"
/// agent = "dev"
/// sessions = ["lunch", "team-*"]
/// ```
///
/// `agent = "*"` lets a token be any agent.
///
/// The hub checks four times a second whether the file has changed, so a token that is taken out is void without
/// a restart. If the file cannot be read, the tokens stay as they were, and the hub's log says so.
///
/// ```
/// use accp_hub::{Access, Identity, Tokens};
///
/// # let folder = tempfile::tempdir()?;
/// # let file = folder.path().join("tokens.toml");
/// std::fs::write(&file, format!(
///     "[[token]]\nsha256 = \"{}\"\nagent = \"dev\"\nsessions = [\"lunch\"]\n",
///     Tokens::digest("secret"),
/// ))?;
/// let tokens = Tokens::read(&file)?;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// assert_eq!(tokens.identify(Some("secret")).await, Ok(Identity::agent("dev", ["lunch"])));
/// assert!(tokens.identify(Some("guess")).await.is_err());
/// # });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Tokens {
    known: Reloaded<Known>,
}

/// Identities by the SHA-256 of their tokens.
type Known = HashMap<[u8; 32], Identity>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    token: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    sha256: String,
    /// `*` for any agent. There is no default: while the file is being written, a part of it must not give a
    /// token more rights than the whole file.
    agent: String,
    sessions: Vec<String>,
    /// Whether the token may erase data of these sessions.
    #[serde(default)]
    admin: bool,
}

impl Tokens {
    /// Reads a file of tokens.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a file of tokens. The error names the line of the fault.
    pub fn read(file: impl Into<PathBuf>) -> Result<Self, AccessFileError> {
        let known = Reloaded::text(file, parse)?;
        Ok(Self { known })
    }

    /// Returns the SHA-256 of a token in hex, as the file holds it.
    pub fn digest(token: &str) -> String {
        hex::encode(Sha256::digest(token.as_bytes()))
    }

    fn find(&self, token: &str) -> Option<Identity> {
        // The map compares digests, so the time of the look-up shows nothing about the token.
        let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.known.get().get(&digest).cloned()
    }
}

fn parse(text: &str) -> Result<Known, String> {
    let parsed: File = toml::from_str(text).map_err(|error| {
        let cure = match error.message() {
            "missing field `agent`" => "write `agent = \"*\"` where a token may be any agent\n",
            _ => "",
        };
        plain(&error) + cure
    })?;
    let mut known = HashMap::new();
    for (number, entry) in (1..).zip(parsed.token) {
        let mut digest = [0; 32];
        if hex::decode_to_slice(entry.sha256.to_ascii_lowercase(), &mut digest).is_err() {
            return Err(format!(
                "token {number}: `sha256` is not 64 hexadecimal digits; \
                 `printf %s TOKEN | sha256sum` prints them"
            ));
        }
        if digest[..] == Sha256::digest("")[..] {
            return Err(format!(
                "token {number}: `sha256` is that of an empty text, which is not a token; `printf %s TOKEN | sha256sum` \
                 prints that of a token"
            ));
        }
        for name in &entry.sessions {
            check_pattern(name)
                .map_err(|cure| format!("token {number}: `sessions` has {name:?}: {cure}"))?;
        }
        let identity = if entry.agent == "*" {
            Identity::any_agent(entry.sessions)
        } else {
            AgentId::new(&*entry.agent).map_err(|error| {
                format!("token {number}: `agent` is neither `*` nor the name of an agent: {error}")
            })?;
            Identity::agent(entry.agent, entry.sessions)
        };
        let identity = if entry.admin {
            identity.administrating()
        } else {
            identity
        };
        if known.insert(digest, identity).is_some() {
            return Err(format!("token {number}: this token stands there twice"));
        }
    }
    Ok(known)
}

/// Checks that a session can have this name, or a name with this beginning.
fn check_pattern(name: &str) -> Result<(), String> {
    let start = name.strip_suffix('*').unwrap_or(name);
    if name == "*" {
        return Ok(());
    }
    check_session_name(start).map_err(|names| {
        format!("the name of a session has {names}; `*` stands at the end alone, for all names that begin so")
    })
}

impl Access for Tokens {
    fn identify<'a>(&'a self, token: Option<&'a str>) -> Identified<'a> {
        let found = token.and_then(|token| self.find(token));
        Box::pin(async { found.ok_or(Denied::Token) })
    }

    fn revision(&self) -> Option<u64> {
        Some(self.known.revision())
    }
}
