//! `accp serve`: runs a hub.

mod admission;
pub(super) mod log;
#[cfg(not(feature = "otel"))]
mod no_traces;
#[cfg(feature = "otel")]
mod traces;

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accp_frame::AgentId;
use accp_hub::{Config, ListenError, Open, Server, Sessions, Tls};
use accp_session::{Options, Rules, SchemaClashes};
use accp_store::{Committer, MemoryStore, PostgresStore};

use crate::registries::RegistryArgs;
use accp_console::outcome::{Failure, Outcome, Verdict};
use accp_console::output::Output;
#[cfg(not(feature = "otel"))]
use no_traces as traces;

/// Run a hub: agents reach their sessions over HTTP and WebSocket
///
/// The hub keeps its sessions in one file, or in a database that it may share with other hubs. It listens
/// on loopback, where anybody may act as any agent; with --tokens or --jwks a client has to show which
/// agent it is. Options override environment variables, and these override the file of --config.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  accp serve
  accp serve team.accp --listen 0.0.0.0:7337 --tokens tokens.toml --tls-cert hub.pem --tls-key hub.key
  accp serve postgres://accp@db.example/accp?sslmode=require --advertise http://10.0.0.5:7337
  accp serve --print-config > hub.toml && accp serve --config hub.toml")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// The file of the sessions, which is created if it does not exist, or the URL of a PostgreSQL database
    #[arg(default_value = "hub.accp", env = "ACCP_STORE", hide_env_values = true)]
    store: StoreLocation,
    /// Keep the sessions in memory, and lose them at the end
    #[arg(long, conflicts_with = "store")]
    memory: bool,
    /// Settings in TOML; --print-config shows all of them
    #[arg(long, value_name = "FILE", env = "ACCP_CONFIG")]
    config: Option<PathBuf>,
    /// Listen on this address [default: 127.0.0.1:7337]
    #[arg(long, value_name = "ADDRESS", env = "ACCP_LISTEN", value_parser = address)]
    listen: Option<SocketAddr>,
    /// The URL at which clients reach the hub, for the cards of its agents [default: the address of --listen]
    #[arg(long, value_name = "URL", env = "ACCP_PUBLIC_URL")]
    public_url: Option<String>,
    /// The URL at which other hubs on the same database reach this hub [default: the address of --listen]
    #[arg(long, value_name = "URL", env = "ACCP_ADVERTISE")]
    advertise: Option<String>,
    #[command(flatten)]
    admission: admission::AdmissionArgs,
    /// Speak TLS with the certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "ACCP_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key of the first certificate, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "ACCP_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// Listen beyond loopback although there are no tokens
    #[arg(long)]
    anybody_from_anywhere: bool,
    #[command(flatten)]
    log: log::LogArgs,
    #[command(flatten)]
    traces: traces::TraceArgs,
    /// Print the settings in TOML, and exit
    #[arg(long)]
    print_config: bool,
    #[command(flatten)]
    registry: RegistryArgs,
    /// Refuse agents whose registry differs from the hub's in a way that breaks a reader, as `accp registry diff
    /// --breaking` shows
    #[arg(long)]
    strict_registry: bool,
}

/// The command prints a warning if fewer connections than this are possible.
const FEW: usize = 4_096;

/// The store that keeps the sessions.
#[derive(Debug, Clone)]
enum StoreLocation {
    File(PathBuf),
    /// The URL of a database.
    Postgres(String),
}

impl From<OsString> for StoreLocation {
    fn from(text: OsString) -> Self {
        let url = text.to_str().filter(|text| {
            let scheme = text.split_once("://").map(|(scheme, _)| scheme);
            matches!(scheme, Some("postgres" | "postgresql"))
        });
        match url {
            Some(url) => Self::Postgres(url.to_owned()),
            None => Self::File(text.into()),
        }
    }
}

impl fmt::Display for StoreLocation {
    /// Writes where the sessions are kept. Leaves out the secret parts of a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => write!(f, "in {}", file.display()),
            Self::Postgres(url) => {
                let place = url.split_once("://").map_or("", |(_, place)| place);
                let place = place.split('?').next().unwrap_or_default();
                let place = place.rsplit('@').next().unwrap_or_default();
                write!(f, "in PostgreSQL at {place}")
            }
        }
    }
}

/// The encoding in which a hub counts tokens. A session keeps the encoding that it began with.
const COUNTED_IN: &str = "o200k_base";

