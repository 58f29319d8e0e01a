//! Settings of a hub.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use accp_frame::AgentId;
use serde::{Deserialize, Serialize};

/// Settings of a hub. A TOML file may leave settings out: each then has the default that is given here.
///
/// ```
/// use accp_hub::{Config, Numbering};
///
/// let config = Config::from_toml("numbering = \"shared\"\n[limits]\nconnections = 100\n")?;
/// assert_eq!(config.numbering, Numbering::Shared);
/// assert_eq!(config.limits.connections, 100);
/// assert!(Config::from_toml("lisen = 1").unwrap_err().contains("unknown field `lisen`"));
/// assert!(Config::from_toml("heartbeat = 0").unwrap_err().starts_with("heartbeat = 0: "));
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the hub listens: `127.0.0.1:7337`.
    pub listen: SocketAddr,
    /// The name under which the hub speaks: `hub`.
    pub agent: String,
    /// The numbering of new sessions (draft section 3.7).
    pub numbering: Numbering,
    /// True if a frame may begin a session that does not exist yet.
    pub create: bool,
    /// Seconds between the pings of a WebSocket that is silent: 30 (draft section 11.2). A peer that is
    /// silent for twice as long is disconnected.
    pub heartbeat: u64,
    /// Seconds after which a session that nobody uses leaves memory: 300. It comes back with the next
    /// frame.
    pub idle: u64,
    /// Seconds for which a shutdown waits for requests to end: 10. Requests that wait for an answer of an agent end at
    /// once. The sockets close after the requests, within 3 seconds.
    pub drain: u64,
    /// True if a hub without authentication may listen beyond loopback.
    pub anybody_from_anywhere: bool,
    /// Origins of pages in browsers that may use the hub, such as `https://example.com`. A request with another
    /// `Origin` is refused, unless it is the origin of the hub itself.
    pub origins: Vec<String>,
    /// Bounds on what a caller may use.
    pub limits: Limits,
    /// TLS; without it the hub speaks plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Set if several hubs share one store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replica: Option<Replica>,
}

/// A hub among several that share one store. The hub that has the lease of a session runs the session. The other hubs
/// hand requests for this session on to that hub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replica {
    /// The URL at which the other hubs reach this hub, such as `http://10.0.0.5:7337`; by default the address on
    /// which this hub listens. No two hubs may have the same URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertise: Option<String>,
    /// Seconds after which another hub may take the sessions of a hub that is gone: 10. Each hub renews its
    /// leases three times in this time.
    pub lease: u64,
    /// A PEM file with the authorities of the other hubs' certificates; those that browsers trust, by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<PathBuf>,
}

impl Default for Replica {
    fn default() -> Self {
        Self {
            advertise: None,
            lease: 10,
            authority: None,
        }
    }
}

/// The numbering of a new session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// Shared if a WebSocket of a peer that knows the draft alone begins the session, else by sender.
    #[default]
    Auto,
    /// `seq` counts the frames of all senders.
    Shared,
    /// `seq` counts the frames of each sender.
    Sender,
}

/// Bounds on what a caller may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a frame: 65,536, and 1,024 at least. A longer body is refused with 413. No session takes a frame of more
    /// than 65,536 bytes.
    pub frame: usize,
    /// Bytes of the headers of a request: 16,384, and 8,192 at least.
    pub headers: usize,
    /// Seconds in which the headers of a request, and the first frame of a WebSocket, have to be
    /// there: 10.
    pub header_seconds: u64,
    /// Seconds in which a whole frame in a body has to arrive: 30. A slower frame is refused with 408. Between
    /// two frames of a stream there may be 300 seconds.
    pub body_seconds: u64,
    /// Seconds in which a client has to read at least a part of what the hub sends: 30. Otherwise the hub breaks the
    /// connection.
    pub write_seconds: u64,
    /// Connections at a time: 20,000. Further connections wait until the hub accepts them.
    pub connections: usize,
    /// Sessions in memory at a time: 20,000. The frame that would open another one is refused with 503.
    pub sessions: usize,
    /// Frames a second that an agent of a session may send on the average, by all protocols together: 1,000. A
    /// request for MCP or A2A counts as a frame. Above this rate, the hub reads a WebSocket more slowly, and
    /// refuses a request with 429.
    pub frames_per_second: u32,
    /// Bytes a second that an agent of a session may send on the average: 16 MiB.
    pub bytes_per_second: u32,
    /// Bytes of a request for MCP or A2A: 1 MiB. A longer one is refused with 413.
    pub request: usize,
    /// Bytes of bodies that one token may have at a time, on their way to the hub, or in requests for MCP and A2A that
    /// have no answer yet: 64 MiB. The request whose body would need more is refused with 429.
    pub bodies: usize,
    /// Requests and sockets that one token may have open at a time: 1,000. One more is refused with 429.
    pub requests: usize,
    /// Sessions a minute that one token may begin on the average: 6,000; without tokens, all callers
    /// together. The frame that would begin another one is refused with 429.
    pub sessions_per_minute: u32,
    /// Agents of a session: 1,000. The frame that would let in another one is refused.
    pub agents: usize,
    /// The greatest `Prefer: wait`, in seconds: 60.
    pub wait: u64,
}

