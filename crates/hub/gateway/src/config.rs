//! The settings of a gateway.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::route::Provider;

/// The settings of a gateway.
///
/// ```
/// use accp_gateway::{Config, Provider};
///
/// let config = Config::default();
/// assert_eq!(config.upstream(Provider::Anthropic), "https://api.anthropic.com");
/// assert!(config.listen.ip().is_loopback());
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Whether to listen on an address that is not loopback. Whoever reaches the gateway may use it with a key of their own.
    pub allow_remote: bool,
    /// The URL of Anthropic's API, without a path.
    pub anthropic: String,
    /// The URL of OpenAI's API, without a path.
    pub openai: String,
    /// What happens to requests.
    pub policy: Policy,
    /// The policy whose bill [`Policy::Shadow`] predicts.
    pub predict: Policy,
    /// The most tokens of a list. [`Policy::Window`] needs it; with [`Policy::Save`] it is a limit for results alone.
    pub window: Option<u64>,
    /// The share of the sessions whose requests stay as they are, from 0 to 1. The report compares the bills of these
    /// sessions with the bills of the others.
    pub holdout: f64,
    /// Which parts of requests are kept on disk.
    pub keep: Keep,
    /// A file with the key that seals parts of prompts on disk. Without a file, they are kept unsealed.
    pub key_file: Option<PathBuf>,
    /// A PEM file with the authorities that the providers' certificates are checked against, in the place of Mozilla's.
    pub authority: Option<PathBuf>,
    /// A request with more bytes is passed on unread.
    pub body_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7338)),
            allow_remote: false,
            anthropic: "https://api.anthropic.com".to_owned(),
            openai: "https://api.openai.com".to_owned(),
            policy: Policy::Append,
            predict: Policy::Save,
            window: None,
            holdout: 0.0,
            keep: Keep::Cold,
            key_file: None,
            authority: None,
            body_bytes: 64 << 20,
        }
    }
}

impl Config {
    /// Returns the URL of a provider as people may read it, without the password that may stand in it.
    pub(crate) fn shown(&self, provider: Provider) -> String {
        let url = self.upstream(provider);
        let Ok(mut read) = reqwest::Url::parse(url) else {
            return url.to_owned();
        };
        if read.username().is_empty() && read.password().is_none() {
            return url.to_owned();
        }
        // Only a URL without a host refuses this, and the gateway does not start with such a URL.
        let _ = read.set_username("").and_then(|()| read.set_password(None));
        read.to_string()
    }

    /// Returns the URL of a provider.
    pub fn upstream(&self, provider: Provider) -> &str {
        let url = match provider {
            Provider::Anthropic => &self.anthropic,
            Provider::OpenAi => &self.openai,
        };
        url.trim_end_matches('/')
    }

    /// Returns the policy that is carried out, or predicted.
    pub fn effect(&self) -> Policy {
        match self.policy {
            Policy::Shadow => self.predict,
            policy => policy,
        }
    }
}

/// What a gateway does to requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// Nothing: requests go out unread.
    Off,
    /// Nothing, but the ledger says what another policy would have done ([`Config::predict`]).
    Shadow,
    /// Results of tools get their cheapest form when they enter a list, and keep it.
    #[default]
    Append,
    /// As `Append`. Old results also lose their middles, where that is free, where it pays, or where the window
    /// forces it. The gateway gives the model a tool that shows what has left the list.
    Save,
    /// As `Append`. Where a list is larger than the window, results lose their middles, and whole messages leave, the oldest first.
    Window,
}

impl Policy {
    /// All policies.
    pub const ALL: [Self; 5] = [
        Self::Off,
        Self::Shadow,
        Self::Append,
        Self::Save,
        Self::Window,
    ];

    /// Returns the name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Shadow => "shadow",
            Self::Append => "append",
            Self::Save => "save",
            Self::Window => "window",
        }
    }

    /// Returns whether requests change.
    pub const fn changes(self) -> bool {
        matches!(self, Self::Append | Self::Save | Self::Window)
    }

    /// Returns whether something may leave a list under this policy, so that the model may ask for it.
    pub(crate) const fn cuts(self) -> bool {
        matches!(self, Self::Save | Self::Window)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == text);
        found.ok_or_else(|| format!("expected off, shadow, append, save or window, found {text:?}"))
    }
}

/// Which parts of requests a gateway keeps on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keep {
    /// Only digests, numbers and names. With this setting the gateway may change nothing: its policy has to be off or
    /// shadow.
    None,
    /// Also what a session needs to go on with the lists that it has sent: the forms of results, the turns that
    /// clients do not see, and the summaries in the place of messages that have left. These contain words of persons
    /// and of agents.
    #[default]
    Cold,
}

impl FromStr for Keep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::None),
            "cold" => Ok(Self::Cold),
            _ => Err(format!("expected none or cold, found {text:?}")),
        }
    }
}