/// Runs the command, until it is interrupted.
pub(crate) fn run(args: &Args) -> Outcome {
    let mut config = settings(args)?;
    if args.print_config {
        Output::print(config.to_toml().as_bytes())?;
        return Ok(Verdict::Fine);
    }
    let traces = args.traces.open()?;
    // At the end of this function, dropping the guard writes the log lines that still wait.
    let _log = args.log.start(traces.layer());
    let few = accp_hub::make_room(&mut config);
    // If the user has not set the number of connections, the message is shown only if few connections are possible.
    let is_tight = args.config.is_some() || config.limits.connections < FEW;
    let agent = AgentId::new(config.agent.clone());
    let agent =
        agent.map_err(|error| Failure::Input(format!("agent = {:?}: {error}", config.agent)))?;
    let registry = Arc::new(args.registry.load()?);
    let tokenizer = registry.tokenizer.clone();
    let tokenizer = tokenizer.filter(|named| named != COUNTED_IN);
    let options = Options::new(String::new(), agent, registry);
    let options = options.counting(Arc::new(accp_tokens::Bpe::o200k_base()));
    let runtime = runtime()?;
    if let StoreLocation::File(file) = &args.store
        && !args.memory
        && !file.exists()
    {
        // A hub that cannot listen must not leave an empty store behind.
        let trial = Sessions::new(&config, || Ok(Committer::inline(MemoryStore::new())))?;
        drop(runtime.block_on(bind(args, config.clone(), trial))?);
    }
    let sessions = match args.store.clone() {
        _ if args.memory => Sessions::new(&config, || Ok(Committer::inline(MemoryStore::new()))),
        StoreLocation::File(file) => Sessions::in_file(&config, file),
        StoreLocation::Postgres(url) => {
            Sessions::new(&config, move || Committer::new(PostgresStore::open(&url)?))
        }
    }?;
    let clashes = if args.strict_registry {
        SchemaClashes::Refused
    } else {
        SchemaClashes::Served
    };
    let rules = Rules {
        clashes,
        ..Rules::default()
    };
    let sessions = sessions.with_options(options).with_rules(rules);
    let ended = runtime.block_on(async {
        let (idle, request) = (Duration::from_secs(config.idle), config.limits.request);
        let server = bind(args, config, sessions).await?;
        let (ends, ends_at_once) = (interrupted(), asked_to_end(2));
        let location = if args.memory {
            "in memory".to_owned()
        } else {
            args.store.to_string()
        };
        args.log.tell(&format!(
            "hub at {}, sessions {location}; Ctrl-C ends it",
            server.url()
        ));
        if let Some(named) = tokenizer {
            args.log.tell(&format!(
                "the registry names the tokenizer {named}; a hub counts with {COUNTED_IN} all the same"
            ));
        }
        if let Some(few) = few.filter(|_| is_tight) {
            args.log.tell(&few);
        }
        // The tokenizer loads its tables now, so that the first frame does not wait for them.
        std::thread::spawn(|| accp_tokens::Bpe::o200k_base().load());
        let server = with_others(server, args.public_url.as_deref(), idle, request);
        tokio::select! {
            () = traces.follow(server).run(ends) => {}
            () = ends_at_once => {
                tracing::warn!("requests were cut off: the hub was asked to end a second time");
            }
        }
        Ok(Verdict::Fine)
    });
    // Tasks of the hub may still write spans.
    drop(runtime);
    traces.end();
    ended
}

/// Makes a hub with these sessions that listens.
async fn bind(args: &Args, config: Config, sessions: Sessions) -> Result<Server, Failure> {
    let bound = match args.admission.access()? {
        None => Server::bind(config, sessions, Open).await,
        Some(access) => Server::bind(config, sessions, access).await,
    };
    bound.map_err(|error| match error {
        ListenError::Tls(..) => Failure::Input(error.to_string()),
        _ => Failure::Misuse(error.to_string()),
    })
}