/// The certificate of a hub. Its files are read again when they change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file with the certificates, that of the hub first.
    pub certificate: PathBuf,
    /// A PEM file with the private key.
    pub key: PathBuf,
}

impl Config {
    /// Reads settings in TOML.
    ///
    /// # Errors
    /// What is wrong, with its line or the name of the setting. A setting with which a hub would serve nobody is
    /// refused, too.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let config: Self = toml::from_str(text).map_err(|error| plain(&error))?;
        config.check()?;
        Ok(config)
    }

    /// Checks what the types of the settings do not say.
    fn check(&self) -> Result<(), String> {
        AgentId::new(&*self.agent).map_err(|error| format!("agent = {:?}: {error}", self.agent))?;
        for origin in &self.origins {
            check_origin(origin).map_err(|cure| format!("origins = [{origin:?}]: {cure}"))?;
        }
        self.check_times()?;
        self.limits.check_sizes()
    }

    fn check_times(&self) -> Result<(), String> {
        let limits = &self.limits;
        for (name, least, seconds) in [
            ("heartbeat", 1, self.heartbeat),
            ("idle", 0, self.idle),
            ("drain", 0, self.drain),
            ("limits.header_seconds", 1, limits.header_seconds),
            ("limits.body_seconds", 1, limits.body_seconds),
            ("limits.write_seconds", 1, limits.write_seconds),
            ("limits.wait", 0, limits.wait),
        ] {
            check_seconds(name, least, seconds)?;
        }
        match &self.replica {
            Some(replica) => check_seconds("replica.lease", 1, replica.lease),
            None => Ok(()),
        }
    }
}

/// Returns an error of TOML without the names of Rust types, and with what to write.
pub(crate) fn plain(error: &toml::de::Error) -> String {
    let mut text = error.to_string();
    for number in ["usize", "u64", "u32"] {
        let expected = format!(", expected {number}\n");
        text = text.replace(&expected, ", expected a whole number of 0 or more\n");
    }
    let cure = match error.message() {
        "invalid socket address syntax" => {
            "write an IP address and a port, as in \"127.0.0.1:7337\"\n"
        }
        message if message.ends_with(", expected a sequence") => {
            "write a list, as in [\"one\", \"two\"]\n"
        }
        _ => "",
    };
    text + cure
}

/// A year, the most seconds that a setting may have. The clock of the system does not reach all larger times.
const YEAR: u64 = 365 * 24 * 60 * 60;

fn check_seconds(name: &str, least: u64, seconds: u64) -> Result<(), String> {
    if (least..=YEAR).contains(&seconds) {
        return Ok(());
    }
    Err(format!(
        "{name} = {seconds}: write {least} to {YEAR} seconds"
    ))
}

/// The most connections. At its end, the hub waits until each of them is free, and counts them in 32 bits.
const CONNECTIONS: usize = 1 << 30;

impl Limits {
    fn check_sizes(&self) -> Result<(), String> {
        let per_second = |rate: u32| usize::try_from(rate).unwrap_or(usize::MAX);
        for (name, least, size) in [
            ("frame", 1_024, self.frame),
            ("headers", 8_192, self.headers),
            ("connections", 1, self.connections),
            ("sessions", 1, self.sessions),
            ("frames_per_second", 1, per_second(self.frames_per_second)),
            ("bytes_per_second", 1, per_second(self.bytes_per_second)),
            ("request", 1_024, self.request),
            ("bodies", 1_024, self.bodies),
            ("requests", 1, self.requests),
            (
                "sessions_per_minute",
                1,
                per_second(self.sessions_per_minute),
            ),
            ("agents", 1, self.agents),
        ] {
            if size < least {
                return Err(format!(
                    "limits.{name} = {size}: write {least} or more, because the hub would serve nobody"
                ));
            }
        }
        if self.connections > CONNECTIONS {
            return Err(format!(
                "limits.connections = {}: write {CONNECTIONS} or less",
                self.connections
            ));
        }
        Ok(())
    }
}

/// Checks that a browser may send this text as `Origin`. The error says how to write the origin.
fn check_origin(origin: &str) -> Result<(), &'static str> {
    let form = "write the scheme, the name and the port as a browser sends them, such as `https://example.com`, in small \
                letters and without a path";
    if matches!(origin, "null" | "file://") {
        return Err(
            "every file and every frame in a sandbox has this origin: load the page from a server, and write the origin of \
             that server",
        );
    }
    let (scheme, host) = origin.split_once("://").ok_or(form)?;
    let is_in = |text: &str, more: &str| {
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || more.contains(c);
        !text.is_empty() && text.chars().all(fits)
    };
    if !is_in(scheme, "+-.") || !is_in(host, "-._:[]") {
        return Err(form);
    }
    match (scheme, host.rsplit_once(':')) {
        ("http", Some((_, "80"))) | ("https", Some((_, "443"))) => {
            Err("leave the port out, because a browser sends no port that the scheme implies")
        }
        _ => Ok(()),
    }
}

/// The settings of TLS, as comments.
const NO_TLS: &str = "
# A hub without these settings speaks plain HTTP.
# [tls]
# certificate = \"hub.pem\"
# key = \"hub.key\"
";

/// The head of the settings of a hub among several, as a comment.
const NO_REPLICA: &str = "
# These settings are for hubs that share a database.
# [replica]
";

/// The settings of a hub among several that have no default, as comments.
const NO_ADVERTISE: &str =
    "# Without `advertise`, the other hubs reach this hub at the address of `listen`.
# advertise = \"http://10.0.0.5:7337\"
";
const NO_AUTHORITY: &str =
    "# Without `authority`, this hub trusts the authorities that browsers trust.
# authority = \"hubs.pem\"
";

impl Config {
    /// Writes the settings in TOML. Settings that are not there, and have no default, are comments.
    pub fn to_toml(&self) -> String {
        // Every field has a form in TOML, so the conversion cannot fail.
        let mut text = toml::to_string(self).unwrap_or_default();
        let default = Replica::default();
        let replica = self.replica.as_ref();
        if replica.is_none() {
            let _ = writeln!(text, "{NO_REPLICA}# lease = {}", default.lease);
        }
        // These lines belong to `[replica]`, which is the last table.
        let replica = replica.unwrap_or(&default);
        if replica.advertise.is_none() {
            text.push_str(NO_ADVERTISE);
        }
        if replica.authority.is_none() {
            text.push_str(NO_AUTHORITY);
        }
        if self.tls.is_none() {
            text.push_str(NO_TLS);
        }
        text
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7337),
            agent: "hub".to_owned(),
            numbering: Numbering::default(),
            create: true,
            heartbeat: 30,
            idle: 300,
            drain: 10,
            anybody_from_anywhere: false,
            origins: Vec::new(),
            limits: Limits::default(),
            tls: None,
            replica: None,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame: 64 * 1024,
            headers: 16 * 1024,
            header_seconds: 10,
            body_seconds: 30,
            write_seconds: 30,
            connections: 20_000,
            sessions: 20_000,
            frames_per_second: 1_000,
            bytes_per_second: 16 << 20,
            request: 1 << 20,
            bodies: 64 << 20,
            requests: 1_000,
            sessions_per_minute: 6_000,
            agents: 1_000,
            wait: 60,
        }
    }
}