/// Lets models that use MCP and clients that use A2A take part in sessions. The path names the session and the agent:
/// `/mcp/{session}/{agent}` and `/a2a/{session}/{agent}`. A request has `request` bytes at most. A model or a client may
/// think for longer than `idle` between two calls, so their agents stay for half an hour at least.
fn with_others(server: Server, public: Option<&str>, idle: Duration, request: usize) -> Server {
    // The hub has already checked the host and the origin of each request.
    let mut settings = accp_mcp::Settings::behind_a_gate();
    settings.idle = settings.idle.max(idle);
    settings.request_bytes = request;
    let agents = server.agents();
    let url = public.map_or_else(|| server.url(), str::to_owned);
    let mut a2a = accp_a2a::Config::new(format!("{}/a2a", url.trim_end_matches('/')));
    a2a.idle = a2a.idle.max(idle);
    a2a.body = request;
    let a2a = accp_a2a::router(a2a, agents.clone());
    server
        .mount("/mcp", accp_mcp::Service::new(agents, settings))
        .mount("/a2a", a2a)
}

/// Reads the file of settings. Options of the command line replace settings of the file.
fn settings(args: &Args) -> Result<Config, Failure> {
    let mut config = match &args.config {
        None => Config::default(),
        Some(file) => {
            let text = fs::read_to_string(file).map_err(Failure::at(file))?;
            Config::from_toml(&text)
                .map_err(|error| Failure::Input(format!("{}: {error}", file.display())))?
        }
    };
    if matches!(&args.store, StoreLocation::File(file) if file.as_os_str().is_empty()) {
        let why = "the store has no name: name a file or a database, or take ACCP_STORE away";
        return Err(Failure::Misuse(why.to_owned()));
    }
    args.public_url.as_deref().map_or(Ok(()), check_public)?;
    config.listen = args.listen.unwrap_or(config.listen);
    config.anybody_from_anywhere |= args.anybody_from_anywhere;
    if !args.memory && matches!(args.store, StoreLocation::Postgres(_)) {
        let replica = config.replica.get_or_insert_default();
        replica.advertise = args.advertise.clone().or(replica.advertise.take());
        if config.listen.ip().is_unspecified() && replica.advertise.is_none() {
            return Err(Failure::Misuse(format!(
                "{}: say where other hubs on the database reach this one: --advertise \
                 http://10.0.0.5:7337",
                config.listen
            )));
        }
    } else if config.replica.is_some() || args.advertise.is_some() {
        return Err(Failure::Misuse(
            "only hubs on a database share their sessions: name its URL, postgres://..., as the \
             store"
                .to_owned(),
        ));
    }
    if let (Some(certificate), Some(key)) = (&args.tls_cert, &args.tls_key) {
        config.tls = Some(Tls {
            certificate: certificate.clone(),
            key: key.clone(),
        });
    }
    Ok(config)
}

/// Reads the address to listen on. It has no name of a host, because such a name may have several addresses.
pub(crate) fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let address = text.parse::<SocketAddr>();
    address.map_err(|_| "write an IP address and a port, as in 127.0.0.1:7337")
}

/// Checks that the cards of agents can name this URL.
fn check_public(url: &str) -> Result<(), Failure> {
    let mut schemes = ["http://", "https://"].into_iter();
    let place = schemes.find_map(|scheme| url.strip_prefix(scheme));
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#');
    let is_host = |place: &str| !place.is_empty() && !place.starts_with(['/', ':']);
    if place.is_some_and(|place| is_host(place) && !place.contains(is_odd)) {
        return Ok(());
    }
    Err(Failure::Misuse(format!(
        "{url:?} is not http:// or https:// and a host: say where clients reach the hub, as --public-url \
         https://hub.example"
    )))
}

/// Makes the runtime for commands that run asynchronous code.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    runtime.map_err(|error| Failure::Io("threads".to_owned(), error))
}

/// Waits until the process should end: until Ctrl-C, or until the system asks the process to end. The process listens from this call on, and
/// not only once the future is polled. So a program calls this before it says that it is ready.
pub(crate) fn interrupted() -> impl Future<Output = ()> {
    asked_to_end(1)
}

/// Waits until the process has been asked to end this many times, as [`interrupted`] does.
fn asked_to_end(times: usize) -> impl Future<Output = ()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{Signal, SignalKind, signal};
        async fn heard(asked: &mut Option<Signal>) {
            match asked {
                Some(asked) => drop(asked.recv().await),
                // The system does not let the process listen.
                None => std::future::pending().await,
            }
        }
        let [mut interrupt, mut terminate] =
            [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
        async move {
            for _ in 0..times {
                tokio::select! {
                    () = heard(&mut interrupt) => {}
                    () = heard(&mut terminate) => {}
                }
            }
        }
    }
    #[cfg(not(unix))]
    async move {
        for _ in 0..times {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}
